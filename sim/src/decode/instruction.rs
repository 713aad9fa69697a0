//! Decodes an instruction: what it reads and writes, what runs it, and when its result is ready.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;
use smallvec::SmallVec;

use super::builder::Builder;
use super::layout::SymbolAddress;
use super::operands::Frame;
use super::timing::KnownClocks;
use super::{
    DecodedInst, DrawSite, Kind, MoreClocks, NO_MORE, ReadSite, SINK, Step, Timing, UNGUARDED, UNUSED, Value, WorkSite,
    is_wide,
};
use crate::error::{ErrorKind, SimError};
use crate::ir::{ArgKind, Block, Flags, Function, Inst, InstData, Op, Operand, Reg, Space, Type};
use crate::lanes::{self, Plane, Slots};
use crate::machine::OpClass;
use crate::memory::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_SHIFT};
use warpscope_program::compact_sort::CompactSort;

/// Decodes the instructions of one block.
pub(super) struct Decoder<'b, 'a> {
    pub(super) builder: &'b mut Builder<'a>,
    pub(super) index: usize,
    pub(super) body: &'a Function,
    pub(super) frame: &'b mut Frame<'a>,
    pub(super) join: u32,
    pub(super) known: &'b mut KnownClocks,
}

/// Why an instruction cannot be run.
pub(super) type Refusal = &'static str;

impl Decoder<'_, '_> {
    pub(super) fn refuse(&self, block: Block, inst: Inst, reason: &str) -> SimError {
        let data = &self.body.insts[inst];
        let mut error = SimError::new(ErrorKind::Program, reason);
        error.place = Some(Box::new(crate::error::ErrorPlace {
            func: self.frame.func,
            inst,
            block,
            function: self.body.name.clone(),
            label: self.body.blocks[block].name.clone(),
            opcode: data.opcode.to_string(),
            span: self.body.inst_spans[inst],
            thread: None,
            address: None,
        }));
        error
    }

    pub(super) fn inst(&mut self, data: &InstData) -> Result<(DecodedInst, Timing), Refusal> {
        let mut decoded = DecodedInst {
            run: lanes::copy(32),
            held: 0,
            kind: Kind::Pause,
            may_spin: data.opcode.may_spin(),
            guard: UNGUARDED,
            guard_flip: 0,
            slots: Slots::default(),
            side: 0,
        };
        if let Some(guard) = data.guard {
            let Value::Predicate(slot, _) = self.frame.reg(guard.reg) else {
                return Err("the guard is not a predicate");
            };
            decoded.guard = slot;
            decoded.guard_flip = if guard.negated { !0 } else { 0 };
        }
        match data.opcode.op {
            Op::Br | Op::BrIf | Op::Switch | Op::Ret | Op::Exit | Op::Call | Op::CallTo => {
                self.control(data, &mut decoded)?;
            }
            Op::Ld | Op::St | Op::Atom | Op::Red | Op::Tex1d | Op::Tex2d => self.access(data, &mut decoded)?,
            Op::Membar => decoded.kind = Kind::Pause,
            Op::Nanosleep => decoded.kind = Kind::Yield,
            Op::Ptx => return Err("the simulator does not support this PTX instruction"),
            Op::Trap => decoded.kind = Kind::Trap,
            Op::Read => self.read(data, &mut decoded)?,
            op if op.is_convergent() => self.warp(data, &mut decoded)?,
            Op::In => self.draw(data, &mut decoded)?,
            Op::Work => self.work(data, &mut decoded)?,
            Op::Mov if data.dsts.len() > 1 || matches!(data.args.first(), Some(Operand::List(_))) => {
                self.packing(data, &mut decoded)?;
            }
            _ => self.lanes(data, &mut decoded)?,
        }
        let timing = self.timing(data, decoded.kind)?;
        Ok((decoded, timing))
    }

