//! Values that a person may change for a run: the inputs, buffers and textures of a launch whose values are not a plain list.

use std::collections::BTreeSet;

use warpscope_core::flow::{Definition, Values as ValueNames};
use warpscope_core::graph::{Cfg, Dominators};
use warpscope_core::ir::{Binding, Fill, FillKey, Function, Module, Space, Type, ValueSource as CoreSource, Values};
use warpscope_core::symbolic::{Affine, AffineNames, Atom, Base, Overflow};

use crate::message::ValueSource;

/// The inputs, buffers and textures of the launch of `func`.
///
/// A slider for the values of a buffer that the kernel never loads from would move nothing, so each says whether it does.
pub fn value_sources(module: &Module, func: &Function) -> Vec<ValueSource> {
    let Some(launch) = module.launch_of(&func.name) else { return Vec::new() };
    let reads = Reads::of(func);
    let place = |key: &FillKey| match key {
        FillKey::Name(name) => func.params.iter().position(|param| param.name == *name),
        FillKey::Index(index) => Some(*index as usize),
    };
    let name = |key: &FillKey| match key {
        FillKey::Name(name) => name.clone(),
        FillKey::Index(index) => func.params.get(*index as usize).map(|param| param.name.clone()).unwrap_or_default(),
    };
    let source = |what: String, name: String, values: &Values| ValueSource {
        name,
        what,
        truth: if let CoreSource::True(probability) = values.source { Some(probability) } else { None },
        zero: Some(values.zero.unwrap_or(0.0)),
        coherence: Some(values.coherence.unwrap_or(0.0)),
        is_read: true,
    };
    let of_binding = |binding: &Binding| {
        let name = name(&binding.key);
        match &binding.fill {
            Fill::Buffer { ty, len, values } => {
                let is_read = place(&binding.key).is_none_or(|place| reads.may_be_of(place));
                Some(ValueSource { is_read, ..source(format!("buffer {}[{len}]", type_name(*ty)), name, values) })
            }
            Fill::Texture { width, height, values } => {
                Some(source(format!("texture {width} × {height}"), name, values))
            }
            Fill::Draws(values) => {
                // Lanes that all draw the same cannot disagree.
                let is_uniform = func.inputs.values().any(|input| input.name == name && input.uniform);
                let mut drawn = source(if is_uniform { "uniform input" } else { "input" }.to_owned(), name, values);
                drawn.coherence = drawn.coherence.filter(|_| !is_uniform);
                Some(drawn)
            }
            Fill::Number(_) | Fill::Numbers(_) => None,
        }
    };
    launch.bindings.iter().filter(|binding| binding.path.is_empty()).filter_map(of_binding).collect()
}

fn type_name(ty: Type) -> String {
    format!("{ty:?}").to_lowercase()
}

/// From which buffers a kernel may load.
enum Reads {
    /// Only from those of these parameters, by their places.
    Of(BTreeSet<usize>),
    /// A call, or an address of unknown origin: perhaps from all.
    Anything,
}

impl Reads {
    fn of(func: &Function) -> Reads {
        let cfg = Cfg::compute(func);
        let values = ValueNames::compute(func, &cfg, &Dominators::compute(&cfg));
        let names = AffineNames::new(func, &values, Overflow::Assume);
        let mut places = BTreeSet::new();
        for inst in func.block_order().flat_map(|block| func.block_insts(block)) {
            let opcode = &func.insts[inst].opcode;
            let is_of_buffers = opcode.space.is_none_or(|space| space == Space::Global);
            if !opcode.op.reads_memory() || !is_of_buffers || opcode.op.is_texture() {
                continue;
            }
            let Some(address) = names.address(inst) else { return Reads::Anything };
            match (address.base, passed_number(func, &values, &address.offset)) {
                (Base::Pointer(place), _) => drop(places.insert(place as usize)),
                (Base::Symbol(_), _) => {}
                (Base::Unknown, Some(place)) => drop(places.insert(place)),
                (Base::Unknown, None) => return Reads::Anything,
            }
        }
        Reads::Of(places)
    }

    fn may_be_of(&self, place: usize) -> bool {
        match self {
            Reads::Of(places) => places.contains(&place),
            Reads::Anything => true,
        }
    }
}

/// The place of the one parameter that an address is counted from, where the address was passed as a mere 64-bit number:
/// PTX need not say that it is a pointer. Narrower terms are offsets; any other wide one may be an address itself.
fn passed_number(func: &Function, values: &ValueNames, address: &Affine) -> Option<usize> {
    let mut wide = address.terms().iter().filter_map(|(atom, coefficient)| match atom {
        Atom::Value(value, _) => (func.reg_types[values.reg(*value)].bits() == 64).then_some((*value, *coefficient)),
        Atom::Symbol(_) | Atom::Special(_) | Atom::Rounds(..) => None,
    });
    match (wide.next(), wide.next()) {
        (Some((value, 1)), None) if values.definition(value) == Definition::Entry => {
            let reg = values.reg(value);
            func.params.iter().position(|param| param.reg == Some(reg))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::load;

    fn read(source: &str) -> Vec<(String, bool)> {
        let module = load(source, "").module;
        let kernel = module.kernels().next().expect("the source has a kernel");
        let sources = value_sources(&module, &module.funcs[kernel]);
        sources.into_iter().map(|source| (source.name, source.is_read)).collect()
    }

    #[test]
    fn a_buffer_that_is_only_stored_to_says_so() {
        let source = "kernel k(x: ptr.global, y: ptr.global, z: ptr.global) {
entry:
    i = mov.u32 %tid
    a = ld.global.u32 x[i]
    b = atom.global.add.u32 z[0], a
    st.global.u32 y[i], b
    ret
}
";
        let known = |name: &str, is_read| (name.to_owned(), is_read);
        assert_eq!(read(source), [known("x", true), known("y", false), known("z", true)]);
        // Where a load's address came from memory, it may be any buffer's.
        let indirect =
            source.replace("ld.global.u32 x[i]", "mov.u32 1\n    q = ld.global.u64 x[i]\n    c = ld.global.u32 [q]");
        assert_eq!(read(&indirect), [known("x", true), known("y", true), known("z", true)]);
    }

    #[test]
    fn addresses_that_ptx_computes_are_followed() {
        let only_written = |source: &str| {
            let sources = read(source).into_iter();
            sources.filter(|(_, is_read)| !is_read).map(|(name, _)| name).collect::<Vec<_>>()
        };
        // The second buffer of saxpy is loaded from and stored to.
        assert_eq!(only_written(include_str!("../../../www/examples/cuda/saxpy.O3.ptx")), [""; 0]);
        assert_eq!(only_written(include_str!("../../../www/examples/cuda/stencil.O3.ptx")), ["stencil_param_4"]);
        assert_eq!(only_written(include_str!("../../../www/examples/cuda/lighting.O3.ptx")), ["lighting_param_5"]);
    }
}
