//! Addresses of every named piece of memory: globals, parameters, shared and local arrays.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use super::{CALL_DEPTH_LIMIT, LOCAL_LIMIT};
use crate::error::{ErrorKind, SimError};
use crate::ir::{Array, Func, Function, Global, Module, Space, Symbol};
use crate::memory::{PARAM_WINDOW, SHARED_WINDOW};

/// Local memory of the deepest chain of calls; of the deepest allowed where the program recurses.
pub(super) fn local_bytes(module: &Module, kernel: Func, funcs: &[Func]) -> Result<u32, SimError> {
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
pub(super) fn array_offsets(func: &Function, space: Space) -> (BTreeMap<Array, u32>, u32) {
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

/// Addresses of every named piece of memory.
pub(super) struct Symbols {
    pub(super) globals: BTreeMap<Global, u64>,
    /// Offsets in the shared or local window, by function and array.
    pub(super) arrays: BTreeMap<(Func, Array), u32>,
    pub(super) params: Vec<u32>,
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

/// Address of a symbol.
pub(super) enum SymbolAddress {
    /// Address that all frames share.
    Fixed(u64),
    /// An offset from the frame's local base.
    Local(u32),
}
