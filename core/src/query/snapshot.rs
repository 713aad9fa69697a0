//! What questions look at: the function as it was when they began, with its value names, and where expressions occur in it
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
//! Two ways lead through a block: [`Snapshot::climb`] from a place up to its beginning, for availability, and
//! [`Snapshot::descend`] from the beginning down, for anticipatability. Both stop at each definition of a register of the
//! question, at accesses to its class of memory, and nowhere else. Most blocks that a question comes to have neither, which
//! one comparison of footprints says, so that a long walk looks at little. Footprints meet by chance as well; then a pure
//! form asks how far around the block there is nothing ([`Quiet`]), and blocks beside it need not ask again.
//!
//! Bounds: every access that is looked at is counted as a step ([`Snapshot::steps`]), and whoever asks bounds those.

use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap, entity_impl};

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::definitions::Definitions;
use super::forms::{
    Expression, Family, Footprint, Form, FormSet, Forms, Kind, LoadKind, Subject, is_scalar_expression,
};
use super::items::{Address, Coming, END, INSERTED, Item, Items, Occurrence};
use super::ways::{Spot, Ways};
use crate::alias::{Access, AliasAnalysis, AliasClasses, Effect, Moment, Objects, Relation};
use crate::flow::{Definition, Value, Values};
use crate::graph::{Cfg, Dominators};
use crate::ir::{Block, Flags, Function, Inst, Module, Op, ParamType, Reg, Symbol, filled};
use crate::symbolic::{
    Affine, AffineNames, Atom, Base, Bounds, Inductions, KnownSums, Overflow, Site, SymbolicAddress,
};
use crate::view::Listener;

/// How often what answers questions about a kind of forms has changed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Changes {
    /// Something has been inserted: what was not there may be now.
    pub inserted: u32,
    /// Something is computed no more: it is there, but not anticipated any longer.
    pub replaced: u32,
}

/// What is known of one.
pub struct OccurrenceData {
    /// The instruction, once it stands.
    pub inst: Option<Inst>,
    /// Its block.
    pub block: Block,
    /// What it computes, from what registers hold before it.
    pub form: Form,
    family: Family,
    address: PackedOption<Address>,
    guard: Option<(Value, bool)>,
    /// Is the value computed there, not only taken from a temporary?
    is_computed: bool,
    /// Is it a load that is marked as one that does not fault?
    is_marked: bool,
}

impl OccurrenceData {
    /// Where a way up from it begins.
    pub fn start(&self) -> Start {
        self.inst.map_or(Start::Inserted, Start::Before)
    }
}

/// Where registers are asked for what they hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Point {
    Start(Block),
    Before(Inst),
    End(Block),
}

impl Point {
    fn value(self, values: &Values, func: &Function, reg: Reg) -> Option<Value> {
        match self {
            Point::Start(block) => values.at_start(block, reg),
            Point::Before(inst) => values.before(func, inst, reg),
            Point::End(block) => values.at_end(block, reg),
        }
    }
}

/// Where a way up through a block begins.
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

/// The same for one form.
enum Passage {
    Same,
    Changed,
    Bottom,
}

/// What a block does something to.
#[derive(Clone, Copy, Default)]
struct Marks {
    /// All of it.
    all: Footprint,
    /// What it may change: the same without what it only loads or computes.
    changed: Footprint,
}

impl Marks {
    fn change(&mut self, what: Footprint) {
        self.changed = self.changed.with(what);
        self.all = self.all.with(what);
    }

    /// What a way up stops at.
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
    /// What has been looked at so far, in accesses and blocks.
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
    /// What forms access when their registers, in order, hold those values.
    looked: PrimaryMap<LookedFor, Looked>,
    /// The accesses themselves.
    looked_accesses: PrimaryMap<LookedFor, Access>,
    /// What registers' values are sums of, which no load that moves or is replaced changes.
    sums: KnownSums,
    accesses: HashMap<(Form, Held), LookedFor>,
    /// What was looked for by points that were asked about lately.
    lately: Lately,
    /// What was looked for last, by form: most registers are written once, so that it mostly is the same again.
    latest: SecondaryMap<Form, PackedOption<LookedFor>>,
    addresses: HashMap<SymbolicAddress, Address>,
    /// What each block does something to.
    marks: SecondaryMap<Block, Marks>,
    changes: SecondaryMap<Kind, Changes>,
    /// The walk down that came to a block last, by number, and how many there have been.
    walked: SecondaryMap<Block, u32>,
    walk: u32,
    /// Blocks that it has still to come to.
    walk_pending: Vec<Block>,
    /// What the last walk looked for and how often its answers had changed before, if it found it on every way.
    found: Option<(Form, Changes)>,
    /// Occurrences of a family.
    counts: SecondaryMap<Family, u32>,
    /// All that were ever of a family, in the order in which they came up.
    families: SecondaryMap<Family, Vec<Occurrence>>,
    /// Those before this one were there at first, in the order of the text.
    first_inserted: Occurrence,
    /// What is known of where the last form that went up, and the last that went down, had nothing in its way.
    quiet_up: Quiet,
    quiet_down: Quiet,
}

