//! Binding: a launch of the text, under settings, becomes sizes and values for every parameter and input.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::error::{ErrorKind, SimError};
use super::random::{Place, Stream, hash_name, number_bits};
use super::settings::{Knob, Settings};
use crate::ir::{
    Binding, Fill, FillKey, FuncKind, Function, Global, GlobalData, InputData, Launch, Module, Number, ParamType,
    PointerStep, Span, Type, ValueSource, Values,
};
use crate::machine::Machine;

/// Bytes that one launch may hold in all.
pub const MEMORY_LIMIT: u64 = 256 << 20;
/// The stream of the first line with a path; parameters have the lower ones.
const POINTEES: u64 = 1 << 40;
/// Threads that one launch may have.
pub const THREAD_LIMIT: u64 = 1 << 24;

/// A launch whose sizes are checked and whose values are known.
pub struct Bound {
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads a block along x, y, z.
    pub block: [u32; 3],
    /// Lanes a warp.
    pub warp: u32,
    /// Bytes for shared arrays without a size.
    pub shared: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// Argument of each parameter.
    pub params: Vec<Argument>,
    /// Memory that pointers in the parameters' memory point to, those that it hangs from first.
    pub pointees: Vec<Pointee>,
    /// The textures of the module's references, in the order of the module.
    pub textures: Vec<(Global, Argument)>,
    /// Draws of each input, by name; the kernel's and those of the functions it may call.
    pub inputs: Vec<(String, Values)>,
}

/// The memory that one line of a launch with a path is about.
pub struct Pointee {
    /// The parameter from which the path starts.
    pub param: usize,
    /// The pointers from there to the memory.
    pub path: Vec<PointerStep>,
    /// Its element type.
    pub ty: Type,
    /// The contents for each pointer, in the order of the pointers.
    pub contents: Vec<Vec<u8>>,
}

/// Argument of one parameter.
pub enum Argument {
    /// A number's bits.
    Bits(u64),
    /// The bytes of an array by value.
    Array(Vec<u8>),
    /// A buffer in global memory: its element type and contents.
    Buffer(Type, Vec<u8>),
    /// A texture of four f32 a texel: width, height, contents.
    Texture(u32, u32, Vec<u8>),
}

impl Bound {
    /// Threads a block.
    pub fn block_threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Pieces of device memory of the parameters, and of those behind pointers.
    pub fn memory_counts(&self) -> (usize, usize) {
        let is_memory = |param: &&Argument| matches!(param, Argument::Buffer(..) | Argument::Texture(..));
        (self.params.iter().filter(is_memory).count(), self.pointees.iter().map(|pointee| pointee.contents.len()).sum())
    }

    /// Blocks of the grid.
    pub fn block_count(&self) -> u64 {
        self.grid.iter().map(|&size| u64::from(size)).product()
    }
}

