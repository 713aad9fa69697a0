//! Links: between what the page holds and the core's documents.

use std::collections::BTreeMap;

use warpscope_core::link::{self, Dialect, Document, RunSettings};

use crate::message::{Bench, Language, Position, Scope, Settings, Shared, Stage};
use crate::program::language_of;

/// Entries of a pipeline that are opened: each is drawn, and a link is an attack until it is read.
const MOST_STAGES: usize = 256;

/// The link's part of the address, `#` included, or why there is none.
pub fn link(shared: &Shared) -> Result<String, String> {
    link::encode(&document(shared)).map_err(|error| error.to_string())
}

/// Opens a link, or says why it opens nothing.
pub fn open(text: &str) -> Result<Shared, String> {
    let document = link::decode(text).map_err(|error| error.to_string())?;
    if document.pipeline.len() > MOST_STAGES {
        return Err(format!("it has {} passes, and more than {MOST_STAGES} are not shown", document.pipeline.len()));
    }
    Ok(shared(document))
}

fn document(shared: &Shared) -> Document {
    let Shared { bench, position, scope, moment, settings } = shared;
    let sliders = settings.sets.iter().map(|(name, value)| (name.clone(), value.to_string()));
    let words = settings.words.iter().map(|(name, value)| (name.clone(), value.clone()));
    let mut document = Document {
        source: bench.source.clone(),
        dialect: if language_of(&bench.source) == Language::Ptx { Dialect::Ptx } else { Dialect::Wir },
        launch: bench.launch.clone(),
        pipeline: bench.pipeline.iter().map(stage_out).collect(),
        fast_math: bench.fast_math,
        position: Some(link::Position { pass: to_u32(position.stage), event: to_u32(position.step) }),
        run: RunSettings {
            kernel: bench.kernel.clone(),
            machine: Some(settings.machine.clone()).filter(|machine| !machine.is_empty()),
            seed: settings.seed,
            warp: settings.warp,
            grid: settings.grid,
            block: settings.block,
            fuel: settings.fuel,
            set: sliders.chain(words).collect(),
        },
        ..Document::default()
    };
    if let Some(scope) = scope {
        let scope = match scope {
            Scope::Rewrite => "rewrite",
            Scope::Pass => "pass",
            Scope::Pipeline => "pipeline",
        };
        document.view.insert("scope".to_owned(), scope.to_owned());
    }
    if let Some(moment) = moment {
        document.view.insert("moment".to_owned(), moment.to_string());
    }
    if bench.measured.is_some() {
        document.view.insert("profile".to_owned(), "measured".to_owned());
    }
    document
}

fn shared(document: Document) -> Shared {
    let stages = document.pipeline.into_iter();
    let (mut sets, mut words) = (BTreeMap::new(), BTreeMap::new());
    for (name, value) in document.run.set {
        // A slider belongs to something: `x.zero`. Everything else is kept as it was written.
        // What is no number of a slider would differ from itself, and from what is shown.
        match value.parse().ok().filter(|number: &f64| name.contains('.') && number.is_finite()) {
            Some(number) => drop(sets.insert(name, number)),
            None => drop(words.insert(name, value)),
        }
    }
    let settings = Settings {
        machine: document.run.machine.unwrap_or_default(),
        seed: document.run.seed,
        warp: document.run.warp,
        grid: document.run.grid,
        block: document.run.block,
        fuel: document.run.fuel,
        sets,
        words,
    };
    let is_measured = document.view.get("profile").is_some_and(|profile| profile == "measured");
    Shared {
        position: document.position.map_or(Position::END, |position| Position {
            stage: position.pass as usize,
            step: position.event as usize,
        }),
        scope: match document.view.get("scope").map(String::as_str) {
            Some("rewrite") => Some(Scope::Rewrite),
            Some("pass") => Some(Scope::Pass),
            Some("pipeline") => Some(Scope::Pipeline),
            _ => None,
        },
        moment: document.view.get("moment").and_then(|moment| moment.parse().ok()),
        bench: Bench {
            source: document.source,
            launch: document.launch,
            kernel: document.run.kernel,
            pipeline: stages
                .map(|stage| Stage { pass: stage.pass, on: !stage.off, knobs: stage.knobs, phase: stage.phase })
                .collect(),
            fast_math: document.fast_math,
            measured: is_measured.then(|| Box::new(settings.clone())),
        },
        settings,
    }
}

fn stage_out(stage: &Stage) -> link::Stage {
    let Stage { pass, on, knobs, phase } = stage.clone();
    link::Stage { pass, knobs, off: !on, phase }
}

fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_of_a_slider_is_kept_as_written() {
        let set = [("x.zero", "0.5"), ("y.zero", "NaN"), ("z.true", "1e999"), ("l1", "off")];
        let set = set.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
        let document = Document { run: RunSettings { set, ..RunSettings::default() }, ..Document::default() };
        let opened = open(&link::encode(&document).expect("it is small")).expect("it is a link");
        assert_eq!(opened, opened.clone());
        assert_eq!(opened.settings.sets.len(), 1);
        assert_eq!(opened.settings.words.len(), 3);
    }

    #[test]
    fn a_measured_profile_is_part_of_a_link() {
        let settings = Settings { seed: Some(7), ..Settings::default() };
        let mut shared = Shared { position: Position::END, settings: settings.clone(), ..Shared::default() };
        for measured in [None, Some(Box::new(settings))] {
            shared.bench.measured = measured;
            assert_eq!(open(&link(&shared).expect("it is small")).as_ref(), Ok(&shared));
        }
    }

    #[test]
    fn more_passes_than_can_be_shown_are_refused() {
        let pipeline = vec![link::Stage { pass: "dce".to_owned(), ..link::Stage::default() }; MOST_STAGES + 1];
        let text = link::encode(&Document { pipeline, ..Document::default() }).expect("it is small");
        assert!(open(&text).is_err_and(|why| why.contains("257 passes")));
    }
}
