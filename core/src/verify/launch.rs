//! Launches against the kernels that they launch.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::ir::{Binding, Fill, FillKey, FuncKind, Function, Launch, Number, ParamType, Type, ValueSource, Values};
use crate::text::{Diagnostic, nearest, quoted};

use super::Verifier;

/// Parameter or input that a line of a launch sets.
#[derive(Clone, Copy)]
enum Bound {
    Param(usize),
    Input(Type),
    /// A `texref` of the module.
    Texture,
}

impl Verifier<'_> {
    pub(super) fn launches(&mut self) {
        for launch in &self.module.launches {
            self.launch(launch);
        }
    }

    fn launch(&mut self, launch: &Launch) {
        let name = quoted(&launch.kernel);
        let module = self.module;
        let Some(kernel) = module.func_by_name(&launch.kernel).map(|func| &module.funcs[func]) else {
            let kernels = module.kernels().map(|func| module.funcs[func].name.as_str());
            let diagnostic = Diagnostic::error("unknown-kernel", launch.span, format!("unknown kernel {name}"));
            let meant = nearest(&launch.kernel, kernels);
            return self.diagnostics.push(diagnostic.with_suggestion(launch.span, meant));
        };
        if kernel.kind != FuncKind::Kernel {
            let message = format!("{name} is a `func`: only a `kernel` can be launched");
            return self.diagnostics.push(Diagnostic::error("unknown-kernel", launch.span, message));
        }
        let errors = self.diagnostics.error_count();
        let mut params: Vec<Option<&Binding>> = alloc::vec![None; kernel.params.len()];
        // Inputs and textures.
        let mut inputs: Vec<(&str, &Binding)> = Vec::new();
        for binding in &launch.bindings {
            let Some(bound) = self.bound(kernel, binding) else { continue };
            if !binding.path.is_empty() {
                self.pointer(kernel, launch, bound, binding);
                continue;
            }
            let earlier = match bound {
                Bound::Param(index) => params[index].replace(binding),
                Bound::Input(_) | Bound::Texture => {
                    let FillKey::Name(name) = &binding.key else { continue };
                    let earlier = inputs.iter().find(|(other, _)| other == name).map(|(_, binding)| *binding);
                    inputs.push((name, binding));
                    earlier
                }
            };
            if let Some(earlier) = earlier {
                let diagnostic = Diagnostic::error("duplicate-binding", binding.span, "this has a value already");
                self.diagnostics.push(diagnostic.with_label(earlier.span, "given here"));
            }
            if let Err(why) = fits(kernel, bound, &binding.fill) {
                self.diagnostics.push(Diagnostic::error("wrong-fill", binding.span, why));
            }
        }
        if self.diagnostics.error_count() > errors {
            // What has no value may be what the wrong lines are about.
            return;
        }
        let unbound_params = kernel.params.iter().zip(&params).filter(|(_, binding)| binding.is_none());
        let unbound_inputs = kernel.inputs.values().filter(|input| !inputs.iter().any(|(name, _)| *name == input.name));
        let unbound = unbound_params
            .map(|(param, _)| param.name.as_str())
            .chain(unbound_inputs.map(|input| input.name.as_str()))
            .map(quoted)
            .collect::<Vec<String>>();
        if !unbound.is_empty() {
            let message = format!("no value for {}", unbound.join(", "));
            self.diagnostics.push(Diagnostic::warning("unbound", launch.span, message));
        }
        let unsized_array = kernel.arrays.values().find(|array| array.len.is_none());
        if let (Some(array), None) = (unsized_array, launch.shared) {
            let message = format!("{} has no size; say `shared` and a number of bytes", quoted(&array.name));
            self.diagnostics.push(Diagnostic::warning("unbound", launch.span, message));
        }
    }

    /// A line about the memory that a pointer in other memory points to.
    fn pointer(&mut self, kernel: &Function, launch: &Launch, bound: Bound, binding: &Binding) {
        let mut earlier = launch.bindings.iter().take_while(|other| !core::ptr::eq(*other, binding));
        if let Some(earlier) = earlier.find(|other| other.path == binding.path && other.key == binding.key) {
            let diagnostic = Diagnostic::error("duplicate-binding", binding.span, "this has a value already");
            self.diagnostics.push(diagnostic.with_label(earlier.span, "given here"));
        }
        let parent = &binding.path[..binding.path.len() - 1];
        let points_from = |index: usize| match (parent, kernel.params[index].ty) {
            ([], ParamType::Array(..)) => true,
            _ => launch.bindings.iter().take_while(|other| !core::ptr::eq(*other, binding)).any(|other| {
                other.path == parent
                    && other.key.is_of(index, &kernel.params[index].name)
                    && matches!(other.fill, Fill::Buffer { .. })
            }),
        };
        let why = match (bound, &binding.fill) {
            (Bound::Input(_), _) => String::from("an input has no memory with pointers"),
            (Bound::Texture, _) => String::from("a texture has no memory with pointers"),
            (_, Fill::Buffer { ty, values, .. }) => match values_fit(values, *ty) {
                Err(why) => why,
                Ok(()) if !matches!(bound, Bound::Param(index) if points_from(index)) => {
                    String::from("no earlier buffer or array by value contains the pointer")
                }
                Ok(()) => return,
            },
            _ => String::from("a pointer takes `buffer type[n] …`"),
        };
        self.diagnostics.push(Diagnostic::error("wrong-fill", binding.span, why));
    }

    fn bound(&mut self, kernel: &Function, binding: &Binding) -> Option<Bound> {
        let name = match &binding.key {
            FillKey::Index(index) => {
                let count = kernel.params.len();
                if (*index as usize) < count {
                    return Some(Bound::Param(*index as usize));
                }
                let message = format!("{} has {count} parameters, counted from #0", quoted(&kernel.name));
                self.diagnostics.push(Diagnostic::error("unknown-parameter", binding.span, message));
                return None;
            }
            FillKey::Name(name) => name,
        };
        if let Some(index) = kernel.params.iter().position(|param| param.name == *name) {
            return Some(Bound::Param(index));
        }
        // Functions that the kernel calls draw inputs too.
        let inputs = || kernel.inputs.values().chain(self.module.funcs.values().flat_map(|func| func.inputs.values()));
        if let Some(input) = inputs().find(|input| input.name == *name) {
            return Some(Bound::Input(input.ty));
        }
        let textures = || self.module.textures().map(|(_, global)| global.name.as_str());
        if textures().any(|texture| texture == name) {
            return Some(Bound::Texture);
        }
        let names = kernel.params.iter().map(|param| param.name.as_str());
        let names = names.chain(inputs().map(|input| input.name.as_str())).chain(textures());
        let meant = nearest(name, names);
        let message = format!("{} has no parameter or input {}", quoted(&kernel.name), quoted(name));
        let diagnostic = Diagnostic::error("unknown-parameter", binding.span, message);
        self.diagnostics.push(diagnostic.with_suggestion(binding.span, meant));
        None
    }
}

