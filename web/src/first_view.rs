//! First view of the page without its engine: the engine's answers to the questions that a newcomer's page asks,
//! computed when the page is built.
//!
//! ```text
//! build:  the first example ─▶ questions ─▶ engine ─▶ first-view.bin
//! page:   the first example ─▶ questions ─▶ first-view.bin; the engine only after a first move of the hand
//! ```
//!
//! The first view is thereby as light as what it shows, and the engine may be as large as it is good. Sound, because an
//! answer depends on its question alone: both sides take the questions from the same [`Lab`], a question that is not
//! in the record (another build's, a link's) goes to the engine, and so does every one after the engine has started.

use std::rc::Rc;

use js_sys::Uint8Array;
use warpscope_engine::Engine;
use warpscope_engine::message::{Request, Response, wire};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use yew::Reducible;

use crate::state::{Action, Lab};

/// The record's file, beside the page.
const FILE: &str = "first-view.bin";

/// Questions with their answers.
#[derive(Debug, Default, PartialEq)]
pub struct Record(Vec<(Request, Response)>);

impl Record {
    /// Asks the engine what a newcomer's page asks, until that page has no further question.
    pub fn compute() -> Record {
        let mut engine = Engine::new(|| 0.0);
        let mut lab = Rc::new(Lab::new());
        let mut record = Record::default();
        while let Some(request) = lab.questions().into_iter().find(|request| record.answer(request).is_none()) {
            let mut response = engine.answer(request.clone());
            if let Response::View(view) = &mut response {
                // A time that nobody waited for would mislead.
                view.stages.iter_mut().for_each(|stage| stage.micros = None);
            }
            lab = lab.reduce(Action::Answered(Box::new(request.clone()), response.clone()));
            record.0.push((request, response));
        }
        record
    }

    /// The answer to `request`, if it was among the questions.
    pub fn answer(&self, request: &Request) -> Option<&Response> {
        self.0.iter().find(|(asked, _)| asked == request).map(|(_, answer)| answer)
    }

    /// The record as a file.
    pub fn encode(&self) -> Result<Vec<u8>, String> {
        wire::encode(&self.0)
    }

    /// The file beside the page, or why it cannot be used, which only costs time.
    pub async fn fetch() -> Result<Record, String> {
        let say = |error: JsValue| format!("{error:?}");
        let response = JsFuture::from(gloo::utils::window().fetch_with_str(FILE)).await.map_err(say)?;
        let response: web_sys::Response = response.dyn_into().map_err(say)?;
        if !response.ok() {
            return Err(format!("{FILE}: {}", response.status_text()));
        }
        let buffer = JsFuture::from(response.array_buffer().map_err(say)?).await.map_err(say)?;
        wire::decode(&Uint8Array::new(&buffer).to_vec()).map(Record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newcomer_s_questions_are_few_and_all_answered() {
        let record = Record::compute();
        let kinds: Vec<&str> = record.0.iter().map(|(request, _)| kind(request)).collect();
        assert_eq!(kinds, ["catalogue", "look", "simulate", "watch"]);
        let decoded: Vec<(Request, Response)> =
            wire::decode(&record.encode().expect("a record is data")).expect("ours");
        assert_eq!(decoded, record.0);
    }

    fn kind(request: &Request) -> &'static str {
        match request {
            Request::Catalogue => "catalogue",
            Request::Look(_) => "look",
            Request::Inspect(_) => "inspect",
            Request::Simulate(_) => "simulate",
            Request::Map(_) => "map",
            Request::Probe(_) => "probe",
            Request::Try(_) => "try",
            Request::Watch(_) => "watch",
            Request::Print(_) => "print",
            Request::Share(_) => "share",
            Request::Open(_) => "open",
        }
    }
}
