//! A slow and obvious interpreter of the text IR: one thread after the other, each up to the next barrier.
//!
//! It shares no code with the simulator, so what both compute is right for two reasons. It has no warps: votes,
//! shuffles and matches are refused. Approximate functions are those of the host, so results that use them are
//! compared with a tolerance.

use std::collections::HashMap;
use warpscope_core::ir::{
    AddressBase, Array, AtomicOp, Block, Cmp, Combine, Fill, FillKey, Flags, Func, Function, Global, InstData, Launch,
    Module, Number, Op, Opcode, Operand, ParamType, Reg, Rounding, Space, Special, Symbol, Type, ValueSource, Values,
};

const PARAMS: u64 = 0x0100_0000;
const SHARED: u64 = 0x0200_0000;
const LOCAL: u64 = 0x0400_0000;
const GLOBAL: u64 = 0x10_0000_0000;

/// The bytes of each parameter's buffer after the launch; none for other parameters.
pub type Memory = Vec<Option<Vec<u8>>>;

/// Does the kernel, or what it calls, use what only a warp has, or arithmetic that the host has not?
pub fn is_refused(module: &Module, kernel: &Function) -> bool {
    // Its globals hold numbers.
    if module.globals.values().any(|global| !global.addresses.is_empty()) {
        return true;
    }
    let mut work = vec![kernel];
    let mut seen = std::collections::HashSet::new();
    while let Some(func) = work.pop() {
        for inst in func.block_order().flat_map(|block| func.block_insts(block)).map(|inst| &func.insts[inst]) {
            let op = inst.opcode.op;
            let lanes = [Special::Laneid, Special::Warpid, Special::LanemaskLt];
            let needs_warp = op.is_convergent() && op != Op::BarSync && op != Op::Call
                || inst.args.iter().any(|arg| matches!(arg, Operand::Special(special) if lanes.contains(special)));
            let types = [inst.opcode.ty, inst.opcode.src_ty];
            let rounds = !matches!(inst.opcode.rounding, None | Some(Rounding::Rn)) && op != Op::Cvt;
            let asks_machine = matches!(op, Op::Read | Op::Isspacep | Op::Trap);
            if needs_warp || asks_machine || rounds || types.contains(&Type::F16) {
                return true;
            }
            if let Some(callee) = inst.callee()
                && seen.insert(callee.func)
            {
                work.push(&module.funcs[callee.func]);
            }
        }
    }
    false
}

/// Runs a launch and gives the memory in front and behind.
pub fn run(module: &Module, launch: &Launch) -> (Memory, Memory) {
    let kernel = module.func_by_name(&launch.kernel).expect("the launch's kernel");
    let func = &module.funcs[kernel];
    let mut machine = Machine { module, launch, pieces: HashMap::new(), textures: Vec::new(), globals: HashMap::new() };
    for (index, (id, global)) in module.globals.iter().enumerate() {
        let mut bytes = Vec::new();
        for &element in global.init.iter().flatten() {
            bytes.extend(&element.to_le_bytes()[..global.ty.bytes() as usize]);
        }
        bytes.resize((global.len * global.ty.bytes()) as usize, 0);
        let base = GLOBAL + ((index as u64 + 1) << 28);
        machine.pieces.insert(base >> 28, bytes);
        machine.globals.insert(id, base);
    }
    let mut registers = vec![0; func.regs.len()];
    let mut params = Vec::new();
    let mut buffers = Vec::new();
    for (index, param) in func.params.iter().enumerate() {
        let binding = launch.bindings.iter().find(|binding| match &binding.key {
            FillKey::Name(name) => *name == param.name,
            FillKey::Index(k) => *k as usize == index,
        });
        let fill = &binding.unwrap_or_else(|| panic!("`{}` is bound", param.name)).fill;
        let ty = match param.ty {
            ParamType::Scalar(ty) | ParamType::Array(ty, _) => ty,
            _ => Type::U64,
        };
        let mut buffer = None;
        let bits = match fill {
            Fill::Number(value) => number(*value, ty),
            Fill::Numbers(values) => {
                buffers.push(None);
                params.push((index, values.iter().flat_map(|&v| bytes_of(number(v, ty), ty)).collect::<Vec<u8>>()));
                continue;
            }
            Fill::Buffer { ty, len, values } => {
                let base = GLOBAL + ((index as u64 + 0x100) << 28);
                machine.pieces.insert(base >> 28, contents(*ty, *len, values, index as u64));
                buffer = Some(base);
                base
            }
            Fill::Texture { width, height, values } => {
                let texels = contents(Type::F32, width * height * 4, values, index as u64);
                machine.textures.push((*width, *height, texels));
                machine.textures.len() as u64
            }
            Fill::Draws(_) => panic!("a parameter draws nothing"),
        };
        if let Some(reg) = param.reg {
            registers[reg.as_u32() as usize] = bits;
        }
        buffers.push(buffer);
    }
    // Arrays by value stand in the param space at 4 KiB each.
    let mut param_space = vec![0; 4096 * func.params.len()];
    for (index, bytes) in params {
        param_space[4096 * index..4096 * index + bytes.len()].copy_from_slice(&bytes);
    }
    machine.pieces.insert(PARAMS >> 24 | 1 << 60, param_space);
    let snapshot = |machine: &Machine| -> Memory {
        buffers.iter().map(|buffer| buffer.map(|base| machine.pieces[&(base >> 28)].clone())).collect()
    };
    let before = snapshot(&machine);
    let [gx, gy, gz] = launch.grid;
    for z in 0..gz {
        for y in 0..gy {
            for x in 0..gx {
                machine.block(kernel, &registers, [x, y, z]);
            }
        }
    }
    let after = snapshot(&machine);
    (before, after)
}

