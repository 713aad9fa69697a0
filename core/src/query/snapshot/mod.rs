//! Snapshot that questions read: the function as it was when they began, with its value names, and the occurrences of expressions
//! by now.
//!
//! ```text
//! n8: ld.global.f32 A[i]         an occurrence of form 0 at its place in n8
//!     i = add.s32 i, 1           a definition: form 0 behind it is form 1 before it
//!     st.global.f32 B[j], v      ends questions about what it may overwrite
//! ```
//!
//! A pass that answers its questions changes the function between them: it inserts occurrences at the ends of blocks and
//! on edges, takes others away, and copies into temporaries, which no question asks about. None of that changes what a
//! register that was there before holds, so that the value names of the beginning stay true and nothing is computed again.
//!
//! How questions go through a block is in [`walks`], and what a form looks for there in [`looked`].
//!
//! Bounds: every access that is looked at is counted as a step ([`Snapshot::steps`]), and whoever asks bounds those.

mod elements;
mod looked;
mod walks;

use alloc::rc::Rc;
use alloc::vec::Vec;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::definitions::Definitions;
use super::forms::{
    Expression, Family, Footprint, Form, FormSet, Forms, Kind, LoadKind, Subject, is_scalar_expression,
};
use super::items::{Address, INSERTED, Item, Items, Occurrence};
use super::propagation::QuestionLog;
use super::ways::{Spot, Ways};
use crate::alias::{Access, AliasAnalysis, AliasClasses, Effect, Objects};
use crate::flow::{Definition, Value, Values};
use crate::graph::{Cfg, Dominators};
use crate::ir::{Block, Flags, Function, Inst, Module, Op, ParamType, Reg, Symbol, filled};
use crate::symbolic::{
    Affine, AffineNames, Atom, Base, Bounds, Inductions, KnownSums, Overflow, Site, SymbolicAddress,
};
pub use elements::Element;
use elements::Elements;
use looked::{Held, Lately, Looked, LookedFor, Point};

/// How often what answers questions about a kind of forms has changed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Changes {
    /// Something has been inserted: what was not there may be now.
    pub inserted: u32,
    /// Something is computed no more: it is there, but not anticipated any longer.
    pub replaced: u32,
}

/// Facts about an occurrence.
pub struct OccurrenceData {
    /// The instruction, once it stands.
    pub inst: Option<Inst>,
    /// Its block.
    pub block: Block,
    /// Form that it computes, from the registers before it.
    pub form: Form,
    family: Family,
    address: PackedOption<Address>,
    guard: Option<(Value, bool)>,
    /// Is the value computed there, not only taken from a temporary?
    is_computed: bool,
    /// Is it a load that is marked as one that does not fault?
    is_marked: bool,
    /// Is it an element of a vector?
    pub is_element: bool,
}

impl OccurrenceData {
    /// Start of a path up from it.
    pub fn start(&self) -> Start {
        self.inst.map_or(Start::Inserted, Start::Before)
    }
}

/// Start of a path up through a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// At its end.
    End,
    /// Before that instruction.
    Before(Inst),
    /// Before what has been inserted at its end.
    Inserted,
}

/// A definition through which a form was converted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The definition.
    pub inst: Inst,
    /// The form behind it.
    pub below: Form,
    /// The form before it.
    pub above: Form,
}

/// How a way up through a block ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClimbEnd {
    /// At an occurrence of the same value.
    Same(Occurrence),
    /// At an instruction that may change the value, or an operand in a way that is no conversion.
    Changed,
    /// At a definition that could be converted, where that is not allowed.
    Again,
    /// At the beginning of the block.
    Top,
}

/// A way up through a block.
pub struct Climb {
    /// Conversions, from below.
    pub steps: SmallVec<[Step; 1]>,
    /// The form where it ends.
    pub form: Form,
    /// How it ends.
    pub end: ClimbEnd,
    /// The place that ends it, among the block's; 0 at the beginning of the block.
    pub place: u32,
    /// Did it come to no definition of what the form reads?
    pub is_straight: bool,
}