    fn timing(&mut self, data: &InstData, kind: Kind) -> Result<Timing, Refusal> {
        let cost = self.builder.machine.cost(OpClass::of(data.opcode));
        let (mut issue, mut latency) = (cost.issue.value, cost.latency.value);
        if data.opcode.op == Op::Work {
            // The verifier has seen that it is not too long.
            issue = data.args.first().and_then(Operand::as_const).map_or(0, |cycles| cycles.min(u64::MAX >> 32) as u32);
            latency = issue.max(1);
        }
        let mut waits: SmallVec<[u32; 8]> = SmallVec::new();
        data.for_each_use(|reg| waits.push(self.frame.clock(reg)));
        let done: SmallVec<[u32; 4]> = data.dsts.iter().map(|&reg| self.frame.clock(reg)).collect();
        waits.extend_from_slice(&done);
        waits.compact_sort();
        waits.dedup();
        waits.retain(|clock| !self.known.is_past(*clock));
        let mut timing = Timing {
            waits: [super::READY; 2],
            done: done.first().copied().unwrap_or(UNUSED),
            more: NO_MORE,
            // Even no work takes the cycle of its issue.
            issue: u16::try_from(issue.max(1)).map_err(|_| "the instruction takes too many cycles")?,
            latency: u16::try_from(latency).map_err(|_| "the instruction takes too many cycles")?,
            kind,
        };
        for (wait, &clock) in timing.waits.iter_mut().zip(&waits) {
            *wait = clock;
        }
        if waits.len() > timing.waits.len() || done.len() > 1 {
            let more = &mut self.builder.program.more_clocks;
            timing.more = more.len() as u32;
            more.push(MoreClocks {
                waits: waits.iter().copied().skip(timing.waits.len()).collect(),
                done: done.iter().copied().skip(1).collect(),
            });
        }
        let takes_what_it_says = matches!(kind, Kind::Lanes | Kind::Steps | Kind::Warp | Kind::Draw | Kind::Work);
        self.known.issue(&waits, &done, timing.issue, takes_what_it_says.then_some(timing.latency));
        Ok(timing)
    }

    // --- operands ------------------------------------------------------------------------------------------------

    /// An operand as a value of a type; registers keep their own width.
    pub(super) fn value(&mut self, operand: &Operand, ty: Type) -> Result<Value, Refusal> {
        let wide = is_wide(ty);
        Ok(match operand {
            Operand::Reg(reg) => self.frame.reg(*reg),
            Operand::NotReg(reg) => match self.frame.reg(*reg) {
                Value::Predicate(slot, flip) => Value::Predicate(slot, !flip),
                _ => return Err("only a predicate can be negated"),
            },
            Operand::Const(bits) if ty == Type::Pred => {
                Value::Predicate(if *bits & 1 == 1 { super::TRUE } else { super::FALSE }, 0)
            }
            Operand::Const(bits) => self.fixed(*bits, wide),
            Operand::Special(special) => {
                if wide {
                    return Err("a special register has 32 bits");
                }
                Value::Word(self.frame.special(*special))
            }
            Operand::Symbol(symbol) => match self.builder.symbols.address(self.frame.func, self.body, *symbol) {
                Some(SymbolAddress::Fixed(address)) => self.fixed(address, wide),
                Some(SymbolAddress::Local(offset)) => {
                    let slot = self.frame.local(offset, wide);
                    if wide { Value::Wide(slot) } else { Value::Word(slot) }
                }
                None => return Err("the symbol is not declared"),
            },
            Operand::Address(_) | Operand::List(_) | Operand::Input(_) => return Err("a value was expected here"),
        })
    }

    fn fixed(&mut self, bits: u64, wide: bool) -> Value {
        let bits = if wide { bits } else { bits & 0xFFFF_FFFF };
        let planes = &mut self.builder.program.constants;
        let slot = *self.builder.constants.entry((bits, wide)).or_insert_with(|| {
            let slot = planes.len() as u32;
            let (low, high) = (bits as u32, (bits >> 32) as u32);
            if wide {
                let plane = Plane(core::array::from_fn(|k| if k % 2 == 0 { low } else { high }));
                planes.extend([plane, plane]);
            } else {
                planes.push(Plane([low; 32]));
            }
            slot | super::SHARED
        });
        if wide { Value::Wide(slot) } else { Value::Word(slot) }
    }

    /// A destination of exactly the width of a type.
    pub(super) fn dst(&mut self, reg: Reg, ty: Type) -> Result<Value, Refusal> {
        let value = self.frame.reg(reg);
        let fits = match value {
            Value::Predicate(..) => ty == Type::Pred,
            Value::Wide(_) => is_wide(ty),
            Value::Word(_) => !is_wide(ty) && ty != Type::Pred,
        };
        if fits { Ok(value) } else { Err("the destination has another width") }
    }

    // --- computations --------------------------------------------------------------------------------------------

