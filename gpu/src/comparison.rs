//! One launch on the simulator and on the GPU, and what its memory differs in.
//!
//! ```text
//! module, launch ──▶ simulator ──────────────▶ bytes ┐
//!        └── export ──▶ driver ──▶ the GPU ──▶ bytes ┴▶ equal, or the first element that is not
//! ```
//!
//! Both start from the bytes that [`bind`] gives. Around every buffer lies memory that the program
//! does not own, so that a load that may not fault in the simulator (`ld.spec`, an ordinary one in
//! PTX) does not here either.
//!
//! What PTX leaves open is not held against anybody: which NaN an operation gives, and the error of
//! approximate functions, as far as [`are_close`] says, which is told in units of the last place. A
//! `mul` and an `add` that do not name their rounding may become one fused operation; here they
//! name it, as the simulator rounds each.

use std::fmt;

use warpscope_core::derive::complete_launch;
use warpscope_core::ir::{Flags, Func, Function, Launch, Module, Op, Type};
use warpscope_core::machine::Machine;
use warpscope_core::ptx::export;
use warpscope_core::sim::{Argument, Bound, BufferDump, Progress, Settings, Simulation, bind};

use crate::driver::{self, Failure, Gpu, Memory, Texture};

/// Bytes on either side of a buffer that belong to nobody.
const MARGIN: usize = 1 << 16;

/// Result of the GPU beside that of the simulator.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Equal bytes.
    Equal,
    /// Only simulated and written as PTX.
    Simulated,
    /// Equal except for the kind of NaN, in so many elements.
    OtherNan(usize),
    /// Equal except for floats in a program with approximate functions, in so many elements, at
    /// most so many units in the last place apart.
    Close(usize, u64),
    /// Something else, in so many elements, and the first of them in words.
    Different(usize, String),
    /// Not compared, and why.
    Skipped(String),
    /// The driver refused it, or the kernel faulted.
    Failed(String),
}

/// A launch that the simulator has run.
pub struct Expected {
    /// The kernel's name.
    pub kernel: String,
    /// Cycles that it took the model of hopper.
    pub cycles: u64,
    bound: Bound,
    /// Name of each parameter and its final content, if it is a buffer.
    buffers: Vec<(String, Option<BufferDump>)>,
    globals: Vec<BufferDump>,
    is_approximate: bool,
}

/// A launch whose memory lies on the GPU.
pub struct Prepared<'g, 'e> {
    expected: &'e Expected,
    memories: Vec<Option<Memory<'g>>>,
    params: Vec<Vec<u8>>,
    _textures: Vec<Texture<'g>>,
}

impl Prepared<'_, '_> {
    /// Runs it, with that many blocks of that many threads, and waits for its end.
    pub fn run(&self, module: &driver::Module<'_>, grid: [u32; 3], block: [u32; 3]) -> Result<(), Failure> {
        module.launch(&self.expected.kernel, grid, block, self.expected.bound.shared, &self.params)
    }
}

/// Runs a launch in the simulator, with warps of 32 lanes as the GPU has. The text says why that is impossible.
pub fn expected(module: &Module, launch: &Launch) -> Result<Expected, String> {
    expected_with(module, launch, Settings::default())
}

/// Runs with other settings.
pub fn expected_with(module: &Module, launch: &Launch, settings: Settings) -> Result<Expected, String> {
    let kernel = module.func_by_name(&launch.kernel).ok_or("no such kernel")?;
    let func = &module.funcs[kernel];
    let launch = complete_launch(module, func, launch);
    let settings = Settings { warp: Some(32), ..settings };
    let in_words = |error: warpscope_core::sim::SimError| format!("in the simulator: {error}");
    let bound = bind(module, func, &launch, &settings, Machine::Hopper).map_err(in_words)?;
    if !bound.pointees.is_empty() {
        return Err("pointers in memory are laid out for the simulator only".to_owned());
    }
    if !bound.textures.is_empty() {
        return Err("the driver binds no textures to references".to_owned());
    }
    let mut run: Simulation = Simulation::new(module, kernel, &launch, &settings, Machine::Hopper).map_err(in_words)?;
    if run.run(u64::MAX).map_err(in_words)? != Progress::Done {
        return Err("in the simulator: no end".to_owned());
    }
    // Buffers come in the order of the parameters, then the globals.
    let mut dump = run.dump().into_iter();
    let mut buffers = Vec::new();
    for (param, argument) in func.params.iter().zip(&bound.params) {
        let is_buffer = matches!(argument, Argument::Buffer(..));
        buffers.push((param.name.clone(), if is_buffer { dump.next() } else { None }));
    }
    Ok(Expected {
        kernel: func.name.clone(),
        cycles: run.result().cycles,
        bound,
        buffers,
        globals: dump.collect(),
        is_approximate: is_approximate(module, kernel),
    })
}