impl Climb {
    /// Past all that stands there.
    fn past(form: Form) -> Climb {
        Climb { steps: SmallVec::new(), form, end: ClimbEnd::Top, place: 0, is_straight: true }
    }

    /// Is the form at the beginning of the block what it was?
    pub fn passes(&self) -> bool {
        self.is_straight && self.end == ClimbEnd::Top
    }
}

/// How a way down through a block ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DescentEnd {
    /// At an occurrence of one of the forms.
    Same,
    /// Every form was changed.
    Changed,
    /// At the end of the block, with the forms that are left.
    Bottom(FormSet),
}

/// Passage of one form.
enum Passage {
    Same,
    Changed,
    Bottom,
}

/// Effects of a block.
#[derive(Clone, Copy, Default)]
struct Marks {
    /// All of it.
    all: Footprint,
    /// Effects that may change a value: without what it only loads or computes.
    changed: Footprint,
}

impl Marks {
    fn change(&mut self, what: Footprint) {
        self.changed = self.changed.with(what);
        self.all = self.all.with(what);
    }

    /// Footprint that a path up stops at.
    fn of(self, stops_at_occurrences: bool) -> Footprint {
        if stops_at_occurrences { self.all } else { self.changed }
    }
}

/// See the file's head.
pub struct Snapshot<'m> {
    /// The rest of the program.
    pub module: &'m Module,
    /// The graph.
    pub ways: Ways,
    /// All forms that came up.
    pub forms: Forms,
    /// Steps so far, in accesses and blocks.
    pub steps: u64,
    /// Are there arrays of known size?
    has_arrays: bool,
    /// Are there loads that are marked as ones that do not fault?
    pub has_marked: bool,
    values: Rc<Values>,
    inductions: Inductions,
    bounds: Bounds,
    overflow: Overflow,
    places: SecondaryMap<Inst, u32>,
    definitions: Definitions,
    occurrences: PrimaryMap<Occurrence, OccurrenceData>,
    of_inst: SecondaryMap<Inst, PackedOption<Occurrence>>,
    items: Items,
    /// Places of instructions that may do anything to memory.
    barriers: HashMap<Block, Vec<u32>>,
    clobbers: Vec<Access>,
    /// Memory that forms access when their registers, in order, hold those values.
    looked: PrimaryMap<LookedFor, Looked>,
    /// The accesses themselves.
    looked_accesses: PrimaryMap<LookedFor, Access>,
    /// Sums of registers' values, which no load that moves or is replaced changes.
    sums: KnownSums,
    accesses: HashMap<(Form, Held), LookedFor>,
    /// Lookups at points that were queried lately.
    lately: Lately,
    /// Last lookup of each form: most registers are written once, so that it mostly is the same again.
    latest: SecondaryMap<Form, PackedOption<LookedFor>>,
    addresses: HashMap<SymbolicAddress, Address>,
    /// Effects of each block.
    marks: SecondaryMap<Block, Marks>,
    changes: SecondaryMap<Kind, Changes>,
    /// The walk down that came to a block last, by number, and how many there have been.
    walked: SecondaryMap<Block, u32>,
    walk: u32,
    /// Blocks that it has still to come to.
    walk_pending: Vec<Block>,
    /// Last lookup and the changes of its answers before, if it was found on every path.
    found: Option<(Form, Changes)>,
    /// Occurrences of a family.
    counts: SecondaryMap<Family, u32>,
    /// Loads of several elements.
    elements: Elements,
    /// All that were ever of a family, but elements of vectors, in the order in which they came up.
    families: SecondaryMap<Family, Vec<Occurrence>>,
    /// Those before this one were there at first, in the order of the text.
    first_inserted: Occurrence,
    /// Range of each block's own ones.
    first_of_block: SecondaryMap<Block, (u32, u32)>,
    /// Blocks without obstacles for the last form that went up, and the last that went down.
    quiet_up: Quiet,
    quiet_down: Quiet,
}

