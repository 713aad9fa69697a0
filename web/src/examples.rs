//! The programs of the gallery. The first one is part of the page, so that it is there at once; the others are fetched
//! when somebody chooses them.

mod value_names;

use warpscope_engine::message::{Bench, Position, Settings, Shared, Stage};

/// A program to start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// Its file in `examples/`.
    pub file: &'static str,
    /// The file of its launch, if that stands beside it.
    pub launch: Option<&'static str>,
    /// Title of the example.
    pub title: &'static str,
    /// Summary of the example, at most three sentences.
    pub summary: &'static str,
    /// Subject that shows it best, a noun that follows "Look at".
    pub look: &'static str,
    /// The passes it is shown with, each with the knobs that are turned: `ssrqp[cost=machine]`.
    pub passes: &'static [&'static str],
    /// Subject of the example: a pass, and the entry of its pipeline, from 1, at whose first change it opens. The first
    /// one counts where nobody asked for a pass; with none it opens at the end.
    pub shows: &'static [(&'static str, usize)],
    /// Whether its passes know a measured profile.
    pub is_measured: bool,
    /// Whether its passes may treat floats as real numbers.
    pub is_fast_math: bool,
}

const SMALL_PASSES: &[&str] = &["copy-prop", "const-fold", "dce", "simplify-cfg"];

/// Examples of one subject.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Heading of the group.
    pub heading: &'static str,
    /// Paper that its figures are of; empty where they are of none.
    pub paper: &'static str,
    /// The examples, in the order in which a reader meets them.
    pub examples: &'static [Example],
}

/// A group without a paper.
const fn group(heading: &'static str, examples: &'static [Example]) -> Group {
    Group { heading, paper: "", examples }
}

