//! Tokens that travel over the graph: the scene at a moment, and all of them as a tree.

mod inquiries;
mod scene;
mod tree;

pub use inquiries::inquiry_stops;
pub use scene::{Motion, Noted, Place, Scene, Token};
pub use tree::{Row, RowKind, Tree};

#[cfg(test)]
mod tests {
    use warpscope_engine::message::Course;
    use warpscope_engine::message::inspect::{Anchor, Look, Moment, Timeline, TokenStep};

    pub fn timeline(moments: Vec<Moment>) -> Timeline {
        Timeline { course: Course { last: moments.len(), ..Course::default() }, moments, ..Timeline::default() }
    }

    /// A moment of these steps in a block.
    pub fn moment(block: u32, tokens: Vec<TokenStep>) -> Moment {
        Moment { focus: Some(Anchor::Block(block)), tokens, ..Moment::default() }
    }

    pub fn appears(id: u32, parent: Option<u32>, text: &str, (from, to): (Option<u32>, u32)) -> Moment {
        moment(to, vec![TokenStep::Appears { id, parent, kind: "up".to_owned(), text: text.to_owned(), from, to }])
    }

    pub fn changes(id: u32, text: &str, block: u32) -> Moment {
        moment(block, vec![TokenStep::Changes { id, text: text.to_owned() }])
    }

    pub fn returns(id: u32, look: Look, block: u32) -> Moment {
        moment(block, vec![TokenStep::Returns { id, look, words: look.name().to_owned(), meeting: String::new() }])
    }

    pub fn notes(id: u32, text: &str, at: Anchor) -> Moment {
        Moment { tokens: vec![TokenStep::Notes { id, text: text.to_owned(), at }], ..Moment::default() }
    }
}