/// Binds a launch to a kernel. It has to be complete: `derive::complete_launch` of core makes it so.
pub fn bind(
    module: &Module,
    kernel: &Function,
    launch: &Launch,
    settings: &Settings,
    machine: Machine,
) -> Result<Bound, SimError> {
    let refuse = |message: String| Err(SimError::new(ErrorKind::Launch, message));
    if kernel.kind != FuncKind::Kernel {
        return refuse(format!("`{}` is a function; only a kernel can be launched", kernel.name));
    }
    let launch = &settled(module, kernel, launch, settings)?;
    let (grid, block, warp) = (launch.grid, launch.block, launch.warp.unwrap_or(32));
    if !matches!(warp, 8 | 16 | 32) {
        return refuse(format!("a warp has 8, 16 or 32 lanes, not {warp}"));
    }
    let threads = block.iter().try_fold(1u32, |product, &size| product.checked_mul(size)).unwrap_or(u32::MAX);
    let most = machine.limits().block_threads;
    if threads == 0 || grid.contains(&0) {
        return refuse("a launch has at least one block of one thread".to_string());
    }
    if threads > most {
        return refuse(format!("a block has at most {most} threads, not {threads}"));
    }
    let blocks: u128 = grid.iter().map(|&size| u128::from(size)).product();
    if blocks * u128::from(threads) > u128::from(THREAD_LIMIT) {
        let message = format!("a launch has at most {THREAD_LIMIT} threads, not {}", blocks * u128::from(threads));
        return Err(SimError::new(ErrorKind::Limit, message));
    }
    let seed = launch.seed.unwrap_or(0);
    let mut bytes = Bytes(0);
    for global in module.globals.values() {
        bytes.add(u64::from(global.len), global.ty)?;
    }
    let mut params = Vec::with_capacity(kernel.params.len());
    for (index, param) in kernel.params.iter().enumerate() {
        let Some(binding) = launch.binding(index, &param.name) else {
            return refuse(format!("the launch of `{}` has no value for its parameter `{}`", kernel.name, param.name));
        };
        let argument = argument(&binding.fill, param.ty, index as u64, seed, warp, &mut bytes);
        params
            .push(argument.map_err(|error| error.about(&format!("parameter `{}` of `{}`", param.name, kernel.name)))?);
    }
    let textures = bind_textures(module, launch, seed, warp, &mut bytes)?;
    let pointees = bind_pointees(kernel, launch, &params, seed, warp, &mut bytes)?;
    Ok(Bound {
        pointees,
        textures,
        grid,
        block,
        warp,
        shared: launch.shared.unwrap_or(0),
        seed,
        params,
        inputs: bind_inputs(module, launch),
    })
}

/// The launch that settings make of a launch: sizes and seed, and what parameters and inputs get.
pub fn settled(module: &Module, kernel: &Function, launch: &Launch, settings: &Settings) -> Result<Launch, SimError> {
    let mut settled = Launch {
        grid: settings.grid.unwrap_or(launch.grid),
        block: settings.block.unwrap_or(launch.block),
        warp: settings.warp.or(launch.warp),
        shared: settings.shared.or(launch.shared),
        seed: settings.seed.or(launch.seed),
        ..launch.clone()
    };
    for (name, knob) in &settings.knobs {
        if !has_knob(module, kernel, name) {
            let message = format!("`{}` has no parameter and no input `{name}`", kernel.name);
            return Err(SimError::new(ErrorKind::Launch, message));
        }
        if let Some(index) = kernel.params.iter().position(|param| param.name == *name)
            && let Some(binding) = settled.binding_mut(index, name)
        {
            turn(&mut binding.fill, *knob, name, number_type(kernel.params[index].ty))?;
        }
        let binding = |fill| Binding {
            key: FillKey::Name(name.clone()),
            fill,
            path: Vec::new(),
            is_derived: false,
            span: Span::default(),
        };
        if let Some(input) = inputs(module).find(|input| input.name == *name) {
            let mut fill = Fill::Draws(draws(&settled, input));
            turn(&mut fill, *knob, name, input.ty)?;
            // In front, where it hides no parameter of that name.
            settled.bindings.retain(|binding| !binds_input(binding, name));
            settled.bindings.insert(0, binding(fill));
        }
        let has_param = kernel.params.iter().any(|param| param.name == *name);
        if !has_param && module.textures().any(|(_, data)| data.name == *name) {
            let mut fill = texture_fill(&settled, name);
            turn(&mut fill, *knob, name, Type::F32)?;
            settled.bindings.retain(|binding| !binds_texture(binding, name));
            settled.bindings.insert(0, binding(fill));
        }
    }
    Ok(settled)
}

/// Is there something of that name to turn in a launch: a parameter of the kernel, an input or a `texref`?
pub fn has_knob(module: &Module, kernel: &Function, name: &str) -> bool {
    let is_input = |func: &Function| func.inputs.values().any(|input| input.name == name);
    kernel.params.iter().any(|param| param.name == name)
        || module.funcs.values().any(is_input)
        || module.textures().any(|(_, data)| data.name == name)
}