/// The gallery, in the order in which a reader meets it.
pub const GALLERY: &[Group] = &[
    group(
        "Small programs",
        &[
            Example {
                file: "first-look.wir",
                launch: None,
                title: "First look",
                summary: "A divergent branch, a loop, and something to do for every small pass.",
                look: "the removed lines: each names the pass and the reason.",
                passes: SMALL_PASSES,
                shows: &[],
                is_measured: false,
                is_fast_math: false,
            },
            Example {
                file: "detour.wir",
                launch: None,
                title: "Detour",
                summary: "Each lane takes the long path at random: move the slider to see what divergence costs.",
                look: "SIMT efficiency while you move the slider of divergence.",
                passes: &["if-convert[always=true]"],
                shows: &[],
                is_measured: false,
                is_fast_math: false,
            },
        ],
    ),
    group(
        "Lanes that wait for each other",
        &[
            Example {
                file: "lanes/lock.wir",
                launch: None,
                title: "A lock in one warp",
                summary: "Each lane takes a lock that another lane holds. Set Lanes to stack: the lane inside waits for those that spin, and the run never ends.",
                look: "the run that never ends once lanes are stacked.",
                passes: &[],
                shows: &[],
                is_measured: false,
                is_fast_math: false,
            },
            Example {
                file: "lanes/handover.wir",
                launch: None,
                title: "Producer and consumer",
                summary: "Even lanes hand numbers to their odd neighbours, one at a time. Set Lanes to stack: the first side waits for the second, which never runs.",
                look: "which side of the loop waits for the other.",
                passes: &[],
                shows: &[],
                is_measured: false,
                is_fast_math: false,
            },
        ],
    ),
    group("The phases of ptxas", PHASES),
    Group {
        heading: "Scalar replacement and divergent branches",
        paper: "Fukuhara and Takimoto 2021",
        examples: QUESTIONS,
    },
    Group { heading: "Registers that are mostly zero", paper: "Stephenson and Rangan 2020", examples: ZEROS },
    Group { heading: "Statements needed on some paths only", paper: "Gupta, Berson and Fang 1997", examples: PATHS },
    Group {
        heading: "Expressions evaluated twice on some paths",
        paper: "Gupta, Berson and Fang 1997",
        examples: SPECULATION,
    },
    Group { heading: "Values under many names", paper: "Bodík 1999", examples: value_names::NAMES },
    group(
        "CUDA, as nvcc -O3 compiles it",
        &[
            cuda(
                "cuda/saxpy.O3.ptx",
                "cuda/saxpy.launch.wir",
                "Saxpy",
                "One fused multiply-add a thread, with a tail that some lanes leave.",
                "the guard of the tail, the only branch where lanes part.",
            ),
            cuda(
                "cuda/collatz.O3.ptx",
                "cuda/collatz.launch.wir",
                "Collatz",
                "A divergent loop: every lane ends when its own number has reached one.",
                "SIMT efficiency: short numbers wait for the longest one.",
            ),
            cuda(
                "cuda/bfs.O3.ptx",
                "cuda/bfs.launch.wir",
                "Breadth-first step",
                "The frontier of a graph: branches and loads that depend on data.",
                "loads that depend on loads, and the branches between them.",
            ),
            cuda(
                "cuda/stencil.O3.ptx",
                "cuda/stencil.launch.wir",
                "2-D stencil",
                "Neighbours through shared memory and a barrier.",
                "loads from shared memory after the barrier.",
            ),
            cuda(
                "cuda/reduce.O3.ptx",
                "cuda/reduce.launch.wir",
                "Tree reduction",
                "Half of the lanes are idle after each barrier.",
                "how the active lanes halve from round to round.",
            ),
            cuda(
                "cuda/histogram.O3.ptx",
                "cuda/histogram.launch.wir",
                "Histogram",
                "Atomic additions that collide.",
                "atomic additions to the same address.",
            ),
            cuda(
                "cuda/bilateral.O3.ptx",
                "cuda/bilateral.launch.wir",
                "Bilateral filter",
                "Iterations that load again what the last one loaded.",
                "a pixel that two iterations load.",
            ),
            cuda(
                "cuda/lighting.O3.ptx",
                "cuda/lighting.launch.wir",
                "Lighting",
                "Saturated N·L, texture reads, and multiplications by zero.",
                "products with a factor that is often zero.",
            ),
        ],
    ),
    group(
        "CUDA, as nvcc compiles it without optimising",
        &[
            cuda(
                "cuda/saxpy.O0.ptx",
                "cuda/saxpy.launch.wir",
                "Saxpy",
                "One fused multiply-add a thread, with a tail that some lanes leave.",
                "the guard of the tail, the only branch where lanes part.",
            ),
            cuda(
                "cuda/collatz.O0.ptx",
                "cuda/collatz.launch.wir",
                "Collatz",
                "A divergent loop: every lane ends when its own number has reached one.",
                "SIMT efficiency: short numbers wait for the longest one.",
            ),
            cuda(
                "cuda/bfs.O0.ptx",
                "cuda/bfs.launch.wir",
                "Breadth-first step",
                "The frontier of a graph: branches and loads that depend on data.",
                "loads that depend on loads, and the branches between them.",
            ),
            cuda(
                "cuda/stencil.O0.ptx",
                "cuda/stencil.launch.wir",
                "2-D stencil",
                "Neighbours through shared memory and a barrier.",
                "loads from shared memory after the barrier.",
            ),
            cuda(
                "cuda/reduce.O0.ptx",
                "cuda/reduce.launch.wir",
                "Tree reduction",
                "Half of the lanes are idle after each barrier.",
                "how the active lanes halve from round to round.",
            ),
            cuda(
                "cuda/histogram.O0.ptx",
                "cuda/histogram.launch.wir",
                "Histogram",
                "Atomic additions that collide.",
                "atomic additions to the same address.",
            ),
            cuda(
                "cuda/bilateral.O0.ptx",
                "cuda/bilateral.launch.wir",
                "Bilateral filter",
                "Iterations that load again what the last one loaded.",
                "a pixel that two iterations load.",
            ),
            cuda(
                "cuda/lighting.O0.ptx",
                "cuda/lighting.launch.wir",
                "Lighting",
                "Saturated N·L, texture reads, and multiplications by zero.",
                "products with a factor that is often zero.",
            ),
        ],
    ),
];