/// Where nothing happens to a pure form: blocks side by side in the text, by rank, up to before the last one. None of them had an
/// occurrence of it at first, nor defines a register that it reads.
#[derive(Clone, Copy, Default)]
struct Quiet {
    form: PackedOption<Form>,
    begin: u32,
    end: u32,
}

/// What forms were found to look for at points, the last ones only. One inquiry after another comes to the same blocks with the
/// same form.
struct Lately(Vec<(u64, PackedOption<LookedFor>)>);

impl Lately {
    /// As many as fit into a cache.
    const MOST: usize = 2048;

    /// For so many accesses.
    fn new(accesses: usize) -> Lately {
        Lately(vec![(0, None.into()); (4 * accesses).next_power_of_two().min(Self::MOST)])
    }

    /// A number for a form at a point. What a point is stands in its lowest two bits.
    fn key(form: Form, at: Point) -> u64 {
        let at = match at {
            Point::Start(block) => u64::from(block.as_u32()) << 2,
            Point::Before(inst) => u64::from(inst.as_u32()) << 2 | 1,
            Point::End(block) => u64::from(block.as_u32()) << 2 | 2,
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

/// What a form's registers, in order, hold.
type Held = SmallVec<[PackedOption<Value>; 4]>;

/// What a question looks for, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct LookedFor(u32);
entity_impl!(LookedFor);

/// What a question looks for.
struct Looked {
    held: Held,
    address: PackedOption<Address>,
}

/// Which expressions are asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interest {
    /// Loads.
    Loads,
    /// Pure instructions.
    Scalars,
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
        let definitions = Definitions::new(func, |block, place, inst, data| {
            places[inst] = place;
            data.dsts.iter().for_each(|&dst| marks[block].change(Footprint::of_reg(dst)));
            let is_wanted = match interest {
                Interest::Loads => AliasAnalysis::may_have_effect(data),
                Interest::Scalars => is_scalar_expression(data),
            };
            if is_wanted && cfg.is_reachable(block) {
                wanted.push((block, inst));
            }
            if data.opcode.op == Op::CallTo {
                calls.push(block);
            }
        });
        let mut snapshot = Snapshot {
            module,
            ways: Ways::new(func, cfg, &calls),
            forms: Forms::with_room(wanted.len() / 2),
            steps: 0,
            has_arrays: !module.globals.is_empty()
                || func.arrays.values().any(|array| array.len.is_some())
                || func.params.iter().any(|param| matches!(param.ty, ParamType::Array(..))),
            has_marked: false,
            values,
            inductions: Inductions::new(cfg.clone(), dominators.clone()),
            bounds: Bounds::new(cfg.clone(), dominators),
            overflow,
            places,
            definitions,
            occurrences: PrimaryMap::with_capacity(2 * wanted.len()),
            of_inst: filled(func.insts.len()),
            items: Items::with_room(func.blocks.len(), wanted.len()),
            barriers: HashMap::new(),
            clobbers: Vec::new(),
            looked: PrimaryMap::new(),
            looked_accesses: PrimaryMap::new(),
            sums: KnownSums::default(),
            accesses: HashMap::new(),
            lately: Lately::new(wanted.len()),
            latest: SecondaryMap::new(),
            addresses: HashMap::new(),
            marks,
            changes: SecondaryMap::new(),
            walked: filled(func.blocks.len()),
            walk_pending: Vec::new(),
            walk: 0,
            found: None,
            counts: SecondaryMap::new(),
            families: SecondaryMap::new(),
            first_inserted: Occurrence::from_u32(0),
            quiet_up: Quiet::default(),
            quiet_down: Quiet::default(),
        };
        match interest {
            Interest::Loads => snapshot.find_loads(func, &wanted),
            Interest::Scalars => snapshot.find_scalars(func, &wanted),
        }
        snapshot.items.line_up();
        snapshot.first_inserted = snapshot.occurrences.next_key();
        snapshot
    }

    fn find_loads(&mut self, func: &Function, wanted: &[(Block, Inst)]) {
        let values = self.values.clone();
        let sums = core::mem::take(&mut self.sums);
        let names = AffineNames::new(func, &values, self.overflow).remembering(&sums);
        let alias = AliasAnalysis::new(self.module, func, &values, names);
        let objects = Objects { module: self.module, func };
        let mut found: Vec<(Block, Inst, Access, bool)> = Vec::with_capacity(wanted.len());
        for &(block, inst) in wanted {
            let (access, is_plain) = match alias.effect(inst) {
                Effect::None => continue,
                Effect::Everything => {
                    self.barriers.entry(block).or_default().push(self.places[inst]);
                    self.marks[block].change(Footprint::EVERYTHING);
                    continue;
                }
                Effect::Access(access) => (access, true),
                Effect::Ordered(access) => (access, false),
            };
            let address = access.address.map(|address| self.inductions.closed(func, &values, names, address));
            let space = access.space.or_else(|| objects.space(address.as_ref()?.base));
            found.push((block, inst, Access { address, space, ..access }, is_plain));
        }
        let base = |access: &Access| access.address.as_ref().map_or(Base::Unknown, |address| address.base);
        let keys: Vec<_> = found.iter().map(|(_, _, access, _)| (access.space, base(access))).collect();
        let (classes, _) = AliasClasses::of_objects(objects, &keys);
        for ((block, inst, access, is_plain), class) in found.into_iter().zip(classes) {
            let family = self.forms.loads_from(class);
            let place = self.places[inst];
            let item = if access.writes {
                self.marks[block].change(Footprint::of_family(family));
                self.clobbers.push(access);
                Item::clobber(place, self.clobbers.len() - 1)
            } else if is_plain && let Some(form) = self.forms.of_inst(names, func, inst, Some(class)) {
                let guard = func.insts[inst].guard.and_then(|guard| Some((values.guard(inst)?, guard.negated)));
                let address = self.number_of(access.address);
                let is_marked = func.insts[inst].opcode.has(Flags::SPEC);
                self.has_marked |= is_marked;
                let inst = Some(inst);
                let data = OccurrenceData { inst, block, form, family, address, guard, is_computed: true, is_marked };
                self.add(data, place)
            } else {
                continue;
            };
            self.add_item(block, family, item);
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
            let data =
                OccurrenceData { inst, block, form, family, address, guard, is_computed: true, is_marked: false };
            let item = self.add(data, place);
            self.add_item(block, family, item);
        }
    }

    fn add_item(&mut self, block: Block, family: Family, item: Item) {
        self.items.add(block, family, item);
        let marks = &mut self.marks[block];
        marks.all = marks.all.with(Footprint::of_family(family));
    }

    fn number_of(&mut self, address: Option<SymbolicAddress>) -> PackedOption<Address> {
        let next = Address::new(self.addresses.len());
        address.map(|address| *self.addresses.entry(address).or_insert(next)).into()
    }

    fn add(&mut self, data: OccurrenceData, place: u32) -> Item {
        self.counts[data.family] += 1;
        let OccurrenceData { inst, family, address, form, .. } = data;
        let occurrence = self.occurrences.push(data);
        self.families[family].push(occurrence);
        if let Some(inst) = inst {
            self.of_inst[inst] = occurrence.into();
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
        let occurring = self
            .items
            .of_block(block)
            .filter_map(|item| Some((item.place, self.occurrences[item.occurrence()?].inst?)));
        let mut occurring: SmallVec<[(u32, Inst); 16]> = occurring.collect();
        occurring.sort_unstable();
        occurring.into_iter().map(|(_, inst)| inst).collect()
    }

    /// How many occurrences have come up.
    pub fn occurrence_count(&self) -> usize {
        self.occurrences.len()
    }

    /// What is known of an occurrence.
    pub fn occurrence(&self, occurrence: Occurrence) -> &OccurrenceData {
        &self.occurrences[occurrence]
    }

    /// How many occurrences there are that may be of the same value, in all of the function.
    pub fn relatives(&self, occurrence: Occurrence) -> u32 {
        self.counts[self.occurrences[occurrence].family]
    }

    /// Other loads that are still made and may be of the same value: so many of those that stand nearest in the text.
    pub fn others(&self, occurrence: Occurrence, most: usize) -> Vec<Occurrence> {
        let family = &self.families[self.occurrences[occurrence].family];
        let own = family.binary_search(&occurrence).unwrap_or_else(|place| place);
        let first = own.saturating_sub(most / 2).min(family.len().saturating_sub(most + 1));
        let near = family[first..].iter().copied().take(most + 1);
        near.filter(|&other| other != occurrence && self.is_made(other)).collect()
    }

    /// Is it a load that is still made?
    pub fn is_made(&self, occurrence: Occurrence) -> bool {
        let data = &self.occurrences[occurrence];
        data.is_computed && data.inst.is_some()
    }

    /// How often what answers questions about a form has changed.
    pub fn changes(&self, form: Form) -> Changes {
        self.changes[self.forms.kind(form)]
    }

    /// The last place of a block where a form's value may change: a definition of one of its registers, or an access that
    /// may write what it loads.
    pub fn changed_in(&mut self, func: &Function, block: Block, form: Form) -> Option<u32> {
        let climb = self.climb_past_occurrences(func, block, form);
        (climb.end != ClimbEnd::Top).then_some(climb.place)
    }

    /// The instruction at a place of a block, if anybody listens and it stands there still.
    pub fn told_inst_at<S: Listener>(&self, func: &Function, block: Block, place: u32) -> Option<Inst> {
        if !S::LISTENS {
            return None;
        }
        func.block_insts(self.ways.named_as(block)).find(|&inst| self.places.get(inst) == Some(&place))
    }

    /// A computation of a form is inserted at the end of a block; [`Snapshot::place`] says by which instruction.
    pub fn insert(&mut self, func: &Function, block: Block, form: Form) -> Occurrence {
        let named = self.ways.named_as(block);
        let looked = self.looked_for(func, form, Point::End(named));
        let address = self.looked[looked].address;
        let guard = self.forms.expression(form).guard;
        let guard = guard.and_then(|guard| Some((self.values.at_end(named, guard.reg)?, guard.negated)));
        let family = self.forms.family(form);
        let occurrence = self.occurrences.next_key();
        let data =
            OccurrenceData { inst: None, block, form, family, address, guard, is_computed: true, is_marked: false };
        let item = self.add(data, INSERTED);
        self.add_item(block, family, item);
        self.changes[self.forms.kind(form)].inserted += 1;
        occurrence
    }

    /// An inserted occurrence is, or will be, marked as one that does not fault.
    pub fn mark(&mut self, occurrence: Occurrence) {
        self.occurrences[occurrence].is_marked = true;
        self.found = None;
    }

    /// Is it marked like that?
    pub fn is_marked(&self, occurrence: Occurrence) -> bool {
        self.occurrences[occurrence].is_marked
    }

    /// The instruction that an inserted occurrence is.
    pub fn place(&mut self, occurrence: Occurrence, inst: Inst) {
        self.occurrences[occurrence].inst = Some(inst);
        self.places[inst] = INSERTED;
        self.of_inst[inst] = occurrence.into();
    }

    /// An occurrence takes its value from a temporary now: it is there, and computed no more.
    pub fn replace(&mut self, occurrence: Occurrence) {
        let data = &mut self.occurrences[occurrence];
        data.is_computed = false;
        let (inst, form) = (data.inst, data.form);
        if let Some(inst) = inst {
            self.of_inst[inst] = None.into();
        }
        self.changes[self.forms.kind(form)].replaced += 1;
    }

    /// What was to be inserted is not.
    pub fn withdraw(&mut self, occurrence: Occurrence) {
        let OccurrenceData { block, form, family, .. } = self.occurrences[occurrence];
        self.items.withdraw(block, family, occurrence);
        self.counts[family] -= 1;
        let changes = &mut self.changes[self.forms.kind(form)];
        (changes.inserted, changes.replaced) = (changes.inserted + 1, changes.replaced + 1);
    }

    /// The way up from a place of a block, which is not looked at itself. `may_convert` says whether
    /// definitions may be substituted.
    pub fn climb(&mut self, func: &Function, block: Block, from: Start, form: Form, may_convert: bool) -> Climb {
        self.climb_as(func, block, from, form, may_convert, true)
    }

    /// Is nothing in a block that a question about a form would stop at, as far as footprints say? Then it has been looked at.
    pub fn passes(&mut self, block: Block, form: Form) -> bool {
        let passes = !self.marks[block].all.meets(self.forms.footprint(form));
        self.steps += u64::from(passes);
        passes
    }

    fn climb_past_occurrences(&mut self, func: &Function, block: Block, form: Form) -> Climb {
        self.climb_as(func, block, Start::End, form, false, false)
    }

    fn climb_as(
        &mut self,
        func: &Function,
        block: Block,
        from: Start,
        mut form: Form,
        may_convert: bool,
        stops_at_occurrences: bool,
    ) -> Climb {
        self.steps += 1;
        if !self.marks[block].of(stops_at_occurrences).meets(self.forms.footprint(form)) {
            return Climb::past(form);
        }
        let is_pure = self.forms.likeness(form) == Forms::UNLIKE;
        if is_pure && self.is_quiet(self.quiet_up, block, form, |snapshot| &mut snapshot.quiet_up) {
            return Climb::past(form);
        }
        let rank = self.ways.rank(block);
        let is_on_edge = self.ways.is_on_edge(block);
        let mut place = match from {
            Start::End => END,
            Start::Before(inst) => self.places[inst],
            Start::Inserted => INSERTED,
        };
        // What was inserted has registers as the end of its block has them.
        let mut below = match from {
            Start::Before(inst) if place != INSERTED => Some(inst),
            _ => None,
        };
        let mut steps = SmallVec::new();
        let mut is_straight = true;
        loop {
            let may_define = !is_on_edge && self.may_define(block, form);
            let definition = if may_define { self.last_definition(block, form, (rank, place)) } else { None };
            // Places are counted from 1 here, so that 0 is before the first instruction.
            let floor = definition.map_or(0, |(place, _)| place + 1);
            if let Some((end, place)) =
                self.look_between(func, block, form, (floor, place), below, stops_at_occurrences)
            {
                return Climb { steps, form, end, place, is_straight };
            }
            let Some((defined_at, inst)) = definition else {
                return Climb { steps, form, end: ClimbEnd::Top, place: 0, is_straight };
            };
            is_straight = false;
            let names = AffineNames::new(func, &self.values, self.overflow);
            let Some(above) = self.forms.before(names, inst, &func.insts[inst].dsts, form) else {
                return Climb { steps, form, end: ClimbEnd::Changed, place: defined_at, is_straight };
            };
            if !may_convert {
                return Climb { steps, form, end: ClimbEnd::Again, place: defined_at, is_straight };
            }
            if above != form {
                steps.push(Step { inst, below: form, above });
            }
            (form, place, below) = (above, defined_at, Some(inst));
        }
    }

    /// Looks at accesses and occurrences of a form's family from before `place` up to `floor`, and counts them. No register of
    /// the form is written there.
    fn look_between(
        &mut self,
        func: &Function,
        block: Block,
        form: Form,
        (floor, place): (u32, u32),
        below: Option<Inst>,
        stops_at_occurrences: bool,
    ) -> Option<(ClimbEnd, u32)> {
        let barrier = self.barrier_between(block, form, floor, place);
        if !self.marks[block].of(stops_at_occurrences).meets(self.forms.footprint(form).families()) {
            return barrier.map(|barrier| (ClimbEnd::Changed, barrier));
        }
        let (family, likeness) = (self.forms.family(form), self.forms.likeness(form));
        let mut above = self.items.above(block, family, (floor, place));
        let at = match below {
            Some(inst) => Point::Before(inst),
            None => Point::End(self.ways.named_as(block)),
        };
        // What is looked for is found when something may be it.
        let mut looked: Option<LookedFor> = None;
        while let Some(item) = self.items.next_above(&mut above) {
            if let Some(barrier) = barrier.filter(|&barrier| barrier > item.place) {
                return Some((ClimbEnd::Changed, barrier));
            }
            self.steps += 1;
            if let Some(occurrence) = item.occurrence() {
                if !stops_at_occurrences || item.likeness != likeness {
                    continue;
                }
                if likeness == Forms::UNLIKE || self.is_of_form(item, form) {
                    return Some((ClimbEnd::Same(occurrence), item.place));
                }
                let looked = *looked.get_or_insert_with(|| self.looked_for(func, form, at));
                if self.is_same(item, form, looked) && self.is_guarded_alike(func, occurrence, form, at) {
                    return Some((ClimbEnd::Same(occurrence), item.place));
                }
            } else {
                let looked = *looked.get_or_insert_with(|| self.looked_for(func, form, at));
                if self.may_change(func, item.number, form, looked) {
                    return Some((ClimbEnd::Changed, item.place));
                }
            }
        }
        barrier.map(|barrier| (ClimbEnd::Changed, barrier))
    }

    /// Does nothing in a block happen to a pure form? `known` is where that is known, and changed to what has to be looked up.
    fn is_quiet(
        &mut self,
        known: Quiet,
        block: Block,
        form: Form,
        change: impl FnOnce(&mut Self) -> &mut Quiet,
    ) -> bool {
        // What is on an edge has no rank of its own, and what has been inserted may be in the way.
        if self.items.has_inserted(block) || self.ways.is_on_edge(block) {
            return false;
        }
        let rank = self.ways.rank(block);
        if known.form.expand() == Some(form) && (known.begin..known.end).contains(&rank) {
            return true;
        }
        let family = &self.families[self.forms.family(form)];
        let first = &family[..family.partition_point(|&occurrence| occurrence < self.first_inserted)];
        let rank_of = |occurrence: Occurrence| self.ways.rank(self.occurrences[occurrence].block);
        let next = first.partition_point(|&occurrence| rank_of(occurrence) < rank);
        let mut begin = next.checked_sub(1).map_or(0, |before| rank_of(first[before]) + 1);
        let mut end = first.get(next).map_or(u32::MAX, |&next| rank_of(next));
        for &reg in self.forms.regs(form) {
            let places = self.definitions.of(reg);
            let next = places.partition_point(|&(other, ..)| other < rank);
            begin = begin.max(next.checked_sub(1).map_or(0, |before| places[before].0 + 1));
            end = end.min(places.get(next).map_or(u32::MAX, |&(next, ..)| next));
        }
        if end <= rank {
            return false;
        }
        *change(self) = Quiet { form: form.into(), begin, end };
        true
    }

    /// Is an occurrence of that very form? Where no register of the form has been written between, it is what is looked for.
    fn is_of_form(&self, item: Item, form: Form) -> bool {
        item.address.is_some() && item.occurrence().is_some_and(|occurrence| self.occurrences[occurrence].form == form)
    }

    /// Is an occurrence of what is looked for, but for its guard?
    fn is_same(&self, item: Item, form: Form, looked: LookedFor) -> bool {
        item.address.is_some()
            && item.address == self.looked[looked].address
            && item.likeness == self.forms.likeness(form)
    }

    /// Is an occurrence made for all lanes, or for those of a form whose guard holds that value?
    fn is_guarded_alike(&self, func: &Function, occurrence: Occurrence, form: Form, at: Point) -> bool {
        self.occurrences[occurrence].guard.is_none_or(|(own, negated)| {
            let guard = self.forms.expression(form).guard;
            guard.is_some_and(|guard| guard.negated == negated && at.value(&self.values, func, guard.reg) == Some(own))
        })
    }

    /// Is there a place in a block where anything may happen to memory that the form loads?
    fn is_stopped_by_barriers(&self, block: Block, form: Form) -> bool {
        let what = self.forms.footprint(form);
        what.meets(Footprint::EVERYTHING) && self.marks[block].changed.meets(Footprint::EVERYTHING)
    }

    /// May a definition in a block be one of a register that the form reads?
    fn may_define(&self, block: Block, form: Form) -> bool {
        self.marks[block].changed.meets(self.forms.footprint(form).regs())
    }

    /// The registers of a form that a block may write.
    fn written<'s>(&'s self, block: Block, form: Form) -> impl Iterator<Item = Reg> + 's {
        let changed = self.marks[block].changed;
        self.forms.regs(form).iter().copied().filter(move |&reg| changed.meets(Footprint::of_reg(reg)))
    }

