//! Names of the facts of remarks for people. The names in a remark are those of its JSON.

/// Each fact of every pass, in the order of its name, with its words.
const WORDS: &[(&str, &str)] = &[
    ("after", "sorted"),
    ("before", "as it was"),
    ("benefit", "cycles saved on paths"),
    ("blocks", "blocks"),
    ("branch", "branch"),
    ("budget", "most that is done"),
    ("candidate", "candidate"),
    ("chain", "chain of copies"),
    ("condition", "condition"),
    ("copies", "copies needed"),
    ("copy", "copy"),
    ("cost", "cycles added on paths"),
    ("cost_cycles", "cycles added"),
    ("cost_executions", "executions added"),
    ("counted", "executions counted"),
    ("counters", "counters"),
    ("cycles_after", "cycles after"),
    ("cycles_before", "cycles before"),
    ("definition", "definition"),
    ("dropped", "removed from"),
    ("earlier", "earlier value"),
    ("executions", "executions"),
    ("executions_gained", "executions that paths gain"),
    ("executions_lost", "executions that paths lose"),
    ("explained", "executions that paths explain"),
    ("factor", "common factor"),
    ("false_side_probability", "probability of the false side"),
    ("faulting", "may the load fault"),
    ("from", "from"),
    ("gain", "cycles gained"),
    ("insertion", "inserted in"),
    ("insertions", "inserted in"),
    ("join", "join"),
    ("joins", "joins passed"),
    ("joint", "all zero at once"),
    ("knob", "knob"),
    ("leader", "register that has it"),
    ("least_share", "least share"),
    ("leaves", "leaves"),
    ("limit", "limit"),
    ("memory_killed", "accesses not needed"),
    ("merged", "merged block"),
    ("moved_up", "instructions moved up"),
    ("number", "value number"),
    ("operation", "operation"),
    ("others", "other factors"),
    ("paths", "paths"),
    ("printed_benefit", "cycles saved as the paper counts"),
    ("printed_executions_lost", "executions lost as the paper counts"),
    ("probability", "probability of zero"),
    ("ranks", "ranks"),
    ("region", "region"),
    ("register", "register"),
    ("registers", "registers"),
    ("replaced", "replaced"),
    ("round", "round"),
    ("rounds", "rounds"),
    ("saved_cycles", "cycles saved"),
    ("saved_executions", "executions saved"),
    ("scope", "scope"),
    ("share", "share of executions"),
    ("shifts", "values shifted along"),
    ("sides", "sides of the branch"),
    ("sm", "generation"),
    ("source", "copied from"),
    ("space", "memory space"),
    ("splits", "branches passed"),
    ("statements", "statements not planned"),
    ("su", "share of cycles saved"),
    ("su_thresh", "least share of cycles saved"),
    ("t_check", "cycles of the check"),
    ("t_delta", "change in cycles"),
    ("t_region", "cycles of the region"),
    ("t_special", "cycles of the zero version"),
    ("target", "target"),
    ("to", "to"),
    ("true_side_probability", "probability of the true side"),
    ("warp_cycles_after", "cycles of warps after"),
    ("warp_cycles_before", "cycles of warps before"),
    ("write", "write"),
    ("writes_at", "counter of writes"),
    ("zeros_at", "counter of zeros"),
];

/// The words for a fact.
pub fn words(name: &str) -> Option<&'static str> {
    let place = WORDS.binary_search_by_key(&name, |(known, _)| known).ok()?;
    Some(WORDS[place].1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use warpscope_core::pass::parse_pipeline;
    use warpscope_core::session::{Options, Session};
    use warpscope_core::text::parse;

    use super::{WORDS, words};

    fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                files(&path, ending, found);
            } else if path.extension().is_some_and(|it| it == ending) {
                found.push(path);
            }
        }
    }

    fn core(folder: &str, ending: &str) -> Vec<String> {
        let mut found = Vec::new();
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../core").join(folder), ending, &mut found);
        found.iter().map(|path| fs::read_to_string(path).expect("a text")).collect()
    }

    /// The facts of all remarks of the golden programs that are optimised.
    fn golden() -> BTreeSet<&'static str> {
        let mut names = BTreeSet::new();
        for text in core("tests/golden", "wir") {
            let Some(head) = text.lines().next().and_then(|line| line.strip_prefix("// test: opt ")) else { continue };
            let source = text.split("\n// ----\n").next().unwrap_or_default();
            let passes = head.split_whitespace().next().unwrap_or_default();
            let steps = parse_pipeline(passes).expect("a pipeline");
            let options = Options { steps, fast_math: head.contains("fast-math"), ..Options::default() };
            let session = Session::open(parse(source).module, &options, &mut || 0);
            let remarks = session.journal().events().iter().map(|event| &event.remark);
            names.extend(remarks.flat_map(|remark| remark.facts.iter().map(|(name, _)| *name)));
        }
        names
    }

    /// The facts that a source file puts into remarks.
    fn written(source: &str) -> impl Iterator<Item = &str> {
        source.split(".with(").skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next())
    }

    #[test]
    fn every_fact_has_words() {
        let of_goldens = golden();
        assert!(of_goldens.len() > 40, "{of_goldens:?}");
        let passes = core("src/pass", "rs");
        let of_passes: BTreeSet<&str> = passes.iter().flat_map(|source| written(source)).collect();
        for name in of_goldens.iter().chain(&of_passes) {
            assert!(words(name).is_some(), "`{name}` has no words");
        }
        for (name, words) in WORDS {
            assert!(of_passes.contains(name), "no pass tells `{name}`");
            assert!(!words.contains('_') && words.len() <= 36, "{words}");
        }
        assert!(WORDS.is_sorted(), "they are found by halving");
    }
}