/// A kernel that was written in CUDA, with its launch beside it.
const fn cuda(
    file: &'static str,
    launch: &'static str,
    title: &'static str,
    summary: &'static str,
    look: &'static str,
) -> Example {
    Example {
        file,
        launch: Some(launch),
        title,
        summary,
        look,
        passes: SMALL_PASSES,
        shows: &[],
        is_measured: false,
        is_fast_math: false,
    }
}

/// An example of one pass.
const fn phase(
    file: &'static str,
    title: &'static str,
    summary: &'static str,
    look: &'static str,
    passes: &'static [&'static str],
    shows: &'static [(&'static str, usize)],
) -> Example {
    Example { file, launch: None, title, summary, look, passes, shows, is_measured: false, is_fast_math: false }
}

/// An example whose passes know the profile that a run of it measures.
const fn measured(example: Example) -> Example {
    Example { is_measured: true, ..example }
}

/// An example whose passes may treat floats as real numbers.
const fn licensed(example: Example) -> Example {
    Example { is_fast_math: true, ..example }
}

/// A kernel in PTX of which zero specialisation knows a measured profile.
const fn weighed(example: Example) -> Example {
    const PASSES: &[&str] = &["infer-space", "azp", "copy-prop", "dce"];
    licensed(measured(Example { passes: PASSES, shows: &[("azp", 2)], ..example }))
}

/// One for each phase of the pipeline `ptxas`, in its order, `copy-prop` ahead of them.
const PHASES: &[Example] = &[
    phase(
        "phases/copy-prop.wir",
        "Copies of copies",
        "A whole chain read in one scan, and selections whose condition the path has decided.",
        "operands: each names the first register of its chain.",
        &["copy-prop", "dce"],
        &[("copy-prop", 1), ("dce", 2)],
    ),
    phase(
        "phases/general-optimize.wir",
        "What front ends leave behind",
        "Copies, constants, identities and dead code: each enables the next.",
        "which removal makes the next one possible.",
        &["general-optimize"],
        &[("general-optimize", 1)],
    ),
    phase(
        "phases/gvn-cse.wir",
        "Scopes that open and close",
        "Two hits, a product that is out of scope, and a load that a store keeps from being one.",
        "the product in the other block, which stays.",
        &["gvn-cse"],
        &[("gvn-cse", 1)],
    ),
    phase(
        "phases/near-miss.wir",
        "A near miss",
        "(a + b) + c and (a + c) + b in two blocks: gvn-cse misses it, reassociate catches it.",
        "the order of the operands before and after `reassociate`.",
        &["gvn-cse", "reassociate", "gvn-cse", "dce"],
        &[("reassociate", 2), ("gvn-cse", 1)],
    ),
    phase(
        "phases/hoist-common.wir",
        "Before the branch",
        "Both sides divide the same: once for the warp instead of once for each side.",
        "`div`, which moves above the branch.",
        &["hoist-common"],
        &[("hoist-common", 1)],
    ),
    phase(
        "phases/if-convert.wir",
        "A diamond becomes straight",
        "Both sides under guards: no lane waits for the others.",
        "the guards before each instruction of the one block.",
        &["if-convert"],
        &[("if-convert", 1)],
    ),
    phase(
        "phases/late-commoning.wir",
        "What guards bring together",
        "gvn-cse finds nothing between two sides; once they are guarded code in one block, one product is common.",
        "the product that two guards share.",
        &["gvn-cse", "if-convert", "late-commoning"],
        &[("late-commoning", 3)],
    ),
    phase(
        "phases/back-copy-prop.wir",
        "A chain, backward",
        "r1 = e; r2 = r1; r3 = r2 collapses in one backward walk, where a forward one needs two.",
        "the addition, which writes `r3` at once.",
        &["back-copy-prop"],
        &[("back-copy-prop", 1)],
    ),
];

