//! Passes one after the other over the functions of a module.
//!
//! ```text
//! copy-prop    computes graph and dominators
//! const-fold   finds them as they are: no edge has changed
//! dce          finds the graph
//! ```
//!
//! What one pass has computed of a function, and what its edits have left true, the next pass starts with. The runner
//! holds the module for as long as it holds such knowledge, so nothing else can change a function meanwhile.

use core::mem;
use cranelift_entity::SecondaryMap;

use crate::ir::{Func, FuncKind, Function, Module};
use crate::pass::{PassEntry, PassError, Settings};
use crate::trace::{NoTrace, Trace};
use crate::view::{Analyses, View};

/// A module and what is known of its functions.
pub struct Runner<'m> {
    module: &'m mut Module,
    known: SecondaryMap<Func, Analyses>,
}

impl<'m> Runner<'m> {
    /// Knows nothing yet.
    pub fn new(module: &'m mut Module) -> Runner<'m> {
        Runner { module, known: SecondaryMap::new() }
    }

    /// The module as it is now.
    pub fn module(&self) -> &Module {
        self.module
    }

    /// Runs one pass over one function. Gives the number of rewrites made, and whether it came to its end.
    pub fn run(
        &mut self,
        func: Func,
        pass: &PassEntry,
        settings: &Settings,
        trace: &mut dyn Trace,
    ) -> (u64, Result<(), PassError>) {
        self.with_view(func, trace, |view| {
            let outcome = (pass.run)(view, settings);
            (view.rewrites(), outcome)
        })
    }

    /// Computes the graph of a function and its dominators, so that the time of a pass afterwards is its own.
    pub fn know_graph(&mut self, func: Func) {
        self.with_view(func, &mut NoTrace, |view| drop((view.cfg(), view.dominators())));
    }

    fn with_view<T>(&mut self, func: Func, trace: &mut dyn Trace, work: impl FnOnce(&mut View<'_>) -> T) -> T {
        // The function leaves the module while it is changed, so that the pass can read the rest of the program.
        let mut body = mem::replace(&mut self.module.funcs[func], Function::new("", FuncKind::Func));
        let mut view = View::new(self.module, &mut body, trace, mem::take(&mut self.known[func]));
        let result = work(&mut view);
        let (known, globals) = view.close();
        self.known[func] = known;
        self.module.funcs[func] = body;
        for global in globals {
            self.module.create_global(global, func);
        }
        result
    }
}

/// Runs one pass over one function of a module of which nothing is known; see [`Runner::run`].
pub fn run_pass(
    module: &mut Module,
    func: Func,
    pass: &PassEntry,
    settings: &Settings,
    trace: &mut dyn Trace,
) -> (u64, Result<(), PassError>) {
    Runner::new(module).run(func, pass, settings, trace)
}

#[cfg(test)]
mod tests {
    use alloc::rc::Rc;

    use super::*;
    use crate::pass::find;
    use crate::text;
    use crate::trace::Remark;

    const TEXT: &str = "kernel k(n: u32) {
n1:
    a = mov.u32 n
    p = setp.lt.u32 a, 3
    br p, n2, n3
n2:
    br n3
n3:
    ret
}
";

    /// The graph's address is its identity as long as it is held.
    fn graph(runner: &mut Runner<'_>, func: Func) -> Rc<crate::graph::Cfg> {
        runner.with_view(func, &mut NoTrace, |view| view.cfg())
    }

    #[test]
    fn the_next_pass_starts_with_what_the_last_one_left_true() {
        let mut module = text::parse(TEXT).module;
        let func = module.funcs.keys().next().unwrap();
        let mut runner = Runner::new(&mut module);
        runner.know_graph(func);
        let before = graph(&mut runner, func);
        let pass = find("copy-prop").unwrap();
        let (rewrites, _) = runner.run(func, pass, &pass.default_settings(), &mut NoTrace);
        assert_eq!(rewrites, 1);
        assert!(Rc::ptr_eq(&before, &graph(&mut runner, func)), "no edge has changed");
        let pass = find("simplify-cfg").unwrap();
        let (rewrites, _) = runner.run(func, pass, &pass.default_settings(), &mut NoTrace);
        assert!(rewrites > 0);
        let after = graph(&mut runner, func);
        assert!(!Rc::ptr_eq(&before, &after));
        assert_eq!(*after, crate::graph::Cfg::compute(&runner.module().funcs[func]));
    }

    #[test]
    fn an_edit_at_the_very_end_of_a_pass_is_not_forgotten() {
        let mut module = text::parse(TEXT).module;
        let func = module.funcs.keys().next().unwrap();
        let mut runner = Runner::new(&mut module);
        let before = graph(&mut runner, func);
        runner.with_view(func, &mut NoTrace, |view| {
            let block = view.func().block_by_name("n1").unwrap();
            let target = view.func().block_by_name("n3").unwrap();
            let inst = view.func().terminator(block).unwrap();
            let mut rewrite = view.rewrite(|_| Remark::applied("test", block, "straight on"));
            rewrite.replace(inst, crate::ir::InstData::branch(target));
        });
        let after = graph(&mut runner, func);
        assert_ne!(*before, *after);
        assert_eq!(*after, crate::graph::Cfg::compute(&runner.module().funcs[func]));
    }
}
