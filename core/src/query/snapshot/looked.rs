//! Lookups of forms at points: the memory that a form accesses, when its registers hold what they hold there.
//!
//! ```text
//! n8: … ld A[i] …       A[i]? at the end of n3, where i is v7, looks for A + 4*v7; an occurrence with that address is the same
//! ```
//!
//! Two forms at two points access the same if their addresses, as sums of values, are one; an occurrence of the very form is
//! the same without that, as long as none of its registers has been written between. What was found stays known: by what
//! registers hold, and for the points that were asked about lately.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::entity_impl;
use cranelift_entity::packed_option::PackedOption;

use smallvec::{SmallVec, smallvec};

use super::Snapshot;
use crate::alias::{Access, AliasAnalysis, Moment, Objects, Relation};
use crate::flow::{Value, Values};
use crate::ir::{Block, Function, Inst, Reg};
use crate::query::forms::{Footprint, Form, LoadKind, Subject};
use crate::query::items::{Address, Item, Occurrence};
use crate::symbolic::AffineNames;

/// Point at which registers are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Point {
    Start(Block),
    Before(Inst),
    End(Block),
    /// In front of the only entry, where control comes from outside.
    Front(Block),
}

impl Point {
    pub(super) fn value(self, values: &Values, func: &Function, reg: Reg) -> Option<Value> {
        match self {
            Point::Start(block) => values.at_start(block, reg),
            Point::Before(inst) => values.before(func, inst, reg),
            Point::End(block) => values.at_end(block, reg),
            Point::Front(first) => match values.join_of(first, reg) {
                Some(join) => values.join_args(join).iter().find(|arg| arg.edge.is_none()).map(|arg| arg.value),
                None => values.at_start(first, reg),
            },
        }
    }
}

/// Last lookups of forms at points. One inquiry after another comes to the same blocks with the
/// same form.
pub(super) struct Lately(Vec<(u64, PackedOption<LookedFor>)>);

impl Lately {
    /// As many as fit into a cache.
    const MOST: usize = 2048;

    /// For so many accesses.
    pub(super) fn new(accesses: usize) -> Lately {
        Lately(vec![(0, None.into()); (4 * accesses).next_power_of_two().min(Self::MOST)])
    }

    /// A number for a form at a point. What a point is stands in its lowest two bits.
    fn key(form: Form, at: Point) -> u64 {
        let at = match at {
            Point::Start(block) => u64::from(block.as_u32()) << 2,
            Point::Before(inst) => u64::from(inst.as_u32()) << 2 | 1,
            Point::End(block) => u64::from(block.as_u32()) << 2 | 2,
            Point::Front(block) => u64::from(block.as_u32()) << 2 | 3,
        };
        u64::from(form.as_u32()) << 34 | at
    }

    fn slot(&self, key: u64) -> usize {
        // The multiplier is that of Fibonacci hashing.
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & (self.0.len() - 1)
    }

    fn get(&self, key: u64) -> Option<LookedFor> {
        let (known, looked) = self.0[self.slot(key)];
        looked.expand().filter(|_| known == key)
    }

    fn set(&mut self, key: u64, looked: LookedFor) {
        let slot = self.slot(key);
        self.0[slot] = (key, looked.into());
    }
}

/// Values of a form's registers, in order.
pub(super) type Held = SmallVec<[PackedOption<Value>; 4]>;

/// Number of a lookup.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LookedFor(u32);
entity_impl!(LookedFor);

/// Lookup of a question.
pub(super) struct Looked {
    held: Held,
    pub(super) address: PackedOption<Address>,
}