/// The figures of Fukuhara and Takimoto's paper on scalar replacement under divergence, and a loop where branches agree.
const QUESTIONS: &[Example] = &[
    phase(
        "questions/figure-1.wir",
        "A warning",
        "Partial redundancy elimination helps every lane and hurts the warp: three computations where there were two.",
        "cycles, which grow although no lane loads more often.",
        &["preqp"],
        &[("preqp", 1)],
    ),
    phase(
        "questions/figure-2.wir",
        "Questions about a + b",
        "One path computes it, the other does not: it is inserted where it is missing.",
        "the answer of each predecessor of the join.",
        &["preqp"],
        &[("preqp", 1)],
    ),
    phase(
        "questions/figure-3.wir",
        "Through an empty loop",
        "Around the loop the question only meets itself, so nothing is inserted before it.",
        "the question that comes back to its own block.",
        &["srqp"],
        &[("srqp", 1)],
    ),
    phase(
        "questions/figure-4.wir",
        "What the last round loaded",
        "A[i + 1] of one round is A[i] of the next: `ssrqp` loads it once, before both divergent branches.",
        "where the one load is inserted: before both divergent branches.",
        &["ssrqp[cost=paper]"],
        &[("ssrqp", 1)],
    ),
    phase(
        "questions/figure-4-uniform.wir",
        "Where the lanes agree",
        "Before the branch that diverges, and on the other side of the one that does not.",
        "the insertion after the branch on which all lanes agree.",
        &["ssrqp[cost=paper]"],
        &[("ssrqp", 1)],
    ),
    phase(
        "questions/figure-5.wir",
        "Before a divergent branch",
        "The warp goes to that side anyway, so its load moves up and serves the next branch too.",
        "the load that moves above its own branch.",
        &["ssrqp[cost=paper]"],
        &[("ssrqp", 1)],
    ),
    phase(
        "questions/rarely.wir",
        "A branch hardly ever taken",
        "All lanes agree to pass it by. `ssrqp-s` loads before it all the same, and pays in every round.",
        "loads: each round pays for a branch that no warp takes.",
        &["ssrqp-s"],
        &[("ssrqp-s", 1)],
    ),
    measured(phase(
        "questions/cold-side.wir",
        "A side where hardly a warp comes",
        "It hangs on a divergent branch, and yet the profile shows that a load there costs less than it saves.",
        "the insertion on the side that hardly a warp enters.",
        &["ssrqp[cost=machine]"],
        &[("ssrqp", 1)],
    )),
    measured(phase(
        "questions/seldom-entered.wir",
        "A side that is seldom entered",
        "Before the branch every warp would load in every round: with a profile `ssrqp` leaves the load where it is.",
        "the refused opportunity, and its reason.",
        &["ssrqp[cost=machine]"],
        &[],
    )),
];

/// The figures of Stephenson and Rangan's paper on zero specialisation, and their account of a shader that took three steps.
const ZEROS: &[Example] = &[
    licensed(phase(
        "azp/figure-1.wir",
        "Two works for nothing",
        "Where r1 is zero, so is the product, and neither of its expensive factors is needed: one assignment is left.",
        "the instructions that die where `r1` is zero.",
        &["azp"],
        &[("azp", 1)],
    )),
    licensed(phase(
        "azp/figure-3.wir",
        "One zero texel",
        "Zero runs forward through every product, and three backward slices die.",
        "the marks of zero, which run from product to product.",
        &["azp"],
        &[("azp", 1)],
    )),
    licensed(phase(
        "azp/figure-4.wir",
        "A read after a check",
        "The second texture is read only by warps for which the first one is not zero everywhere.",
        "the second texture read, now after the check.",
        &["azp"],
        &[("azp", 1)],
    )),
    licensed(phase(
        "azp/three-steps.wir",
        "Each opens the next",
        "Two candidates gain too little until the one before them is transformed; the last takes every load away.",
        "the gain of a candidate before and after the one above it.",
        &["azp"],
        &[("azp", 1)],
    )),
    weighed(cuda(
        "azp/spot.O3.ptx",
        "azp/spot.launch.wir",
        "A spot light",
        "As nvcc compiled it: outside the cone neither its texture nor its highlight is needed.",
        "the check before the cone's texture.",
    )),
    weighed(cuda(
        "azp/emissive.O3.ptx",
        "azp/emissive.launch.wir",
        "Things that glow",
        "As nvcc compiled it: only where all components of the colour are zero the flicker is not needed.",
        "how seldom a whole warp has zero.",
    )),
];

