//! The number of every value, and of every expression that an instruction computes.
//!
//! ```text
//! n1: x = add.u32 a, b        number 4
//! n2: y = add.u32 b, a        number 4 too: two blocks that do not dominate each other
//! n3: z is x from n1, y from n2: a join of 4 and 4 is 4
//!     @p c = mov.u32 z        where p holds 4, elsewhere what c was: a number of its own
//! ```
//!
//! Numbers are given along one walk ([`registers::walk_order`]) that comes to a block after whatever comes to it along
//! forward edges, so that those have their numbers. A join of one number is that number; two joins of one block with the
//! same arguments are one; a join that control comes back to is new. Copies pass numbers on. A key holds the opcode with
//! its modifiers, the numbers of the operands, sorted where they commute, the guard, the address space (in the opcode),
//! and for a load the state of memory, for an operation across lanes the region.
//!
//! Sound because two values of one number are equal wherever both definitions dominate: by induction over the walk, as
//! their operands are. A value computed in an earlier iteration cannot be mistaken for one of this iteration: a definition
//! that dominates a place has run since the last time its operands changed.
//!
//! Linear in instructions and joins. The function may change behind the walk, as long as every register holds what it
//! held.
//!
//! Source: ptxas page, Algorithm (key); P. Briggs, K. Cooper and L. Simpson, Value numbering, SPE 1997, section 4 (joins).

use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;

use super::eligibility::{Class, is_copy};
use super::expressions::{Expressions, KeyPart, Number};
use super::lanes::{Regions, may_lose_lanes};
use super::memory::{Load, Memory, State};
use super::origins::Origins;
use super::outline::Outline;
use super::registers::{Registers, walk_order};
use crate::alias::AliasAnalysis;
use crate::graph::{Cfg, Dominators};
use crate::ir::{Address, AddressBase, Block, Flags, Function, Inst, InstData, Module, Op, Opcode, Operand, Reg};
use crate::symbolic::{AffineNames, KnownSums, Overflow};

/// Equivalences that numbering assumes.
#[derive(Clone, Copy)]
pub(in crate::pass) struct Options {
    /// Are the classes of enhanced scope eligible?
    pub enhanced: bool,
    /// Will [`Details`] be asked for?
    pub names_work: bool,
    /// Are operands sorted where they commute, and do joins of one number have that number?
    pub is_algebraic: bool,
    /// Does a copy have the number of what it copies?
    pub follows_copies: bool,
    /// Is what a thread stores what it loads again, as it is where no two threads write one address at a time?
    pub forwards_stores: bool,
}

/// Number of an instruction's computation. Small, since it is passed on for every instruction.
#[derive(Clone, Copy)]
pub(in crate::pass) struct Numbered {
    /// The number of its first result where its guard holds; the others follow.
    value: Number,
    /// Guard and its sense in one word; 0 where there is none.
    pub guard: u32,
    /// May it be replaced?
    is_eligible: bool,
}

impl Numbered {
    /// Do they stand under one guard and its opposite?
    pub fn has_opposite_guard(&self, other: &Numbered) -> bool {
        self.guard != 0 && other.guard != 0 && (self.guard - 1) ^ 1 == other.guard - 1
    }

    /// The number of its first result, if it may be replaced; the others have those that follow.
    #[inline]
    pub fn replaceable(&self) -> Option<Number> {
        Some(self.value).filter(|_| self.is_eligible)
    }
}

/// Further facts about an instruction, where [`Options::names_work`] requests them.
#[derive(Clone, Copy, Default)]
pub(in crate::pass) struct Details {
    /// The number of its work: opcode and operands, whatever the guard, memory and the lanes are.
    pub work: Option<Number>,
    /// The state of memory that it reads.
    pub state: Option<State>,
}

