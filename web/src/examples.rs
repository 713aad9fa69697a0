//! The programs of the gallery. The first one is part of the page, so that it is there at once; the others are fetched
//! when somebody chooses them.

use warpscope_engine::message::{Bench, Position, Scope, Settings, Shared, Stage};

/// A program to start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// Its file in `examples/`.
    pub file: &'static str,
    /// The file of its launch, if that stands beside it.
    pub launch: Option<&'static str>,
    /// What it is called.
    pub title: &'static str,
    /// What there is to see.
    pub summary: &'static str,
    /// The passes it is shown with.
    pub passes: &'static [&'static str],
}

const SMALL_PASSES: &[&str] = &["copy-prop", "const-fold", "dce", "simplify-cfg"];

/// The gallery, grouped under headings.
pub const GALLERY: &[(&str, &[Example])] = &[
    (
        "Small programs",
        &[
            Example {
                file: "first-look.wir",
                launch: None,
                title: "First look",
                summary: "A divergent branch, a loop, and something to do for every small pass.",
                passes: SMALL_PASSES,
            },
            Example {
                file: "detour.wir",
                launch: None,
                title: "Detour",
                summary: "Lanes draw whether they take the long way: what divergence costs, under your hand.",
                passes: SMALL_PASSES,
            },
        ],
    ),
    (
        "CUDA, as nvcc -O3 compiles it",
        &[
            cuda(
                "cuda/saxpy.O3.ptx",
                "cuda/saxpy.launch.wir",
                "Saxpy",
                "One fused multiply-add a thread, with a tail that some lanes leave.",
            ),
            cuda(
                "cuda/collatz.O3.ptx",
                "cuda/collatz.launch.wir",
                "Collatz",
                "A divergent loop: every lane ends when its own number has reached one.",
            ),
            cuda(
                "cuda/bfs.O3.ptx",
                "cuda/bfs.launch.wir",
                "Breadth-first step",
                "The frontier of a graph: branches and loads that depend on data.",
            ),
            cuda(
                "cuda/stencil.O3.ptx",
                "cuda/stencil.launch.wir",
                "2-D stencil",
                "Neighbours through shared memory and a barrier.",
            ),
            cuda(
                "cuda/reduce.O3.ptx",
                "cuda/reduce.launch.wir",
                "Tree reduction",
                "Half of the lanes rest after each barrier.",
            ),
            cuda("cuda/histogram.O3.ptx", "cuda/histogram.launch.wir", "Histogram", "Atomic additions that collide."),
            cuda(
                "cuda/bilateral.O3.ptx",
                "cuda/bilateral.launch.wir",
                "Bilateral filter",
                "Iterations that load again what the last one loaded.",
            ),
            cuda(
                "cuda/lighting.O3.ptx",
                "cuda/lighting.launch.wir",
                "Lighting",
                "Saturated N·L, texture reads, and multiplications by zero.",
            ),
        ],
    ),
    (
        "CUDA, as nvcc compiles it without optimising",
        &[
            cuda(
                "cuda/saxpy.O0.ptx",
                "cuda/saxpy.launch.wir",
                "Saxpy",
                "One fused multiply-add a thread, with a tail that some lanes leave.",
            ),
            cuda(
                "cuda/collatz.O0.ptx",
                "cuda/collatz.launch.wir",
                "Collatz",
                "A divergent loop: every lane ends when its own number has reached one.",
            ),
            cuda(
                "cuda/bfs.O0.ptx",
                "cuda/bfs.launch.wir",
                "Breadth-first step",
                "The frontier of a graph: branches and loads that depend on data.",
            ),
            cuda(
                "cuda/stencil.O0.ptx",
                "cuda/stencil.launch.wir",
                "2-D stencil",
                "Neighbours through shared memory and a barrier.",
            ),
            cuda(
                "cuda/reduce.O0.ptx",
                "cuda/reduce.launch.wir",
                "Tree reduction",
                "Half of the lanes rest after each barrier.",
            ),
            cuda("cuda/histogram.O0.ptx", "cuda/histogram.launch.wir", "Histogram", "Atomic additions that collide."),
            cuda(
                "cuda/bilateral.O0.ptx",
                "cuda/bilateral.launch.wir",
                "Bilateral filter",
                "Iterations that load again what the last one loaded.",
            ),
            cuda(
                "cuda/lighting.O0.ptx",
                "cuda/lighting.launch.wir",
                "Lighting",
                "Saturated N·L, texture reads, and multiplications by zero.",
            ),
        ],
    ),
];

/// A kernel that was written in CUDA, with its launch beside it.
const fn cuda(file: &'static str, launch: &'static str, title: &'static str, summary: &'static str) -> Example {
    Example { file, launch: Some(launch), title, summary, passes: SMALL_PASSES }
}

const FIRST: &str = include_str!("../../www/examples/first-look.wir");

/// What a newcomer meets.
pub fn first() -> Shared {
    let (_, examples) = GALLERY[0];
    bench(&examples[0], FIRST.to_owned(), String::new())
}

/// An example with its fetched texts, optimised to the end.
pub fn bench(example: &Example, source: String, launch: String) -> Shared {
    let stage = |pass: &&str| Stage { pass: (*pass).to_owned(), on: true, ..Stage::default() };
    Shared {
        bench: Bench { source, launch, pipeline: example.passes.iter().map(stage).collect(), ..Bench::default() },
        position: Position::END,
        scope: Scope::Pipeline,
        settings: Settings::default(),
    }
}
