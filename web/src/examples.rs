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
pub const GALLERY: &[(&str, &[Example])] = &[(
    "Small programs",
    &[Example {
        file: "first-look.wir",
        launch: None,
        title: "First look",
        summary: "A divergent branch, a loop, and something to do for every small pass.",
        passes: SMALL_PASSES,
    }],
)];

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