/// The walk.
pub(in crate::pass) struct Numbering<'a> {
    module: &'a Module,
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    regions: &'a Regions,
    options: Options,
    order: Vec<Block>,
    expressions: Expressions,
    /// Those of no operands: constants, special registers and symbols.
    leaves: Expressions,
    registers: Registers<'a>,
    memory: Option<Memory>,
    origins: Origins,
    /// Sums of the registers in addresses, by their numbers.
    sums: KnownSums,
    loads: Vec<Loaded>,
    /// Values of written registers on entry, where these are ever read; registers rise.
    entries: Vec<(Reg, Number)>,
    /// Blocks whose subtrees are open: where each ends in the order, and what there is to take back then.
    open: Vec<(usize, usize, usize)>,
    /// The open block's place in the preorder.
    place: u32,
    /// Instructions of the open block so far after which other lanes may run.
    losses: u32,
    /// Details of the instruction that was numbered last.
    details: Details,
    stored: Option<Stored>,
    /// Is it noted what the instruction reads whose key is being made?
    notes_operands: bool,
    /// The numbers of the constants that were met last.
    constants: [(u64, u32); CONSTANTS],
}

/// Stored value of a thread that it may load.
#[derive(Clone, Copy)]
pub(in crate::pass) struct Stored {
    /// Equal for stores of one type to one address, by the names in it.
    pub address: u32,
    /// The register that was stored, and the number that it holds.
    pub value: Option<(Reg, Number)>,
    /// Did memory hold that already?
    pub is_repeated: bool,
}

/// The first load with some opcode and operands.
#[derive(Clone, Copy)]
struct Loaded {
    load: Load,
    number: Number,
    /// Is it found by its exact state?
    is_refined: bool,
}

const CONSTANTS: usize = 32;

/// Head of a key that is not an opcode. Opcodes begin with less than 2³¹.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Head {
    Constant = 1 << 31,
    Special,
    Symbol,
    Join,
    Guarded,
    Work,
    Load,
}

/// A key begins with the opcode's first word and its flags, then comes its comparison if it has one, then the operands,
/// then the number of parts that a register is taken apart into, then the guard if there is one. These two bits of the
/// second word, which are no flags, tell of comparison and guard.
const GUARDED: u32 = 1 << 31;
const COMPARES: u32 = 1 << 30;
const _: () = assert!(Flags::all().bits() & (GUARDED | COMPARES) == 0);

/// How an operand's first word ends.
#[derive(Clone, Copy)]
enum Tail {
    Number = 0,
    Negation,
    Address,
    List,
}

impl Tail {
    fn of(self, word: u32) -> u32 {
        word << 2 | self as u32
    }
}

impl<'a> Numbering<'a> {
    pub fn new(
        (module, func): (&'a Module, &Function),
        (cfg, dominators): (&'a Cfg, &'a Dominators),
        regions: &'a Regions,
        outline: Outline<'a>,
        options: Options,
    ) -> Numbering<'a> {
        let (joins, memory) = outline.finish((module, func), (cfg, dominators));
        let mut numbering = Numbering {
            module,
            cfg,
            dominators,
            regions,
            options,
            order: walk_order(cfg, dominators),
            expressions: Expressions::with_capacity(func.insts.len()),
            leaves: Expressions::with_capacity(0),
            registers: Registers::new(func, cfg, dominators, joins),
            origins: Origins::new(func, memory.is_some()),
            sums: KnownSums::default(),
            memory,
            loads: Vec::new(),
            entries: Vec::new(),
            open: Vec::new(),
            place: 0,
            losses: 0,
            details: Details::default(),
            stored: None,
            notes_operands: false,
            constants: [(0, u32::MAX); CONSTANTS],
        };
        for index in 0..numbering.registers.joins.known_everywhere().len() {
            let reg = numbering.registers.joins.known_everywhere()[index];
            let number = numbering.entry(reg);
            numbering.registers.set_entry(reg, number);
            numbering.entries.push((reg, number));
        }
        numbering
    }

    /// Walks through the whole function as it stands. Gives what each instruction computes, and how many numbers there are.
    pub fn of_all(mut self, func: &Function) -> (SecondaryMap<Inst, Option<(Numbered, Details)>>, usize) {
        let mut found = SecondaryMap::with_capacity(func.insts.len());
        for index in 0..self.block_count() {
            let block = self.enter(index, |_, _| {});
            for inst in func.block_insts(block) {
                if let Some(numbered) = self.number(func, block, inst) {
                    found[inst] = Some((numbered, self.details));
                    for (index, &reg) in (0..).zip(&func.insts[inst].dsts) {
                        self.write(numbered, index, reg);
                    }
                }
            }
            self.leave(block);
        }
        (found, self.number_count())
    }