/// The module as PTX; the text says why one of the kernels cannot be in it. Functions that none of them needs may be
/// missing.
pub fn ptx<'a>(module: &Module, kernels: impl IntoIterator<Item = &'a str>) -> Result<String, String> {
    let export = export(module);
    let is_missing = |kernel: &str| !export.text.contains(&format!(".entry {kernel}("));
    if kernels.into_iter().any(is_missing) {
        let error = export.diagnostics.iter().find(|diagnostic| diagnostic.is_error());
        return Err(format!("not in PTX: {}", error.map_or("under another name", |error| &error.message)));
    }
    Ok(with_rounding(&export.text))
}

/// Every `add`, `sub` and `mul` of floats with its rounding.
pub fn with_rounding(text: &str) -> String {
    let mut rounded = String::with_capacity(text.len());
    for line in text.lines() {
        let opcode = line.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default();
        let words: Vec<&str> = opcode.split('.').collect();
        let is_float = words.last().is_some_and(|ty| matches!(*ty, "f16" | "f16x2" | "f32" | "f64"));
        let is_open = matches!(words[0], "add" | "sub" | "mul")
            && !words.iter().any(|word| matches!(*word, "rn" | "rz" | "rm" | "rp"));
        if is_float && is_open {
            rounded += &line.replacen(words[0], &format!("{}.rn", words[0]), 1);
        } else {
            rounded += line;
        }
        rounded.push('\n');
    }
    rounded
}

impl Expected {
    /// Runs it on the GPU and compares. `Err` is a driver's refusal.
    pub fn compare(&self, gpu: &Gpu, module: &driver::Module<'_>) -> Result<Outcome, Failure> {
        let memories = self.launch(gpu, module)?;
        let mut differences = Differences { is_approximate: self.is_approximate, ..Differences::default() };
        for ((_, dump), memory) in self.buffers.iter().zip(&memories) {
            if let (Some(dump), Some(memory)) = (dump, memory) {
                let bytes = gpu.read(memory.address + MARGIN as u64, memory.bytes - 2 * MARGIN)?;
                differences.add(dump, &bytes);
            }
        }
        if let Some((index, text)) = &mut differences.first {
            *text += &self.operands(*index);
        }
        for dump in &self.globals {
            let bytes = dump.elements.len() * dump.ty.bytes() as usize;
            // A global that no kernel names is left out of the assembled code.
            let name = dump.name.strip_prefix("global ").unwrap_or(&dump.name);
            if let Ok(address) = module.global(name) {
                differences.add(dump, &gpu.read(address, bytes)?);
            }
        }
        Ok(differences.outcome())
    }
}

impl Expected {
    /// Runs it on the GPU; gives the memory of each buffer, where it begins a margin behind the address.
    pub fn launch<'g>(&self, gpu: &'g Gpu, module: &driver::Module<'_>) -> Result<Vec<Option<Memory<'g>>>, Failure> {
        let launch = self.prepare(gpu)?;
        launch.run(module, self.bound.grid, self.bound.block)?;
        Ok(launch.memories)
    }