/// Launch with every element of its buffers and textures written out, so that another machine starts from
/// the same memory.
pub fn written_out(launch: &Launch) -> Launch {
    let mut launch = launch.clone();
    for (index, binding) in launch.bindings.iter_mut().enumerate() {
        let (ty, len, values) = match &mut binding.fill {
            Fill::Buffer { ty, len, values } => (*ty, *len, values),
            Fill::Texture { width, height, values } => (Type::F32, *width * *height * 4, values),
            _ => continue,
        };
        let bytes = contents(ty, len, values, index as u64);
        let list = bytes.chunks_exact(ty.bytes() as usize).map(|chunk| {
            let mut bits = [0; 8];
            bits[..chunk.len()].copy_from_slice(chunk);
            match ty {
                Type::F32 => Number::F32Bits(u64::from_le_bytes(bits) as u32),
                Type::F64 => Number::F64Bits(u64::from_le_bytes(bits)),
                _ => Number::Int(i128::from(u64::from_le_bytes(bits))),
            }
        });
        *values = Values { source: ValueSource::List(list.collect()), zero: None, coherence: None };
    }
    launch
}

/// The texels that the parameter with that number gets.
pub fn texels(launch: &Launch, index: u64) -> Vec<f32> {
    let Fill::Texture { width, height, values } = &launch.bindings[index as usize].fill else { panic!("a texture") };
    let bytes = contents(Type::F32, width * height * 4, values, index);
    bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

struct Machine<'m> {
    module: &'m Module,
    launch: &'m Launch,
    /// Memory by the upper bits of its addresses.
    pieces: HashMap<u64, Vec<u8>>,
    textures: Vec<(u32, u32, Vec<u8>)>,
    globals: HashMap<Global, u64>,
}

struct Frame {
    func: Func,
    registers: Vec<u64>,
    block: Block,
    next: usize,
    arrays: HashMap<Array, u64>,
    /// Register for the result.
    result: Option<Reg>,
}

struct Thread {
    tid: [u32; 3],
    ctaid: [u32; 3],
    frames: Vec<Frame>,
    local: Vec<u8>,
    steps: u64,
}

