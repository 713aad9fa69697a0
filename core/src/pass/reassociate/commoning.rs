//! Commoning inside a block: what was computed a few instructions before is copied.
//!
//! ```text
//! x = add a, b                 x = add a, b
//! …                      ──▶   …
//! y = add b, a                 y = mov x
//! ```
//!
//! Operands are compared by value numbers, which copies share with what they copy; where the operation is commutative
//! their order does not matter. Only unguarded instructions that are functions of their operands take part. The earlier
//! register must still hold the value, and stand no more than a window of instructions before.
//!
//! The walk meets every register and leaves the block as it stays, so it also finds what the block reads of others and its
//! copies, which the next round asks for.
//!
//! One look-up an instruction among what was [computed](super::computations) within the window.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;

use super::Misses;
use super::block_uses::{BlockReads, BlockUses, Touched};
use super::computations::{Computations, Computed};
use super::sketches::{NONE, Sketch};
use crate::ir::{Block, Function, Inst, InstData, Op, Opcode, Operand, Reg};
use crate::pass::fetch::{TOGETHER, fetch};
use crate::text::instruction_text;
use crate::trace::{Fact, Remark};
use crate::view::View;

/// Kind of an operand of a key: how its first word ends. The following words depend on the kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Value,
    Negation,
    Special,
    Const,
    Symbol,
    /// Operand by its number.
    Other,
}

impl Kind {
    /// Word for a number below [`MOST_VALUES`].
    fn word(self, number: u32) -> u32 {
        number << 3 | self as u32
    }
}

/// Values that have numbers of their own.
const MOST_VALUES: u32 = 1 << 29;

/// Result of commoning in a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    Nothing,
    /// Something that is copied now.
    Repetition,
    /// Something that went away, so that the window reaches further.
    Removable,
}

/// State of one walk.
pub struct Commoning {
    window: u32,
    computations: Computations,
    /// Value of each register, if it is a value of the current block.
    values: Vec<u32>,
    /// The last value of the blocks before, and the last one so far.
    before: u32,
    last_value: u32,
    /// Further findings of the walk over the block.
    reads: BlockReads,
    /// Repetitions that become copies when the walk is over.
    repetitions: Vec<Repetition>,
}

/// An instruction, the register that it writes, and the one that holds already what it computes.
#[derive(Clone, Copy)]
struct Repetition {
    inst: Inst,
    dst: Reg,
    earlier: Reg,
}

impl Commoning {
    /// Before the first block. `window` is for how many instructions a computation is of use; whoever wants to hear why
    /// not has it remembered to the end of its block.
    pub fn new(func: &Function, window: u32, tells_misses: bool) -> Commoning {
        let values = vec![0; func.regs.len()];
        let remembered = if tells_misses { u32::MAX } else { window };
        Commoning {
            window,
            computations: Computations::new(remembered),
            values,
            before: 0,
            last_value: 0,
            reads: BlockReads::default(),
            repetitions: Vec::new(),
        }
    }

    /// Commons what is in a block, as far as `takes_part` lets its instructions by their places, and notes the registers
    /// that this touches. A block from which nothing was taken out gives nothing more when it is visited again.
    pub fn visit(
        &mut self,
        view: &mut View<'_>,
        block: Block,
        takes_part: impl Fn(u32) -> bool,
        (touched, uses): (&mut Touched, &mut BlockUses),
        misses: &mut Misses,
    ) -> Found {
        // Values begin again long before one block could use them up.
        if self.last_value > MOST_VALUES / 2 {
            self.values.fill(0);
            self.last_value = 0;
        }
        self.before = self.last_value;
        self.reads.clear();
        // It has at most as many instructions as when it was looked at.
        self.computations.begin(uses.len());
        self.values.resize(view.func().regs.len(), 0);
        let mut next = view.func().layout.first_inst(block);
        let mut place = 0;
        while let Some(inst) = next {
            next = view.func().layout.next_inst(inst);
            let sketch = *uses.sketch(inst);
            if let Some(earlier) = self.visit_inst(view, block, (inst, &sketch), place, takes_part(place), misses) {
                // What functions touch is all in their sketches, as they were and as they are now, unless they are partial.
                if sketch.is_partial {
                    touched.add_all_of(view.func(), inst);
                }
                let dst = Reg::from_u32(sketch.dst);
                // Its operands have been met before, since what was computed from them has.
                if dst != earlier {
                    self.reads.copies.push((dst, earlier));
                }
                self.repetitions.push(Repetition { inst, dst, earlier });
            }
            place += 1;
        }
        let mut found = Found::Nothing;
        for repetitions in self.repetitions.chunks(TOGETHER) {
            fetch(view.func(), repetitions.iter().map(|repetition| repetition.inst));
            for &repetition in repetitions {
                found = found.max(replace(view, block, repetition));
                uses.renew(view.func(), repetition.inst, touched);
                touched.add(repetition.earlier);
            }
        }
        self.repetitions.clear();
        found
    }