    /// Puts on the GPU what it is run with.
    pub fn prepare<'g>(&self, gpu: &'g Gpu) -> Result<Prepared<'g, '_>, Failure> {
        let (mut memories, mut textures, mut params) = (Vec::new(), Vec::new(), Vec::new());
        for argument in &self.bound.params {
            let (bytes, memory) = match argument {
                Argument::Bits(bits) => (bits.to_le_bytes().to_vec(), None),
                Argument::Array(bytes) => (bytes.clone(), None),
                Argument::Texture(width, height, texels) => {
                    let texture = gpu.texture(*width, *height, texels)?;
                    let handle = texture.handle.to_le_bytes().to_vec();
                    textures.push(texture);
                    (handle, None)
                }
                Argument::Buffer(_, bytes) => {
                    let memory = gpu.allocate(bytes.len() + 2 * MARGIN)?;
                    gpu.write(memory.address + MARGIN as u64, bytes)?;
                    ((memory.address + MARGIN as u64).to_le_bytes().to_vec(), Some(memory))
                }
            };
            memories.push(memory);
            params.push(bytes);
        }
        Ok(Prepared { expected: self, memories, params, _textures: textures })
    }

    /// Threads of a block along each axis.
    pub const fn block(&self) -> [u32; 3] {
        self.bound.block
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.bound.block_threads()
    }

    /// Warps of a block.
    pub fn warps(&self) -> usize {
        self.bound.block_threads().div_ceil(32) as usize
    }

    /// Contents of the buffers `x0`, `x1`, … at that place: the operands of a form.
    fn operands(&self, index: usize) -> String {
        let mut text = String::new();
        for ((name, _), argument) in self.buffers.iter().zip(&self.bound.params) {
            let Argument::Buffer(ty, bytes) = argument else { continue };
            let width = ty.bytes() as usize;
            let is_operand = name.strip_prefix('x').is_some_and(|rest| rest.parse::<u32>().is_ok());
            if let Some(element) = bytes.chunks_exact(width).nth(index).filter(|_| is_operand) {
                let mut word = [0; 8];
                word[..width].copy_from_slice(element);
                text += &format!(", {name} {:#x}", u64::from_le_bytes(word));
            }
        }
        text
    }
}

/// Differences found so far.
#[derive(Default)]
struct Differences {
    is_approximate: bool,
    nan: usize,
    close: usize,
    units: u64,
    different: usize,
    /// Which element is the first that differs, and how.
    first: Option<(usize, String)>,
}

impl Differences {
    fn add(&mut self, dump: &BufferDump, bytes: &[u8]) {
        let width = dump.ty.bytes() as usize;
        for (index, (&simulated, chunk)) in dump.elements.iter().zip(bytes.chunks_exact(width)).enumerate() {
            let mut word = [0; 8];
            word[..width].copy_from_slice(chunk);
            let found = u64::from_le_bytes(word);
            if found == simulated {
                continue;
            }
            let float = float_type(dump.ty, self.is_approximate);
            match float.and_then(|ty| units_between(ty, found, simulated)) {
                Some(Distance::Nan) => self.nan += 1,
                Some(Distance::Units(units)) if self.is_approximate && are_close(dump.ty, found, simulated) => {
                    self.close += 1;
                    self.units = self.units.max(units);
                }
                _ => {
                    self.different += 1;
                    self.first.get_or_insert_with(|| {
                        let place = format!("{}[{index}]", dump.name);
                        (index, format!("{place} is {found:#x}, in the simulator {simulated:#x} ({})", dump.ty))
                    });
                }
            }
        }
    }

    fn outcome(self) -> Outcome {
        match self {
            Differences { first: Some((_, first)), different, .. } => Outcome::Different(different, first),
            Differences { close, units, .. } if close > 0 => Outcome::Close(close, units),
            Differences { nan, .. } if nan > 0 => Outcome::OtherNan(nan),
            _ => Outcome::Equal,
        }
    }
}

/// The float that elements of a type are. Buffers of plain bits hold floats where a program writes them; only where its
/// floats are approximate is that needed.
fn float_type(ty: Type, is_approximate: bool) -> Option<Type> {
    match ty {
        _ if ty.is_float() => Some(ty),
        Type::B32 if is_approximate => Some(Type::F32),
        Type::B64 if is_approximate => Some(Type::F64),
        _ => None,
    }
}

