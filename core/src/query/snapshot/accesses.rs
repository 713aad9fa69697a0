//! The memory that a form accesses at a point.
//!
//! ```text
//! n8: … ld A[i] …       A[i]? at the end of n3, where i is v7, accesses A + 4*v7: the same as an occurrence there
//! ```
//!
//! 1. Name what the form's registers hold at the point.
//! 2. Put these values into the form's sum; closed forms of inductions replace their values.
//! 3. Forms access the same memory if these sums are equal. An occurrence of the form itself needs
//!    no comparison, since a scan ends at definitions of its registers.
//!
//! Sound because values are in static single assignment form.
//!
//! Cost: O(registers of the form) for values that have been asked about before.

use cranelift_entity::entity_impl;
use cranelift_entity::packed_option::PackedOption;
use smallvec::SmallVec;

use super::{Occurrence, Snapshot};
use crate::alias::{Access, AliasAnalysis, Moment, Objects, Relation};
use crate::flow::{Value, Values};
use crate::ir::{Block, Function, Inst, Reg};
use crate::query::forms::{Form, LoadKind, Subject};
use crate::symbolic::AffineNames;

/// An address as a sum of values, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Address(u32);
entity_impl!(Address);

/// A point where registers have values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Point {
    Start(Block),
    Before(Inst),
    End(Block),
    /// The point before the only entry, where control enters the function.
    BeforeEntry(Block),
}

impl Point {
    pub(super) fn value(self, values: &Values, func: &Function, reg: Reg) -> Option<Value> {
        match self {
            Point::Start(block) => values.at_start(block, reg),
            Point::Before(inst) => values.before(func, inst, reg),
            Point::End(block) => values.at_end(block, reg),
            Point::BeforeEntry(entry) => match values.join_of(entry, reg) {
                Some(join) => values.join_args(join).iter().find(|arg| arg.edge.is_none()).map(|arg| arg.value),
                None => values.at_start(entry, reg),
            },
        }
    }
}

/// The values of a form's registers, in order.
pub(super) type Held = SmallVec<[PackedOption<Value>; 4]>;

/// The access of a form whose registers have certain values, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FormAccessId(u32);
entity_impl!(FormAccessId);

pub(super) struct FormAccess {
    pub access: Access,
    pub address: PackedOption<Address>,
}

impl Snapshot<'_> {
    /// Does an occurrence compute a form at a point, for all lanes that the form is for? No
    /// register of the form is written between. `known` is the access of the form at the point,
    /// once needed.
    pub(super) fn computes(
        &mut self,
        func: &Function,
        occurrence: Occurrence,
        (form, at): (Form, Point),
        known: &mut Option<FormAccessId>,
    ) -> bool {
        let data = &self.occurrences[occurrence];
        if !self.forms.is_load(form) || data.address.is_some() && data.form == form {
            return data.form == form;
        }
        let (address, guard) = (data.address, data.guard);
        if address.is_none() || self.forms.kind(data.form) != self.forms.kind(form) {
            return false;
        }
        let access = *known.get_or_insert_with(|| self.form_access(func, form, at));
        address == self.form_accesses[access].address
            && guard.is_none_or(|(own, negated)| {
                let guard = self.forms.expression(form).guard;
                guard.is_some_and(|guard| {
                    guard.negated == negated && at.value(&self.values, func, guard.reg) == Some(own)
                })
            })
    }

    /// May a write change what a form loads at a point? `known` as in [`Snapshot::computes`].
    pub(super) fn may_change(
        &mut self,
        func: &Function,
        write: u32,
        (form, at): (Form, Point),
        known: &mut Option<FormAccessId>,
    ) -> bool {
        if !self.forms.is_written(form) {
            return false;
        }
        let access = *known.get_or_insert_with(|| self.form_access(func, form, at));
        let names = AffineNames::new(func, &self.values, self.overflow);
        let alias = AliasAnalysis::new(self.module, func, &self.values, names);
        let (own, write) = (&self.form_accesses[access].access, &self.writes[write as usize]);
        alias.relation(own, write, Moment::Same) != Relation::No
    }

    /// The access of a form at a point.
    pub(super) fn form_access(&mut self, func: &Function, form: Form, at: Point) -> FormAccessId {
        let regs = self.forms.regs(form);
        let held: Held = regs.iter().map(|&reg| at.value(&self.values, func, reg).into()).collect();
        let key = (form, held);
        if let Some(&known) = self.access_numbers.get(&key) {
            return known;
        }
        let of = |reg| regs.binary_search(&reg).ok().and_then(|index| key.1[index].expand());
        let access = self.access_with(func, form, of);
        let address = self.number_of(access.address.as_ref());
        let number = self.form_accesses.push(FormAccess { access, address });
        self.access_numbers.insert(key, number);
        number
    }

    fn access_with(&self, func: &Function, form: Form, value: impl FnMut(Reg) -> Option<Value>) -> Access {
        let nothing = Access { space: None, address: None, bytes: 0, reads: true, writes: false };
        let Subject::Load(LoadKind { opcode, .. }, sum) = &self.forms.expression(form).subject else { return nothing };
        let names = AffineNames::new(func, &self.values, self.overflow).remembering(&self.sums);
        let address = names.valued(sum, value).map(|sum| names.split(sum));
        let address = address.map(|address| self.inductions.closed(func, &self.values, names, address));
        let objects = Objects { module: self.module, func };
        let space = opcode.space.or_else(|| objects.space(address.as_ref()?.base));
        Access { space, address, bytes: opcode.ty.bytes() * u32::from(opcode.vector), ..nothing }
    }

    /// The end of a block: there registers have the values of the end of its value block.
    pub(super) fn end_of(&self, block: Block) -> Point {
        self.graph.entry_after(block).map_or_else(|| Point::End(self.graph.value_block(block)), Point::BeforeEntry)
    }
}