impl Machine<'_> {
    fn block(&mut self, kernel: Func, registers: &[u64], ctaid: [u32; 3]) {
        let [bx, by, bz] = self.launch.block;
        self.pieces.insert(SHARED >> 24 | 1 << 60, vec![0; 96 << 10]);
        let mut threads = Vec::new();
        for z in 0..bz {
            for y in 0..by {
                for x in 0..bx {
                    let mut thread = Thread { tid: [x, y, z], ctaid, frames: vec![], local: vec![], steps: 0 };
                    let frame = self.frame(&mut thread, kernel, registers.to_vec(), None);
                    thread.frames.push(frame);
                    threads.push(thread);
                }
            }
        }
        while threads.iter().any(|thread| !thread.frames.is_empty()) {
            for thread in &mut threads {
                self.until_barrier(thread);
            }
        }
    }

    fn frame(&self, thread: &mut Thread, id: Func, registers: Vec<u64>, result: Option<Reg>) -> Frame {
        let func = &self.module.funcs[id];
        let mut arrays = HashMap::new();
        let mut shared = SHARED;
        for (array, data) in func.arrays.iter() {
            let size = u64::from(data.len.unwrap_or(0)) * u64::from(data.ty.bytes());
            if data.space == Space::Shared {
                arrays.insert(array, shared);
                shared = (shared + size).next_multiple_of(16);
            } else {
                arrays.insert(array, LOCAL + thread.local.len() as u64);
                thread.local.resize((thread.local.len() + size as usize).next_multiple_of(16), 0);
            }
        }
        Frame { func: id, registers, block: func.entry_block().expect("a block"), next: 0, arrays, result }
    }

    fn until_barrier(&mut self, thread: &mut Thread) {
        while let Some(frame) = thread.frames.last_mut() {
            thread.steps += 1;
            assert!(thread.steps < 10_000_000, "a thread that never ends");
            let func = &self.module.funcs[frame.func];
            let inst = func.block_insts(frame.block).nth(frame.next).expect("a terminator");
            frame.next += 1;
            let data = &func.insts[inst];
            if let Some(guard) = data.guard
                && (frame.registers[guard.reg.as_u32() as usize] & 1 == 1) == guard.negated
            {
                continue;
            }
            if data.opcode.op == Op::BarSync {
                return;
            }
            self.step(thread, func, data);
        }
    }

    fn step(&mut self, thread: &mut Thread, func: &Function, inst: &InstData) {
        let opcode = inst.opcode;
        let go = |thread: &mut Thread, block: Block| {
            let frame = thread.frames.last_mut().expect("a frame");
            (frame.block, frame.next) = (block, 0);
        };
        match opcode.op {
            Op::Br => go(thread, inst.targets()[0]),
            Op::BrIf => {
                let taken = self.operand(thread, func, &inst.args[0], Type::Pred) & 1 == 1;
                go(thread, inst.targets()[usize::from(!taken)]);
            }
            Op::Switch => {
                let index = self.operand(thread, func, &inst.args[0], Type::U32) as usize;
                go(thread, inst.targets()[index.min(inst.targets().len() - 1)]);
            }
            Op::Exit => thread.frames.clear(),
            Op::Ret => {
                let value = inst.args.first().map(|arg| self.operand(thread, func, arg, func.returns.unwrap()));
                let frame = thread.frames.pop().expect("a frame");
                if let (Some(caller), Some(reg)) = (thread.frames.last_mut(), frame.result) {
                    caller.registers[reg.as_u32() as usize] = value.unwrap_or(0);
                }
            }
            Op::Call => {
                let callee = inst.callee().expect("a callee").func;
                let target = &self.module.funcs[callee];
                let mut registers = vec![0; target.regs.len()];
                for (param, arg) in target.params.iter().zip(&inst.args) {
                    let ty = param.reg.map_or(Type::B64, |reg| target.reg_types[reg]);
                    let value = self.operand(thread, func, arg, ty);
                    registers[param.reg.expect("a scalar").as_u32() as usize] = value;
                }
                assert!(thread.frames.len() < 64, "deep recursion");
                let frame = self.frame(thread, callee, registers, inst.dst());
                thread.frames.push(frame);
            }
            Op::Membar => {}
            _ => {
                let results = self.results(thread, func, inst);
                let frame = thread.frames.last_mut().expect("a frame");
                for (&dst, value) in inst.dsts.iter().zip(results) {
                    frame.registers[dst.as_u32() as usize] = value & func.reg_types[dst].mask();
                }
            }
        }
    }

    fn results(&mut self, thread: &mut Thread, func: &Function, inst: &InstData) -> Vec<u64> {
        let (opcode, ty) = (inst.opcode, inst.opcode.ty);
        match opcode.op {
            Op::Ld => {
                let address = self.address(thread, inst);
                let width = u64::from(ty.bytes());
                let load = |k: u64| extended(self.load(thread, address + k * width, width), ty);
                (0..u64::from(opcode.vector)).map(load).collect()
            }
            Op::St => {
                let address = self.address(thread, inst);
                let values = match &inst.args[1] {
                    Operand::List(parts) => parts.to_vec(),
                    value => vec![value.clone()],
                };
                for (k, value) in values.iter().enumerate() {
                    let bits = self.operand(thread, func, value, ty);
                    self.store(thread, address + k as u64 * u64::from(ty.bytes()), bits, u64::from(ty.bytes()));
                }
                vec![]
            }
            Op::Atom | Op::Red => {
                let address = self.address(thread, inst);
                let old = self.load(thread, address, u64::from(ty.bytes()));
                let operand = |k: usize| self.operand(thread, func, &inst.args[k], ty);
                let new = match opcode.atomic.expect("an operation") {
                    AtomicOp::Add => pure(Opcode::new(Op::Add, ty), &[old, operand(1)])[0],
                    AtomicOp::Min => pure(Opcode::new(Op::Min, ty), &[old, operand(1)])[0],
                    AtomicOp::Max => pure(Opcode::new(Op::Max, ty), &[old, operand(1)])[0],
                    AtomicOp::And => old & operand(1),
                    AtomicOp::Or => old | operand(1),
                    AtomicOp::Xor => old ^ operand(1),
                    AtomicOp::Inc => {
                        if old >= operand(1) {
                            0
                        } else {
                            old + 1
                        }
                    }
                    AtomicOp::Dec => {
                        if old == 0 || old > operand(1) {
                            operand(1)
                        } else {
                            old - 1
                        }
                    }
                    AtomicOp::Exch => operand(1),
                    AtomicOp::Cas => {
                        if old == operand(1) {
                            operand(2)
                        } else {
                            old
                        }
                    }
                };
                self.store(thread, address, new, u64::from(ty.bytes()));
                vec![old]
            }
            Op::Tex2d => {
                let handle = self.operand(thread, func, &inst.args[0], Type::B64) as usize;
                let (width, height, texels) = &self.textures[handle - 1];
                let at = |k: usize, size: u32| {
                    let bits = self.operand(thread, func, &inst.args[k], opcode.src_ty);
                    let place = match opcode.src_ty {
                        Type::F32 => f32::from_bits(bits as u32).floor() as i64,
                        _ => i64::from(bits as u32 as i32),
                    };
                    place.clamp(0, i64::from(size) - 1) as usize
                };
                let start = 16 * (at(2, *height) * *width as usize + at(1, *width));
                (0..4)
                    .map(|k| u64::from(u32::from_le_bytes(texels[start + 4 * k..][..4].try_into().unwrap())))
                    .collect()
            }
            Op::Mov if inst.dsts.len() > 1 => {
                let (bits, parts) = (self.operand(thread, func, &inst.args[0], ty), inst.dsts.len() as u32);
                let width = ty.bits() / parts;
                (0..parts).map(|k| bits >> (k * width) & ((1 << width) - 1)).collect()
            }
            Op::Mov if matches!(inst.args[0], Operand::List(_)) => {
                let Operand::List(parts) = &inst.args[0] else { unreachable!() };
                let width = ty.bits() / parts.len() as u32;
                let part = Type::B64.with_bits(width).expect("a width");
                let bits = parts
                    .iter()
                    .enumerate()
                    .map(|(k, value)| (self.operand(thread, func, value, part) & part.mask()) << (k as u32 * width));
                vec![bits.fold(0, |sum, bits| sum | bits)]
            }
            _ => {
                let signature = opcode.signature();
                use warpscope_core::ir::ArgKind::{LowBits, Predicate, Value};
                let args: Vec<u64> = inst
                    .args
                    .iter()
                    .enumerate()
                    .map(|(k, arg)| match signature.arg(k) {
                        Some(Value(ty) | LowBits(ty)) => self.operand(thread, func, arg, ty) & ty.mask(),
                        Some(Predicate) => self.operand(thread, func, arg, Type::Pred) & 1,
                        other => panic!("{opcode}: operand {other:?}"),
                    })
                    .collect();
                pure(opcode, &args)
            }
        }
    }

    fn operand(&self, thread: &Thread, func: &Function, operand: &Operand, ty: Type) -> u64 {
        let frame = thread.frames.last().expect("a frame");
        match operand {
            Operand::Reg(reg) => frame.registers[reg.as_u32() as usize],
            Operand::NotReg(reg) => 1 ^ frame.registers[reg.as_u32() as usize],
            Operand::Const(bits) => bits & ty.mask(),
            Operand::Special(special) => u64::from(match special {
                Special::Tid(axis) => thread.tid[axis.index()],
                Special::Ctaid(axis) => thread.ctaid[axis.index()],
                Special::Ntid(axis) => self.launch.block[axis.index()],
                Special::Nctaid(axis) => self.launch.grid[axis.index()],
                Special::Warpsize => 32,
                Special::Nwarpid => 32,
                Special::Nsmid => 1,
                Special::Envreg(_) | Special::ReservedSmem(_) => 0,
                other => panic!("{other} in {}", func.name),
            }),
            Operand::Symbol(symbol) => self.symbol(thread, *symbol),
            other => panic!("operand {other:?}"),
        }
    }

    fn symbol(&self, thread: &Thread, symbol: Symbol) -> u64 {
        match symbol {
            Symbol::Global(global) => self.globals[&global],
            Symbol::Array(array) => thread.frames.last().expect("a frame").arrays[&array],
            Symbol::Param(index) => PARAMS + 4096 * u64::from(index),
        }
    }

    fn address(&self, thread: &Thread, inst: &InstData) -> u64 {
        let frame = thread.frames.last().expect("a frame");
        let func = &self.module.funcs[frame.func];
        let address = inst.address().expect("an address");
        let mut sum = match address.base {
            AddressBase::Reg(reg) => frame.registers[reg.as_u32() as usize],
            AddressBase::Symbol(symbol) => self.symbol(thread, symbol),
            AddressBase::Absolute => 0,
        };
        for &(reg, scale) in &address.terms {
            let index = extended(frame.registers[reg.as_u32() as usize], func.reg_types[reg]);
            sum = sum.wrapping_add(index.wrapping_mul(scale as u64));
        }
        sum.wrapping_add(address.offset as u64)
    }

    fn place<'t>(&'t mut self, thread: &'t mut Thread, address: u64, width: u64) -> &'t mut [u8] {
        assert!(address.is_multiple_of(width), "misaligned access to {address:#x}");
        let (piece, offset) = match address {
            PARAMS..SHARED => (self.pieces.get_mut(&(PARAMS >> 24 | 1 << 60)), address - PARAMS),
            SHARED..LOCAL => (self.pieces.get_mut(&(SHARED >> 24 | 1 << 60)), address - SHARED),
            LOCAL..GLOBAL => (Some(&mut thread.local), address - LOCAL),
            _ => (self.pieces.get_mut(&(address >> 28)), address & 0xfff_ffff),
        };
        let piece = piece.unwrap_or_else(|| panic!("no memory at {address:#x}"));
        piece.get_mut(offset as usize..(offset + width) as usize).unwrap_or_else(|| panic!("outside at {address:#x}"))
    }

    fn load(&mut self, thread: &mut Thread, address: u64, width: u64) -> u64 {
        let mut bytes = [0; 8];
        bytes[..width as usize].copy_from_slice(self.place(thread, address, width));
        u64::from_le_bytes(bytes)
    }

    fn store(&mut self, thread: &mut Thread, address: u64, bits: u64, width: u64) {
        self.place(thread, address, width).copy_from_slice(&bits.to_le_bytes()[..width as usize]);
    }
}

