//! The decoder: lays out frames, shared and local arrays, and decodes instruction by instruction.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use smallvec::SmallVec;

use super::operands::Frame;
use super::timing::KnownClocks;
use super::{
    Access, AccessKind, AccessValue, Base, CALL_DEPTH_LIMIT, CallSite, DecodedFunc, DecodedInst, DrawSite, Extension,
    FuncNames, INST_LIMIT, Index, Kind, LOCAL_LIMIT, Location, MoreClocks, NO_MORE, Program, RetSite, SINK, Step,
    SwitchSite, Timing, UNGUARDED, UNUSED, Value, WarpSite, WorkSite, is_wide,
};
use crate::graph::{Cfg, PostDominators};
use crate::ir::{
    Address, AddressBase, ArgKind, Array, Block, Flags, Func, Function, Global, InputData, Inst, InstData, Module, Op,
    Operand, ParamType, Reg, Space, Symbol, Type,
};
use crate::machine::{Machine, OpClass};
use crate::sim::error::{ErrorKind, SimError};
use crate::sim::lanes::{self, Plane, Slots};
use crate::sim::memory::{PARAM_WINDOW, SHARED_WINDOW, region_address};
use crate::sim::reconvergence::NOWHERE;

/// Decodes a kernel and everything that it may call.
pub(super) fn build(module: &Module, kernel: Func, machine: Machine) -> Result<Program, SimError> {
    let funcs = reachable_functions(module, kernel);
    let total: usize = funcs.iter().map(|&func| module.funcs[func].inst_count()).sum();
    if total > INST_LIMIT {
        let message = format!("a program has at most {INST_LIMIT} instructions, not {total}");
        return Err(SimError::new(ErrorKind::Limit, message));
    }
    let mut builder = Builder::new(module, machine, &funcs)?;
    for index in 0..funcs.len() {
        builder.function(index)?;
    }
    builder.program.local_bytes = local_bytes(module, kernel, &funcs)?;
    Ok(builder.program)
}

/// The kernel, then every function that a call may reach, in the order of discovery.
fn reachable_functions(module: &Module, kernel: Func) -> Vec<Func> {
    let mut funcs = vec![kernel];
    let mut next = 0;
    while let Some(&func) = funcs.get(next) {
        next += 1;
        let body = &module.funcs[func];
        for inst in body.block_order().flat_map(|block| body.block_insts(block)) {
            if let Some(callee) = body.insts[inst].callee
                && !funcs.contains(&callee.func)
                && module.funcs.is_valid(callee.func)
            {
                funcs.push(callee.func);
            }
        }
    }
    funcs
}

/// Local memory of the deepest chain of calls; of the deepest allowed where the program recurses.
fn local_bytes(module: &Module, kernel: Func, funcs: &[Func]) -> Result<u32, SimError> {
    let own = |func: Func| array_offsets(&module.funcs[func], Space::Local).1;
    let callees: u64 = if funcs.len() == 1 {
        0
    } else {
        // Without following the call graph: no chain is deeper than the limit, or than there are functions.
        let deepest = funcs[1..].iter().map(|&func| u64::from(own(func))).max().unwrap_or(0);
        deepest * u64::from(CALL_DEPTH_LIMIT)
    };
    let bytes = (u64::from(own(kernel)) + callees).next_multiple_of(4);
    if u64::from(own(kernel)) > u64::from(LOCAL_LIMIT) {
        let message = format!("a thread has at most {LOCAL_LIMIT} bytes of local memory, not {bytes}");
        return Err(SimError::new(ErrorKind::Limit, message));
    }
    Ok(bytes.min(u64::from(LOCAL_LIMIT)) as u32)
}

/// Offsets of a function's arrays of one space, aligned to 16 bytes, and the bytes of all that have a size. Arrays
/// without one come after these, on top of each other.
fn array_offsets(func: &Function, space: Space) -> (BTreeMap<Array, u32>, u32) {
    let mut offsets = BTreeMap::new();
    let mut end = 0u64;
    let sized = |len: &Option<u32>| len.is_some();
    for (array, data) in func.arrays.iter().filter(|(_, data)| data.space == space && sized(&data.len)) {
        offsets.insert(array, end.min(u64::from(u32::MAX)) as u32);
        end = (end + u64::from(data.len.unwrap_or(0)) * u64::from(data.ty.bytes())).next_multiple_of(16);
    }
    let end = end.min(u64::from(u32::MAX)) as u32;
    for (array, _) in func.arrays.iter().filter(|(_, data)| data.space == space && !sized(&data.len)) {
        offsets.insert(array, end);
    }
    (offsets, end)
}