    /// How many blocks the walk comes to.
    pub fn block_count(&self) -> usize {
        self.order.len()
    }

    /// One more than the greatest number so far.
    pub fn number_count(&self) -> usize {
        self.expressions.number_count()
    }

    /// Do loads take what was stored?
    pub fn forwards_stores(&self) -> bool {
        self.options.forwards_stores
    }

    /// Returns the details of the instruction that was numbered last.
    pub fn details(&self) -> Details {
        self.details
    }

    /// The number that a register holds at this point of the walk.
    pub fn held(&self, reg: Reg) -> Option<Number> {
        self.registers.get(reg)
    }

    /// The instruction that made a state of memory; none on entry and where several meet.
    pub fn maker(&self, state: u32) -> Option<Inst> {
        self.memory.as_ref()?.maker(state)
    }

    /// Comes to a block of the order, whose joins get their numbers. Calls `visit` with those.
    pub fn enter(&mut self, index: usize, mut visit: impl FnMut(Reg, Number)) -> Block {
        while let Some((_, regs, states)) = self.open.pop_if(|(end, ..)| *end <= index) {
            self.registers.take_back(regs);
            if let Some(memory) = &mut self.memory {
                memory.take_back(states);
            }
        }
        let block = self.order[index];
        let states = self.memory.as_ref().map_or(0, Memory::depth);
        self.open.push((index + self.dominators.subtree(block).len(), self.registers.depth(), states));
        self.place = self.dominators.preorder_number(block);
        self.losses = 0;
        if let Some(memory) = &mut self.memory {
            memory.enter(self.place);
        }
        let joins = self.registers.joins.at(self.place).len();
        for join in 0..joins {
            let Some((reg, _)) = self.registers.join(self.place, join) else { break };
            if self.cfg.is_entry(block) {
                let number = self.on_entry(reg);
                self.registers.set_entry_arg(self.place, join, number);
            }
        }
        // All joins of a block read what was there before any of them.
        for join in 0..joins {
            if let Some((reg, number)) = self.join(block, join) {
                self.registers.set_join(reg, number);
                visit(reg, number);
            }
        }
        block
    }

    /// Leaves a block for those below it.
    pub fn leave(&mut self, block: Block) {
        self.registers.leave(block);
    }

    /// The numbers of an instruction of the open block, before it writes its registers. None if it writes none; then
    /// nothing else is to be done for it.
    #[inline]
    pub fn number(&mut self, func: &Function, block: Block, inst: Inst) -> Option<Numbered> {
        let data = &func.insts[inst];
        let load = self.memory.as_mut().and_then(|memory| memory.visit(inst));
        self.losses += u32::from(may_lose_lanes(data));
        if data.dsts.is_empty() {
            self.note_operands(inst, data);
            if self.options.forwards_stores {
                self.forward(func, data);
            }
            return None;
        }
        let guard = self.guard(data);
        if self.options.names_work {
            self.details = Details::default();
        }
        let is_copy = data.opcode.op == Op::Mov && is_copy(data);
        if data.opcode.op == Op::Mov
            && let Some(value) = self.copied(func, data)
        {
            return Some(Numbered { value, guard, is_eligible: !is_copy && guard == 0 });
        }
        let class = Class::of(data);
        if self.options.names_work {
            self.find_details(func, inst, load, is_copy);
        }
        let count = data.dsts.len() as u32;
        let before = self.expressions.number_count();
        let value = match class {
            Class::Never | Class::Atomic => {
                self.note_operands(inst, data);
                self.expressions.fresh(count)
            }
            Class::Load => self.load(func, inst, load, guard),
            _ => {
                self.make_key(func, inst, guard);
                self.add_lanes(block, class);
                self.expressions.number(count.max(most_results(data.opcode.op)))
            }
        };
        if value.0 as usize >= before && self.origins.are_kept() {
            for (index, &dst) in (0..).zip(&data.dsts) {
                let maker = Some(inst).filter(|_| guard == 0 && index == 0);
                self.origins.name(Number(value.0 + index), dst, maker);
            }
        }
        Some(Numbered { value, guard, is_eligible: class.is_eligible(self.options.enhanced) && !is_copy })
    }