    fn lanes(&mut self, data: &InstData, decoded: &mut DecodedInst) -> Result<(), Refusal> {
        let opcode = data.opcode;
        let signature = opcode.signature();
        let by_constant = data.args.get(1).and_then(Operand::as_const).zip(lanes::shift_by_modifier(opcode));
        let (run, modifier) = by_constant
            .map(|(amount, run)| (run, amount as u32))
            .or_else(|| lanes::select(opcode))
            .ok_or("the simulator has no such operation")?;
        let mut slots = Slots { e: SINK, modifier, ..Slots::default() };
        let (mut before, mut after): (Vec<Step>, Vec<Step>) = (Vec::new(), Vec::new());
        let mut position = 0;
        for (index, operand) in data.args.iter().enumerate() {
            let kind = signature.arg(index).ok_or("too many operands")?;
            let (ty, may_be_wider) = match kind {
                ArgKind::Value(ty) => (ty, false),
                ArgKind::LowBits(ty) => (ty, true),
                ArgKind::Predicate => (Type::Pred, false),
                _ => return Err("the simulator has no such operation"),
            };
            let mut slot = match self.value(operand, ty)? {
                Value::Predicate(slot, flip) if kind == ArgKind::Predicate => {
                    (slots.f, slots.flip) = (slot, flip);
                    continue;
                }
                Value::Predicate(slot, 0) if ty == Type::Pred => slot,
                Value::Word(slot) if !is_wide(ty) && ty != Type::Pred => slot,
                Value::Wide(slot) if is_wide(ty) => slot,
                Value::Wide(slot) if may_be_wider => {
                    let scratch = self.frame.scratch(position);
                    before.push(Step { run: lanes::narrow(), slots: one(slot, scratch) });
                    scratch
                }
                _ => return Err("an operand has another width"),
            };
            // `cvt` flushes by itself.
            if opcode.has(Flags::FTZ)
                && opcode.op != Op::Cvt
                && let Some(flush) = lanes::flush(ty)
            {
                let scratch = self.frame.scratch(position);
                before.push(Step { run: flush, slots: one(slot, scratch) });
                slot = scratch;
            }
            match position {
                0 => slots.a = slot,
                1 => slots.b = slot,
                2 => slots.c = slot,
                _ => slots.f = slot,
            }
            position += 1;
        }
        if opcode.op == Op::Isspacep {
            let number = match opcode.space {
                Some(Space::Shared) => SHARED_WINDOW >> WINDOW_SHIFT,
                Some(Space::Local) => LOCAL_WINDOW >> WINDOW_SHIFT,
                Some(Space::Param) => PARAM_WINDOW >> WINDOW_SHIFT,
                _ => {
                    let globals = self.builder.module.globals.values();
                    globals.filter(|global| global.space == Space::Const).count() as u64
                }
            };
            slots.b = raw_slot(self.fixed(number, true));
        }
        if data.args.len() < signature.required_args {
            return Err("an operand is missing");
        }
        let reg = data.dst().ok_or("the destination is missing")?;
        if opcode.op == Op::Setp && (opcode.combine.is_some() || data.dsts.len() > 1) {
            let scratch = self.frame.scratch_predicate();
            let combined = Slots {
                d: self.predicate(reg)?,
                e: data.dsts.get(1).map_or(Ok(SINK), |&reg| self.predicate(reg))?,
                a: scratch,
                ..slots
            };
            slots.d = scratch;
            after.push(Step { run: lanes::combine(opcode.combine), slots: combined });
        } else {
            if let Some(&carry) = data.dsts.get(1) {
                slots.e = self.predicate(carry)?;
            }
            self.result(data, reg, &mut slots, &mut after)?;
        }
        if before.is_empty() && after.is_empty() {
            (decoded.kind, decoded.run, decoded.slots) = (Kind::Lanes, run, slots);
        } else {
            before.push(Step { run, slots });
            before.append(&mut after);
            self.steps(before, decoded);
        }
        Ok(())
    }

    /// The first destination of a computation, and the steps that bring the result into it.
    fn result(&mut self, data: &InstData, reg: Reg, slots: &mut Slots, after: &mut Vec<Step>) -> Result<(), Refusal> {
        let opcode = data.opcode;
        let kind = opcode.signature().dsts[0];
        slots.d = match self.frame.reg(reg) {
            Value::Predicate(slot, _) if kind.ty == Type::Pred => slot,
            Value::Word(slot) if !is_wide(kind.ty) && kind.ty != Type::Pred => slot,
            Value::Wide(slot) if is_wide(kind.ty) => slot,
            Value::Wide(slot) if kind.may_be_wider => {
                let scratch = self.frame.scratch(3);
                after.push(Step { run: lanes::extend(kind.ty), slots: one(scratch, slot) });
                slots.d = scratch;
                return Ok(());
            }
            _ => return Err("the destination has another width"),
        };
        let in_place = one(slots.d, slots.d);
        if kind.ty.is_float() && opcode.op != Op::Cvt {
            if opcode.has(Flags::FTZ)
                && let Some(run) = lanes::flush(kind.ty)
            {
                after.push(Step { run, slots: in_place });
            }
            if opcode.has(Flags::SAT)
                && let Some(run) = lanes::saturate(kind.ty)
            {
                after.push(Step { run, slots: in_place });
            }
        }
        Ok(())
    }

