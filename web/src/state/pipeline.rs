//! How a person changes the list of passes.

use warpscope_engine::message::{Position, Stage};

/// One change of the list. Indices count all entries, those switched off included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PipelineEdit {
    /// Puts a pass at the end.
    Add(String),
    /// Takes an entry out.
    Remove(usize),
    /// Puts an entry at another place.
    Move {
        /// Old place.
        from: usize,
        /// New place.
        to: usize,
    },
    /// Switches an entry on or off.
    Switch(usize, bool),
    /// Puts the passes of a named pipeline in its place.
    TakeApart(usize, Vec<Stage>),
    /// Sets a knob, or with none gives it its default back.
    Turn {
        /// The entry.
        stage: usize,
        /// The knob.
        knob: String,
        /// Its value.
        value: Option<String>,
    },
    /// Gives all knobs of an entry their defaults back.
    ResetKnobs(usize),
}

impl PipelineEdit {
    /// Changes the list and says where the transport goes: behind what changed, so that its effect shows.
    pub fn apply(self, pipeline: &mut Vec<Stage>, position: &Position) -> Position {
        let end = |stage: usize| Position { stage: stage + 1, step: usize::MAX };
        match self {
            PipelineEdit::Add(pass) => {
                pipeline.push(Stage { pass, on: true, ..Stage::default() });
                Position::END
            }
            PipelineEdit::Remove(index) if index < pipeline.len() => {
                pipeline.remove(index);
                Position::END
            }
            PipelineEdit::Move { from, to } if from < pipeline.len() && to < pipeline.len() => {
                let stage = pipeline.remove(from);
                pipeline.insert(to, stage);
                end(to)
            }
            PipelineEdit::Switch(index, on) if index < pipeline.len() => {
                pipeline[index].on = on;
                end(index)
            }
            PipelineEdit::TakeApart(index, parts) if index < pipeline.len() => {
                let (on, last) = (pipeline[index].on, index + parts.len().saturating_sub(1));
                let stages = parts.into_iter().map(|part| Stage { on: on && part.on, ..part });
                pipeline.splice(index..=index, stages);
                end(last)
            }
            PipelineEdit::Turn { stage, knob, value } if stage < pipeline.len() => {
                match value {
                    Some(value) => pipeline[stage].knobs.insert(knob, value),
                    None => pipeline[stage].knobs.remove(&knob),
                };
                end(stage)
            }
            PipelineEdit::ResetKnobs(index) if index < pipeline.len() => {
                pipeline[index].knobs.clear();
                end(index)
            }
            _ => *position,
        }
    }
}
