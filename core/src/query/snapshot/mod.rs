//! The function as questions see it: occurrences of expressions, and accesses to memory, block by
//! block.
//!
//! ```text
//! n8: ld.global.f32 A[i]         an occurrence of form 0 at place 0 of n8
//!     i = add.s32 i, 1           a definition: form 0 after it is form 1 before it
//!     st.global.f32 B[j], v      ends questions about what it may overwrite
//! ```
//!
//! 1. Collect all effects on memory (or, for `preqp`, all pure instructions) and the definitions of
//!    each register.
//! 2. Sort accesses into alias classes; each load with an address that is a sum gets a form
//!    ([`super::forms`]).
//! 3. Keep the accesses of each class in each block in text order ([`scans`] walks them).
//! 4. Inserted computations are added at the ends of their blocks ([`updates`]).
//!
//! Sound between rewrites without being computed again: a pass that answers its questions inserts
//! computations, removes others and copies into temporaries, and no question is about temporaries.
//! So each register that questions are about holds the values of the beginning.
//!
//! Cost: O(instructions) apart from sorting. A scan of a block takes [`STEPS_A_BLOCK`] steps, and
//! one for each access that it reads. Scans beyond the engine's budget find nothing.

mod accesses;
mod arrays;
mod scans;
mod updates;

use alloc::rc::Rc;
use alloc::vec::Vec;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::definitions::Definitions;
use super::edges::SplitGraph;
use super::forms::{Family, Form, FormSet, Forms, Kind, is_scalar_expression};
use crate::alias::{Access, AliasAnalysis, AliasClasses, Effect, Objects};
use crate::flow::{Value, Values};
use crate::graph::{Cfg, Dominators};
use crate::ir::{Block, Flags, Function, Inst, Module, Op, ParamType, filled};
use crate::symbolic::{AffineNames, Base, Bounds, Inductions, KnownSums, Overflow, SymbolicAddress};
use accesses::{Address, FormAccess, FormAccessId, Held};
pub use updates::Element;
use updates::Vectors;

/// A computation of an expression that questions may find.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Occurrence(u32);
entity_impl!(Occurrence, "occurrence");

/// The number of changes to what answers questions about a kind of forms.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Changes {
    /// Insertions: an occurrence may be there that was not.
    pub inserted: u32,
    /// Replacements: an occurrence provides its value, but is no longer computed there.
    pub replaced: u32,
    /// Occurrences that were marked as loads that do not fault.
    pub marked: u32,
}

/// The properties of an occurrence.
#[derive(Clone)]
pub struct OccurrenceData {
    /// The instruction; None until an insertion has been made.
    pub inst: Option<Inst>,
    /// The block.
    pub block: Block,
    /// The expression, in terms of the registers before the occurrence.
    pub form: Form,
    family: Family,
    address: PackedOption<Address>,
    guard: Option<(Value, bool)>,
    /// Is the value computed there, rather than read from a temporary?
    is_computed: bool,
    /// Is it a load that is marked as one that does not fault?
    is_marked: bool,
    /// Is it an element of a vector?
    pub is_element: bool,
}

impl OccurrenceData {
    /// The point before the occurrence.
    pub fn start(&self) -> ScanStart {
        self.inst.map_or(ScanStart::Inserted, ScanStart::Before)
    }
}

/// The point where an upward scan of a block begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanStart {
    /// The end of the block.
    End,
    /// The point before that instruction.
    Before(Inst),
    /// The point before what has been inserted at the end.
    Inserted,
}

/// A definition that converts a form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conversion {
    /// The definition.
    pub inst: Inst,
    /// The form after it.
    pub below: Form,
    /// The form before it.
    pub above: Form,
}

/// The end of an upward scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanEnd {
    /// An occurrence of the same value.
    Same(Occurrence),
    /// An instruction that may change the value.
    Changed(Inst),
    /// A definition that could be converted, where the scan may not convert.
    ConvertedAgain(Inst),
    /// The beginning of the block.
    Top,
    /// The end of the budget.
    Exhausted,
}

/// An upward scan of a block.
pub struct UpwardScan {
    /// Conversions, from below.
    pub conversions: SmallVec<[Conversion; 1]>,
    /// The form at the end.
    pub form: Form,
    /// The end.
    pub end: ScanEnd,
}

/// The end of a downward scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DescentEnd {
    /// An occurrence of one of the forms.
    Same,
    /// The last of the forms was changed.
    Changed,
    /// The end of the block, with the forms that are left.
    Bottom(FormSet),
}

/// An access or occurrence at a place of a block.
#[derive(Clone, Copy)]
struct Item {
    place: u32,
    kind: ItemKind,
}

#[derive(Clone, Copy)]
enum ItemKind {
    Occurrence(Occurrence),
    /// An instruction that may write memory, and the index of its access.
    Write(Inst, u32),
}

/// The place of everything that has been inserted in a block: after all instructions but the
/// terminator.
const INSERTED: u32 = u32::MAX - 1;
/// The place after the terminator.
const END: u32 = u32::MAX;

