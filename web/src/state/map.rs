//! The map of zero probability and divergence: which cells there are, in which order they are asked for, and what is known
//! of them.

use warpscope_engine::message::inspect::Prediction;
use warpscope_engine::message::{Bench, Cell, MapPiece, Mapped, Settings, ValueSource};

use super::Lab;
use super::trials::{POINTS, divergence};

/// Cells that are asked for at a time; the engine answers those that it has the time for.
const PIECE: usize = 24;

/// Knowledge of a map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMap {
    /// The question without its points.
    asked: Option<MapPiece>,
    /// The predictions of the pass.
    pub predictions: Vec<Prediction>,
    /// Why there is no map.
    pub refused: Option<String>,
    /// Cells by divergence, then by zero probability; none where nothing is known yet.
    pub cells: Vec<Option<Result<Cell, String>>>,
}

impl HeatMap {
    /// Whether it is about that question.
    pub fn is_of(&self, question: &MapPiece) -> bool {
        self.asked.as_ref() == Some(question)
    }

    /// The next question, if something of the map is unknown. After a run that did not end well nothing more is asked.
    pub fn next(&self, question: &MapPiece) -> Option<MapPiece> {
        let known = if self.is_of(question) { self.cells.as_slice() } else { &[] };
        let failed = self.is_of(question) && (self.refused.is_some() || known.iter().flatten().any(Result::is_err));
        let unknown = |&index: &usize| known.get(index).is_none_or(Option::is_none);
        let points: Vec<(f64, f64)> = order().filter(unknown).take(PIECE).map(point).collect();
        (!failed && !points.is_empty()).then(|| MapPiece { points, ..question.clone() })
    }

    /// Remembers an answer, and forgets those to other questions.
    pub fn learn(&mut self, question: &MapPiece, answer: Mapped) {
        let about = MapPiece { points: Vec::new(), ..question.clone() };
        if !self.is_of(&about) {
            *self = HeatMap { asked: Some(about), cells: vec![None; POINTS * POINTS], ..HeatMap::default() };
        }
        (self.predictions, self.refused) = (answer.predictions, answer.refused);
        for (&point, cell) in question.points.iter().zip(answer.cells) {
            if let Some(known) = self.cells.get_mut(index_of(point)) {
                *known = Some(cell);
            }
        }
    }

    /// How many cells are known.
    pub fn known(&self) -> usize {
        self.cells.iter().flatten().count()
    }

    /// The cell at a zero probability and a divergence, by their places on the axes.
    pub fn cell(&self, zero: usize, divergence: usize) -> Option<&Cell> {
        self.cells.get(divergence * POINTS + zero)?.as_ref()?.as_ref().ok()
    }
}

/// Every fifth cell first, then every other one, so that a picture is there soon.
fn order() -> impl Iterator<Item = usize> {
    let rank = |index: usize| {
        let (row, column) = (index / POINTS, index % POINTS);
        [5, 2, 1].into_iter().position(|step| row.is_multiple_of(step) && column.is_multiple_of(step)).unwrap_or(0)
    };
    (0..3).flat_map(move |wanted| (0..POINTS * POINTS).filter(move |&index| rank(index) == wanted))
}

fn point(index: usize) -> (f64, f64) {
    (divergence(index % POINTS), divergence(index / POINTS))
}

fn index_of((zero, apart): (f64, f64)) -> usize {
    let place = |value: f64| (value * (POINTS - 1) as f64).round() as usize;
    place(apart) * POINTS + place(zero)
}

/// The inputs and buffers that can vary: those whose values a kernel reads and that may be zero.
pub fn variable(sources: &[ValueSource]) -> Vec<&ValueSource> {
    sources.iter().filter(|source| source.is_read && source.zero.is_some()).collect()
}

/// The question about a map, without its points; none where nothing can vary. `chosen` varies, or else all that is ever
/// zero, or else everything.
pub fn question(
    bench: &Bench,
    pass: &str,
    launch: &str,
    sources: &[ValueSource],
    settings: &Settings,
    chosen: Option<&str>,
) -> Option<MapPiece> {
    let all = variable(sources);
    let is_ever_zero = |source: &&&ValueSource| {
        let set = settings.sets.get(&format!("{}.zero", source.name)).copied();
        set.or(source.zero).is_some_and(|zero| zero > 0.0)
    };
    let named: Vec<String> = match all.iter().find(|source| Some(source.name.as_str()) == chosen) {
        Some(source) => vec![source.name.clone()],
        None => {
            let zeros: Vec<String> = all.iter().filter(is_ever_zero).map(|source| source.name.clone()).collect();
            if zeros.is_empty() { all.iter().map(|source| source.name.clone()).collect() } else { zeros }
        }
    };
    if named.is_empty() {
        return None;
    }
    let mut settings = settings.clone();
    settings.sets.retain(|name, _| {
        let of = name.strip_suffix(".zero").or_else(|| name.strip_suffix(".coherence"));
        of.is_none_or(|of| !named.iter().any(|varies| varies == of))
    });
    let bench = Bench { launch: launch.to_owned(), ..bench.clone() };
    Some(MapPiece { bench, pass: pass.to_owned(), settings, vary: named, points: Vec::new() })
}