    pub(super) fn predicate(&mut self, reg: Reg) -> Result<u32, Refusal> {
        match self.frame.reg(reg) {
            Value::Predicate(slot, _) => Ok(slot),
            _ => Err("the destination is not a predicate"),
        }
    }

    fn steps(&mut self, steps: Vec<Step>, decoded: &mut DecodedInst) {
        decoded.kind = Kind::Steps;
        decoded.side = self.builder.program.steps.len() as u32;
        self.builder.program.steps.push(Box::from(steps));
    }

    /// `mov` with a brace list on one side.
    fn packing(&mut self, data: &InstData, decoded: &mut DecodedInst) -> Result<(), Refusal> {
        let whole = data.opcode.ty;
        let mut steps = Vec::new();
        if let Some(Operand::List(parts)) = data.args.first() {
            let part = part_type(data, parts.len())?;
            let reg = data.dst().ok_or("the destination is missing")?;
            let d = raw_slot(self.dst(reg, whole)?);
            for (k, operand) in parts.iter().enumerate() {
                let a = raw_slot(self.value(operand, part)?);
                let slots = Slots { modifier: k as u32 * part.bits(), ..one(a, d) };
                steps.push(Step { run: lanes::pack(whole, part), slots });
            }
        } else {
            let part = part_type(data, data.dsts.len())?;
            let operand = data.args.first().ok_or("an operand is missing")?;
            let mut a = raw_slot(self.value(operand, whole)?);
            if !is_wide(whole) && data.dsts.iter().any(|&reg| raw_slot(self.frame.reg(reg)) == a) {
                let scratch = self.frame.scratch(0);
                steps.push(Step { run: lanes::copy(32), slots: one(a, scratch) });
                a = scratch;
            }
            for (k, &reg) in data.dsts.iter().enumerate() {
                let d = raw_slot(self.dst(reg, part)?);
                let slots = Slots { modifier: k as u32 * part.bits(), ..one(a, d) };
                steps.push(Step { run: lanes::unpack(whole, part), slots });
            }
        }
        self.steps(steps, decoded);
        Ok(())
    }

    fn draw(&mut self, data: &InstData, decoded: &mut DecodedInst) -> Result<(), Refusal> {
        let Some(Operand::Input(input)) = data.args.first() else { return Err("the input is missing") };
        let declared = &self.body.inputs[*input];
        let reg = data.dst().ok_or("the destination is missing")?;
        let dst = self.dst(reg, declared.ty)?;
        decoded.kind = Kind::Draw;
        decoded.side = self.builder.program.draws.len() as u32;
        let counter = self.builder.counter(self.index, declared);
        self.builder.program.draws.push(DrawSite {
            name: declared.name.clone(),
            ty: declared.ty,
            uniform: declared.uniform,
            counter,
            dst,
            values: None,
        });
        Ok(())
    }

    fn read(&mut self, data: &InstData, decoded: &mut DecodedInst) -> Result<(), Refusal> {
        let Some(Operand::Special(special)) = data.args.first() else { return Err("the special register is missing") };
        let reg = data.dst().ok_or("the destination is missing")?;
        let dst = self.dst(reg, data.opcode.ty)?;
        decoded.kind = Kind::Read;
        decoded.side = self.builder.program.reads.len() as u32;
        self.builder.program.reads.push(ReadSite { special: *special, dst });
        Ok(())
    }

    fn work(&mut self, data: &InstData, decoded: &mut DecodedInst) -> Result<(), Refusal> {
        data.args.first().and_then(Operand::as_const).ok_or("`work` takes a constant number of cycles")?;
        let ty = data.opcode.ty;
        let reg = data.dst().ok_or("the destination is missing")?;
        let dst = self.dst(reg, ty)?;
        let operands = data.args.iter().skip(1).map(|operand| self.value(operand, ty)).collect::<Result<_, _>>()?;
        decoded.kind = Kind::Work;
        decoded.side = self.builder.program.works.len() as u32;
        self.builder.program.works.push(WorkSite { ty, dst, operands });
        Ok(())
    }
}

/// Slots of an operation with one operand.
fn one(a: u32, d: u32) -> Slots {
    Slots { a, d, e: SINK, ..Slots::default() }
}

fn raw_slot(value: Value) -> u32 {
    match value {
        Value::Word(slot) | Value::Wide(slot) | Value::Predicate(slot, _) => slot,
    }
}

/// The type of the parts of a packing `mov`.
fn part_type(data: &InstData, parts: usize) -> Result<Type, Refusal> {
    let bits = data.opcode.ty.bits() / (parts.max(1) as u32);
    let fits = matches!(parts, 2 | 4) && data.opcode.packing_signature(parts, true).is_some();
    Type::B8.with_bits(bits).filter(|_| fits).ok_or("the parts do not add up to the whole")
}