// Values

fn bytes_of(bits: u64, ty: Type) -> Vec<u8> {
    bits.to_le_bytes()[..ty.bytes() as usize].to_vec()
}

/// A number's bits as a value of the type.
pub fn number(value: Number, ty: Type) -> u64 {
    let float = match value {
        Number::Int(value) if !ty.is_float() => return value as u64 & ty.mask(),
        Number::Int(value) => value as f64,
        Number::Float(value) => value,
        Number::F32Bits(bits) => f64::from(f32::from_bits(bits)),
        Number::F64Bits(bits) => f64::from_bits(bits),
    };
    match ty {
        Type::F32 => u64::from((float as f32).to_bits()),
        Type::F64 => float.to_bits(),
        _ => float as i64 as u64 & ty.mask(),
    }
}

fn contents(ty: Type, len: u32, values: &Values, stream: u64) -> Vec<u8> {
    let element = |k: u64| match &values.source {
        ValueSource::Iota => number(Number::Int(i128::from(k)), ty),
        ValueSource::Const(value) => number(*value, ty),
        ValueSource::List(list) => list.get(k as usize).map_or(0, |&value| number(value, ty)),
        ValueSource::True(_) => k & 1,
        ValueSource::Random(low, high) => {
            let mut hash = (k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stream.wrapping_mul(0xd6e8_feb8_6659_fd93);
            hash = (hash ^ hash >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            hash ^= hash >> 29;
            let unit = (hash >> 40) as f64 / (1u64 << 24) as f64;
            let as_float = |value: Number| f64::from_bits(number(value, Type::F64));
            let (low, high) = (as_float(*low), as_float(*high));
            match ty.is_float() {
                true => number(Number::Float(low + unit * (high - low)), ty),
                false => number(Number::Int((low + unit * (high - low + 1.0)).floor() as i128), ty),
            }
        }
    };
    (0..u64::from(len)).flat_map(|k| bytes_of(element(k), ty)).collect()
}

fn extended(bits: u64, ty: Type) -> u64 {
    if ty.is_signed() { integer(bits, ty) as u64 } else { bits & ty.mask() }
}

fn integer(bits: u64, ty: Type) -> i128 {
    let shift = 64 - ty.bits();
    if ty.is_signed() { i128::from(((bits << shift) as i64) >> shift) } else { i128::from(bits & ty.mask()) }
}

/// The results of an operation on operands of its widths.
fn pure(opcode: Opcode, args: &[u64]) -> Vec<u64> {
    let ty = opcode.ty;
    if opcode.op == Op::Cvt {
        return vec![converted(opcode, args[0])];
    }
    if opcode.op == Op::Setp {
        let holds = compared(opcode.cmp.expect("a comparison"), args[0], args[1], ty);
        let (holds, not) = match opcode.combine {
            None => (holds, !holds),
            Some(combine) => {
                let c = args[2] & 1 == 1;
                let with = |p: bool| match combine {
                    Combine::And => p && c,
                    Combine::Or => p || c,
                    Combine::Xor => p ^ c,
                };
                (with(holds), with(!holds))
            }
        };
        return vec![u64::from(holds), u64::from(not)];
    }
    match ty {
        Type::F32 => {
            if let Some(result) =
                float(opcode, &args.iter().map(|&a| f32::from_bits(a as u32) as f64).collect::<Vec<_>>(), true)
            {
                return vec![u64::from((result as f32).to_bits())];
            }
        }
        Type::F64 => {
            if let Some(result) = float(opcode, &args.iter().map(|&a| f64::from_bits(a)).collect::<Vec<_>>(), false) {
                return vec![result.to_bits()];
            }
        }
        _ => {}
    }
    let of = |k: usize| integer(args[k], ty);
    let bits = ty.bits();
    let wrapped = |value: i128| value as u64 & ty.mask();
    let carried = |value: i128| vec![value as u64 & ty.mask(), (value >> bits) as u64 & 1];
    let unsigned = |k: usize| i128::from(args[k] & ty.mask());
    vec![match opcode.op {
        Op::Mov | Op::Cvta => args[0],
        Op::Add if opcode.has(Flags::CC) => return carried(unsigned(0) + unsigned(1)),
        Op::Sub if opcode.has(Flags::CC) => return carried(unsigned(0) - unsigned(1)),
        Op::Addc => return carried(unsigned(0) + unsigned(1) + i128::from(args[2])),
        Op::Subc => return carried(unsigned(0) - unsigned(1) - i128::from(args[2])),
        Op::Mad if opcode.has(Flags::CC) => {
            return carried(i128::from(wrapped(of(0).wrapping_mul(of(1)))) + unsigned(2));
        }
        Op::Madc => {
            let product = of(0).wrapping_mul(of(1));
            let half = if opcode.has(Flags::HI) { product >> bits } else { product };
            return carried(i128::from(wrapped(half)) + unsigned(2) + i128::from(args[3]));
        }
        Op::Add => wrapped(of(0) + of(1)),
        Op::Sub => wrapped(of(0) - of(1)),
        Op::Mul => wrapped(of(0).wrapping_mul(of(1))),
        Op::MulWide => of(0).wrapping_mul(of(1)) as u64,
        Op::MulHi if ty == Type::U64 => ((u128::from(args[0]) * u128::from(args[1])) >> 64) as u64,
        Op::MulHi => wrapped((of(0) * of(1)) >> bits),
        Op::Mad => wrapped(of(0).wrapping_mul(of(1)).wrapping_add(of(2))),
        Op::MadWide => (of(0).wrapping_mul(of(1)) as u64).wrapping_add(args[2]),
        Op::Div => {
            if of(1) == 0 {
                ty.mask()
            } else {
                wrapped(of(0) / of(1))
            }
        }
        Op::Rem => {
            if of(1) == 0 {
                ty.mask()
            } else {
                wrapped(of(0) % of(1))
            }
        }
        Op::Neg => wrapped(-of(0)),
        Op::Abs => wrapped(of(0).abs()),
        Op::Min => wrapped(of(0).min(of(1))),
        Op::Max => wrapped(of(0).max(of(1))),
        Op::And => args[0] & args[1],
        Op::Or => args[0] | args[1],
        Op::Xor => args[0] ^ args[1],
        Op::Not => !args[0] & ty.mask(),
        Op::Shl => {
            if args[1] >= u64::from(bits) {
                0
            } else {
                wrapped(of(0) << args[1])
            }
        }
        Op::Shr => wrapped(of(0) >> args[1].min(u64::from(bits))),
        Op::ShfL | Op::ShfR => {
            let by = if opcode.has(Flags::WRAP) { args[2] & 31 } else { args[2].min(32) };
            let both = args[1] << 32 | args[0];
            if opcode.op == Op::ShfL {
                (u128::from(both) << by >> 32) as u64 & 0xffff_ffff
            } else {
                (both >> by) & 0xffff_ffff
            }
        }
        Op::Bfe => {
            let (at, len) = (args[1] & 255, (args[2] & 255).min(u64::from(bits)));
            if len == 0 {
                return vec![0];
            }
            let value = (of(0) >> at.min(127)) & ((1 << len) - 1);
            if ty.is_signed() && value >> (len - 1) & 1 == 1 { wrapped(value - (1 << len)) } else { wrapped(value) }
        }
        Op::Bfi => {
            let (at, len) = (args[2] & 255, (args[3] & 255).min(64));
            let field = ((1u128 << len) - 1) << at.min(64);
            ((u128::from(args[1]) & !field) | (u128::from(args[0]) << at.min(64) & field)) as u64 & ty.mask()
        }
        Op::Popc => u64::from(args[0].count_ones()),
        Op::Clz => u64::from(args[0].leading_zeros()) - (64 - u64::from(bits)),
        Op::Brev => args[0].reverse_bits() >> (64 - bits),
        Op::Prmt => {
            let bytes = (args[1] << 32 | args[0]).to_le_bytes();
            let pick = |k: u32| {
                let selector = args[2] >> (4 * k) & 15;
                let byte = bytes[(selector & 7) as usize];
                u64::from(if selector & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte })
            };
            (0..4).map(|k| pick(k) << (8 * k)).sum()
        }
        Op::Selp => {
            if args[2] & 1 == 1 {
                args[0]
            } else {
                args[1]
            }
        }
        other => panic!("{other:?} of {ty}"),
    }]
}

fn float(opcode: Opcode, a: &[f64], single: bool) -> Option<f64> {
    // A sum, product or quotient of two singles, computed in double and rounded again, is the single's (Figueroa).
    let result = match opcode.op {
        Op::Add => a[0] + a[1],
        Op::Sub => a[0] - a[1],
        Op::Mul => a[0] * a[1],
        Op::Div => a[0] / a[1],
        Op::Fma | Op::Mad if single => f64::from((a[0] as f32).mul_add(a[1] as f32, a[2] as f32)),
        Op::Fma | Op::Mad => a[0].mul_add(a[1], a[2]),
        Op::Neg => -a[0],
        Op::Abs => a[0].abs(),
        Op::Min => a[0].min(a[1]),
        Op::Max => a[0].max(a[1]),
        Op::Sqrt => a[0].sqrt(),
        Op::Rsqrt => 1.0 / a[0].sqrt(),
        Op::Rcp => 1.0 / a[0],
        Op::Sin => a[0].sin(),
        Op::Cos => a[0].cos(),
        Op::Ex2 => a[0].exp2(),
        Op::Lg2 => a[0].log2(),
        Op::Copysign => a[1].copysign(a[0]),
        _ => return None,
    };
    assert!(matches!(opcode.rounding, None | Some(Rounding::Rn)), "{opcode}");
    Some(if opcode.has(Flags::SAT) { saturated(result) } else { result })
}

fn saturated(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) }
}

