//! Questions that travel over the graph: what there is to see at a moment, and all of them as a tree.

mod scene;
mod tree;

use warpscope_engine::message::Verdict;

pub use scene::{Motion, Noted, Place, Scene, Token};
pub use tree::{Row, RowKind, Tree};

/// How an answer looks, as a class of the styles; its words come with it.
pub fn look_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::False => "no",
        Verdict::True | Verdict::Real => "yes",
        Verdict::Unreal => "unreal",
    }
}

#[cfg(test)]
mod tests {
    use warpscope_engine::message::{Course, Event, Query, Questions, Verdict, What};

    pub fn questions(happened: Vec<Event>) -> Questions {
        let course = Course { last: happened.len(), ..Course::default() };
        Questions { course, happened, ..Questions::default() }
    }

    fn event(what: What, block: u32) -> Event {
        Event { what, block, ..Event::default() }
    }

    pub fn began(id: u32, parent: Option<u32>, text: &str, block: u32) -> Event {
        event(What::Began { id, parent, query: Query::Availability, text: text.to_owned() }, block)
    }

    pub fn asked(id: u32, parent: u32, text: &str, (from, to): (u32, u32)) -> Event {
        event(What::Asked { id, parent, text: text.to_owned(), from }, to)
    }

    pub fn converted(id: u32, text: &str, block: u32) -> Event {
        event(What::Converted { id, text: text.to_owned() }, block)
    }

    pub fn answered(id: u32, verdict: Verdict, block: u32) -> Event {
        event(What::Answered { id, verdict, words: format!("{verdict:?}"), meeting: String::new() }, block)
    }

    pub fn noted(id: u32, text: &str, block: u32) -> Event {
        event(What::Noted { id, text: text.to_owned(), onto: None }, block)
    }
}