impl Snapshot<'_> {
    /// Is an occurrence of that very form? Where no register of the form has been written between, it is what is looked for.
    pub(super) fn is_of_form(&self, item: Item, form: Form) -> bool {
        item.address.is_some() && item.occurrence().is_some_and(|occurrence| self.occurrences[occurrence].form == form)
    }

    /// Is an occurrence of what is looked for, but for its guard?
    pub(super) fn is_same(&self, item: Item, form: Form, looked: LookedFor) -> bool {
        item.address.is_some()
            && item.address == self.looked[looked].address
            && item.likeness == self.forms.likeness(form)
    }

    /// Is an occurrence made for all lanes, or for those of a form whose guard holds that value?
    pub(super) fn is_guarded_alike(&self, func: &Function, occurrence: Occurrence, form: Form, at: Point) -> bool {
        self.occurrences[occurrence].guard.is_none_or(|(own, negated)| {
            let guard = self.forms.expression(form).guard;
            guard.is_some_and(|guard| guard.negated == negated && at.value(&self.values, func, guard.reg) == Some(own))
        })
    }

    pub(super) fn may_change(&self, func: &Function, clobber: u32, form: Form, looked: LookedFor) -> bool {
        if !self.forms.footprint(form).meets(Footprint::EVERYTHING) {
            // Nothing writes it.
            return false;
        }
        let names = AffineNames::new(func, &self.values, self.overflow);
        let alias = AliasAnalysis::new(self.module, func, &self.values, names);
        alias.relation(&self.looked_accesses[looked], &self.clobbers[clobber as usize], Moment::Same) != Relation::No
    }

    /// Memory that a load's form accesses, when registers hold what they hold there. Computed once for the same values.
    pub(super) fn looked_for(&mut self, func: &Function, form: Form, at: Point) -> LookedFor {
        let lately = Lately::key(form, at);
        if let Some(looked) = self.lately.get(lately) {
            return looked;
        }
        let looked = self.look_for(func, form, at);
        self.lately.set(lately, looked);
        looked
    }

    /// Notes what a load's form accesses at the load itself, where most questions about it begin.
    pub(super) fn know_from(
        &mut self,
        func: &Function,
        load: Inst,
        form: Form,
        (access, address): (Access, PackedOption<Address>),
    ) {
        let regs = self.forms.regs(form);
        let mut held: Held = smallvec![None.into(); regs.len()];
        let mut used = self.values.used(load).iter();
        func.insts[load].for_each_use(|reg| {
            if let (Some(&value), Ok(place)) = (used.next(), regs.binary_search(&reg)) {
                held[place] = value.into();
            }
        });
        if held.iter().all(|value| value.is_some()) {
            debug_assert!({
                let of = |reg| regs.binary_search(&reg).ok().and_then(|index| held[index].expand());
                self.computed_access(func, form, of) == access
            });
            self.looked_accesses.push(access);
            self.latest[form] = self.looked.push(Looked { held, address }).into();
        }
    }

    pub(super) fn look_for(&mut self, func: &Function, form: Form, at: Point) -> LookedFor {
        let regs = self.forms.regs(form);
        let holds = |(&reg, &held): (&Reg, &PackedOption<Value>)| at.value(&self.values, func, reg) == held.expand();
        if let Some(latest) = self.latest[form].expand()
            && regs.iter().zip(&self.looked[latest].held).all(holds)
        {
            return latest;
        }
        let held: Held = regs.iter().map(|&reg| at.value(&self.values, func, reg).into()).collect();
        let key = (form, held);
        let known = self.accesses.get(&key).copied();
        let looked = known.unwrap_or_else(|| {
            let regs = self.forms.regs(form);
            let of = |reg| regs.binary_search(&reg).ok().and_then(|index| key.1[index].expand());
            let access = self.computed_access(func, form, of);
            let address = self.number_of(access.address.as_ref());
            self.looked_accesses.push(access);
            let looked = self.looked.push(Looked { held: key.1.clone(), address });
            self.accesses.insert(key, looked);
            looked
        });
        self.latest[form] = looked.into();
        looked
    }

    pub(super) fn computed_access(
        &self,
        func: &Function,
        form: Form,
        value: impl FnMut(Reg) -> Option<Value>,
    ) -> Access {
        let nothing = Access { space: None, address: None, bytes: 0, reads: true, writes: false };
        let Subject::Load(LoadKind { opcode, .. }, sum) = &self.forms.expression(form).subject else { return nothing };
        let names = AffineNames::new(func, &self.values, self.overflow).remembering(&self.sums);
        let address = names.valued(sum, value).map(|sum| names.split(sum));
        let address = address.map(|address| self.inductions.closed(func, &self.values, names, address));
        let objects = Objects { module: self.module, func };
        let space = opcode.space.or_else(|| objects.space(address.as_ref()?.base));
        Access { space, address, bytes: opcode.ty.bytes() * u32::from(opcode.vector), ..nothing }
    }
}