/// The number that tells an input's stream from every other.
pub fn input_stream(name: &str) -> u64 {
    hash_name(name)
}

/// The inputs of all functions.
fn inputs(module: &Module) -> impl Iterator<Item = &InputData> {
    module.funcs.values().flat_map(|func| func.inputs.values())
}

/// Values that an input draws in a launch.
fn draws(launch: &Launch, input: &InputData) -> Values {
    match launch.bindings.iter().rev().find(|binding| binds_input(binding, &input.name)).map(|binding| &binding.fill) {
        Some(Fill::Draws(values)) => values.clone(),
        Some(Fill::Number(number)) => Values { source: ValueSource::Const(*number), zero: None, coherence: None },
        _ => derive_draws(input.ty),
    }
}

/// Draws of an input that nothing is said about: both sides of a predicate equally often, floats from 0 to 1.
pub fn derive_draws(ty: Type) -> Values {
    let source = match ty {
        Type::Pred => ValueSource::True(0.5),
        _ if ty.is_float() => ValueSource::Random(Number::Float(0.0), Number::Float(1.0)),
        _ => ValueSource::Random(Number::Int(0), Number::Int(15)),
    };
    Values { source, zero: None, coherence: None }
}

/// The texture of a reference that nothing is said about, and of a parameter: 64 × 64 texels of numbers from 0 to 1.
pub fn derive_texture() -> Fill {
    let source = ValueSource::Random(Number::Float(0.0), Number::Float(1.0));
    Fill::Texture { width: 64, height: 64, values: Values { source, zero: None, coherence: None } }
}

/// Texels of a reference to a texture that a launch says nothing about.
fn texture_fill(launch: &Launch, name: &str) -> Fill {
    let is_of = |binding: &&Binding| binds_texture(binding, name);
    launch.bindings.iter().rev().find(is_of).map_or_else(derive_texture, |binding| binding.fill.clone())
}

/// Does the binding say what the texture of the reference of that name holds?
fn binds_texture(binding: &Binding, name: &str) -> bool {
    matches!(&binding.key, FillKey::Name(key) if key == name) && matches!(binding.fill, Fill::Texture { .. })
}

/// The textures of the module's references.
fn bind_textures(
    module: &Module,
    launch: &Launch,
    seed: u64,
    warp: u32,
    total: &mut Bytes,
) -> Result<Vec<(Global, Argument)>, SimError> {
    let texture = |(global, data): (Global, &GlobalData)| {
        let fill = texture_fill(launch, &data.name);
        let stream = hash_name(&data.name);
        let texture = argument(&fill, ParamType::Texture, stream, seed, warp, total);
        texture.map(|texture| (global, texture)).map_err(|error| error.about(&format!("texture `{}`", data.name)))
    };
    module.textures().map(texture).collect()
}

/// Does the binding say what the input of that name draws?
fn binds_input(binding: &Binding, name: &str) -> bool {
    matches!(&binding.key, FillKey::Name(key) if key == name)
        && matches!(binding.fill, Fill::Draws(_) | Fill::Number(_))
}