    /// Notes what an instruction reads that has no key.
    fn note_operands(&mut self, inst: Inst, data: &InstData) {
        if self.origins.is_needed(data) {
            self.origins.begin(inst);
            let mut note = |reg| {
                let number = self.read(reg);
                self.origins.add_operand(number);
            };
            data.args.iter().for_each(|arg| arg.for_each_reg(&mut note));
            self.origins.end(inst);
        }
    }

    fn find_details(&mut self, func: &Function, inst: Inst, load: Option<Load>, is_copy: bool) {
        if !is_copy {
            self.make_key(func, inst, 0);
            self.expressions.add(Head::Work as u32);
            self.details.work = Some(self.expressions.number(1));
        }
        if let Some(load) = load {
            self.details.state = Some(self.refine(func, load, None));
        }
    }

    /// The instruction writes one of its registers, the result with that index. Gives the number that the register then
    /// holds.
    #[inline(always)]
    pub fn write(&mut self, numbered: Numbered, index: u32, reg: Reg) -> Number {
        let mut number = Number(numbered.value.0 + index);
        if numbered.guard != 0 {
            number = self.guarded(number, numbered.guard, reg);
        }
        self.registers.set(reg, number, self.place);
        number
    }

    /// Number of a register that is written under a guard.
    fn guarded(&mut self, number: Number, guard: u32, reg: Reg) -> Number {
        let old = self.read(reg);
        self.expressions.extend([Head::Guarded as u32, number.0, old.0, guard]);
        let number = self.expressions.number(1);
        self.origins.name(number, reg, None);
        number
    }

    // --- values ------------------------------------------------------------------------------------------------

    /// The number of a register that is read.
    #[inline(always)]
    fn read(&mut self, reg: Reg) -> Number {
        match self.registers.get(reg) {
            Some(number) => number,
            None => self.read_first(reg),
        }
    }

    /// Number of a register of which only the value on entry is known.
    #[cold]
    fn read_first(&mut self, reg: Reg) -> Number {
        let number = self.entry(reg);
        if self.registers.joins.definition_count(reg) == 0 {
            self.registers.set_entry(reg, number);
        }
        number
    }

    /// Number of a register with joins on entry.
    fn on_entry(&mut self, reg: Reg) -> Number {
        match self.entries.binary_search_by_key(&reg, |entry| entry.0) {
            Ok(index) => self.entries[index].1,
            Err(_) => self.entry(reg),
        }
    }

    /// A number for what a register holds on entry.
    fn entry(&mut self, reg: Reg) -> Number {
        let number = self.expressions.fresh(1);
        self.origins.name_entry(number, reg);
        number
    }

    /// The number of a join of the open block.
    fn join(&mut self, block: Block, index: usize) -> Option<(Reg, Number)> {
        let (reg, args) = self.registers.join(self.place, index)?;
        // What comes back is not known yet.
        let number = if args.contains(&u32::MAX) || !self.options.is_algebraic {
            self.expressions.fresh(1)
        } else if args.iter().all(|number| *number == args[0]) {
            return Some((reg, Number(args[0])));
        } else {
            self.expressions.extend([Head::Join as u32, block.as_u32()]);
            self.expressions.extend(args.iter().copied());
            self.expressions.number(1)
        };
        self.origins.name(number, reg, None);
        Some((reg, number))
    }

    /// The number of what a `mov` gives on.
    fn copied(&mut self, func: &Function, data: &InstData) -> Option<Number> {
        let ([from], &[dst]) = (data.args.as_slice(), data.dsts.as_slice()) else { return None };
        match from {
            Operand::Reg(_) if !self.options.follows_copies => None,
            Operand::Reg(reg) => {
                let is_whole = func.reg_types[*reg].bits() == func.reg_types[dst].bits();
                is_whole.then(|| self.read(*reg))
            }
            Operand::Const(_) | Operand::Special(_) | Operand::Symbol(_) => {
                let number = self.leaf(from)?;
                self.origins.name_copy_of_leaf(number, dst);
                Some(number)
            }
            _ => None,
        }
    }