/// The figures of Gupta, Berson and Fang's paper on partial dead code elimination, with its count of paths.
const PATHS: &[Example] = &[
    phase(
        "pde/figure-1.wir",
        "Needed on one path of three",
        "The product sinks past a join under the branch's own predicate: 190 executions less, and 50 for nothing.",
        "evaluations beside cycles: a diverged warp runs both sides.",
        &["pde[machine=unit]"],
        &[("pde", 1)],
    ),
    phase(
        "pde/figure-3.wir",
        "Paths that benefit, paths that pay",
        "Of twelve paths past the join one saves an execution and six would add one: it is not moved.",
        "the strands: one saves work, six add some.",
        &["pde[machine=unit,fp=1]"],
        &[("pde", 1)],
    ),
    phase(
        "pde/figure-5.wir",
        "Two joins for one benefit",
        "To be removed where it is unused it has to pass a second join, whose paths pay as well.",
        "the second join on the way down.",
        &["pde[machine=unit]"],
        &[("pde", 1)],
    ),
    phase(
        "pde/figure-6.wir",
        "Out of the loop",
        "The result is used by the last trip only and leaves the loop: 85 executions less for five more.",
        "the statement after the loop.",
        &["pde[machine=unit]"],
        &[("pde", 1)],
    ),
    phase(
        "pde/figure-10.wir",
        "A predicate of its own",
        "No predicate tells whether the product is still due: a new one is set once and cleared twice at most.",
        "the new predicate, set once and cleared twice.",
        &["pde[machine=unit]"],
        &[("pde", 1)],
    ),
    phase(
        "pde/printed-rule.wir",
        "Where the printed rule loses",
        "It weighs one join alone, and enables another whose paths pay more than all that is saved.",
        "evaluations, which grow under the printed rule.",
        &["pde[machine=unit,rule=printed]"],
        &[("pde", 1)],
    ),
];

/// Examples of speculation in Gupta, Berson and Fang's paper, and their effect on warps.
const SPECULATION: &[Example] = &[
    phase(
        "spec-pre/figure-11.wir",
        "Evaluated for nothing, and worth it",
        "Ahead of a branch that does not always need the sum: 19 executions evaluate it once instead of twice, 5 for nothing.",
        "the evaluation above the branch.",
        &["spec-pre[machine=unit]", "copy-prop", "dce"],
        &[("spec-pre", 1)],
    ),
    phase(
        "spec-pre/diverging.wir",
        "Why it hurts a diverging warp",
        "No path divides more than before, but a warp that takes all four paths divides on each. With `cost=warp` it is not moved.",
        "cycles of the warp, which divides on each path.",
        &["spec-pre[cost=path]", "copy-prop", "dce"],
        &[("spec-pre", 1)],
    ),
    phase(
        "spec-pre/invariant.wir",
        "Out of a loop that may not need it",
        "Half of the trips need the quotient, and half of the threads none: once for each thread instead of 80 times.",
        "the division before the loop.",
        &["spec-pre", "copy-prop", "dce"],
        &[("spec-pre", 1)],
    ),
];

/// The examples of a pass, each with the entry of its pipeline where it shows.
pub fn of_pass(pass: &str) -> Vec<(&'static Example, usize)> {
    let shown = |example: &'static Example| {
        let (_, stage) = example.shows.iter().find(|(shown, _)| *shown == pass)?;
        Some((example, *stage))
    };
    PHASES.iter().chain(QUESTIONS).chain(ZEROS).chain(PATHS).chain(SPECULATION).filter_map(shown).collect()
}

/// Example that a newcomer meets.
pub const FIRST_EXAMPLE: &Example = &GALLERY[0].examples[0];

const FIRST: &str = include_str!("../../www/examples/first-look.wir");

/// The first example, as it opens.
pub fn first() -> Shared {
    bench(FIRST_EXAMPLE, None, FIRST.to_owned(), String::new())
}