/// Steps of a question at a block, besides one for each access that is read there.
pub const STEPS_A_BLOCK: u64 = 50;

/// The expressions that questions are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interest {
    /// Loads.
    Loads,
    /// Pure instructions.
    Scalars,
}

/// See the file's head.
pub struct Snapshot<'m> {
    /// The rest of the program.
    pub module: &'m Module,
    /// The graph.
    pub graph: SplitGraph,
    /// All forms.
    pub forms: Forms,
    /// Steps that scans have taken.
    pub steps: u64,
    /// Steps after which scans find nothing.
    pub budget: u64,
    has_arrays: bool,
    values: Rc<Values>,
    inductions: Inductions,
    bounds: Bounds,
    overflow: Overflow,
    /// Sums that registers' values are; rewrites do not change them.
    sums: KnownSums,
    places: SecondaryMap<Inst, u32>,
    definitions: Definitions,
    occurrences: PrimaryMap<Occurrence, OccurrenceData>,
    of_inst: SecondaryMap<Inst, PackedOption<Occurrence>>,
    /// The accesses and occurrences of each family in each block, in order.
    items: HashMap<(Block, Family), Vec<Item>>,
    /// Instructions with any effect on memory, and their places.
    barriers: HashMap<Block, Vec<(u32, Inst)>>,
    writes: Vec<Access>,
    addresses: HashMap<SymbolicAddress, Address>,
    form_accesses: PrimaryMap<FormAccessId, FormAccess>,
    /// The access of each form, by the values of its registers.
    access_numbers: HashMap<(Form, Held), FormAccessId>,
    changes: SecondaryMap<Kind, Changes>,
    /// The last position in reverse postorder of a block with an occurrence of each kind.
    last_positions: SecondaryMap<Kind, u32>,
    /// The number of occurrences of a family.
    counts: SecondaryMap<Family, u32>,
    /// All occurrences of a family but elements of vectors, in the order of their numbers.
    families: SecondaryMap<Family, Vec<Occurrence>>,
    vectors: Vectors,
}

/// An access to memory in the text.
struct FoundAccess {
    block: Block,
    inst: Inst,
    access: Access,
    /// Is the access the instruction's only effect?
    is_plain: bool,
}

