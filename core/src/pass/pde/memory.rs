//! Which memory a load reads that something else may write.
//!
//! ```text
//! kernel k(x: ptr.global restrict, y: ptr.global restrict)
//! a: v = ld.global.f32 x[i]      class 0
//!    st.global.f32 y[i], w       class 1: the load passes it
//!    bar.sync                    everything: no load passes it
//! ```
//!
//! Accesses whose objects and spaces may meet, directly or through others, have one class ([`AliasClasses`]), whatever their
//! offsets are. So classes hold for any two executions, and a load passes what writes memory of another class wherever it
//! stands, in loops also. No load passes calls, what orders memory, or what waits for other threads.
//!
//! What an address is counted from is told from the instructions that make it ([`Bases`]). A register that is written in
//! several places holds the same object everywhere if all these instructions are equal, whatever their guards: that is how
//! the pass leaves what it has moved. When what makes an address moves, and then not all that writes its register is equal to
//! what was, classes are found anew.
//!
//! Linear in the instructions that access memory, as [`AliasClasses`] is.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use super::accesses::Accesses;
use crate::alias::{AliasClasses, Bases, Definitions, Objects, Start};
use crate::ir::{Flags, Function, Inst, InstData, Module, Op, Operand, Reg};
use crate::pass::fetch::{TOGETHER, fetch};

/// The class of what may do anything to any memory.
const EVERYTHING: u32 = u32::MAX;
/// The class of what has not been looked at, or where all is one class.
const UNKNOWN: u32 = u32::MAX - 1;

/// See the file's head.
pub(super) struct Classes {
    of: SecondaryMap<Inst, u32>,
    is_known: bool,
    /// Facts about each register's definitions, where they depend on memory.
    told: SecondaryMap<Reg, Written>,
}

/// Facts about the definitions of a register.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    /// Nobody has asked.
    Unasked,
    Nowhere,
    /// Definitions that are not equal, or whose value is unknown.
    Otherwise,
    /// Definitions like this instruction, which has perhaps been removed.
    Like(Inst),
}

impl Classes {
    /// All memory is of one.
    pub fn unknown() -> Classes {
        Classes {
            of: SecondaryMap::with_default(UNKNOWN),
            is_known: false,
            told: SecondaryMap::with_default(Written::Unasked),
        }
    }

    /// Classes of memory that is never written, or never loaded.
    pub fn none() -> Classes {
        Classes { is_known: true, ..Classes::unknown() }
    }

    /// Classes of instructions that access memory or order it.
    pub fn of(module: &Module, func: &Function, accesses: &Accesses, memory: &[Inst]) -> Classes {
        let mut classes = Classes::none();
        let is_some = |is_wanted: &dyn Fn(&InstData) -> bool| memory.iter().any(|&inst| is_wanted(&func.insts[inst]));
        if !is_some(&is_changing_load) || !is_some(&|data| data.opcode.op.writes_memory()) {
            return classes;
        }
        let objects = Objects { module, func };
        let mut bases = Bases::new(func, Equal::of(func, accesses));
        let mut found: Vec<Inst> = Vec::new();
        let mut keys = Vec::new();
        for (number, &inst) in memory.iter().enumerate() {
            if number % TOGETHER == 0 {
                fetch(func, memory[number..].iter().copied().take(TOGETHER));
            }
            let data = &func.insts[inst];
            let address = data.args.iter().find_map(Operand::as_address).filter(|_| !orders_memory(data));
            let Some(address) = address else {
                classes.of[inst] = EVERYTHING;
                continue;
            };
            let base = bases.of(inst, Start::of(func, address));
            keys.push((data.opcode.space.or_else(|| objects.space(base)), base));
            found.push(inst);
        }
        let (numbers, _) = AliasClasses::of_objects(objects, &keys);
        found.into_iter().zip(numbers).for_each(|(inst, class)| classes.of[inst] = class.as_u32());
        let equal = Equal::of(func, accesses);
        for reg in func.regs.keys().filter(|&reg| bases.has_asked(reg)) {
            classes.told[reg] = equal.written(reg);
        }
        classes
    }

    /// Have they been looked for?
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// Would other classes perhaps be found, now that what writes these registers has moved? Mostly it stands elsewhere, and
    /// all that writes a register is equal as it was.
    pub fn may_differ(&mut self, func: &Function, accesses: &Accesses, moved: impl Iterator<Item = Reg>) -> bool {
        let mut equal = None;
        for reg in moved {
            let told = self.told[reg];
            if told == Written::Unasked {
                continue;
            }
            let equal = equal.get_or_insert_with(|| Equal::of(func, accesses));
            let now = equal.written(reg);
            let is_same = match (told, now) {
                (Written::Like(before), Written::Like(now)) => equal.are_equal(before, now),
                _ => told == now,
            };
            if !is_same {
                return true;
            }
            self.told[reg] = now;
        }
        false
    }