/// The group of an example, and the example that follows it in the gallery; none after the last one.
pub fn place_in_gallery(example: &Example) -> (&'static Group, Option<&'static Example>) {
    let mut all = GALLERY.iter().flat_map(|group| group.examples.iter().map(move |example| (group, example)));
    let group = all.find(|(_, found)| *found == example).map_or(&GALLERY[0], |(group, _)| group);
    (group, all.next().map(|(_, next)| next))
}

/// Number of the paper's figure that an example is; none if it is not one. Files of figures have it in their names.
pub fn figure_of(example: &Example) -> Option<&'static str> {
    let (_, rest) = example.file.split_once("figure-")?;
    rest.split(['-', '.']).next()
}

/// An example with its fetched texts: at the first change of that entry of its pipeline, else of the one that it shows,
/// else optimised to the end. What paths gain and pay is seen before anything has sunk.
pub fn bench(example: &Example, stage: Option<usize>, source: String, launch: String) -> Shared {
    let settings = Settings::default();
    let is_ahead = stage.is_none() && example.shows.iter().any(|(pass, _)| *pass == "pde");
    let stage = stage.or(example.shows.first().map(|(_, stage)| *stage));
    let position = match stage {
        Some(_) if is_ahead => Position::default(),
        Some(stage) => Position { stage, step: 1 },
        None => Position::END,
    };
    Shared {
        bench: Bench {
            source,
            launch,
            pipeline: example.passes.iter().map(|text| entry(text)).collect(),
            fast_math: example.is_fast_math,
            measured: example.is_measured.then(|| Box::new(settings.clone())),
            ..Bench::default()
        },
        position,
        scope: None,
        moment: None,
        settings,
    }
}

