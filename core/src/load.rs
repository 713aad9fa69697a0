//! From a text to a program that can be worked with, for page, command line and npm package alike.
//!
//! ```text
//! .wir  ──parse, verify──────────────────────▶ module and diagnostics
//! PTX   ──import, verify, infer-space────────▶ module and diagnostics
//! ```
//!
//! A read of a register that no path has assigned is an error of the text IR; in PTX it gives 0,
//! with a warning. Importing PTX is syntactic, so the memory of its generic accesses is inferred
//! here: figures of a program are the same wherever it is loaded. PTX loads kernel by kernel; one
//! with an error is left out, and the others can be used.

use alloc::vec::Vec;

use cranelift_entity::EntitySet;

use crate::ir::{Func, Function, Module};
use crate::pass;
use crate::ptx;
use crate::text::{Diagnostic, Parsed};
use crate::trace::NoTrace;
use crate::verify;

/// Languages in which a program is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Dialect {
    /// The text IR.
    #[default]
    Wir,
    /// PTX.
    Ptx,
}

impl Dialect {
    /// The dialect of a text: PTX begins with a directive or a block comment, which no line of the text IR does.
    pub fn of(source: &str) -> Dialect {
        let source = source.strip_prefix('\u{FEFF}').unwrap_or(source);
        let is_blank = |line: &&str| line.is_empty() || line.starts_with("//");
        let line = source.split(['\n', '\r']).map(str::trim_start).find(|line| !is_blank(line));
        if line.is_some_and(|line| line.starts_with(['.', '/'])) { Dialect::Ptx } else { Dialect::Wir }
    }
}

/// A program as far as it could be read.
#[derive(Clone)]
pub struct Loaded {
    /// The program; parts with errors are missing.
    pub module: Module,
    /// Errors and warnings in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// May the program be used: has it no errors, or a good kernel in PTX?
    pub is_usable: bool,
}

impl Loaded {
    /// Is there an error?
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Reads a program, with everything that is wrong with it.
pub fn load(source: &str, dialect: Dialect) -> Loaded {
    let Parsed { mut module, mut diagnostics, .. } = match dialect {
        Dialect::Wir => verify::check(source),
        Dialect::Ptx => ptx::import(source),
    };
    if dialect == Dialect::Ptx {
        module.funcs.values_mut().for_each(|func| diagnostics.extend(assign_unassigned(func)));
        diagnostics.extend(verify::verify(&module));
        infer_spaces(&mut module);
    }
    let has_errors = diagnostics.iter().any(Diagnostic::is_error);
    let is_usable = !has_errors || (dialect == Dialect::Ptx && module.kernels().next().is_some());
    Loaded { module, diagnostics, is_usable }
}

/// Lets registers that are read where no path has assigned them start as 0: `ptxas` takes such PTX, and compilers print
/// it for what the source leaves undefined.
fn assign_unassigned(func: &mut Function) -> Vec<Diagnostic> {
    let mut seen = EntitySet::with_capacity(func.regs.len());
    let mut reads = verify::unassigned_reads(func);
    reads.retain(|&(reg, _)| seen.insert(reg));
    ptx::start_at_zero(func, &reads, "no path to here assigns it")
}

fn infer_spaces(module: &mut Module) {
    let Some(pass) = pass::find("infer-space") else { return };
    let funcs: Vec<Func> = module.funcs.keys().collect();
    for func in funcs {
        // The pass has no way to fail; accesses that it cannot infer stay generic.
        let _ = pass::run_pass(module, func, pass, &pass.default_settings(), &mut NoTrace);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialect_follows_from_first_line() {
        for ptx in
            [".version 8.0\n", "//\n// nvcc\n//\n\n.version 8.0", "/* x */ .version 8.0", "\u{FEFF}// x\r.target sm_80"]
        {
            assert_eq!(Dialect::of(ptx), Dialect::Ptx, "{ptx:?}");
        }
        for wir in ["", "kernel k() {\n", "// .version\nkernel k() {\n", "\n\n  global g: u32[4]\n"] {
            assert_eq!(Dialect::of(wir), Dialect::Wir, "{wir:?}");
        }
    }

    #[test]
    fn unassigned_reads_are_errors_of_text_and_zeros_of_ptx() {
        let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
            .reg .b64 %rd<2>;\n.reg .b32 %r<3>;\nld.param.u64 %rd1, [p];\nst.global.u32 [%rd1], %r1;\n\
            mov.u32 %r1, 7;\nst.global.u32 [%rd1], %r1;\nst.global.u32 [%rd1], %r2;\nret;\n}\n";
        let loaded = load(ptx, Dialect::Ptx);
        let found: Vec<_> = loaded.diagnostics.iter().map(|found| (found.is_error(), found.message.as_str())).collect();
        assert_eq!(
            found,
            [
                (false, "`r2` is read, but nothing assigns it: it counts as 0"),
                (false, "`r1` is read, but no path to here assigns it: it counts as 0"),
            ]
        );
        let text = crate::text::print(&loaded.module);
        assert!(text.contains("r1 = mov.u32 0\n"), "{text}");
        let wir = "kernel k(p: ptr.global) {\nentry:\n    st.global.u32 p[0], a\n    a = mov.u32 7\n    ret\n}\n";
        let loaded = load(wir, Dialect::Wir);
        assert!(loaded.has_errors() && !loaded.is_usable);
    }

    #[test]
    fn generic_accesses_of_ptx_name_their_memory() {
        let source = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
            .reg .b64 %rd<2>;\n.reg .b32 %r<2>;\nld.param.u64 %rd1, [p];\nld.u32 %r1, [%rd1];\nst.u32 [%rd1], \
            %r1;\nret;\n}\n";
        let loaded = load(source, Dialect::Ptx);
        assert!(loaded.is_usable && !loaded.has_errors());
        assert!(loaded.module.funcs.values().all(|func| func.generic_access_count() == 0));
    }
}