fn compared(cmp: Cmp, a: u64, b: u64, ty: Type) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = match ty {
        Type::F32 => f32::from_bits(a as u32).partial_cmp(&f32::from_bits(b as u32)),
        Type::F64 => f64::from_bits(a).partial_cmp(&f64::from_bits(b)),
        _ => Some(integer(a, ty).cmp(&integer(b, ty))),
    };
    match cmp {
        Cmp::Eq => order == Some(Equal),
        Cmp::Ne => order.is_some_and(|order| order != Equal),
        Cmp::Lt | Cmp::Lo => order == Some(Less),
        Cmp::Le | Cmp::Ls => matches!(order, Some(Less | Equal)),
        Cmp::Gt | Cmp::Hi => order == Some(Greater),
        Cmp::Ge | Cmp::Hs => matches!(order, Some(Greater | Equal)),
        Cmp::Equ => matches!(order, None | Some(Equal)),
        Cmp::Neu => order != Some(Equal),
        Cmp::Ltu => matches!(order, None | Some(Less)),
        Cmp::Leu => order != Some(Greater),
        Cmp::Gtu => matches!(order, None | Some(Greater)),
        Cmp::Geu => order != Some(Less),
        Cmp::Num => order.is_some(),
        Cmp::Nan => order.is_none(),
    }
}

