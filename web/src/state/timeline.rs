//! The stops of the transport: the source, then every rewrite of every pass that runs.
//!
//! ```text
//! pipeline   copy-prop (2 rewrites) · dce (off) · const-fold (none) · dce (1)
//! stops      0.0   1.1   1.2                      3.0                 4.1
//! ```
//!
//! A pass that changed nothing has one stop, so that a person sees it think and find nothing.

use warpscope_engine::message::{Position, Stage, StageResult};

/// All stops in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    stops: Vec<Position>,
}

/// A move of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Travel {
    /// To the source.
    First,
    /// One stop back.
    Back,
    /// One stop on.
    Forward,
    /// Behind everything.
    Last,
    /// To the stop before the pass that is shown, or before its predecessor.
    PreviousPass,
    /// To the end of the next pass.
    NextPass,
    /// To this stop.
    To(usize),
    /// To the end of this stage, from 1; 0 is the source.
    StageEnd(usize),
}

impl Timeline {
    /// The stops of this pipeline. Results that are not there yet count as no rewrites.
    pub fn new(pipeline: &[Stage], results: &[StageResult]) -> Self {
        let mut stops = vec![Position::default()];
        for (index, _) in pipeline.iter().enumerate().filter(|(_, stage)| stage.on) {
            let rewrites = results.get(index).map_or(0, |result| result.rewrites);
            let steps = if rewrites == 0 { 0..=0 } else { 1..=rewrites };
            stops.extend(steps.map(|step| Position { stage: index + 1, step }));
        }
        Timeline { stops }
    }

    /// How many stops there are; at least one.
    pub fn len(&self) -> usize {
        self.stops.len()
    }

    /// The source.
    pub fn first(&self) -> Position {
        self.stops[0]
    }

    /// Behind everything.
    pub fn last(&self) -> Position {
        self.stops[self.stops.len() - 1]
    }

    /// All stops.
    pub fn stops(&self) -> &[Position] {
        &self.stops
    }

    /// The number of the last stop that is not behind `position`.
    pub fn index(&self, position: Position) -> usize {
        self.stops.partition_point(|&stop| stop <= position).saturating_sub(1)
    }

    /// The last stop that is not behind `position`.
    pub fn clamp(&self, position: Position) -> Position {
        self.stops[self.index(position)]
    }

    /// For each stage that runs, the number of its first stop and of its last.
    pub fn ranges(&self) -> Vec<(usize, usize, usize)> {
        let mut ranges: Vec<(usize, usize, usize)> = Vec::new();
        for (index, stop) in self.stops.iter().enumerate().skip(1) {
            match ranges.last_mut() {
                Some(range) if range.0 == stop.stage => range.2 = index,
                _ => ranges.push((stop.stage, index, index)),
            }
        }
        ranges
    }

    /// Target of a move from `position`.
    pub fn travel(&self, position: Position, travel: Travel) -> Position {
        let at = self.index(position);
        let last = self.stops.len() - 1;
        let to = match travel {
            Travel::First => 0,
            Travel::Back => at.saturating_sub(1),
            Travel::Forward => (at + 1).min(last),
            Travel::Last => last,
            Travel::To(index) => index.min(last),
            Travel::PreviousPass => {
                let stage = self.stops[at].stage;
                self.stops.partition_point(|stop| stop.stage < stage).saturating_sub(1)
            }
            Travel::NextPass => {
                let next = (at + 1).min(last);
                self.end_of(self.stops[next].stage)
            }
            Travel::StageEnd(stage) => self.end_of(stage),
        };
        self.stops[to]
    }

    /// The number of the last stop that is not behind stage `stage`.
    fn end_of(&self, stage: usize) -> usize {
        self.stops.partition_point(|stop| stop.stage <= stage).saturating_sub(1)
    }
}