/// Where every piece of memory with a name lies.
pub(super) struct Symbols {
    globals: BTreeMap<Global, u64>,
    /// By function and array: the offset in the shared or local window.
    arrays: BTreeMap<(Func, Array), u32>,
    params: Vec<u32>,
}

impl Symbols {
    /// The address of a symbol; for a local array, the offset in its function's local memory.
    pub(super) fn address(&self, func: Func, body: &Function, symbol: Symbol) -> Option<SymbolAddress> {
        Some(match symbol {
            Symbol::Global(global) => SymbolAddress::Fixed(*self.globals.get(&global)?),
            Symbol::Param(index) => SymbolAddress::Fixed(PARAM_WINDOW + u64::from(*self.params.get(index as usize)?)),
            Symbol::Array(array) => {
                let offset = *self.arrays.get(&(func, array))?;
                if body.arrays[array].space == Space::Local {
                    SymbolAddress::Local(offset)
                } else {
                    SymbolAddress::Fixed(SHARED_WINDOW + u64::from(offset))
                }
            }
        })
    }
}

/// Where a symbol lies.
pub(super) enum SymbolAddress {
    /// The same for every frame.
    Fixed(u64),
    /// An offset from the frame's local base.
    Local(u32),
}

struct Builder<'a> {
    module: &'a Module,
    machine: Machine,
    funcs: &'a [Func],
    symbols: Symbols,
    /// By function: the pc of each block.
    block_pcs: Vec<BTreeMap<Block, u32>>,
    /// By bits and whether they are 64: the slot.
    constants: BTreeMap<(u64, bool), u32>,
    /// By input, and by function where it is uniform: the counter of its draws.
    counters: BTreeMap<(String, Option<usize>), u32>,
    program: Program,
}

