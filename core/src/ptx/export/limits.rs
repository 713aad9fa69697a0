//! Limits of PTX on the memory of constants, parameters and shared arrays.
//!
//! The text IR takes larger ones, which the assembler would refuse.
//!
//! Linear in the declarations.
//!
//! Source: PTX ISA, "Constant State Space" and "Kernel Function Parameters"; what `ptxas` says beyond them.

use super::param_type;
use crate::ir::{FuncKind, Function, Module, ParamType, Space};
use crate::text::Diagnostic;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Bytes of all constants of a module.
const CONSTANTS: u64 = 64 << 10;

/// Bytes of a kernel's parameters.
const PARAMS: u64 = 32_764;

/// Bytes of a kernel's shared arrays of fixed size.
const SHARED: u64 = 48 << 10;

/// An error for the first constant that has no room.
pub(super) fn constants(module: &Module) -> Option<Diagnostic> {
    let mut bytes = 0u64;
    let mut constants = module.globals.values().filter(|global| global.space == Space::Const);
    let beyond = constants.find(|global| {
        bytes += u64::from(global.ty.bytes()) * u64::from(global.len);
        bytes > CONSTANTS
    })?;
    let message = format!("`{}` does not fit into the {CONSTANTS} bytes that PTX has for constants", beyond.name);
    Some(Diagnostic::error("ptx-inexpressible", beyond.span, message))
}

/// Memory of which a function has too much.
pub(super) fn of_function(func: &Function) -> Vec<String> {
    let mut problems = Vec::new();
    let shared = func.arrays.values().filter(|array| array.space == Space::Shared);
    let shared: u64 = shared.map(|array| u64::from(array.ty.bytes()) * u64::from(array.len.unwrap_or(0))).sum();
    if shared > SHARED {
        problems.push(format!(
            "{shared} bytes of shared arrays; PTX takes {SHARED}, and more where the launch says their size"
        ));
    }
    let params = param_bytes(func);
    if func.kind == FuncKind::Kernel && params > PARAMS {
        problems.push(format!("{params} bytes of parameters; PTX takes {PARAMS}"));
    }
    problems
}

/// The bytes of a function's parameters, each aligned to its size or, for an array, to 8 bytes.
pub(super) fn param_bytes(func: &Function) -> u64 {
    func.params.iter().fold(0, |bytes: u64, param| {
        let (size, align) = match param.ty {
            ParamType::Scalar(ty) => (u64::from(param_type(ty).bytes()), u64::from(param_type(ty).bytes())),
            ParamType::Array(ty, len) => (u64::from(ty.bytes()) * u64::from(len), 8),
            ParamType::Pointer { .. } | ParamType::Texture => (8, 8),
        };
        bytes.next_multiple_of(align.max(1)) + size
    })
}