/// Blocks that do not affect a pure form: side by side in the text, by rank, up to before the last one. None of them had an
/// occurrence of it at first, nor defines a register that it reads.
#[derive(Clone, Copy, Default)]
struct Quiet {
    form: PackedOption<Form>,
    begin: u32,
    end: u32,
}

/// Which expressions are asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interest {
    /// Loads.
    Loads,
    /// Pure instructions.
    Scalars,
}

/// An access to memory, as it was found in the text.
struct Found {
    block: Block,
    inst: Inst,
    access: Access,
    /// Does it nothing but that?
    is_plain: bool,
    is_vector: bool,
}

impl<'m> Snapshot<'m> {
    /// A function as it is now.
    pub fn new(
        module: &'m Module,
        func: &Function,
        (cfg, dominators): (&Rc<Cfg>, Rc<Dominators>),
        values: Rc<Values>,
        overflow: Overflow,
        interest: Interest,
    ) -> Snapshot<'m> {
        let mut places = filled(func.insts.len());
        let mut marks: SecondaryMap<Block, Marks> = filled(func.blocks.len());
        let (mut wanted, mut calls) = (Vec::new(), Vec::new());
        let sums = KnownSums::default();
        let names = AffineNames::new(func, &values, overflow).remembering(&sums);
        let alias = AliasAnalysis::new(module, func, &values, names);
        let objects = Objects { module, func };
        let inductions = Inductions::new(cfg.clone(), dominators.clone());
        // Looked at while the instruction is at hand: programs are larger than caches.
        let (mut accesses, mut barriers) = (Vec::with_capacity(func.insts.len() / 4), Vec::new());
        let definitions = Definitions::new(func, |block, place, inst, data| {
            places[inst] = place;
            data.dsts.iter().for_each(|&dst| marks[block].change(Footprint::of_reg(dst)));
            if data.opcode.op == Op::CallTo {
                calls.push(block);
            }
            let is_wanted = match interest {
                Interest::Loads => AliasAnalysis::may_have_effect(data),
                Interest::Scalars => is_scalar_expression(data),
            };
            if !is_wanted || !cfg.is_reachable(block) {
                return;
            }
            match interest {
                Interest::Scalars => wanted.push((block, inst)),
                Interest::Loads => {
                    let effect = alias.effect(inst);
                    let (is_plain, is_vector) = (matches!(effect, Effect::Access(_)), data.opcode.vector > 1);
                    match effect {
                        Effect::None => {}
                        Effect::Everything => barriers.push((block, place)),
                        Effect::Access(access) | Effect::Ordered(access) => {
                            let address = access.address;
                            let address = address.map(|address| inductions.closed(func, &values, names, address));
                            let space = access.space.or_else(|| objects.space(address.as_ref()?.base));
                            let access = Access { address, space, ..access };
                            accesses.push(Found { block, inst, access, is_plain, is_vector });
                        }
                    }
                }
            }
        });
        let wanted_count = wanted.len().max(accesses.len());
        let mut snapshot = Snapshot {
            module,
            ways: Ways::new(func, cfg, &calls),
            forms: Forms::with_room(wanted_count / 2),
            steps: 0,
            has_arrays: !module.globals.is_empty()
                || func.arrays.values().any(|array| array.len.is_some())
                || func.params.iter().any(|param| matches!(param.ty, ParamType::Array(..))),
            has_marked: false,
            values,
            inductions,
            bounds: Bounds::new(cfg.clone(), dominators),
            overflow,
            places,
            definitions,
            occurrences: PrimaryMap::with_capacity(2 * wanted_count),
            of_inst: filled(func.insts.len()),
            items: Items::with_room(func.blocks.len(), wanted_count),
            barriers: HashMap::new(),
            clobbers: Vec::new(),
            looked: PrimaryMap::new(),
            looked_accesses: PrimaryMap::new(),
            sums,
            accesses: HashMap::new(),
            lately: Lately::new(wanted_count),
            latest: SecondaryMap::new(),
            addresses: HashMap::with_capacity(wanted_count / 2),
            marks,
            changes: SecondaryMap::new(),
            walked: filled(func.blocks.len()),
            walk_pending: Vec::new(),
            walk: 0,
            found: None,
            counts: SecondaryMap::new(),
            elements: Elements::default(),
            families: SecondaryMap::new(),
            first_inserted: Occurrence::from_u32(0),
            first_of_block: filled(func.blocks.len()),
            quiet_up: Quiet::default(),
            quiet_down: Quiet::default(),
        };
        match interest {
            Interest::Loads => snapshot.find_loads(func, accesses, barriers),
            Interest::Scalars => snapshot.find_scalars(func, &wanted),
        }
        snapshot.items.line_up();
        snapshot.first_inserted = snapshot.occurrences.next_key();
        snapshot
    }

    fn find_loads(&mut self, func: &Function, accesses: Vec<Found>, barriers: Vec<(Block, u32)>) {
        let values = self.values.clone();
        let sums = core::mem::take(&mut self.sums);
        let names = AffineNames::new(func, &values, self.overflow).remembering(&sums);
        let objects = Objects { module: self.module, func };
        for (block, place) in barriers {
            self.barriers.entry(block).or_default().push(place);
            self.marks[block].change(Footprint::EVERYTHING);
        }
        let base = |access: &Access| access.address.as_ref().map_or(Base::Unknown, |address| address.base);
        let keys: Vec<_> = accesses.iter().map(|found| (found.access.space, base(&found.access))).collect();
        let (classes, _) = AliasClasses::of_objects(objects, &keys);
        for (Found { block, inst, access, is_plain, is_vector }, class) in accesses.into_iter().zip(classes) {
            let family = self.forms.loads_from(class);
            let place = self.places[inst];
            let vector_address = if is_vector { access.address.clone() } else { None };
            let item = if access.writes {
                self.marks[block].change(Footprint::of_family(family));
                self.clobbers.push(access);
                Item::clobber(place, self.clobbers.len() - 1)
            } else if is_plain && let Some(form) = self.forms.of_inst(names, func, inst, Some(class)) {
                let guard = func.insts[inst].guard.and_then(|guard| Some((values.guard(inst)?, guard.negated)));
                let address = self.number_of(access.address.as_ref());
                if self.latest[form].is_none() {
                    self.know_from(func, inst, form, (access, address));
                }
                let is_marked = func.insts[inst].opcode.has(Flags::SPEC);
                self.has_marked |= is_marked;
                let inst = Some(inst);
                let data = OccurrenceData {
                    inst,
                    block,
                    form,
                    family,
                    address,
                    guard,
                    is_computed: true,
                    is_marked,
                    is_element: false,
                };
                self.add_first(data, place)
            } else {
                continue;
            };
            self.add_item(block, family, item);
            if let Some(occurrence) = item.occurrence().filter(|_| is_vector) {
                self.add_elements(func, occurrence, place, vector_address.as_ref());
            }
        }
        self.sums = sums;
    }

    fn find_scalars(&mut self, func: &Function, wanted: &[(Block, Inst)]) {
        let values = self.values.clone();
        let names = AffineNames::new(func, &values, self.overflow);
        for &(block, inst) in wanted {
            let Some(form) = self.forms.of_inst(names, func, inst, None) else { continue };
            let family = self.forms.family(form);
            let (address, guard) = (None.into(), None);
            let place = self.places[inst];
            let inst = Some(inst);
            let (is_computed, is_marked, is_element) = (true, false, false);
            let data = OccurrenceData { inst, block, form, family, address, guard, is_computed, is_marked, is_element };
            let item = self.add_first(data, place);
            self.add_item(block, family, item);
        }
    }

    fn add_item(&mut self, block: Block, family: Family, item: Item) {
        self.items.add(block, family, item);
        let marks = &mut self.marks[block];
        marks.all = marks.all.with(Footprint::of_family(family));
    }

    fn number_of(&mut self, address: Option<&SymbolicAddress>) -> PackedOption<Address> {
        let next = Address::new(self.addresses.len());
        address.map(|address| *self.addresses.entry_ref(address).or_insert(next)).into()
    }

    /// Adds one that is there at first. They come in the order of the text.
    fn add_first(&mut self, data: OccurrenceData, place: u32) -> Item {
        let next = self.occurrences.next_key().as_u32();
        let (begin, end) = &mut self.first_of_block[data.block];
        *begin = if *end == 0 { next } else { *begin };
        *end = next + 1;
        self.add(data, place)
    }

    fn add(&mut self, data: OccurrenceData, place: u32) -> Item {
        self.counts[data.family] += 1;
        let OccurrenceData { inst, family, address, form, is_element, .. } = data;
        let occurrence = self.occurrences.push(data);
        if !is_element {
            self.families[family].push(occurrence);
            if let Some(inst) = inst {
                self.of_inst[inst] = occurrence.into();
            }
        }
        Item { place, number: occurrence.as_u32(), likeness: self.forms.likeness(form), address }
    }

    /// The occurrence that an instruction is.
    pub fn occurrence_of(&self, inst: Inst) -> Option<Occurrence> {
        self.of_inst[inst].expand()
    }

    /// The instructions of a block that occurrences are, in order.
    pub fn occurring_in(&self, func: &Function, block: Block) -> SmallVec<[Inst; 16]> {
        if self.items.has_inserted(block) {
            return func.block_insts(block).filter(|&inst| self.of_inst[inst].is_some()).collect();
        }
        let (begin, end) = self.first_of_block[block];
        let data = (begin..end).map(|occurrence| &self.occurrences[Occurrence::from_u32(occurrence)]);
        data.filter(|data| !data.is_element).filter_map(|data| data.inst).collect()
    }

    /// How many occurrences have come up.
    pub fn occurrence_count(&self) -> usize {
        self.occurrences.len()
    }

    /// Returns the facts about an occurrence.
    pub fn occurrence(&self, occurrence: Occurrence) -> &OccurrenceData {
        &self.occurrences[occurrence]
    }

    /// How many occurrences there are that may be of the same value, in all of the function. One and its elements count as one.
    pub fn relatives(&self, occurrence: Occurrence) -> u32 {
        self.counts[self.occurrences[occurrence].family] - self.elements(occurrence).len() as u32
    }

    /// Other loads that are still made and may be of the same value: so many of those that stand nearest in the text.
    pub fn others(&self, occurrence: Occurrence, most: usize) -> Vec<Occurrence> {
        let family = &self.families[self.occurrences[occurrence].family];
        let own = family.binary_search(&occurrence).unwrap_or_else(|place| place);
        let first = own.saturating_sub(most / 2).min(family.len().saturating_sub(most + 1));
        let near = family[first..].iter().copied().take(most + 1);
        near.filter(|&other| other != occurrence && self.is_made(other)).collect()
    }

    /// Is it a load, a whole one, that is still made?
    pub fn is_made(&self, occurrence: Occurrence) -> bool {
        let data = &self.occurrences[occurrence];
        data.is_computed && data.inst.is_some() && !data.is_element
    }

    /// How often what answers questions about a form has changed.
    pub fn changes(&self, form: Form) -> Changes {
        self.changes[self.forms.kind(form)]
    }

    /// The instruction at a place of a block, if anybody listens and it stands there still.
    pub fn told_inst_at(&self, log: &mut QuestionLog<'_>, block: Block, place: u32) -> Option<Inst> {
        if !log.is_traced() {
            return None;
        }
        log.func.block_insts(self.ways.named_as(block)).find(|&inst| self.places.get(inst) == Some(&place))
    }

    /// A computation of a form is inserted at the end of a block; [`Snapshot::place`] says by which instruction.
    pub fn insert(&mut self, func: &Function, block: Block, form: Form) -> Occurrence {
        let end = self.end_of(block);
        let looked = self.looked_for(func, form, end);
        let address = self.looked[looked].address;
        let is_vector = self.forms.is_vector(form);
        let symbolic = if is_vector { self.looked_accesses[looked].address.clone() } else { None };
        let guard = self.forms.expression(form).guard;
        let guard = guard.and_then(|guard| Some((end.value(&self.values, func, guard.reg)?, guard.negated)));
        let family = self.forms.family(form);
        let occurrence = self.occurrences.next_key();
        let (is_computed, is_marked, is_element) = (true, false, false);
        let data =
            OccurrenceData { inst: None, block, form, family, address, guard, is_computed, is_marked, is_element };
        let item = self.add(data, INSERTED);
        self.add_item(block, family, item);
        self.changes[self.forms.kind(form)].inserted += 1;
        if is_vector {
            self.add_elements(func, occurrence, INSERTED, symbolic.as_ref());
        }
        occurrence
    }

    /// An inserted occurrence is, or will be, marked as one that does not fault.
    pub fn mark(&mut self, occurrence: Occurrence) {
        self.with_elements(occurrence, |snapshot, each| snapshot.occurrences[each].is_marked = true);
        self.found = None;
    }

    /// Is it marked like that?
    pub fn is_marked(&self, occurrence: Occurrence) -> bool {
        self.occurrences[occurrence].is_marked
    }

    /// The instruction that an inserted occurrence is.
    pub fn place(&mut self, occurrence: Occurrence, inst: Inst) {
        self.with_elements(occurrence, |snapshot, each| snapshot.occurrences[each].inst = Some(inst));
        self.places[inst] = INSERTED;
        self.of_inst[inst] = occurrence.into();
    }

    /// An occurrence takes its value from a temporary now: it is there, and computed no more.
    pub fn replace(&mut self, occurrence: Occurrence) {
        if let Some(inst) = self.occurrences[occurrence].inst {
            self.of_inst[inst] = None.into();
        }
        self.with_elements(occurrence, |snapshot, each| {
            let data = &mut snapshot.occurrences[each];
            data.is_computed = false;
            snapshot.changes[snapshot.forms.kind(data.form)].replaced += 1;
        });
    }

    /// Withdraws an insertion.
    pub fn withdraw(&mut self, occurrence: Occurrence) {
        self.with_elements(occurrence, |snapshot, each| {
            let OccurrenceData { block, form, family, .. } = snapshot.occurrences[each];
            snapshot.items.withdraw(block, family, each);
            snapshot.counts[family] -= 1;
            let changes = &mut snapshot.changes[snapshot.forms.kind(form)];
            (changes.inserted, changes.replaced) = (changes.inserted + 1, changes.replaced + 1);
        });
    }

    /// End of a block: there registers hold what they hold at the end of the block that its values are named in.
    fn end_of(&self, block: Block) -> Point {
        self.ways.front_of(block).map_or_else(|| Point::End(self.ways.named_as(block)), Point::Front)
    }

    /// Has a register at the end of a block the value that it has before an instruction?
    pub fn holds_at_end(&self, func: &Function, block: Block, reg: Reg, inst: Inst) -> bool {
        let there = self.end_of(block).value(&self.values, func, reg);
        there.is_some() && there == self.values.before(func, inst, reg)
    }

    /// Is there a register of the form that nothing has assigned on any way to the end of a block?
    pub fn reads_unassigned(&self, func: &Function, block: Block, form: Form) -> bool {
        let end = self.end_of(block);
        self.forms.regs(form).iter().any(|&reg| {
            let value = end.value(&self.values, func, reg);
            value.is_some_and(|value| self.values.definition(value) == Definition::Entry)
                && func.param_of(reg).is_none()
        })
    }

    /// Does a load that is put there stay within an array of known size, and at a multiple of what it loads? So it is if
    /// the sum over the registers' numbers says so, or the one over what those are computed from.
    pub fn is_within_array(&self, func: &Function, spot: Spot, form: Form) -> bool {
        let Expression { subject: Subject::Load(kind, sum), guard, .. } = self.forms.expression(form) else {
            return false;
        };
        if !self.has_arrays {
            return false;
        }
        let (from, onto) = match spot {
            Spot::Front(_) => return false,
            Spot::End(block) if self.ways.front_of(block).is_some() => return false,
            Spot::Edge(from, to) => (from, Some(to)),
            Spot::End(block) => (block, self.ways.down(block).first().copied().filter(|_| self.ways.is_on_edge(block))),
        };
        let block = self.ways.named_as(from);
        let value = |reg| self.values.at_end(block, reg);
        let guard = guard.and_then(|guard| Some((value(guard.reg)?, guard.negated)));
        let site = Site { block, onto, guard };
        let named = |&(atom, coefficient): &(Atom<Reg>, i64)| {
            let atom = match atom {
                Atom::Value(reg, extension) => Atom::Value(value(reg)?, extension),
                Atom::Symbol(symbol) => Atom::Symbol(symbol),
                Atom::Special(special) => Atom::Special(special),
                Atom::Rounds(..) => return None,
            };
            Some(Affine::atom(atom).times(coefficient))
        };
        let mut parts = sum.terms().iter().map(named);
        let plain = parts.try_fold(Affine::constant(sum.offset()), |all, part| all.plus(&part?));
        // What is assumed of overflow elsewhere proves nothing here.
        let names = AffineNames::new(func, &self.values, Overflow::Prove);
        let is_within = |sum: Affine| self.stays_within(func, site, kind, &sum);
        plain.is_some_and(is_within) || names.valued(sum, value).is_some_and(is_within)
    }

    fn stays_within(&self, func: &Function, site: Site, kind: &LoadKind, sum: &Affine) -> bool {
        let Some(&(Atom::Symbol(symbol), 1)) = sum.terms().first() else { return false };
        let (index, _) = sum.without(Atom::Symbol(symbol));
        let is_number = |(atom, _): &(Atom, i64)| matches!(atom, Atom::Value(..) | Atom::Special(_));
        if !index.terms().iter().all(is_number) {
            return false;
        }
        // Arrays of the function and of the module begin at multiples of what one load may take.
        let (len, element, alignment) = match symbol {
            Symbol::Global(global) => (self.module.globals[global].len, self.module.globals[global].ty.bytes(), 16),
            Symbol::Array(array) => (func.arrays[array].len.unwrap_or(0), func.arrays[array].ty.bytes(), 16),
            Symbol::Param(index) => match func.params[index as usize].ty {
                ParamType::Array(ty, len) => (len, ty.bytes(), ty.bytes()),
                _ => (0, 1, 1),
            },
        };
        let size = i128::from(len) * i128::from(element);
        let bytes = kind.opcode.ty.bytes() * u32::from(kind.opcode.vector);
        let is_multiple = |number: i64| number % i64::from(bytes) == 0;
        let is_aligned = bytes <= alignment
            && is_multiple(index.offset())
            && index.terms().iter().all(|&(_, coefficient)| is_multiple(coefficient));
        if !is_aligned {
            return false;
        }
        let range = self.bounds.of_sum(func, &self.values, site, &index);
        range.low >= 0 && range.high + i128::from(bytes) <= size
    }
}