impl<'a> Builder<'a> {
    fn new(module: &'a Module, machine: Machine, funcs: &'a [Func]) -> Result<Builder<'a>, SimError> {
        let mut arrays = BTreeMap::new();
        let (mut shared_end, mut has_extern) = (0u32, false);
        for &func in funcs {
            let body = &module.funcs[func];
            let (shared, bytes) = array_offsets(body, Space::Shared);
            for (array, offset) in shared {
                if body.arrays[array].len.is_some() {
                    arrays.insert((func, array), shared_end.saturating_add(offset));
                }
            }
            shared_end = shared_end.saturating_add(bytes);
            arrays.extend(array_offsets(body, Space::Local).0.into_iter().map(|(array, o)| ((func, array), o)));
        }
        for &func in funcs {
            for (array, data) in &module.funcs[func].arrays {
                if data.space == Space::Shared && data.len.is_none() {
                    arrays.insert((func, array), shared_end);
                    has_extern = true;
                }
            }
        }
        if shared_end > machine.limits().shared_bytes {
            let most = machine.limits().shared_bytes;
            let message =
                format!("a block has at most {most} bytes of shared memory on this machine, not {shared_end}");
            return Err(SimError::new(ErrorKind::Limit, message));
        }
        let (mut params, mut param_bytes) = (Vec::new(), 0u32);
        for param in &module.funcs[funcs[0]].params {
            params.push(param_bytes);
            if let ParamType::Array(ty, len) = param.ty {
                param_bytes = param_bytes.saturating_add(len.saturating_mul(ty.bytes()).next_multiple_of(16));
            }
        }
        if param_bytes > 1 << 16 {
            let message = format!("a kernel takes at most 65536 bytes of parameters, not {param_bytes}");
            return Err(SimError::new(ErrorKind::Limit, message));
        }
        let globals = module.globals.keys().enumerate().map(|(k, global)| (global, region_address(k))).collect();
        let (mut block_pcs, mut pc) = (Vec::new(), 0);
        for &func in funcs {
            let body = &module.funcs[func];
            let mut pcs = BTreeMap::new();
            for block in body.block_order() {
                pcs.insert(block, pc);
                pc += body.block_insts(block).count() as u32;
            }
            block_pcs.push(pcs);
        }
        Ok(Builder {
            module,
            machine,
            funcs,
            symbols: Symbols { globals, arrays, params: params.clone() },
            block_pcs,
            constants: BTreeMap::new(),
            counters: BTreeMap::new(),
            program: Program {
                insts: Vec::new(),
                locations: Vec::new(),
                funcs: Vec::new(),
                constants: Vec::new(),
                timings: Vec::new(),
                calm: Vec::new(),
                leaves_at: Vec::new(),
                more_clocks: Vec::new(),
                steps: Vec::new(),
                accesses: Vec::new(),
                warp_sites: Vec::new(),
                draws: Vec::new(),
                works: Vec::new(),
                switches: Vec::new(),
                calls: Vec::new(),
                rets: Vec::new(),
                shared_bytes: shared_end,
                has_extern_shared: has_extern,
                param_bytes,
                param_offsets: params,
                counters: 0,
                local_bytes: 0,
                names: Vec::new(),
            },
        })
    }

    fn function(&mut self, index: usize) -> Result<(), SimError> {
        let func = self.funcs[index];
        let body = &self.module.funcs[func];
        let error = |message: &str| SimError::new(ErrorKind::Program, format!("`{}` {message}", body.name));
        let entry_pcs: Option<Vec<u32>> =
            body.entry_blocks().iter().map(|block| self.block_pcs[index].get(block).copied()).collect();
        let entries = entry_pcs.filter(|entries| !entries.is_empty()).ok_or_else(|| error("has no block"))?;
        if let Some(block) = body.block_order().find(|&block| body.terminator(block).is_none()) {
            return Err(error(&format!("has no terminator in block `{}`", body.blocks[block].name)));
        }
        let mut frame = Frame::new(func, body);
        let params =
            frame.params(index == 0).ok_or_else(|| error("takes an array by value, which only a kernel can"))?;
        let post_dominators = PostDominators::compute(&Cfg::compute(body));
        let mut names = FuncNames { func, name: body.name.clone(), blocks: Vec::new(), insts: Vec::new() };
        for block in body.block_order() {
            names.blocks.push((block, body.blocks[block].name.clone()));
            let join = post_dominators
                .immediate_post_dominator(block)
                .and_then(|join| self.block_pcs[index].get(&join).copied())
                .unwrap_or(NOWHERE);
            let mut known = KnownClocks::default();
            for inst in body.block_insts(block) {
                let data = &body.insts[inst];
                names.insts.push((inst, data.opcode.to_string(), body.inst_spans[inst]));
                let class = OpClass::of(data.opcode);
                self.program.locations.push(Location { func, block, inst, class, space: data.opcode.space });
                let mut decoder = Decoder { builder: self, index, body, frame: &mut frame, join, known: &mut known };
                let (decoded, timing) = decoder.inst(data).map_err(|reason| decoder.refuse(block, inst, reason))?;
                self.program.insts.push(decoded);
                self.program.timings.push(timing);
            }
        }
        names.insts.sort_by_key(|(inst, ..)| *inst);
        self.program.names.push(names);
        let local_bytes = array_offsets(body, Space::Local).1;
        self.program.funcs.push(DecodedFunc {
            func,
            entries,
            regs: body.regs.keys().map(|reg| frame.reg(reg)).collect(),
            planes: frame.plane_count(),
            predicates: frame.predicate_count(),
            clocks: frame.clock_count(),
            initial: frame.initial().to_vec(),
            local_bytes,
            params,
        });
        Ok(())
    }

    /// The counter of an input's draws. Functions that declare an input of one name draw from one sequence, as a launch
    /// gives it one line. A uniform one has a sequence in each function: what is uniform in a kernel must stay so whatever
    /// some of its lanes draw in a function that they call.
    fn counter(&mut self, index: usize, input: &InputData) -> u32 {
        let key = (input.name.clone(), input.uniform.then_some(index));
        *self.counters.entry(key).or_insert_with(|| {
            self.program.counters += 1;
            self.program.counters - 1
        })
    }
}

/// Decodes the instructions of one block.
struct Decoder<'b, 'a> {
    builder: &'b mut Builder<'a>,
    index: usize,
    body: &'a Function,
    frame: &'b mut Frame<'a>,
    join: u32,
    known: &'b mut KnownClocks,
}

type Refusal = &'static str;