    /// The number of an operand that no instruction computes.
    fn leaf(&mut self, operand: &Operand) -> Option<Number> {
        let key = match operand {
            Operand::Const(bits) => {
                let slot = (*bits as usize ^ (*bits >> 16) as usize) % CONSTANTS;
                if let (cached, number) = self.constants[slot]
                    && cached == *bits
                    && number != u32::MAX
                {
                    return Some(Number(number));
                }
                [Head::Constant as u32, *bits as u32, (*bits >> 32) as u32]
            }
            Operand::Special(special) => [Head::Special as u32, special.index(), 0],
            Operand::Symbol(symbol) => {
                let (kind, index) = symbol.words();
                [Head::Symbol as u32, kind, index]
            }
            _ => return None,
        };
        // A key may be half made.
        let next = self.expressions.number_count() as u32;
        self.leaves.extend(key);
        let number = Number(self.leaves.noted(next));
        if number.0 == next {
            self.expressions.fresh(1);
            self.origins.name_leaf(number, operand);
        }
        if let Operand::Const(bits) = operand {
            self.constants[(*bits as usize ^ (*bits >> 16) as usize) % CONSTANTS] = (*bits, number.0);
        }
        Some(number)
    }

    // --- keys --------------------------------------------------------------------------------------------------

    /// Guard and its sense in one word; 0 where there is none.
    fn guard(&mut self, data: &InstData) -> u32 {
        data.guard.map_or(0, |guard| (self.read(guard.reg).0 << 1 | u32::from(guard.negated)) + 1)
    }

    /// Makes the key of an instruction: its opcode's first word and its flags, then its comparison if it has one, then the
    /// operands, then the guard if there is one. Notes what it reads.
    fn make_key(&mut self, func: &Function, inst: Inst, guard: u32) {
        let data = &func.insts[inst];
        let opcode = &data.opcode;
        self.notes_operands = self.origins.is_needed(data);
        if self.notes_operands {
            self.origins.begin(inst);
        }
        let mut operands = data.args.as_slice();
        let mut pair = None;
        let [first, mut compared, flags] = opcode.words();
        if let [left, right, others @ ..] = operands
            && (opcode.op.is_commutative() || opcode.op == Op::Setp)
            && self.options.is_algebraic
            && is_plain(left)
            && is_plain(right)
        {
            let (left, right) = (self.plain(left), self.plain(right));
            if left > right
                && let Some(cmp) = opcode.cmp
            {
                // `a < b` is `b > a`.
                compared = opcode.word_comparing(cmp.swapped());
            }
            (pair, operands) = (Some([left.min(right), left.max(right)]), others);
        }
        let is_plain = compared == Opcode::PLAIN_WORD;
        let marks = if guard == 0 { 0 } else { GUARDED } | if is_plain { 0 } else { COMPARES };
        let mut key = KeyPart::new();
        key.add(first);
        key.add(flags | marks);
        if !is_plain {
            key.add(compared);
        }
        if let Some([left, right]) = pair {
            key.add(left);
            key.add(right);
        }
        operands.iter().for_each(|operand| self.add_operand(func, operand, &mut key));
        self.make_room(&mut key, 2);
        if data.dsts.len() > 1 && opcode.op == Op::Mov {
            // Halves of a register are something else than quarters.
            key.add(data.dsts.len() as u32);
        }
        if guard != 0 {
            key.add(guard);
        }
        self.expressions.take(&mut key);
        if self.notes_operands {
            self.origins.end(inst);
        }
    }

    /// Is there no room in a part of the key for so many words more, it is added to the key.
    #[inline]
    fn make_room(&mut self, key: &mut KeyPart, count: usize) {
        if !key.has_room(count) {
            self.expressions.take(key);
        }
    }

