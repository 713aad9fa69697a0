//! A function with its analyses, each computed when first asked for and dropped by what an edit touches.
//!
//! A pass reads and changes its function through one [`View`], and hands on the analyses that are still true when it is
//! done: the next pass starts with them. Analyses are handed out as shared pointers: a pass that holds one across its
//! own edits looks at the past, knowingly. In debug builds an analysis that survives an edit is computed again and
//! compared, so that a wrong claim about what an edit touches cannot hide.

use alloc::rc::Rc;
use alloc::vec::Vec;

use crate::edit::{EditSink, Editor, Remark, Rewrite, Silent};
use crate::flow::{Divergence, DivergenceInput, Liveness, RegisterAccesses, ValueUses, Values};
use crate::graph::{Cfg, ControlDependence, Dominators, Loops, PostDominators};
use crate::ir::{Function, GlobalData, Module};
use crate::journal::Journal;
use crate::questions::QuestionSink;
use crate::value_table::{TableEvent, TableSink};

/// Who may listen to a pass. Everything that a pass's doors can tell is one supertrait here.
pub trait Listener: EditSink + TableSink + QuestionSink {}

impl Listener for Silent {}
impl Listener for Journal {}

/// Declares the cached analyses: `name: Type, kept by which edits, how it is computed`.
macro_rules! analyses {
    ($($(#[$doc:meta])* $name:ident : $ty:ty, $survives:ident, |$view:ident| $compute:expr;)*) => {
        /// What has been computed of one function as it is.
        #[derive(Clone, Default)]
        pub struct Analyses { $($name: Option<Rc<$ty>>),* }

        impl Analyses {
            fn drop_shape(&mut self) { *self = Analyses::default(); }
            fn drop_values(&mut self) { $(analyses!(@values $survives, self.$name);)* }
        }

        impl<S: Listener> View<'_, S> {
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
pub struct View<'a, S: Listener> {
    module: &'a Module,
    editor: Editor<'a, S>,
    known: Analyses,
}

analyses! {
    /// Blocks and edges.
    cfg: Cfg, shape, |view| Cfg::compute(view.func());
    /// Who always comes before whom.
    dominators: Dominators, shape, |view| Dominators::compute(&view.cfg());
    /// Who always comes after whom.
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
    /// Who reads each value.
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

impl<'a, S: Listener> View<'a, S> {
    /// Opens a function of which `known` is true. `module` is the rest of the program, for reading; its entry for
    /// `func` itself is not looked at.
    pub fn new(module: &'a Module, func: &'a mut Function, sink: &'a mut S, known: Analyses) -> Self {
        View { module, editor: Editor::new(func, sink), known }
    }

    /// Closes the function. Gives what is known of it as it is now, and the globals that were created for it.
    pub fn close(mut self) -> (Analyses, Vec<GlobalData>) {
        self.revalidate();
        (self.known, self.editor.take_globals())
    }

    /// The value that each use sees, from what is known already of what instructions read and write.
    pub(crate) fn values_from(&mut self, accesses: &RegisterAccesses) -> Rc<Values> {
        self.revalidate();
        if self.known.values.is_none() {
            debug_assert!(accesses.are_right(self.func()), "a block has changed and was not looked at again");
            let (cfg, dominators) = (self.cfg(), self.dominators());
            self.known.values = Some(Rc::new(Values::compute_from(self.func(), accesses, &cfg, &dominators)));
        }
        self.values()
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
    pub fn rewrite(&mut self, reason: impl FnOnce(&Function) -> Remark) -> Rewrite<'_, 'a, S> {
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

    /// Tells what happened to the value table that a pass works with. Not even asked for with nobody listening.
    pub fn tell_table(&mut self, event: impl FnOnce(&Function) -> TableEvent) {
        if S::LISTENS {
            let (func, sink) = self.editor.func_and_sink();
            if sink.hears_of_tables() {
                sink.told(event(func));
            }
        }
    }

    /// The function and who listens, for a solver that tells what it does.
    pub fn func_and_sink(&mut self) -> (&Function, &mut S) {
        self.editor.func_and_sink()
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