impl<'m> Snapshot<'m> {
    /// The snapshot of a function as it is now. `endless` as for [`SplitGraph::new`].
    pub fn new(
        module: &'m Module,
        func: &Function,
        (cfg, dominators, endless): (&Rc<Cfg>, Rc<Dominators>, &[Block]),
        values: Rc<Values>,
        overflow: Overflow,
        interest: Interest,
    ) -> Snapshot<'m> {
        let calls: Vec<Block> = func
            .block_order()
            .filter(|&block| func.terminator(block).is_some_and(|inst| func.insts[inst].opcode.op == Op::CallTo))
            .collect();
        let mut places = filled(func.insts.len());
        for block in func.block_order() {
            (0..).zip(func.block_insts(block)).for_each(|(place, inst)| places[inst] = place);
        }
        let mut snapshot = Snapshot {
            module,
            graph: SplitGraph::new(func, cfg, &calls, endless),
            forms: Forms::default(),
            steps: 0,
            budget: u64::MAX,
            has_arrays: !module.globals.is_empty()
                || func.arrays.values().any(|array| array.len.is_some())
                || func.params.iter().any(|param| matches!(param.ty, ParamType::Array(..))),
            values,
            inductions: Inductions::new(cfg.clone(), dominators.clone()),
            bounds: Bounds::new(cfg.clone(), dominators),
            overflow,
            sums: KnownSums::default(),
            places,
            definitions: Definitions::new(func),
            occurrences: PrimaryMap::new(),
            of_inst: filled(func.insts.len()),
            items: HashMap::new(),
            barriers: HashMap::new(),
            writes: Vec::new(),
            addresses: HashMap::new(),
            form_accesses: PrimaryMap::new(),
            access_numbers: HashMap::new(),
            changes: SecondaryMap::new(),
            last_positions: SecondaryMap::new(),
            counts: SecondaryMap::new(),
            families: SecondaryMap::new(),
            vectors: Vectors::default(),
        };
        let reachable = func.block_order().filter(|&block| cfg.is_reachable(block));
        let insts = reachable.flat_map(|block| func.block_insts(block).map(move |inst| (block, inst)));
        match interest {
            Interest::Loads => snapshot.add_accesses(func, insts),
            Interest::Scalars => snapshot.add_scalars(func, insts),
        }
        snapshot
    }

    /// Adds the loads and all that may change what they load.
    fn add_accesses(&mut self, func: &Function, insts: impl Iterator<Item = (Block, Inst)>) {
        let (values, sums) = (self.values.clone(), core::mem::take(&mut self.sums));
        let names = AffineNames::new(func, &values, self.overflow).remembering(&sums);
        let alias = AliasAnalysis::new(self.module, func, &values, names);
        let objects = Objects { module: self.module, func };
        let mut found = Vec::new();
        for (block, inst) in insts.filter(|&(_, inst)| AliasAnalysis::may_have_effect(&func.insts[inst])) {
            let effect = alias.effect(inst);
            let is_plain = matches!(effect, Effect::Access(_));
            match effect {
                Effect::None => {}
                Effect::Everything => self.barriers.entry(block).or_default().push((self.places[inst], inst)),
                Effect::Access(access) | Effect::Ordered(access) => {
                    let address = access.address;
                    let address = address.map(|address| self.inductions.closed(func, &values, names, address));
                    let space = access.space.or_else(|| objects.space(address.as_ref()?.base));
                    found.push(FoundAccess { block, inst, access: Access { address, space, ..access }, is_plain });
                }
            }
        }
        let base = |access: &Access| access.address.as_ref().map_or(Base::Unknown, |address| address.base);
        let keys: Vec<_> = found.iter().map(|found| (found.access.space, base(&found.access))).collect();
        let (classes, _) = AliasClasses::of_objects(objects, &keys);
        for (FoundAccess { block, inst, access, is_plain }, class) in found.into_iter().zip(classes) {
            let (place, data) = (self.places[inst], &func.insts[inst]);
            if access.writes {
                let item = Item { place, kind: ItemKind::Write(inst, self.writes.len() as u32) };
                let family = self.forms.loads_from(class);
                self.items.entry((block, family)).or_default().push(item);
                self.writes.push(access);
            } else if is_plain && let Some(form) = self.forms.of_inst(names, func, inst, Some(class)) {
                let guard = data.guard.and_then(|guard| Some((values.guard(inst)?, guard.negated)));
                let address = self.number_of(access.address.as_ref());
                let is_marked = data.opcode.has(Flags::SPEC);
                let family = self.forms.family(form);
                let (inst, is_computed, is_element) = (Some(inst), true, false);
                let own =
                    OccurrenceData { inst, block, form, family, address, guard, is_computed, is_marked, is_element };
                let occurrence = self.add(own, place);
                self.add_elements(func, occurrence, place, access.address.as_ref());
            }
        }
        self.sums = sums;
    }

    /// Adds the pure instructions.
    fn add_scalars(&mut self, func: &Function, insts: impl Iterator<Item = (Block, Inst)>) {
        let values = self.values.clone();
        let names = AffineNames::new(func, &values, self.overflow);
        for (block, inst) in insts.filter(|&(_, inst)| is_scalar_expression(&func.insts[inst])) {
            let Some(form) = self.forms.of_inst(names, func, inst, None) else { continue };
            let (inst, place, family) = (Some(inst), self.places[inst], self.forms.family(form));
            let (address, guard, is_computed, is_marked, is_element) = (None.into(), None, true, false, false);
            let own = OccurrenceData { inst, block, form, family, address, guard, is_computed, is_marked, is_element };
            self.add(own, place);
        }
    }

    /// Has the budget been used up?
    pub fn is_exhausted(&self) -> bool {
        self.steps > self.budget
    }

    /// The occurrence that an instruction is.
    pub fn occurrence_of(&self, inst: Inst) -> Option<Occurrence> {
        self.of_inst[inst].expand()
    }

    /// The instructions of a block that are occurrences, in order.
    pub fn occurring_in(&self, func: &Function, block: Block) -> SmallVec<[Inst; 16]> {
        func.block_insts(block).filter(|&inst| self.of_inst[inst].is_some()).collect()
    }

    /// Are there any occurrences?
    pub fn has_occurrences(&self) -> bool {
        !self.occurrences.is_empty()
    }

    /// The properties of an occurrence.
    pub fn occurrence(&self, occurrence: Occurrence) -> &OccurrenceData {
        &self.occurrences[occurrence]
    }

    /// The number of occurrences in the function that may be of the same value. A vector and its
    /// elements count as one.
    pub fn relatives(&self, occurrence: Occurrence) -> u32 {
        self.counts[self.occurrences[occurrence].family] - self.elements(occurrence).len() as u32
    }

    /// Other loads that are still made and may be of the same value: at most so many, the nearest
    /// in the text.
    pub fn others(&self, occurrence: Occurrence, most: usize) -> Vec<Occurrence> {
        let family = &self.families[self.occurrences[occurrence].family];
        let own = family.binary_search(&occurrence).unwrap_or_else(|place| place);
        let first = own.saturating_sub(most / 2).min(family.len().saturating_sub(most + 1));
        let near = family[first..].iter().copied().take(most + 1);
        near.filter(|&other| other != occurrence && self.is_made(other)).collect()
    }

    /// Is the occurrence a whole load that is still made?
    pub fn is_made(&self, occurrence: Occurrence) -> bool {
        let data = &self.occurrences[occurrence];
        data.is_computed && data.inst.is_some() && !data.is_element
    }

    /// May control come from the end of a block to an occurrence that computes a form?
    pub fn is_computed_after(&self, block: Block, form: Form) -> bool {
        self.graph.first_after(block) <= self.last_positions[self.forms.kind(form)]
    }

    /// The number of changes to what answers questions about a form.
    pub fn changes(&self, form: Form) -> Changes {
        self.changes[self.forms.kind(form)]
    }
}
