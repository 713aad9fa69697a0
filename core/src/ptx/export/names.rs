//! The names of functions, variables and parameters in PTX.
//!
//! ```text
//! read from PTX     _Z3addPf, $str, %tab     as they were there
//! made by a pass    add_zeros                as in the text IR
//! made by a pass    _, WARP_SZ               __, WARP_SZ_: the two names that PTX does not take
//! ```
//!
//! PTX reserves no opcode and no type as a name. A name that is taken in its scope gets
//! underscores. A parameter or array may hide a name of the module, as it does in its source, but
//! not that of a function, which the text IR calls all the same.
//!
//! O(n log n) in the names.

use crate::ir::{Array, Declaration, Func, FuncKind, Function, Global, Module, Passing};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Bound;
use cranelift_entity::SecondaryMap;

/// The names at module scope.
#[derive(Default)]
pub(super) struct ModuleNames {
    pub funcs: SecondaryMap<Func, String>,
    pub globals: SecondaryMap<Global, String>,
    /// Shared arrays that launches size, which are at module scope in PTX, by their own names.
    pub dynamic: BTreeMap<String, String>,
    taken: BTreeSet<String>,
    /// Those that a function may name although one of its own declarations has the name too.
    callable: BTreeSet<String>,
}

/// The names in a function.
pub(super) struct LocalNames<'m> {
    pub module: &'m ModuleNames,
    pub params: Vec<String>,
    pub arrays: SecondaryMap<Array, String>,
    /// The parameter that a function returns its result in.
    pub result: String,
    taken: BTreeSet<String>,
}

impl ModuleNames {
    pub fn new(module: &Module) -> ModuleNames {
        let mut names = ModuleNames::default();
        names.taken.extend(module.declarations.iter().map(|declaration| declaration.name.clone()));
        // The originals come first, so that nothing else takes one.
        for original in [true, false] {
            for (id, func) in module.funcs.iter().filter(|(_, func)| func.declaration.is_some() == original) {
                names.funcs[id] = fresh(own_name(&func.declaration, &func.name), &mut names.taken, |_| false);
                names.taken.extend(func.aliases.iter().map(|alias| alias.name.clone()));
            }
            for (id, global) in module.globals.iter().filter(|(_, global)| global.declaration.is_some() == original) {
                names.globals[id] = fresh(own_name(&global.declaration, &global.name), &mut names.taken, |_| false);
            }
        }
        let callable = module.funcs.iter().filter(|(_, func)| func.kind == FuncKind::Func);
        names.callable = callable.map(|(id, _)| names.funcs[id].clone()).collect();
        for array in module.funcs.values().flat_map(|func| func.arrays.values()).filter(|array| array.len.is_none()) {
            let own = own_name(&array.declaration, &array.name);
            if array.is_of_file {
                names.dynamic.insert(own.to_string(), own.to_string());
            }
            if !names.dynamic.contains_key(own) {
                let name = fresh(own, &mut names.taken, |_| false);
                names.dynamic.insert(own.to_string(), name);
            }
        }
        names
    }
}

impl<'m> LocalNames<'m> {
    pub fn new(func: &Function, module: &'m ModuleNames) -> LocalNames<'m> {
        let mut taken = BTreeSet::new();
        let mut params = Vec::new();
        for param in &func.params {
            let is_hidden = |name: &str| param.declaration.is_none() && module.callable.contains(name);
            let own = own_name(&param.declaration, &param.name);
            params.push(match param.passing {
                Passing::FileShared => own.to_string(),
                _ => fresh(own, &mut taken, is_hidden),
            });
        }
        let mut arrays: SecondaryMap<Array, String> = SecondaryMap::new();
        for (id, array) in func.arrays.iter() {
            let own = own_name(&array.declaration, &array.name);
            arrays[id] = match array.len {
                _ if array.is_of_file => own.to_string(),
                // PTX has scopes inside of functions, and outside of one its name may mean something else.
                Some(_) if array.declaration.is_some() => fresh(own, &mut taken, |name| module.taken.contains(name)),
                Some(_) => fresh(own, &mut taken, |name| module.callable.contains(name)),
                None => module.dynamic.get(own).cloned().unwrap_or_default(),
            };
        }
        let is_result = |passing: Passing| matches!(passing, Passing::AggregateResult(_));
        let result = match func.params.iter().position(|param| is_result(param.passing)) {
            Some(place) => params[place].clone(),
            None => fresh(own_name(&func.result_declaration, "func_retval0"), &mut taken, |name| {
                func.result_declaration.is_none() && module.taken.contains(name)
            }),
        };
        LocalNames { module, params, arrays, result, taken }
    }

    /// Does a function, variable or parameter that is visible here have the name?
    pub fn has(&self, name: &str) -> bool {
        self.taken.contains(name) || self.module.taken.contains(name)
    }

    /// Does the name of a function, variable or parameter that is visible here begin so?
    pub fn has_prefix(&self, prefix: &str) -> bool {
        [&self.taken, &self.module.taken].into_iter().any(|taken| {
            let first = taken.range::<str, _>((Bound::Included(prefix), Bound::Unbounded)).next();
            first.is_some_and(|name| name.starts_with(prefix))
        })
    }
}

fn own_name<'a>(declaration: &'a Option<Box<Declaration>>, name: &'a str) -> &'a str {
    declaration.as_ref().map_or(name, |declaration| &declaration.name)
}

/// The name, with underscores until it is free, in PTX and here.
fn fresh(name: &str, taken: &mut BTreeSet<String>, is_hidden: impl Fn(&str) -> bool) -> String {
    let mut name = name.to_string();
    while matches!(name.as_str(), "_" | "WARP_SZ") || is_hidden(&name) || taken.contains(&name) {
        name.push('_');
    }
    taken.insert(name.clone());
    name
}