    #[inline]
    fn add_operand(&mut self, func: &Function, operand: &Operand, key: &mut KeyPart) {
        self.make_room(key, 1);
        match operand {
            Operand::NotReg(reg) => {
                let number = self.read_operand(*reg);
                key.add(Tail::Negation.of(number));
            }
            Operand::Address(address) => self.add_address(func, address, key),
            Operand::List(elements) => {
                key.add(Tail::List.of(elements.len() as u32));
                // Lists hold no lists.
                elements.iter().for_each(|element| self.add_operand(func, element, key));
            }
            plain => {
                let word = self.plain(plain);
                key.add(word);
            }
        }
    }

    /// Adds how many terms an address has, what its base is, whether numbers in it take one word or two, how registers
    /// extend to 64 bits, and those registers and numbers.
    fn add_address(&mut self, func: &Function, address: &Address, key: &mut KeyPart) {
        let is_narrow = |number: i64| i32::try_from(number).is_ok();
        let is_wide = !(is_narrow(address.offset) && address.terms.iter().all(|&(_, scale)| is_narrow(scale)));
        let add_number = |number: i64, key: &mut KeyPart| {
            key.add(number as u32);
            if is_wide {
                key.add((number >> 32) as u32);
            }
        };
        self.make_room(key, 6);
        key.add(Tail::Address.of(address.terms.len() as u32));
        let wide = u32::from(is_wide);
        match address.base {
            AddressBase::Reg(reg) => {
                key.add(extension(func, reg) << 3 | wide);
                key.add(self.read_operand(reg));
            }
            AddressBase::Symbol(symbol) => {
                let (kind, index) = symbol.words();
                key.add(kind << 3 | 1 << 1 | wide);
                key.add(index);
            }
            AddressBase::Absolute => key.add(2 << 1 | wide),
        }
        add_number(address.offset, key);
        for &(reg, scale) in &address.terms {
            self.make_room(key, 4);
            key.add(self.read_operand(reg));
            key.add(extension(func, reg));
            add_number(scale, key);
        }
    }

    /// The word of an operand that is a register or a leaf.
    #[inline(always)]
    fn plain(&mut self, operand: &Operand) -> u32 {
        let number = match operand {
            Operand::Reg(reg) => self.read_operand(*reg),
            leaf => self.leaf(leaf).unwrap_or_else(|| self.expressions.fresh(1)).0,
        };
        Tail::Number.of(number)
    }

    /// The number of a register that an operand reads.
    #[inline]
    fn read_operand(&mut self, reg: Reg) -> u32 {
        let number = self.read(reg);
        if self.notes_operands {
            self.origins.add_operand(number);
        }
        number.0
    }

    /// The region in which an operation across lanes stands.
    fn add_lanes(&mut self, block: Block, class: Class) {
        if matches!(class, Class::Convergent | Class::Shuffle) {
            // After a call, or a wait under a guard, there may be fewer lanes.
            let after = if self.losses == 0 { 0 } else { block.as_u32() + 1 };
            self.expressions.extend([self.regions.of(block), after, self.losses]);
        }
    }

    /// The number of a load.
    fn load(&mut self, func: &Function, inst: Inst, load: Option<Load>, guard: u32) -> Number {
        let count = func.insts[inst].dsts.len() as u32;
        let Some(load) = load else {
            // It is the only one, or nothing is known of its address.
            return self.expressions.fresh(count);
        };
        self.make_key(func, inst, guard);
        self.expressions.add(Head::Load as u32);
        let next = self.loads.len() as u32;
        let index = self.expressions.noted(next);
        if index == next {
            let number = self.expressions.fresh(count);
            self.loads.push(Loaded { load, number, is_refined: false });
            return number;
        }
        let Loaded { load: first, number, is_refined } = self.loads[index as usize];
        let surroundings = |state: State| (state.barrier, state.call);
        let is_alike = surroundings(first.state) == surroundings(load.state);
        let state = self.refine(func, load, Some(first.state.memory).filter(|_| is_alike));
        if state == first.state {
            return number;
        }
        // States rise along the walk, and what an address changes is never a later one.
        if !is_refined && is_alike && state.memory < first.state.memory {
            self.loads[index as usize].is_refined = true;
            let state = self.refine(func, first, None);
            self.expressions.extend(load_key(index, state));
            self.expressions.noted(number.0);
        }
        self.expressions.extend(load_key(index, state));
        self.expressions.number(count)
    }