    /// Reads of the block that was visited last, and its copies.
    pub fn reads(&self) -> &BlockReads {
        &self.reads
    }

    /// The register that holds already what an instruction computes, if there is one.
    fn visit_inst(
        &mut self,
        view: &View<'_>,
        block: Block,
        (inst, sketch): (Inst, &Sketch),
        place: u32,
        takes_part: bool,
        misses: &mut Misses,
    ) -> Option<Reg> {
        let func = view.func();
        if sketch.op == Op::Mov && !sketch.is_partial && !sketch.has_more && sketch.other == NONE {
            let (from, dst) = (Reg::from_u32(sketch.operands[0]), Reg::from_u32(sketch.dst));
            self.reads.copies.push((dst, from));
            let is_same = func.reg_types[from] == func.reg_types[dst];
            let value = self.value(from);
            self.write(dst, is_same.then_some(value));
            return None;
        }
        if !takes_part || !sketch.is_function || !self.make_key(func, inst, sketch) {
            if sketch.is_partial {
                self.meet_all(&func.insts[inst]);
            } else {
                self.read_all(sketch.operands);
                if sketch.dst != NONE {
                    self.write(Reg::from_u32(sketch.dst), None);
                }
            }
            return None;
        }
        let dst = Reg::from_u32(sketch.dst);
        let earlier = self.computations.find(place).filter(|found| func.reg_types[found.reg] == func.reg_types[dst]);
        if let Some(Computed { reg, value, place: computed_at }) = earlier {
            let is_overwritten = self.value(reg) != value;
            if !is_overwritten && place - computed_at <= self.window {
                self.computations.keys.give_up();
                self.write(dst, Some(value));
                return Some(reg);
            }
            if view.is_traced() {
                misses.add(block, missed(view, block, inst, reg, is_overwritten));
            }
        }
        let value = self.write(dst, None);
        self.computations.note(Computed { place, reg: dst, value });
        None
    }

    /// Makes the key of what an instruction computes. Gives whether it is a function of its operands.
    fn make_key(&mut self, func: &Function, inst: Inst, sketch: &Sketch) -> bool {
        self.computations.keys.add(sketch.opcode);
        let is_commutative = sketch.op.is_commutative();
        if sketch.has_more {
            return self.add_operands(&func.insts[inst].args, is_commutative);
        }
        let mut other = if sketch.other == NONE { NONE } else { Kind::Other.word(sketch.other) };
        let words = sketch.operands.map(|reg| match reg {
            NONE => core::mem::replace(&mut other, NONE),
            reg => Kind::Value.word(self.value(Reg::from_u32(reg))),
        });
        match words {
            [first, NONE, NONE] => self.computations.keys.add(first),
            [left, right, NONE] if is_commutative => self.computations.keys.extend([left.min(right), left.max(right)]),
            [left, right, NONE] => self.computations.keys.extend([left, right]),
            [left, right, third] if is_commutative => {
                self.computations.keys.extend([left.min(right), left.max(right), third]);
            }
            all => self.computations.keys.extend(all),
        }
        true
    }

    /// Adds operands to the key, the first two in an order of their own if they commute. Gives whether functions have such
    /// operands; if not, the key is given up.
    fn add_operands(&mut self, operands: &[Operand], is_commutative: bool) -> bool {
        let are_added = match operands {
            [left, right, others @ ..] if is_commutative && self.rank(left) > self.rank(right) => {
                let mut in_order = [right, left].into_iter().chain(others);
                in_order.all(|operand| self.add_operand(operand))
            }
            all => all.iter().all(|operand| self.add_operand(operand)),
        };
        if !are_added {
            self.computations.keys.give_up();
        }
        are_added
    }