fn converted(opcode: Opcode, bits: u64) -> u64 {
    let (to, from) = (opcode.ty, opcode.src_ty);
    let rounded = |value: f64| match opcode.rounding {
        Some(Rounding::Rni | Rounding::Rn) => value.round_ties_even(),
        Some(Rounding::Rmi) => value.floor(),
        Some(Rounding::Rpi) => value.ceil(),
        _ => value.trunc(),
    };
    let value = match from {
        Type::F32 => f64::from(f32::from_bits(bits as u32)),
        Type::F64 => f64::from_bits(bits),
        _ if !to.is_float() => {
            let value = integer(bits, from);
            let limit = |value: i128| match opcode.has(Flags::SAT) {
                true => value.clamp(integer(least(to), to), integer(most(to), to)),
                false => value,
            };
            return extended(limit(value) as u64 & to.mask(), to);
        }
        _ => {
            let value = integer(bits, from);
            return if to == Type::F32 { u64::from((value as f32).to_bits()) } else { (value as f64).to_bits() };
        }
    };
    match to {
        Type::F32 | Type::F64 => {
            let whole = matches!(opcode.rounding, Some(Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi));
            let value = if whole { rounded(value) } else { value };
            let value = if opcode.has(Flags::SAT) { saturated(value) } else { value };
            if to == Type::F32 { u64::from((value as f32).to_bits()) } else { value.to_bits() }
        }
        _ => {
            let value = rounded(value);
            let value = if value.is_nan() { 0 } else { value as i128 };
            value.clamp(integer(least(to), to), integer(most(to), to)) as u64 & to.mask()
        }
    }
}

fn least(ty: Type) -> u64 {
    if ty.is_signed() { 1 << (ty.bits() - 1) } else { 0 }
}

fn most(ty: Type) -> u64 {
    ty.mask() >> u32::from(ty.is_signed())
}