    /// A load of what was just stored is what was stored.
    fn forward(&mut self, func: &Function, data: &InstData) {
        let ([address, value], None) = (data.args.as_slice(), data.guard) else { return };
        let opcode = Opcode { op: Op::Ld, ..data.opcode };
        let is_plain = data.opcode.op == Op::St && data.opcode.flags.is_empty() && data.opcode.vector == 1;
        let Some(load) = self.memory.as_ref().filter(|_| is_plain).and_then(Memory::behind) else { return };
        let (number, value) = match value {
            Operand::Reg(reg) if func.reg_types[*reg].bits() == opcode.ty.bits() => {
                let number = self.read(*reg);
                (number, Some((*reg, number)))
            }
            Operand::Const(_) => match self.leaf(value) {
                Some(number) => (number, None),
                None => return,
            },
            _ => return,
        };
        self.notes_operands = false;
        self.expressions.extend([opcode.words()[0], opcode.words()[2]]);
        let mut key = KeyPart::new();
        self.add_operand(func, address, &mut key);
        self.expressions.take(&mut key);
        self.expressions.add(Head::Load as u32);
        let next = self.loads.len() as u32;
        let index = self.expressions.noted(next);
        let is_repeated = index != next && self.in_memory(func, index) == Some(number);
        if is_repeated {
            self.memory.iter_mut().for_each(Memory::forget_store);
        } else {
            if index == next {
                self.loads.push(Loaded { load, number, is_refined: true });
            }
            self.expressions.extend(load_key(index, load.state));
            self.expressions.noted(number.0);
        }
        self.stored = Some(Stored { address: index, value, is_repeated });
    }

    /// The number that a load in front of the store that was visited last would give, if it has one. `index` is of its opcode
    /// and operands.
    fn in_memory(&mut self, func: &Function, index: u32) -> Option<Number> {
        let load = self.memory.as_ref()?.in_front()?;
        let Loaded { load: first, number, .. } = self.loads[index as usize];
        let state = self.refine(func, load, None);
        if state == first.state {
            return Some(number);
        }
        self.expressions.extend(load_key(index, state));
        self.expressions.find().map(Number)
    }

    /// Takes the value stored by the instruction that was numbered last, if loads may use it.
    pub fn take_stored(&mut self) -> Option<Stored> {
        self.stored.take()
    }

    /// The constant that a number stands for.
    pub fn constant(&self, number: Number) -> Option<u64> {
        self.origins.constant(number)
    }

    /// The state of memory that a load reads, by its address.
    fn refine(&mut self, func: &Function, load: Load, enough: Option<u32>) -> State {
        let names = AffineNames::over(func, &self.origins, Overflow::default()).remembering(&self.sums);
        let alias = AliasAnalysis::over(self.module, func, &self.origins, names);
        self.memory.as_mut().map_or(load.state, |memory| memory.refine(alias, load, enough))
    }
}

/// How many numbers one key of an operation may need: what is written with one result here has another one elsewhere.
fn most_results(op: Op) -> u32 {
    match op {
        Op::Setp | Op::MatchAll | Op::ShflIdx | Op::ShflUp | Op::ShflDown | Op::ShflBfly => 2,
        _ => 1,
    }
}

/// The key of a load by its exact state, where others have the same opcode and operands.
fn load_key(index: u32, state: State) -> [u32; 5] {
    [Head::Load as u32, index, state.memory, state.barrier, state.call]
}

/// Is an operand a register or a leaf?
fn is_plain(operand: &Operand) -> bool {
    !matches!(operand, Operand::NotReg(_) | Operand::Address(_) | Operand::List(_))
}

/// How a register of an address extends to 64 bits: one word for its sign and its width.
fn extension(func: &Function, reg: Reg) -> u32 {
    let ty = func.reg_types[reg];
    ty.bits() << 1 | u32::from(ty.is_signed())
}