    /// The last definition of one of a form's registers in a block of that rank before a place.
    fn last_definition(&self, block: Block, form: Form, before: (u32, u32)) -> Option<(u32, Inst)> {
        self.written(block, form).filter_map(|reg| self.definitions.last(reg, before)).max()
    }

    /// The place of the first one from a place on.
    fn first_definition(&self, block: Block, form: Form, from: (u32, u32)) -> Option<u32> {
        self.written(block, form).filter_map(|reg| self.definitions.first(reg, from)).min()
    }

    /// The last place from `floor` to before `place` where anything may happen to memory that the form loads.
    fn barrier_between(&self, block: Block, form: Form, floor: u32, place: u32) -> Option<u32> {
        if !self.is_stopped_by_barriers(block, form) {
            return None;
        }
        let places = self.barriers.get(&block)?;
        let index = places.partition_point(|&barrier| barrier < place).checked_sub(1)?;
        Some(places[index]).filter(|&barrier| barrier >= floor)
    }

    fn may_change(&self, func: &Function, clobber: u32, form: Form, looked: LookedFor) -> bool {
        if !self.forms.footprint(form).meets(Footprint::EVERYTHING) {
            // Nothing writes it.
            return false;
        }
        let names = AffineNames::new(func, &self.values, self.overflow);
        let alias = AliasAnalysis::new(self.module, func, &self.values, names);
        alias.relation(&self.looked_accesses[looked], &self.clobbers[clobber as usize], Moment::Same) != Relation::No
    }

