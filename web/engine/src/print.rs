//! The program as PTX, for the page to save.

use std::ops::Range;

use warpscope_core::ir::Module;
use warpscope_core::pass::{FAULTING_KNOB, Step};
use warpscope_core::ptx;

use crate::message::{Guard, Printed};

/// The module as PTX, with the knobs that keep its passes, by stage, from making loads that must not fault.
pub fn print(module: &Module, steps: &[Step], stages: &[Option<Range<usize>>]) -> Printed {
    let export = ptx::export(module);
    let problems = export.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
    Printed {
        problems: problems.map(|diagnostic| diagnostic.message.clone()).collect(),
        loads: export.plain_loads.iter().map(ToString::to_string).collect(),
        text: export.text,
        guards: (0..).zip(stages).filter_map(|(stage, range)| guard(stage, steps.get(range.clone()?)?)).collect(),
    }
}

/// The knob of a stage that is one pass and has one to set.
fn guard(stage: usize, steps: &[Step]) -> Option<Guard> {
    let [step] = steps else { return None };
    let word = step.guarding_word().filter(|_| step.enabled)?;
    let is_guarded =
        |(name, value): &(String, String)| name == FAULTING_KNOB && matches!(value.as_str(), "guarded" | "never");
    let is_set = step.knobs.iter().any(is_guarded);
    (!is_set).then(|| Guard { stage, knob: FAULTING_KNOB.to_owned(), value: word.to_owned() })
}

#[cfg(test)]
mod tests {
    use crate::Engine;
    use crate::message::{Bench, Position, Print, Request, Response, Stage};

    const CHECKED: &str = "\
kernel k(n: u32, x: ptr.global, o: ptr.global) {
entry:
    t = mov.u32 %tid
    p = setp.lt.u32 t, n
    r = mov.u32 7
    br p, in, out
in:
    v = ld.global.u32 x[t]
    r = add.u32 v, 1
    br out
out:
    st.global.u32 o[t], r
    ret
}
";

    fn printed(bench: &Bench, position: Position) -> crate::message::Printed {
        let request = Request::Print(Print { bench: bench.clone(), position });
        let Response::Printed(printed) = Engine::new(|| 0.0).answer(request) else { panic!("another answer") };
        *printed
    }

    #[test]
    fn names_loads_and_the_knob_that_guards_them() {
        let stage = |pass: &str| Stage { pass: pass.to_owned(), on: true, ..Stage::default() };
        let mut bench =
            Bench { source: CHECKED.to_owned(), pipeline: vec![stage("dce"), stage("ssrqp-s")], ..Bench::default() };
        // What is saved is what is shown: the source has no such load.
        let source = printed(&bench, Position::default());
        assert!(source.loads.is_empty() && source.text.contains(".visible .entry k("));
        let all = printed(&bench, Position::END);
        assert_eq!(all.loads.len(), 1);
        assert!(all.loads[0].contains("ld.global.spec.u32") && all.problems.is_empty());
        let [guard] = &all.guards[..] else { panic!("{:?}", all.guards) };
        assert_eq!((guard.stage, guard.knob.as_str(), guard.value.as_str()), (1, "faulting", "guarded"));
        bench.pipeline[1].knobs.insert(guard.knob.clone(), guard.value.clone());
        let guarded = printed(&bench, Position::END);
        assert!(guarded.loads.is_empty() && guarded.guards.is_empty());
    }

    #[test]
    fn says_what_ptx_cannot_express() {
        let source = "kernel k(o: ptr.global) {\n    input i: u32\nentry:\n    a = in.u32 i\n    st.global.u32 o[0], a\n    ret\n}\n";
        let answer = printed(&Bench { source: source.to_owned(), ..Bench::default() }, Position::END);
        assert_eq!(answer.problems.len(), 1);
        assert!(!answer.text.contains(".entry"));
    }
}