/// The memory of the lines with a path; each pointer of a line gets memory of its own.
fn bind_pointees(
    kernel: &Function,
    launch: &Launch,
    params: &[Argument],
    seed: u64,
    warp: u32,
    total: &mut Bytes,
) -> Result<Vec<Pointee>, SimError> {
    let mut pointees: Vec<Pointee> = Vec::new();
    for binding in &launch.bindings {
        let Some((step, parent)) = binding.path.split_last() else { continue };
        let refuse =
            |why: &str| Err(SimError::new(ErrorKind::Launch, format!("the launch of `{}`: {why}", kernel.name)));
        let param = (0..params.len()).find(|&index| binding.key.is_of(index, &kernel.params[index].name));
        let (Some(param), Fill::Buffer { ty, len, values }) = (param, &binding.fill) else {
            return refuse("a pointer in memory takes a buffer, and belongs to a parameter");
        };
        // Each piece of memory that the pointers lie in, in bytes.
        let holders: Vec<usize> = match (parent, &params[param]) {
            ([], Argument::Array(bytes) | Argument::Buffer(_, bytes)) => vec![bytes.len()],
            _ => {
                let mut earlier = pointees.iter().filter(|other| other.param == param && other.path == parent);
                earlier.next().map_or(Vec::new(), |other| other.contents.iter().map(Vec::len).collect())
            }
        };
        if holders.is_empty() {
            return refuse("no buffer or array by value contains the pointer");
        }
        let mut contents = Vec::new();
        for pointer in holders.into_iter().flat_map(|bytes| pointer_places(*step, bytes)).enumerate() {
            total.add(u64::from(*len), *ty)?;
            let stream = Stream::new(values, *ty, seed, POINTEES + ((pointees.len() as u64) << 24) + pointer.0 as u64);
            contents.push(filled(&stream, u64::from(*len), *ty, warp));
        }
        pointees.push(Pointee { param, path: binding.path.clone(), ty: *ty, contents });
    }
    Ok(pointees)
}

/// The bytes at which the pointers of a step lie in memory of that size.
pub fn pointer_places(step: PointerStep, bytes: usize) -> impl Iterator<Item = usize> {
    let (first, last) = match step {
        PointerStep::At(byte) => (byte as usize, bytes.min(byte as usize + 8)),
        PointerStep::Each => (0, bytes),
    };
    (first..last).step_by(8).filter(move |place| place + 8 <= bytes)
}

/// The elements of a buffer.
fn filled(stream: &Stream, len: u64, ty: Type, warp: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity((len * u64::from(ty.bytes())) as usize);
    for element in 0..len {
        let bits = stream.value(Place::element(element, warp));
        bytes.extend_from_slice(&bits.to_le_bytes()[..ty.bytes() as usize]);
    }
    bytes
}

/// Draws of inputs, by their names; inputs of one name draw the same.
fn bind_inputs(module: &Module, launch: &Launch) -> Vec<(String, Values)> {
    let mut bound: Vec<(String, Values)> = Vec::new();
    for input in inputs(module) {
        if bound.iter().all(|(name, _)| *name != input.name) {
            bound.push((input.name.clone(), draws(launch, input)));
        }
    }
    bound
}

/// The type of a number that a parameter takes.
fn number_type(param: ParamType) -> Type {
    match param {
        ParamType::Scalar(ty) | ParamType::Array(ty, _) => ty,
        ParamType::Pointer { .. } => Type::B64,
        ParamType::Texture => Type::F32,
    }
}

/// Applies one knob to what the parameter or input of that name gets, a number of type `ty` unless it is a buffer.
fn turn(fill: &mut Fill, knob: Knob, name: &str, ty: Type) -> Result<(), SimError> {
    if let Knob::Value(number) = knob {
        let ty = if let Fill::Buffer { ty, .. } = fill { *ty } else { ty };
        let why = |why| SimError::new(ErrorKind::Launch, format!("invalid value for `{name}`: {why}"));
        number.bits(ty).map_err(why)?;
    }
    let values = match fill {
        Fill::Buffer { values, .. } | Fill::Texture { values, .. } | Fill::Draws(values) => values,
        Fill::Number(_) | Fill::Numbers(_) => {
            let Knob::Value(number) = knob else {
                let message = format!("`{name}` is a number: it takes a value and no probabilities");
                return Err(SimError::new(ErrorKind::Launch, message));
            };
            *fill = Fill::Number(number);
            return Ok(());
        }
    };
    match knob {
        Knob::Value(number) => values.source = ValueSource::Const(number),
        Knob::True(p) => values.source = ValueSource::True(p),
        Knob::Zero(p) => values.zero = Some(p),
        Knob::Coherence(p) => values.coherence = Some(p),
    }
    Ok(())
}