/// How far two floats are apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Distance {
    /// Both are no number.
    Nan,
    /// So many numbers of the type lie from one to the other.
    Units(u64),
}

/// How far two floats of a type are apart, given as bits; nothing if only one of them is a number.
pub fn units_between(ty: Type, a: u64, b: u64) -> Option<Distance> {
    let bits = ty.bits();
    let infinity = match ty {
        Type::F16 => 0x7C00,
        Type::F32 => 0x7F80_0000,
        _ => 0x7FF0_0000_0000_0000,
    };
    let magnitude = |value: u64| value & (ty.mask() >> 1);
    let place = |value: u64| {
        let magnitude = i128::from(magnitude(value));
        if value >> (bits - 1) == 1 { -magnitude } else { magnitude }
    };
    match (magnitude(a) > infinity, magnitude(b) > infinity) {
        (true, true) => Some(Distance::Nan),
        (false, false) => Some(Distance::Units((place(a) - place(b)).unsigned_abs() as u64)),
        _ => None,
    }
}

/// Are two floats, one of the GPU and one of the simulator, as near to each other as approximate functions and what
/// programs make of their results may leave them: by 2^-10 of the greater, or by 2^-19? The bits of a buffer without a
/// type are a float's only if they are no small integer's.
fn are_close(ty: Type, a: u64, b: u64) -> bool {
    let values = [a, b].map(|bits| match ty.bits() {
        16 => f64::from(half::f16::from_bits(bits as u16)),
        32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    });
    let normal = |bits: u64| {
        bits == 0
            || if ty.bits() == 32 { f32::from_bits(bits as u32).is_normal() } else { f64::from_bits(bits).is_normal() }
    };
    if !(ty.is_float() || normal(a) && normal(b)) {
        return false;
    }
    let [a, b] = values;
    let distance = (a - b).abs();
    a == b || distance.is_finite() && distance <= (a.abs().max(b.abs()) * 2_f64.powi(-10)).max(2_f64.powi(-19))
}

/// Does the kernel, or anything it may call, use a function whose error PTX bounds and whose bits it leaves open?
fn is_approximate(module: &Module, kernel: Func) -> bool {
    let approximate = |func: &Function| {
        let insts = func.block_order().flat_map(|block| func.block_insts(block));
        insts.map(|inst| func.insts[inst].opcode).any(|opcode| {
            opcode.has(Flags::APPROX)
                || opcode.has(Flags::FULL)
                || matches!(opcode.op, Op::Sin | Op::Cos | Op::Ex2 | Op::Lg2 | Op::Rsqrt)
        })
    };
    let callable = module.funcs.iter().filter(|(id, _)| *id == kernel || !module.kernels().any(|known| known == *id));
    callable.map(|(_, func)| func).any(approximate)
}