    /// Has a register at the end of a block the value that it has before an instruction?
    pub fn holds_at_end(&self, func: &Function, block: Block, reg: Reg, inst: Inst) -> bool {
        let there = self.values.at_end(self.ways.named_as(block), reg);
        there.is_some() && there == self.values.before(func, inst, reg)
    }

    /// Is there a register of the form that nothing has assigned on any way to the end of a block?
    pub fn reads_unassigned(&self, func: &Function, block: Block, form: Form) -> bool {
        let named = self.ways.named_as(block);
        self.forms.regs(form).iter().any(|&reg| {
            let value = self.values.at_end(named, reg);
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

    /// What a load's form accesses, when registers hold what they hold there. Found once for the same values.
    fn looked_for(&mut self, func: &Function, form: Form, at: Point) -> LookedFor {
        let lately = Lately::key(form, at);
        if let Some(looked) = self.lately.get(lately) {
            return looked;
        }
        let looked = self.look_for(func, form, at);
        self.lately.set(lately, looked);
        looked
    }

    fn look_for(&mut self, func: &Function, form: Form, at: Point) -> LookedFor {
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
            let address = self.number_of(access.address.clone());
            self.looked_accesses.push(access);
            let looked = self.looked.push(Looked { held: key.1.clone(), address });
            self.accesses.insert(key, looked);
            looked
        });
        self.latest[form] = looked.into();
        looked
    }

    fn computed_access(&self, func: &Function, form: Form, value: impl FnMut(Reg) -> Option<Value>) -> Access {
        let nothing = Access { space: None, address: None, bytes: 0, reads: true, writes: false };
        let Subject::Load(LoadKind { opcode, .. }, sum) = &self.forms.expression(form).subject else { return nothing };
        let names = AffineNames::new(func, &self.values, self.overflow).remembering(&self.sums);
        let address = names.valued(sum, value).map(|sum| names.split(sum));
        let address = address.map(|address| self.inductions.closed(func, &self.values, names, address));
        let objects = Objects { module: self.module, func };
        let space = opcode.space.or_else(|| objects.space(address.as_ref()?.base));
        Access { space, address, bytes: opcode.ty.bytes() * u32::from(opcode.vector), ..nothing }
    }

    /// The way down from the beginning of a block with a set of forms of one family.
    pub fn descend(&mut self, func: &Function, block: Block, set: FormSet) -> DescentEnd {
        self.descend_to(func, block, set, |data| data.is_computed)
    }

    /// The same to an occurrence that counts.
    fn descend_to(
        &mut self,
        func: &Function,
        block: Block,
        set: FormSet,
        counts: impl Fn(&OccurrenceData) -> bool,
    ) -> DescentEnd {
        if let &[form] = self.forms.members(set) {
            return match self.descend_with(func, block, form, counts) {
                Passage::Same => DescentEnd::Same,
                Passage::Changed => DescentEnd::Changed,
                Passage::Bottom => DescentEnd::Bottom(set),
            };
        }
        self.steps += 1;
        let Some(&first) = self.forms.members(set).first() else { return DescentEnd::Changed };
        if self.ways.is_on_edge(block) {
            let is_there = self.is_on_edge(block, first, counts, |form| self.forms.members(set).contains(&form));
            return if is_there { DescentEnd::Same } else { DescentEnd::Bottom(set) };
        }
        if !self.marks[block].all.meets(self.forms.set_footprint(set)) {
            return DescentEnd::Bottom(set);
        }
        let rank = self.ways.rank(block);
        let mut live: SmallVec<[Form; 4]> = self.forms.members(set).into();
        let mut looked: SmallVec<[LookedFor; 4]> = SmallVec::new();
        let at = Point::Start(block);
        let (family, is_load) = (self.forms.family(first), self.forms.expression(first).is_load());
        let mut items = self.items.below(block, family);
        let mut from = 0;
        while !live.is_empty() {
            let may_define = |form: &&Form| self.may_define(block, **form);
            let next = |&form: &Form| self.first_definition(block, form, (rank, from));
            let defined = live.iter().filter(may_define).filter_map(next).min();
            // What reads a register and writes it reads it first.
            let limit = defined.map_or(END, |place| place + 1);
            let barrier = self.first_barrier(block, first, from, limit);
            let mut ahead = items;
            while let Some(item) = self.items.next_below(&mut ahead) {
                if item.place >= limit || barrier.is_some_and(|barrier| barrier <= item.place) {
                    break;
                }
                items = ahead;
                self.steps += 1;
                if !is_load {
                    let data = item.occurrence().map(|occurrence| &self.occurrences[occurrence]);
                    if data.is_some_and(|data| counts(data) && live.contains(&data.form)) {
                        return DescentEnd::Same;
                    }
                    continue;
                }
                if looked.is_empty() {
                    looked = live.iter().map(|&form| self.looked_for(func, form, at)).collect();
                }
                if let Some(occurrence) = item.occurrence() {
                    let is_same = |(&form, &looked): (&Form, &LookedFor)| {
                        self.is_same(item, form, looked)
                            && counts(&self.occurrences[occurrence])
                            && self.is_guarded_alike(func, occurrence, form, at)
                    };
                    if live.iter().zip(&looked).any(is_same) {
                        return DescentEnd::Same;
                    }
                } else {
                    for place in (0..live.len()).rev() {
                        if self.may_change(func, item.number, live[place], looked[place]) {
                            live.remove(place);
                            looked.remove(place);
                        }
                    }
                }
            }
            if barrier.is_some() {
                return DescentEnd::Changed;
            }
            let Some(place) = defined else { break };
            for index in (0..live.len()).rev() {
                if self.first_definition(block, live[index], (rank, place)) == Some(place) {
                    live.remove(index);
                    if !looked.is_empty() {
                        looked.remove(index);
                    }
                }
            }
            from = place + 1;
        }
        match live.len() {
            0 => DescentEnd::Changed,
            all if all == self.forms.members(set).len() => DescentEnd::Bottom(set),
            _ => DescentEnd::Bottom(self.forms.set(live)),
        }
    }

    /// The same with one form, to an occurrence that counts.
    fn descend_with(
        &mut self,
        func: &Function,
        block: Block,
        form: Form,
        counts: impl Fn(&OccurrenceData) -> bool,
    ) -> Passage {
        self.steps += 1;
        if self.ways.is_on_edge(block) {
            let is_there = self.is_on_edge(block, form, counts, |other| other == form);
            return if is_there { Passage::Same } else { Passage::Bottom };
        }
        let what = self.forms.footprint(form);
        if !self.marks[block].all.meets(what) {
            return Passage::Bottom;
        }
        let likeness = self.forms.likeness(form);
        let is_pure = likeness == Forms::UNLIKE;
        if is_pure && self.is_quiet(self.quiet_down, block, form, |snapshot| &mut snapshot.quiet_down) {
            return Passage::Bottom;
        }
        let rank = self.ways.rank(block);
        let may_define = self.may_define(block, form);
        let defined = if may_define { self.first_definition(block, form, (rank, 0)) } else { None };
        // What reads a register and writes it reads it first.
        let limit = defined.map_or(END, |place| place + 1);
        let barrier = self.first_barrier(block, form, 0, limit);
        let limit = barrier.unwrap_or(limit);
        let at = Point::Start(block);
        let mut looked: Option<LookedFor> = None;
        let has_family = self.marks[block].all.meets(what.families());
        let mut items = if has_family { self.items.below(block, self.forms.family(form)) } else { Coming::none() };
        while let Some(item) = self.items.next_below(&mut items).filter(|item| item.place < limit) {
            self.steps += 1;
            let Some(occurrence) = item.occurrence() else {
                let looked = *looked.get_or_insert_with(|| self.looked_for(func, form, at));
                if self.may_change(func, item.number, form, looked) {
                    return Passage::Changed;
                }
                continue;
            };
            if item.likeness != likeness || !counts(&self.occurrences[occurrence]) {
                continue;
            }
            if is_pure || self.is_of_form(item, form) {
                return Passage::Same;
            }
            let looked = *looked.get_or_insert_with(|| self.looked_for(func, form, at));
            if self.is_same(item, form, looked) && self.is_guarded_alike(func, occurrence, form, at) {
                return Passage::Same;
            }
        }
        if barrier.is_some() || defined.is_some() { Passage::Changed } else { Passage::Bottom }
    }

    /// Has something that counts been inserted in a block on an edge, of that form's family and one of those forms?
    fn is_on_edge(
        &self,
        block: Block,
        form: Form,
        counts: impl Fn(&OccurrenceData) -> bool,
        is_asked: impl Fn(Form) -> bool,
    ) -> bool {
        let mut items = self.items.below(block, self.forms.family(form));
        core::iter::from_fn(|| self.items.next_below(&mut items)).any(|item| {
            item.occurrence().is_some_and(|occurrence| {
                let data = &self.occurrences[occurrence];
                counts(data) && is_asked(data.form)
            })
        })
    }

    /// Is a form computed on every way on from the beginnings of these blocks, so that it faults there if it does? Ends at the first way where it is not; a way
    /// that comes round to where it has been is no such way. Looks at no more than `budget` steps, and then says no.
    pub fn is_computed_behind(&mut self, func: &Function, blocks: &[Block], form: Form, budget: u64) -> bool {
        let now = (form, self.changes(form));
        // Where the last walk for the same has been, it would find the same.
        if self.found.take() != Some(now) {
            self.walk += 1;
        }
        self.walk_pending.clear();
        self.walk_pending.extend(blocks.iter().rev().copied());
        while let Some(block) = self.walk_pending.pop() {
            if core::mem::replace(&mut self.walked[block], self.walk) == self.walk {
                continue;
            }
            match self.descend_with(func, block, form, |data| data.is_computed && !data.is_marked) {
                Passage::Same => {}
                Passage::Changed => return false,
                Passage::Bottom => {
                    let onward = self.ways.down(block);
                    if onward.is_empty() || self.steps > budget {
                        return false;
                    }
                    self.walk_pending.extend(onward.iter().rev().copied());
                }
            }
        }
        self.found = Some(now);
        !blocks.is_empty()
    }

    /// The first place from `from` to before `limit` where anything may happen to memory that the form loads.
    fn first_barrier(&self, block: Block, form: Form, from: u32, limit: u32) -> Option<u32> {
        if !self.is_stopped_by_barriers(block, form) {
            return None;
        }
        let places = self.barriers.get(&block)?;
        let index = places.partition_point(|&barrier| barrier < from);
        places.get(index).copied().filter(|&barrier| barrier < limit)
    }
}