/// Bytes of device memory that a launch holds.
struct Bytes(u64);

impl Bytes {
    /// Counts an array in.
    fn add(&mut self, len: u64, ty: Type) -> Result<(), SimError> {
        self.0 = self.0.saturating_add(len.saturating_mul(u64::from(ty.bytes())));
        if self.0 <= MEMORY_LIMIT {
            return Ok(());
        }
        let message = format!("the buffers and globals of a launch have at most {} MiB in all", MEMORY_LIMIT >> 20);
        Err(SimError::new(ErrorKind::Limit, message))
    }
}

fn argument(
    fill: &Fill,
    param: ParamType,
    stream: u64,
    seed: u64,
    warp: u32,
    total: &mut Bytes,
) -> Result<Argument, SimError> {
    let refuse = |message: String| Err(SimError::new(ErrorKind::Launch, message));
    let mut elements = |values: &Values, ty: Type, len: u64| -> Result<Vec<u8>, SimError> {
        total.add(len, ty)?;
        Ok(filled(&Stream::new(values, ty, seed, stream), len, ty, warp))
    };
    match (param, fill) {
        (ParamType::Scalar(ty), Fill::Number(number)) => Ok(Argument::Bits(number_bits(*number, ty))),
        (ParamType::Array(ty, len), Fill::Numbers(numbers)) => {
            if numbers.len() > len as usize {
                return refuse(format!("an array of {len} takes at most {len} numbers, not {}", numbers.len()));
            }
            let size = ty.bytes() as usize;
            let mut bytes = vec![0; len as usize * size];
            for (chunk, number) in bytes.chunks_mut(size).zip(numbers) {
                chunk.copy_from_slice(&number_bits(*number, ty).to_le_bytes()[..size]);
            }
            Ok(Argument::Array(bytes))
        }
        (ParamType::Array(ty, len), Fill::Number(number)) => {
            let bits = number_bits(*number, ty).to_le_bytes();
            Ok(Argument::Array(bits[..ty.bytes() as usize].repeat(len as usize)))
        }
        (ParamType::Scalar(ty), Fill::Numbers(numbers)) if numbers.len() == 1 => {
            Ok(Argument::Bits(number_bits(numbers[0], ty)))
        }
        // A null pointer, or an address that the program makes sense of.
        (ParamType::Pointer { .. }, Fill::Number(number)) => Ok(Argument::Bits(number_bits(*number, Type::B64))),
        (ParamType::Pointer { .. }, Fill::Buffer { ty, len, values }) => {
            Ok(Argument::Buffer(*ty, elements(values, *ty, u64::from(*len))?))
        }
        (ParamType::Scalar(Type::U64 | Type::B64 | Type::S64), Fill::Buffer { ty, len, values }) => {
            Ok(Argument::Buffer(*ty, elements(values, *ty, u64::from(*len))?))
        }
        (ParamType::Texture | ParamType::Scalar(Type::U64 | Type::B64), Fill::Texture { width, height, values }) => {
            let len = (u64::from(*width) * u64::from(*height)).saturating_mul(4);
            if len == 0 {
                return refuse("a texture has at least one texel".to_string());
            }
            Ok(Argument::Texture(*width, *height, elements(values, Type::F32, len)?))
        }
        (ParamType::Scalar(ty), _) => refuse(format!("a `{ty}` takes a number")),
        (ParamType::Array(..), _) => refuse("an array by value takes numbers in braces".to_string()),
        (ParamType::Pointer { .. }, _) => refuse("a pointer takes a buffer".to_string()),
        (ParamType::Texture, _) => refuse("a texture takes `texture f32[width, height]`".to_string()),
    }
}