/// An entry of a pipeline, as the command line takes it: `ssrqp[cost=machine]`.
fn entry(text: &str) -> Stage {
    let (pass, knobs) = text.split_once('[').unwrap_or((text, ""));
    let knobs = knobs.trim_end_matches(']').split(',').filter_map(|knob| knob.split_once('='));
    Stage {
        pass: pass.to_owned(),
        on: true,
        knobs: knobs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        ..Stage::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpscope_engine::Engine;
    use warpscope_engine::message::{Inspect, Look, Remark, Request, Response, Scope, View, inspect};

    /// The example of a pass, opened as the page opens it.
    fn opened(pass: &str, title: &str) -> Shared {
        let (example, stage) = *of_pass(pass).iter().find(|(example, _)| example.title == title).expect("an example");
        let text = |file: &str| {
            let path = format!("{}/../www/examples/{file}", env!("CARGO_MANIFEST_DIR"));
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
        };
        bench(example, Some(stage), text(example.file), example.launch.map(text).unwrap_or_default())
    }

    fn look(shared: &Shared, position: Position) -> View {
        let look = Look { bench: shared.bench.clone(), position, scope: Scope::Rewrite, moment: None };
        match Engine::new(|| 0.0).answer(Request::Look(look)) {
            Response::View(view) => *view,
            other => panic!("{other:?}"),
        }
    }

    fn inspection(shared: &Shared, position: Position, title: &str) -> inspect::Inspection {
        let (bench, title) = (shared.bench.clone(), title.to_owned());
        let request = Request::Inspect(Inspect { bench, position, title, ..Inspect::default() });
        match Engine::new(|| 0.0).answer(request) {
            Response::Inspected(Some(told)) => *told,
            other => panic!("{other:?}"),
        }
    }

    /// The view when the example is open.
    fn view(pass: &str, title: &str) -> View {
        let shared = opened(pass, title);
        let view = look(&shared, shared.position);
        assert!(view.diagnostics.is_empty(), "{:?}", view.diagnostics);
        assert_eq!(shared.bench.pipeline[view.position.stage - 1].pass, pass);
        assert!(!view.launch_is_derived, "it says how it is run");
        view
    }

    /// The remarks of all changes of an entry.
    fn remarks(shared: &Shared, stage: usize) -> Vec<Remark> {
        let rewrites = look(shared, shared.position).stages[stage - 1].rewrites;
        (1..=rewrites).filter_map(|step| look(shared, Position { stage, step }).remark).collect()
    }

    fn words<'a>(remark: &'a Remark, name: &str) -> &'a [String] {
        remark.facts.iter().find(|fact| fact.name == name).map_or(&[], |fact| &fact.values)
    }

    #[test]
    fn every_phase_has_an_example_that_shows_it_at_work() {
        let Response::Catalogue(catalogue) = Engine::new(|| 0.0).answer(Request::Catalogue) else {
            panic!("no passes")
        };
        let ptxas = catalogue.passes.iter().find(|pass| pass.name == "@ptxas").expect("the pipeline");
        let phases = ptxas.parts.iter().map(|part| part.stage.pass.as_str());
        for pass in phases.chain(["copy-prop"]) {
            let (example, _) = *of_pass(pass).first().unwrap_or_else(|| panic!("`{pass}` has no example"));
            let view = view(pass, example.title);
            let remark = view.remark.unwrap_or_else(|| panic!("`{pass}` does nothing on \"{}\"", example.title));
            assert_eq!(remark.pass, pass);
        }
    }

    #[test]
    fn every_figure_opens_where_its_pass_is_at_work() {
        for example in QUESTIONS.iter().chain(ZEROS).chain(PATHS).chain(SPECULATION) {
            let &[(pass, stage)] = example.shows else { continue };
            let remark = view(pass, example.title).remark;
            let remark = remark.unwrap_or_else(|| panic!("`{pass}` does nothing on \"{}\"", example.title));
            assert_eq!(remark.pass, pass);
            assert_eq!(entry(example.passes[stage - 1]).pass, pass);
        }
    }

    #[test]
    fn every_small_program_is_changed_by_its_passes() {
        for example in GALLERY[0].examples {
            let text = |file: &str| {
                let path = format!("{}/../www/examples/{file}", env!("CARGO_MANIFEST_DIR"));
                std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
            };
            let shared = bench(example, None, text(example.file), example.launch.map(text).unwrap_or_default());
            let changes = look(&shared, Position::END).stages.iter().map(|stage| stage.rewrites).sum::<usize>();
            assert!(changes > 0, "no pass changes \"{}\"", example.title);
        }
    }

    #[test]
    fn a_measured_profile_decides_what_is_worth_its_place() {
        let opened = |file: &str| {
            let example = QUESTIONS.iter().find(|example| example.file == file).expect("an example");
            let path = format!("{}/../www/examples/{file}", env!("CARGO_MANIFEST_DIR"));
            bench(example, None, std::fs::read_to_string(path).expect("its text"), String::new())
        };
        // Whether a block loads in the end.
        let loads = |shared: &Shared, label: &str| {
            let graph = look(shared, Position::END).graph;
            let block = graph.blocks.iter().find(|block| block.name == label).expect("a block");
            block.lines.iter().any(|line| line.text.contains(" = ld."))
        };
        // On the cold side something is inserted, and on the other one something stays, only where costs are known.
        for (file, block) in [("questions/cold-side.wir", "cold"), ("questions/seldom-entered.wir", "side")] {
            let mut shared = opened(file);
            assert!(loads(&shared, block), "{file}, measured");
            assert!(look(&shared, Position::END).diagnostics.is_empty());
            shared.bench.pipeline[0].knobs.insert("cost".to_owned(), "paper".to_owned());
            assert!(!loads(&shared, block), "{file}, without a look at the costs");
        }
        let mut declared = opened("questions/cold-side.wir");
        declared.bench.measured = None;
        assert!(!loads(&declared, "cold"), "the text declares no profile");
        assert_eq!(entry("ssrqp[cost=machine,cdrnd=direct]").knobs.len(), 2);
    }

    #[test]
    fn copies_of_copies_are_read_in_one_scan() {
        let remarks = remarks(&opened("copy-prop", "Copies of copies"), 1);
        assert!(
            remarks.iter().any(|remark| remark.message.contains("reads `t` instead of its copy `v`")),
            "{remarks:?}"
        );
        // What the path decides: each selection is the one value that it can be there.
        for gain in ["near", "far"] {
            let wanted = format!("`{gain}` instead of its copy");
            assert!(remarks.iter().any(|remark| remark.message.contains(&wanted)), "{gain}: {remarks:?}");
        }
    }

    #[test]
    fn front_ends_leave_work_for_every_part() {
        let shared = opened("general-optimize", "What front ends leave behind");
        let rules: Vec<String> = remarks(&shared, 1).into_iter().map(|remark| remark.rule).collect();
        for rule in ["copy", "constant", "neutral", "dead"] {
            assert!(rules.iter().any(|found| found == rule), "{rule}: {rules:?}");
        }
        let (before, after) = look(&shared, Position::END).stages[0].instructions;
        assert!(after * 2 < before, "{before} to {after}");
    }

    #[test]
    fn scopes_open_and_close_with_two_hits_and_a_refusal() {
        let shared = opened("gvn-cse", "Scopes that open and close");
        let view = look(&shared, Position::END);
        let findings = &inspection(&shared, Position::END, "Values").tables[1];
        let rules: Vec<&str> = findings.rows.iter().map(|row| row.cells[0].text.as_str()).collect();
        assert_eq!(rules, ["hit", "hit", "memory"]);
        // The product of one block is not there in the other: both stay.
        assert_eq!(view.after.matches("mul.u32 ").count(), 2, "{}", view.after);
        assert_eq!(view.after.matches("add.u32 a, b").count(), 1, "{}", view.after);
    }

    #[test]
    fn the_near_miss_is_missed_and_then_caught() {
        let shared = opened("reassociate", "A near miss");
        let view = look(&shared, shared.position);
        let rewrites: Vec<usize> = view.stages.iter().map(|stage| stage.rewrites).collect();
        assert_eq!(rewrites[..3], [0, 1, 2], "missed, one tree, and both of its additions found");
        let remark = view.remark.expect("the tree");
        assert_eq!(
            (words(&remark, "before"), words(&remark, "after")),
            (&words_of("a c b")[..], &words_of("a b c")[..])
        );
        let told = inspection(&shared, Position { stage: 1, step: 0 }, "Values");
        let [values, findings] = &told.tables[..] else { panic!("{told:?}") };
        assert!(told.timeline.is_some_and(|timeline| timeline.course.changes.is_empty()) && findings.rows.is_empty());
        assert!(values.rows.len() > 5 && told.trail.len() == 2, "{values:?}");
        let after = look(&shared, Position::END).after;
        assert_eq!(after.matches("add.u32").count(), 2, "{after}");
    }

    fn words_of(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_division_comes_before_the_branch() {
        let shared = opened("hoist-common", "Before the branch");
        let after = look(&shared, Position::END).after;
        let branch = after.find("br is_odd").expect("the branch");
        assert_eq!(after.matches("div.u32").count(), 1);
        assert!(after.find("div.u32").is_some_and(|division| division < branch), "{after}");
    }

    #[test]
    fn the_diamond_is_straight_in_the_end() {
        let shared = opened("if-convert", "A diamond becomes straight");
        let view = look(&shared, Position::END);
        assert_eq!(view.stages[0].blocks, (4, 1));
        assert!(view.after.contains("@big ") && view.after.contains("@!big "), "{}", view.after);
    }

    #[test]
    fn one_product_is_common_once_guards_have_brought_both_together() {
        let shared = opened("late-commoning", "What guards bring together");
        let rewrites: Vec<usize> = look(&shared, Position::END).stages.iter().map(|stage| stage.rewrites).collect();
        assert!(rewrites[0] == 0 && rewrites[1] > 0 && rewrites[2] == 1, "{rewrites:?}");
    }

    #[test]
    fn the_chain_collapses_from_its_end() {
        let shared = opened("back-copy-prop", "A chain, backward");
        let remarks = remarks(&shared, 1);
        let chains: Vec<String> = remarks.iter().map(|remark| words(remark, "chain").join(" ")).collect();
        // A forward walk would begin with `r2 = r1` and leave `r3` for another one.
        assert_eq!(chains, ["r2 r3", "r1 r2 r3"]);
        let after = look(&shared, Position::END).after;
        assert!(after.contains("r3 = add.u32") && !after.contains("mov.u32 r"), "{after}");
        assert!(look(&shared, Position::END).missed.is_empty());
    }
}