    /// Rank of an operand of a commutative operation in a key.
    fn rank(&mut self, operand: &Operand) -> (Kind, u64) {
        match *operand {
            Operand::Reg(reg) => (Kind::Value, self.value(reg).into()),
            Operand::NotReg(reg) => (Kind::Negation, self.value(reg).into()),
            Operand::Special(special) => (Kind::Special, special.index().into()),
            Operand::Const(bits) => (Kind::Const, bits),
            Operand::Symbol(symbol) => {
                let (kind, index) = symbol.words();
                (Kind::Symbol, u64::from(kind) << 32 | u64::from(index))
            }
            // Functions have no such operands.
            Operand::Address(_) | Operand::List(_) | Operand::Input(_) => (Kind::Symbol, u64::MAX),
        }
    }

    /// Adds the words of an operand. Gives whether functions have such operands.
    fn add_operand(&mut self, operand: &Operand) -> bool {
        match *operand {
            Operand::Reg(reg) => {
                let value = self.value(reg);
                self.computations.keys.add(Kind::Value.word(value));
            }
            Operand::NotReg(reg) => {
                let value = self.value(reg);
                self.computations.keys.add(Kind::Negation.word(value));
            }
            Operand::Const(bits) => {
                self.computations.keys.extend([Kind::Const.word(0), bits as u32, (bits >> 32) as u32]);
            }
            Operand::Special(special) => self.computations.keys.add(Kind::Special.word(special.index())),
            Operand::Symbol(symbol) => {
                let (kind, index) = symbol.words();
                self.computations.keys.extend([Kind::Symbol.word(kind), index]);
            }
            Operand::Address(_) | Operand::List(_) | Operand::Input(_) => return false,
        }
        true
    }

    /// Value of a register that is read. One that has no value yet has not been met in this block.
    fn value(&mut self, reg: Reg) -> u32 {
        let value = self.values[reg.index()];
        if value > self.before {
            return value;
        }
        self.reads.exposed.push(reg.as_u32());
        self.write(reg, None)
    }

    /// Registers are read, or [`NONE`].
    fn read_all(&mut self, regs: [u32; 3]) {
        regs.into_iter().filter(|&reg| reg != NONE).for_each(|reg| _ = self.value(Reg::from_u32(reg)));
    }

    /// An instruction reads what it reads, and the registers that it writes come to hold new values.
    fn meet_all(&mut self, data: &InstData) {
        data.for_each_use(|reg| _ = self.value(reg));
        for &dst in &data.dsts {
            if data.guard.is_some() {
                // Other lanes keep what came in.
                self.value(dst);
            }
            self.write(dst, None);
        }
    }

    /// The register comes to hold that value, or a new one.
    fn write(&mut self, reg: Reg, value: Option<u32>) -> u32 {
        let value = value.unwrap_or_else(|| {
            self.last_value += 1;
            self.last_value
        });
        self.values[reg.index()] = value;
        value
    }
}

/// Lets an instruction copy a register to the one that it writes, or takes it out where that is the same.
fn replace(view: &mut View<'_>, block: Block, repetition: Repetition) -> Found {
    let Repetition { inst, dst, earlier } = repetition;
    let module = view.module();
    let mut rewrite = view.rewrite(|func| {
        let (text, name) = (instruction_text(module, func, inst), &func.regs[earlier].name);
        Remark::applied("common", block, format!("`{text}`: `{name}` holds that already"))
            .at(inst)
            .with("earlier", Fact::Reg(earlier))
    });
    if dst == earlier {
        rewrite.remove(inst);
        return Found::Removable;
    }
    let opcode = Opcode::mov(rewrite.func().reg_types[dst]);
    rewrite.replace_operation(inst, opcode, [Operand::Reg(earlier)]);
    Found::Repetition
}

fn missed(view: &View<'_>, block: Block, inst: Inst, reg: Reg, is_overwritten: bool) -> Remark {
    let func = view.func();
    let (text, name) = (instruction_text(view.module(), func, inst), &func.regs[reg].name);
    let why = if is_overwritten { "is overwritten since" } else { "is too far before" };
    Remark::missed("common", block, format!("`{text}` stays: `{name}`, which held the same, {why}")).at(inst)
}