impl Lab {
    /// The first of the passes that run and predict what they gain.
    pub fn mapped_pass(&self) -> Option<&str> {
        let passes = &self.catalogue.as_ref()?.passes;
        let predicts = |name: &str| passes.iter().any(|pass| pass.name == name && pass.predicts);
        let stages = self.bench.pipeline.iter().filter(|stage| stage.on);
        stages.map(|stage| stage.pass.as_str()).find(|name| predicts(name))
    }

    /// The question about the map of zeros and divergence, without its points; none where nothing can vary.
    pub fn map_question(&self) -> Option<MapPiece> {
        self.map_question_about(self.varied.as_deref())
    }

    fn map_question_about(&self, varied: Option<&str>) -> Option<MapPiece> {
        let view = self.view.as_ref().filter(|_| self.programs().is_some())?;
        question(&self.bench, self.mapped_pass()?, &view.launch, &view.sources, &self.settings, varied)
    }

    /// Sources that vary in the map unless a person chooses others.
    pub fn usual_map_sources(&self) -> Vec<String> {
        self.map_question_about(None).map(|question| question.vary).unwrap_or_default()
    }

    /// Knowledge of the shown map.
    pub fn known_map(&self) -> Option<&HeatMap> {
        let question = self.map_question()?;
        Some(&*self.map).filter(|map| map.is_of(&question))
    }

    /// The next question about the map; none if all is known, or nobody looks, or pipelines come first.
    pub fn next_map(&self) -> Option<MapPiece> {
        let is_seen = self.is_comparing && self.next_trial().is_none();
        self.map.next(&self.map_question().filter(|_| is_seen)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, zero: f64) -> ValueSource {
        ValueSource { name: name.to_owned(), zero: Some(zero), is_read: true, ..ValueSource::default() }
    }

    fn about(sources: &[ValueSource], settings: &Settings, chosen: Option<&str>) -> Vec<String> {
        question(&Bench::default(), "azp", "", sources, settings, chosen).map(|piece| piece.vary).unwrap_or_default()
    }

    #[test]
    fn what_is_ever_zero_varies_unless_something_is_chosen() {
        let (sources, mut settings) = ([source("x", 0.0), source("y", 0.4)], Settings::default());
        assert_eq!(about(&sources, &settings, None), ["y"]);
        assert_eq!(about(&sources, &settings, Some("x")), ["x"]);
        assert_eq!(about(&sources, &settings, Some("gone")), ["y"]);
        settings.sets.insert("y.zero".to_owned(), 0.0);
        assert_eq!(about(&sources, &settings, None), ["x", "y"]);
        let piece = question(&Bench::default(), "azp", "", &sources, &settings, None).expect("a question");
        assert!(piece.settings.sets.is_empty(), "what varies is not set besides");
        assert!(question(&Bench::default(), "azp", "", &[], &settings, None).is_none());
    }

    #[test]
    fn all_cells_are_asked_for_once_and_those_of_another_question_are_forgotten() {
        let settings = Settings::default();
        let of = |name: &str| {
            question(&Bench::default(), "azp", "", &[source(name, 0.5)], &settings, None).expect("a question")
        };
        let (x, mut map, mut asked) = (of("x"), HeatMap::default(), Vec::new());
        while let Some(piece) = map.next(&x) {
            // The engine has time for seven.
            let answered: Vec<(f64, f64)> = piece.points.iter().copied().take(7).collect();
            let cell = |&(zero, apart): &(f64, f64)| {
                let (without, with) = ((zero * 10.0).round() as u64, (apart * 10.0).round() as u64);
                Ok(Cell { without, with, shares: Vec::new() })
            };
            let cells = answered.iter().map(cell).collect();
            asked.extend(answered);
            map.learn(&piece, Mapped { cells, ..Mapped::default() });
        }
        assert_eq!((asked.len(), map.known()), (121, 121));
        assert_eq!(&asked[..3], [(0.0, 0.0), (0.5, 0.0), (1.0, 0.0)]);
        let cell = map.cell(7, 3).expect("it is known");
        assert_eq!((cell.without, cell.with), (7, 3));
        let y = of("y");
        assert!(map.next(&y).is_some_and(|piece| piece.points.len() == PIECE));
        let failed = Mapped { cells: vec![Err("too long".to_owned())], ..Mapped::default() };
        map.learn(&map.next(&y).expect("a question"), failed);
        assert_eq!((map.known(), map.next(&y)), (1, None));
    }
}