    /// Is the class of an instruction known?
    pub fn has_looked_at(&self, inst: Inst) -> bool {
        self.of[inst] != UNKNOWN
    }

    /// Gives a new instruction the class of its origin.
    pub fn is_like(&mut self, inst: Inst, origin: Inst) {
        if self.of[inst] == UNKNOWN {
            self.of[inst] = self.of[origin];
        }
    }

    /// Do they tell the same instructions apart as others do?
    pub fn are_like(&self, others: &Classes, memory: &[Inst]) -> bool {
        let mut pairs: [BTreeMap<u32, u32>; 2] = Default::default();
        memory.iter().all(|&inst| {
            let [own, other] = [self.of[inst], others.of[inst]];
            *pairs[0].entry(own).or_insert(other) == other && *pairs[1].entry(other).or_insert(own) == own
        })
    }
}

/// An instruction of a block that reads or writes memory, or waits for others.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub place: u32,
    pub inst: Inst,
    /// May memory hold something else behind it?
    pub may_change: bool,
}

/// The first and last places in a block of what may write memory, or waits for others, by class.
#[derive(Clone, Default)]
pub(super) struct Effects(SmallVec<[(u32, u32, u32); 1]>);

impl Effects {
    /// Collects a block's instructions that access memory.
    pub fn of(classes: &Classes, memory: &[Access]) -> Effects {
        let changes = memory.iter().filter(|access| access.may_change);
        let mut all: SmallVec<[(u32, u32); 8]> =
            changes.map(|access| (classes.of[access.inst], access.place)).collect();
        all.sort_unstable();
        let mut effects: SmallVec<[(u32, u32, u32); 1]> = SmallVec::new();
        for (class, place) in all {
            match effects.last_mut() {
                Some((other, _, last)) if *other == class => *last = place,
                _ => effects.push((class, place, place)),
            }
        }
        Effects(effects)
    }

    /// Returns the ones that a load does not pass.
    pub fn on(&self, classes: &Classes, load: Inst) -> Option<(u32, u32)> {
        let everything = self.0.last().filter(|(class, ..)| *class == EVERYTHING);
        let own = self.0.binary_search_by_key(&classes.of[load], |&(class, ..)| class).ok().map(|at| &self.0[at]);
        match (everything, own) {
            (Some(&(_, first, last)), Some(&(_, own_first, own_last))) => {
                Some((first.min(own_first), last.max(own_last)))
            }
            (one, other) => one.or(other).map(|&(_, first, last)| (first, last)),
        }
    }
}

/// A register's definitions that are all equal but for their guards.
struct Equal<'a> {
    func: &'a Function,
    accesses: &'a Accesses,
    /// Registers that hold something in front of every definition.
    params: SmallVec<[Reg; 8]>,
}

impl<'a> Equal<'a> {
    fn of(func: &'a Function, accesses: &'a Accesses) -> Equal<'a> {
        Equal { func, accesses, params: func.params.iter().filter_map(|param| param.reg).collect() }
    }

    /// Do two instructions the same, whatever their guards?
    fn are_equal(&self, inst: Inst, other: Inst) -> bool {
        let [a, b] = [inst, other].map(|inst| &self.func.insts[inst]);
        inst == other || a.opcode == b.opcode && a.dsts == b.dsts && a.args == b.args
    }

    fn written(&self, reg: Reg) -> Written {
        match self.only(reg) {
            Some(inst) => Written::Like(inst),
            None if self.is_written(reg) => Written::Otherwise,
            None => Written::Nowhere,
        }
    }
}

impl Definitions for Equal<'_> {
    fn only(&self, reg: Reg) -> Option<Inst> {
        let mut only: Option<Inst> = None;
        for writer in self.accesses.writers(reg) {
            let inst = self.accesses.touches(writer.node(), reg)?.last_writer;
            if !writer.is_written_once() || only.is_some_and(|other| !self.are_equal(inst, other)) {
                return None;
            }
            only = Some(inst);
        }
        only.filter(|_| !self.params.contains(&reg))
    }

    fn is_written(&self, reg: Reg) -> bool {
        self.accesses.writers(reg).next().is_some()
    }
}

/// A load of memory that may be written while the program runs.
pub(super) fn is_changing_load(data: &InstData) -> bool {
    let is_read_only = data.opcode.has(Flags::NC) || data.opcode.space.is_some_and(|space| space.is_read_only());
    data.opcode.op == Op::Ld && !is_read_only
}

/// May memory hold something else behind it: stores and atomics, calls, and what waits for others' stores?
pub(super) fn may_change_memory(op: Op) -> bool {
    op.writes_memory() || op.is_call() || op.orders_memory()
}

/// Is more than the memory at its address concerned?
fn orders_memory(data: &InstData) -> bool {
    const ORDERS: Flags = Flags::ACQUIRE.union(Flags::RELEASE).union(Flags::ACQ_REL);
    data.opcode.op.is_call() || data.opcode.op.orders_memory() || data.opcode.flags.intersects(ORDERS)
}