/// Can the parameter or input take that?
fn fits(kernel: &Function, bound: Bound, fill: &Fill) -> Result<(), String> {
    let index = match bound {
        Bound::Param(index) => index,
        Bound::Texture => {
            return match fill {
                Fill::Texture { values, .. } => values_fit(values, Type::F32),
                _ => Err(format!("a `texref` takes {}", wanted(ParamType::Texture))),
            };
        }
        Bound::Input(ty) => {
            return match fill {
                Fill::Draws(values) => values_fit(values, ty),
                _ => Err(String::from("an input takes `draws` and how they are made, as `draws true 0.5`")),
            };
        }
    };
    let param = &kernel.params[index];
    match (param.ty, fill) {
        (ParamType::Scalar(ty), Fill::Number(number)) => number.bits(ty).map(|_| ()),
        (ParamType::Pointer { .. } | ParamType::Scalar(Type::B64 | Type::U64), Fill::Buffer { ty, values, .. }) => {
            values_fit(values, *ty)
        }
        // A null pointer, or an address that the program makes sense of.
        (ParamType::Pointer { .. }, Fill::Number(number)) => number.bits(Type::B64).map(|_| ()),
        (ParamType::Array(ty, len), Fill::Numbers(numbers)) => {
            if numbers.len() > len as usize {
                return Err(format!("{} values do not fit {ty}[{len}]", numbers.len()));
            }
            numbers.iter().try_for_each(|number| number.bits(ty).map(|_| ()))
        }
        (ParamType::Texture | ParamType::Scalar(Type::B64 | Type::U64), Fill::Texture { values, .. }) => {
            values_fit(values, Type::F32)
        }
        (ty, _) => Err(format!("{} takes {}", quoted(&param.name), wanted(ty))),
    }
}

fn wanted(ty: ParamType) -> String {
    match ty {
        ParamType::Scalar(ty @ (Type::B64 | Type::U64)) => format!("a number of type {ty} or `buffer type[n] …`"),
        ParamType::Scalar(ty) => format!("a number of type {ty}"),
        ParamType::Pointer { .. } => String::from("`buffer type[n] …`"),
        ParamType::Array(ty, len) => format!("up to {len} numbers of type {ty} in braces"),
        ParamType::Texture => String::from("`texture f32[width, height] …`"),
    }
}

fn values_fit(values: &Values, ty: Type) -> Result<(), String> {
    let fits = |number: &Number| number.bits(ty).map(|_| ());
    match &values.source {
        ValueSource::Const(number) => fits(number),
        ValueSource::Random(low, high) => fits(low).and_then(|()| fits(high)),
        ValueSource::List(numbers) => numbers.iter().try_for_each(fits),
        ValueSource::Iota | ValueSource::True(_) => Ok(()),
    }
}