impl Outcome {
    /// One word for counting.
    pub const fn kind(&self) -> &'static str {
        match self {
            Outcome::Equal => "equal",
            Outcome::Simulated => "simulated",
            Outcome::OtherNan(_) => "other-nan",
            Outcome::Close(..) => "close",
            Outcome::Different(..) => "different",
            Outcome::Skipped(_) => "left-out",
            Outcome::Failed(_) => "failed",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Equal => out.write_str("equal"),
            Outcome::Simulated => out.write_str("simulated"),
            Outcome::OtherNan(elements) => write!(out, "equal, with another NaN in {elements} elements"),
            Outcome::Close(elements, units) => {
                write!(out, "{elements} elements within {units} units in the last place")
            }
            Outcome::Different(elements, first) => write!(out, "DIFFERENT in {elements} elements: {first}"),
            Outcome::Skipped(why) => write!(out, "left out: {why}"),
            Outcome::Failed(why) => write!(out, "FAILED: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_the_numbers_between() {
        let of = |a: f32, b: f32| units_between(Type::F32, a.to_bits().into(), b.to_bits().into());
        assert_eq!(of(1.0, 1.0 + f32::EPSILON), Some(Distance::Units(1)));
        assert_eq!(of(-0.0, 0.0), Some(Distance::Units(0)));
        assert_eq!(of(f32::from_bits(1), -f32::from_bits(1)), Some(Distance::Units(2)));
        assert_eq!(of(f32::MAX, f32::INFINITY), Some(Distance::Units(1)));
        assert_eq!(of(f32::NAN, -f32::NAN), Some(Distance::Nan));
        assert_eq!(of(f32::NAN, f32::INFINITY), None);
        assert_eq!(units_between(Type::F16, 0x3C00, 0x3C02), Some(Distance::Units(2)));
    }

    #[test]
    fn what_is_close_is_bounded() {
        let close = |ty: Type, a: f32, b: f32| are_close(ty, a.to_bits().into(), b.to_bits().into());
        assert!(close(Type::F32, 1.0, 1.0005) && close(Type::F32, -1e30, -1.0005e30) && close(Type::F32, 0.0, 1e-6));
        assert!(
            !close(Type::F32, 1.0, 0.0) && !close(Type::F32, 1.0, 1.002) && !close(Type::F32, f32::MAX, f32::INFINITY)
        );
        assert!(close(Type::B32, 1.0, 1.0005) && !are_close(Type::B32, 5, 6) && !are_close(Type::B32, 0, 6));
        assert!(are_close(Type::F16, 0x3C00, 0x3C01) && !are_close(Type::F16, 0x3C00, 0x3C02));
    }

    #[test]
    fn the_simulator_says_what_a_launch_leaves_and_why_another_cannot_be_compared() {
        let source = "kernel k(x: ptr.global) {\nentry:\n    i = mov.u32 %tid\n    st.global.u32 x[i], i\n    ret\n}\n\
                      launch k {\n    block 4\n    x = buffer u32[4] const 9\n}\n";
        let module = warpscope_core::text::parse(source).module;
        let run = expected(&module, &module.launches[0]).expect("it runs");
        assert_eq!(run.buffers[0].1.as_ref().expect("a buffer").elements, [0, 1, 2, 3]);
        let short = warpscope_core::text::parse(&source.replace("u32[4]", "u32[2]")).module;
        let error = expected(&short, &short.launches[0]).err().expect("it leaves its buffer");
        assert!(error.starts_with("in the simulator"), "{error}");
    }

    #[test]
    fn sums_and_products_of_floats_name_their_rounding() {
        let text =
            "\tadd.f32 %add, %a, %b;\n\t@!%p mul.ftz.f32 %a, %b, %c;\n\tadd.rz.f32 %a, %b, %c;\n\tadd.u32 %a, %b, 1;\n";
        let rounded = "\tadd.rn.f32 %add, %a, %b;\n\t@!%p mul.rn.ftz.f32 %a, %b, %c;\n\tadd.rz.f32 %a, %b, \
                       %c;\n\tadd.u32 %a, %b, 1;\n";
        assert_eq!(with_rounding(text), rounded);
    }

    #[test]
    fn what_differs_is_told_with_its_place() {
        let dump = BufferDump { name: "r".to_owned(), ty: Type::F32, elements: vec![0x7FFF_FFFF, 0x3F80_0000] };
        let bytes = |words: [u32; 2]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let outcome = |is_approximate, words| {
            let mut differences = Differences { is_approximate, ..Differences::default() };
            differences.add(&dump, &bytes(words));
            differences.outcome()
        };
        assert_eq!(outcome(false, [0x7FFF_FFFF, 0x3F80_0000]), Outcome::Equal);
        assert_eq!(outcome(false, [0x7FC0_0000, 0x3F80_0000]), Outcome::OtherNan(1));
        assert_eq!(outcome(true, [0x7FFF_FFFF, 0x3F80_0003]), Outcome::Close(1, 3));
        let Outcome::Different(1, first) = outcome(false, [0x7FFF_FFFF, 0x3F80_0003]) else { panic!("it differs") };
        assert_eq!(first, "r[1] is 0x3f800003, in the simulator 0x3f800000 (f32)");
    }
}