impl Decoder<'_, '_> {
    fn refuse(&self, block: Block, inst: Inst, reason: &str) -> SimError {
        let data = &self.body.insts[inst];
        let mut error = SimError::new(ErrorKind::Program, reason);
        error.place = Some(Box::new(crate::sim::error::ErrorPlace {
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

    fn inst(&mut self, data: &InstData) -> Result<(DecodedInst, Timing), Refusal> {
        let mut decoded = DecodedInst {
            run: lanes::copy(32),
            kind: Kind::Pause,
            guard: UNGUARDED,
            guard_flip: 0,
            slots: Slots::default(),
            side: 0,
        };
        if let Some(guard) = data.guard {
            let Value::Predicate(slot, _) = self.frame.reg(guard.reg) else { return Err("the guard is no predicate") };
            decoded.guard = slot;
            decoded.guard_flip = if guard.negated { !0 } else { 0 };
        }
        match data.opcode.op {
            Op::Br | Op::BrIf | Op::Switch | Op::Ret | Op::Exit | Op::Call | Op::CallTo => {
                self.control(data, &mut decoded)?;
            }
            Op::Ld | Op::St | Op::Atom | Op::Red | Op::Tex2d => self.access(data, &mut decoded)?,
            Op::BarSync
            | Op::VoteAll
            | Op::VoteAny
            | Op::VoteUni
            | Op::VoteBallot
            | Op::ShflIdx
            | Op::ShflUp
            | Op::ShflDown
            | Op::ShflBfly
            | Op::MatchAny
            | Op::MatchAll
            | Op::Activemask => self.warp(data, &mut decoded)?,
            Op::BarWarp | Op::Membar => decoded.kind = Kind::Pause,
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
        waits.sort_unstable();
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
    fn value(&mut self, operand: &Operand, ty: Type) -> Result<Value, Refusal> {
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
    fn dst(&mut self, reg: Reg, ty: Type) -> Result<Value, Refusal> {
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
        let (run, modifier) = lanes::select(opcode).ok_or("the simulator has no such operation")?;
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
        if let Some(run) = self.frame.canonical_type(reg, kind.ty).and_then(lanes::canonicalize) {
            after.push(Step { run, slots: in_place });
        }
        Ok(())
    }

    fn predicate(&mut self, reg: Reg) -> Result<u32, Refusal> {
        match self.frame.reg(reg) {
            Value::Predicate(slot, _) => Ok(slot),
            _ => Err("the destination is no predicate"),
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
            if let Some(run) = self.frame.canonical_type(reg, whole).and_then(lanes::canonicalize) {
                steps.push(Step { run, slots: one(d, d) });
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
                if let Some(run) = self.frame.canonical_type(reg, part).and_then(lanes::canonicalize) {
                    steps.push(Step { run, slots: one(d, d) });
                }
            }
        }
        self.steps(steps, decoded);
        Ok(())
    }

    // --- control -------------------------------------------------------------------------------------------------

    fn target(&self, block: Block) -> Result<u32, Refusal> {
        self.builder.block_pcs[self.index].get(&block).copied().ok_or("the target is no block of the function")
    }

    fn targets(&self, data: &InstData) -> Result<Vec<u32>, Refusal> {
        data.targets.iter().map(|&block| self.target(block)).collect()
    }

    fn control(&mut self, data: &InstData, decoded: &mut DecodedInst) -> Result<(), Refusal> {
        let targets = self.targets(data)?;
        match data.opcode.op {
            Op::Br => {
                decoded.kind = Kind::Branch;
                decoded.slots.a = *targets.first().ok_or("the target is missing")?;
            }
            Op::BrIf => {
                let [on_true, on_false] = targets[..] else { return Err("a conditional branch has two targets") };
                let condition = data.args.first().ok_or("the condition is missing")?;
                let Value::Predicate(f, flip) = self.value(condition, Type::Pred)? else {
                    return Err("the condition is no predicate");
                };
                decoded.kind = Kind::BranchIf;
                decoded.slots = Slots { a: on_true, b: on_false, c: self.join, f, flip, ..Slots::default() };
            }
            Op::Switch => {
                let selector = data.args.first().ok_or("the selector is missing")?;
                let Value::Word(selector) = self.value(selector, Type::U32)? else {
                    return Err("the selector has 32 bits");
                };
                if targets.is_empty() {
                    return Err("the targets are missing");
                }
                decoded.kind = Kind::Switch;
                decoded.side = self.builder.program.switches.len() as u32;
                self.builder.program.switches.push(SwitchSite { selector, targets, join: self.join });
            }
            Op::Ret => {
                let ty = self.body.returns.unwrap_or(Type::B32);
                let value = data.args.first().map(|operand| self.value(operand, ty)).transpose()?;
                decoded.kind = Kind::Ret;
                decoded.side = self.builder.program.rets.len() as u32;
                self.builder.program.rets.push(RetSite { value, exit: data.exit });
            }
            Op::Exit => decoded.kind = Kind::Exit,
            _ => self.call(data, targets, decoded)?,
        }
        Ok(())
    }

    fn call(&mut self, data: &InstData, targets: Vec<u32>, decoded: &mut DecodedInst) -> Result<(), Refusal> {
        let callee = data.callee.ok_or("the callee is missing")?;
        let index =
            self.builder.funcs.iter().position(|&func| func == callee.func).ok_or("the callee is not declared")?;
        let body = &self.builder.module.funcs[callee.func];
        if index == 0 {
            return Err("a kernel cannot be called");
        }
        let entry_block = body.entry_blocks().get(callee.entry as usize).copied().ok_or("there is no such entry")?;
        let entry = *self.builder.block_pcs[index].get(&entry_block).ok_or("the callee has no block")?;
        let params = Frame::new(callee.func, body).params(false).ok_or("the callee takes an array by value")?;
        if params.len() != data.args.len() {
            return Err("the callee takes another number of operands");
        }
        let mut arguments = Vec::with_capacity(params.len());
        for (operand, param) in data.args.iter().zip(params) {
            let param = param.ok_or("the callee takes an array by value")?;
            let ty = match param {
                Value::Word(_) => Type::B32,
                Value::Wide(_) => Type::B64,
                Value::Predicate(..) => Type::Pred,
            };
            let value = self.value(operand, ty)?;
            if core::mem::discriminant(&value) != core::mem::discriminant(&param) {
                return Err("an operand has another width than the parameter");
            }
            arguments.push((value, param));
        }
        let dst = data.dst().map(|reg| (self.frame.reg(reg), self.frame.clock(reg)));
        let exits = (data.opcode.op == Op::CallTo).then_some((targets, self.join));
        decoded.kind = Kind::Call;
        decoded.side = self.builder.program.calls.len() as u32;
        self.builder.program.calls.push(CallSite { callee: index, entry, arguments, dst, exits });
        Ok(())
    }

    // --- memory --------------------------------------------------------------------------------------------------

    fn access(&mut self, data: &InstData, decoded: &mut DecodedInst) -> Result<(), Refusal> {
        let opcode = data.opcode;
        let ty = opcode.ty;
        let mut access = Access {
            kind: AccessKind::Store,
            space: opcode.space,
            ty,
            extension: if ty.is_signed() { Extension::Sign(ty.bits()) } else { Extension::Zero },
            base: Base::None,
            indices: SmallVec::new(),
            offset: 0,
            values: SmallVec::new(),
            operands: SmallVec::new(),
        };
        if opcode.op == Op::Tex2d {
            access.kind = AccessKind::Texture(opcode.src_ty);
            let [texture, x, y] = &data.args[..] else { return Err("a texture takes two coordinates") };
            let Value::Wide(base) = self.value(texture, Type::B64)? else { return Err("a texture has 64 bits") };
            access.base = Base::Wide(base);
            access.operands.extend([self.value(x, opcode.src_ty)?, self.value(y, opcode.src_ty)?]);
            decoded.kind = Kind::Texture;
        } else {
            let address = data.address().ok_or("the address is missing")?;
            self.address(address, &mut access)?;
            decoded.kind = Kind::Access;
        }
        match opcode.op {
            Op::Ld => access.kind = AccessKind::Load { speculative: opcode.has(Flags::SPEC) },
            Op::Atom | Op::Red => {
                access.kind = AccessKind::Atomic(opcode.atomic.ok_or("the atomic's operation is missing")?);
                for operand in data.args.iter().skip(1) {
                    let value = self.value(operand, ty)?;
                    let wide = matches!(value, Value::Wide(_));
                    if wide != is_wide(ty) || matches!(value, Value::Predicate(..)) {
                        return Err("an operand has another width");
                    }
                    access.operands.push(value);
                }
            }
            _ => {}
        }
        if opcode.op == Op::St {
            let stored = data.args.get(1).ok_or("the value is missing")?;
            let canonical = ty.is_float().then_some(ty);
            let sources: &[Operand] =
                if let Operand::List(list) = stored { list } else { core::slice::from_ref(stored) };
            for operand in sources {
                let value = self.value(operand, ty)?;
                access.values.push(AccessValue { value, canonical });
            }
        } else {
            for &reg in &data.dsts {
                let value = self.frame.reg(reg);
                let canonical = self.frame.canonical_type(reg, ty);
                access.values.push(AccessValue { value, canonical });
            }
        }
        let elements = if opcode.op == Op::Tex2d { 4 } else { usize::from(opcode.vector) };
        let count = access.values.len();
        if count != elements && !(matches!(opcode.op, Op::Red | Op::Atom) && count <= 1) {
            return Err("the number of elements differs");
        }
        if access.values.iter().any(|value| matches!(value.value, Value::Predicate(..))) {
            return Err("a predicate cannot be in memory");
        }
        decoded.side = self.builder.program.accesses.len() as u32;
        self.builder.program.accesses.push(access);
        Ok(())
    }

    fn address(&mut self, address: &Address, access: &mut Access) -> Result<(), Refusal> {
        access.offset = address.offset;
        access.base = match address.base {
            AddressBase::Absolute => Base::None,
            AddressBase::Reg(reg) => match self.frame.reg(reg) {
                Value::Wide(slot) => Base::Wide(slot),
                Value::Word(slot) => Base::Word(slot),
                Value::Predicate(..) => return Err("an address is no predicate"),
            },
            AddressBase::Symbol(symbol) => {
                match self.builder.symbols.address(self.frame.func, self.body, symbol).ok_or("no such symbol")? {
                    SymbolAddress::Fixed(fixed) => {
                        access.offset = access.offset.wrapping_add(fixed as i64);
                        Base::None
                    }
                    SymbolAddress::Local(offset) => Base::Wide(self.frame.local(offset, true)),
                }
            }
        };
        for &(reg, scale) in &address.terms {
            let ty = self.body.regs[reg].ty;
            access.indices.push(match self.frame.reg(reg) {
                Value::Wide(slot) => Index::Wide(slot, scale),
                Value::Word(slot) if ty.is_signed() => Index::Signed(slot, ty.bits(), scale),
                Value::Word(slot) => Index::Unsigned(slot, ty.bits(), scale),
                Value::Predicate(..) => return Err("an index is no predicate"),
            });
        }
        Ok(())
    }

    // --- the warp together -----------------------------------------------------------------------------------------

    fn warp(&mut self, data: &InstData, decoded: &mut DecodedInst) -> Result<(), Refusal> {
        let op = data.opcode.op;
        let signature = data.opcode.signature();
        let mut site = WarpSite { op, dst: None, predicate: None, operands: [None; 3], members: None };
        let members_at = match op {
            Op::VoteAll | Op::VoteAny | Op::VoteUni | Op::VoteBallot | Op::MatchAny | Op::MatchAll => 1,
            _ => site.operands.len(),
        };
        for (k, operand) in data.args.iter().enumerate() {
            let ty = match signature.arg(k).ok_or("too many operands")? {
                ArgKind::Value(ty) => ty,
                ArgKind::Predicate => Type::Pred,
                _ => return Err("a value was expected here"),
            };
            let value = Some(self.value(operand, ty)?);
            if k == members_at {
                site.members = value;
            } else {
                *site.operands.get_mut(k).ok_or("too many operands")? = value;
            }
        }
        if let Some(&reg) = data.dsts.first() {
            site.dst = Some(self.dst(reg, signature.dsts[0].ty)?);
        }
        if let Some(&reg) = data.dsts.get(1) {
            site.predicate = Some(self.predicate(reg)?);
        }
        decoded.kind = if op == Op::BarSync { Kind::Barrier } else { Kind::Warp };
        decoded.side = self.builder.program.warp_sites.len() as u32;
        self.builder.program.warp_sites.push(site);
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
    Type::B8.with_bits(bits).filter(|_| fits).ok_or("these parts do not make up the whole")
}

/// The registers that something reads as bits: where the operand's type is no float.
pub(super) fn registers_read_as_bits(body: &Function) -> BTreeSet<Reg> {
    let mut read = BTreeSet::new();
    for inst in body.block_order().flat_map(|block| body.block_insts(block)) {
        let data = &body.insts[inst];
        let packs = data.dsts.len() > 1 || matches!(data.args.first(), Some(Operand::List(_)));
        let signature = data.opcode.signature();
        for (index, operand) in data.args.iter().enumerate() {
            let as_float = match signature.arg(index) {
                Some(ArgKind::Value(ty) | ArgKind::LowBits(ty) | ArgKind::Elements(ty, _)) => ty.is_float(),
                _ => false,
            };
            let shuffles = data.opcode.op.is_convergent();
            if !as_float || shuffles || (data.opcode.op == Op::Mov && packs) {
                operand.for_each_reg(&mut |reg| {
                    read.insert(reg);
                });
            }
        }
    }
    read
}
