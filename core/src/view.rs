//! A function with its analyses, each computed when first asked for and dropped by what an edit touches.
//!
//! A pass reads and changes its function through one [`View`], and hands on the analyses that are still true when it is
//! done: the next pass starts with them. Analyses are handed out as shared pointers: a pass that holds one across its
//! own edits looks at the past, knowingly. In debug builds an analysis that survives an edit is computed again and
//! compared, so that a wrong claim about what an edit touches cannot hide.

use alloc::rc::Rc;
use alloc::vec::Vec;

use crate::edit::{Editor, Rewrite};
use crate::flow::{Divergence, DivergenceInput, Liveness, ValueUses, Values};
use crate::graph::{Cfg, ControlDependence, Dominators, Loops, PostDominators};
use crate::ir::{Function, GlobalData, Module};
use crate::trace::{Remark, TableEvent, Trace};

/// Declares the cached analyses: `name: Type, kept by which edits, how it is computed`.
macro_rules! analyses {
    ($($(#[$doc:meta])* $name:ident : $ty:ty, $survives:ident, |$view:ident| $compute:expr;)*) => {
        /// Analyses of one function as it is.
        #[derive(Clone, Default)]
        pub struct Analyses { $($name: Option<Rc<$ty>>),* }

        impl Analyses {
            fn drop_shape(&mut self) { *self = Analyses::default(); }
            fn drop_values(&mut self) { $(analyses!(@values $survives, self.$name);)* }
        }

        impl View<'_> {
            $($(#[$doc])*
            pub fn $name(&mut self) -> Rc<$ty> {
                self.revalidate();
                if let Some(known) = &self.known.$name {
                    return known.clone();
                }
                let computed = { let $view = &mut *self; Rc::new($compute) };
                self.known.$name = Some(computed.clone());
                computed
            })*

            /// Computes again what survived an edit of values only, and compares.
            #[cfg(debug_assertions)]
            fn compare_survivors(&mut self) {
                $(if let Some(known) = self.known.$name.take() {
                    let again = { let $view = &mut *self; $compute };
                    assert!(*known == again, "{} did not survive an edit that it claims to survive", stringify!($name));
                    self.known.$name = Some(known);
                })*
            }
        }
    };
    // An analysis of the graph's shape survives an edit that leaves blocks and terminators alone.
    (@values shape, $slot:expr) => {};
    (@values values, $slot:expr) => { $slot = None };
}

/// A function, its module, its analyses and the door to change it.
pub struct View<'a> {
    module: &'a Module,
    editor: Editor<'a>,
    known: Analyses,
}

analyses! {
    /// Blocks and edges.
    cfg: Cfg, shape, |view| Cfg::compute(view.func());
    /// Dominators of each block.
    dominators: Dominators, shape, |view| Dominators::compute(&view.cfg());
    /// Post-dominators of each block.
    post_dominators: PostDominators, shape, |view| PostDominators::compute(&view.cfg());
    /// The loop nest.
    loops: Loops, shape, |view| Loops::compute(&view.cfg());
    /// Which branches decide whether a block runs.
    control_dependence: ControlDependence, shape,
        |view| ControlDependence::compute(&view.cfg(), &view.post_dominators());
    /// Which registers are read later.
    liveness: Liveness, values, |view| { let cfg = view.cfg(); Liveness::compute(view.func(), &cfg) };
    /// The value that each use sees.
    values: Values, values, |view| {
        let (cfg, dominators) = (view.cfg(), view.dominators());
        Values::compute(view.func(), &cfg, &dominators)
    };
    /// Readers of each value.
    value_uses: ValueUses, values, |view| { let values = view.values(); ValueUses::compute(view.func(), &values) };
    /// Which values and branches differ between the lanes of a warp, and why.
    divergence: Divergence, values, |view| {
        let (cfg, dominators, post_dominators) = (view.cfg(), view.dominators(), view.post_dominators());
        let (loops, values, uses) = (view.loops(), view.values(), view.value_uses());
        Divergence::compute(DivergenceInput {
            func: view.func(),
            cfg: &cfg,
            dominators: &dominators,
            post_dominators: &post_dominators,
            loops: &loops,
            values: &values,
            uses: &uses,
        })
    };
}

impl<'a> View<'a> {
    /// Opens a function of which `known` is true. `module` is the rest of the program, for reading; its entry for
    /// `func` itself is not looked at.
    pub fn new(module: &'a Module, func: &'a mut Function, trace: &'a mut dyn Trace, known: Analyses) -> Self {
        View { module, editor: Editor::new(func, trace), known }
    }

    /// Closes the function. Gives what is known of it as it is now, and the globals that were created for it.
    pub fn close(mut self) -> (Analyses, Vec<GlobalData>) {
        self.revalidate();
        (self.known, self.editor.take_globals())
    }

    /// The function as it is now.
    pub fn func(&self) -> &Function {
        self.editor.func()
    }

    /// The rest of the program.
    pub fn module(&self) -> &'a Module {
        self.module
    }

    /// Rewrites made so far through this view.
    pub fn rewrites(&self) -> u64 {
        self.editor.rewrites()
    }

    /// Begins a rewrite; see [`Editor::rewrite`].
    pub fn rewrite(&mut self, reason: impl FnOnce(&Function) -> Remark) -> Rewrite<'_, 'a> {
        self.editor.rewrite(reason)
    }

    /// Lets declared profiles follow; see [`Editor::let_profiles_follow`].
    pub fn let_profiles_follow(&mut self) {
        self.editor.let_profiles_follow();
    }

    /// Records a refused opportunity; see [`Editor::miss`].
    pub fn miss(&mut self, reason: impl FnOnce(&Function) -> Remark) {
        self.editor.miss(reason);
    }

    /// Records a step of a value table; see [`Editor::record_table`].
    pub fn record_table(&mut self, event: impl FnOnce(&Function) -> TableEvent) {
        self.editor.record_table(event);
    }

    /// Is anything that happens kept? See [`Editor::is_traced`].
    pub fn is_traced(&self) -> bool {
        self.editor.is_traced()
    }

    /// The function and the trace, for a solver that records what it does.
    pub fn func_and_trace(&mut self) -> (&Function, &mut dyn Trace) {
        self.editor.func_and_trace()
    }

    /// Drops what the edits since the last question have made stale.
    fn revalidate(&mut self) {
        let touched = self.editor.take_touched();
        if touched.shape {
            self.known.drop_shape();
        } else if touched.values {
            self.known.drop_values();
            #[cfg(debug_assertions)]
            self.compare_survivors();
        }
    }
}
