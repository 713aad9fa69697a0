//! The engine in its worker: questions go in, answers come out as actions, and a question that is no longer of
//! interest does not hold up the next one.
//!
//! A worker answers one question at a time. A newer question of the same kind takes the place of one that still waits.
//! If the one that is being answered takes longer than [`PATIENCE_MS`] while another waits, the worker is ended and a
//! new one started: that is all there is to cancelling, because every question carries what it depends on.
//!
//! There are two workers: a small one for the first view, and the whole one, loaded when the small one says that a
//! question is beyond it.

use std::cell::RefCell;
use std::mem::discriminant;
use std::rc::Rc;

use gloo::timers::callback::Timeout;
use warpscope_engine::message::{Numbered, READY, Request, Response, wire};
use wasm_bindgen::prelude::*;
use web_sys::{ErrorEvent, MessageEvent, Worker, WorkerOptions, WorkerType};
use yew::Callback;

/// How long a waiting question lets the current one take, in milliseconds.
const PATIENCE_MS: u32 = 250;

/// One worker. Clones are the same worker.
#[derive(Clone)]
pub struct Engine(Rc<RefCell<State>>);

impl PartialEq for Engine {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

struct State {
    connection: Option<Connection>,
    /// Whether the small worker no longer does.
    whole: bool,
    /// The question that is being answered.
    current: Option<(u32, Request)>,
    waiting: Vec<Request>,
    number: u32,
    patience: Option<Timeout>,
    on_answer: Callback<Response>,
    on_failure: Callback<String>,
}

/// A running worker and the closures that it calls.
struct Connection {
    worker: Worker,
    ready: bool,
    _on_message: Closure<dyn FnMut(MessageEvent)>,
    _on_error: Closure<dyn FnMut(ErrorEvent)>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        self.worker.terminate();
    }
}

impl Engine {
    /// An engine that starts with its first question.
    pub fn new(on_answer: Callback<Response>, on_failure: Callback<String>) -> Self {
        let (whole, current, waiting, patience) = (false, None, Vec::new(), None);
        let state = State { connection: None, whole, current, waiting, number: 0, patience, on_answer, on_failure };
        Engine(Rc::new(RefCell::new(state)))
    }

    /// Asks a question; its answer arrives later, unless a newer question of its kind comes first.
    pub fn ask(&self, request: Request) {
        let busy = {
            let mut state = self.0.borrow_mut();
            let kind = discriminant(&request);
            state.waiting.retain(|waiting| discriminant(waiting) != kind);
            state.waiting.push(request);
            state.current.is_some()
        };
        if busy {
            self.lose_patience_later();
        } else {
            self.send_next();
        }
    }

    /// Gives up whatever is being answered or waits.
    pub fn cancel(&self) {
        let mut state = self.0.borrow_mut();
        state.waiting.clear();
        state.patience = None;
        if state.current.take().is_some() {
            state.connection = None;
        }
    }

    fn lose_patience_later(&self) {
        let engine = self.clone();
        let mut state = self.0.borrow_mut();
        if state.patience.is_some() {
            return;
        }
        let number = state.number;
        state.patience = Some(Timeout::new(PATIENCE_MS, move || {
            let stuck = {
                let mut state = engine.0.borrow_mut();
                state.patience = None;
                let stuck = state.current.take_if(|(current, _)| *current == number);
                if let Some((_, request)) = stuck {
                    // A question of another kind did not make this one obsolete.
                    let kind = discriminant(&request);
                    if !state.waiting.iter().any(|waiting| discriminant(waiting) == kind) {
                        state.waiting.push(request);
                    }
                    state.connection = None;
                    true
                } else {
                    false
                }
            };
            if stuck {
                engine.send_next();
            }
        }));
    }

    fn send_next(&self) {
        let started = self.0.borrow().connection.is_some();
        if !started {
            self.start();
        }
        let mut state = self.0.borrow_mut();
        let ready = state.connection.as_ref().is_some_and(|connection| connection.ready);
        if !ready || state.current.is_some() || state.waiting.is_empty() {
            return;
        }
        let request = state.waiting.remove(0);
        state.number += 1;
        let message = Numbered { id: state.number, body: request.clone() };
        state.current = Some((state.number, request));
        let sent = wire::encode(&message).and_then(|bytes| {
            let Some(connection) = &state.connection else { return Ok(()) };
            connection.worker.post_message(&bytes).map_err(|error| describe(&error))
        });
        if let Err(error) = sent {
            state.current = None;
            let report = state.on_failure.clone();
            drop(state);
            report.emit(error);
        }
    }

    fn start(&self) {
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        let script = if self.0.borrow().whole { "start-worker.js?whole" } else { "start-worker.js" };
        let worker = match Worker::new_with_options(script, &options) {
            Ok(worker) => worker,
            Err(error) => return self.0.borrow().on_failure.emit(describe(&error)),
        };
        let on_message = {
            let engine = self.clone();
            Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| engine.receive(event))
        };
        let on_error = {
            let engine = self.clone();
            Closure::<dyn FnMut(ErrorEvent)>::new(move |event: ErrorEvent| engine.fail(event))
        };
        worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        let connection = Connection { worker, ready: false, _on_message: on_message, _on_error: on_error };
        self.0.borrow_mut().connection = Some(connection);
    }

    fn receive(&self, event: MessageEvent) {
        if event.data().as_string().as_deref() == Some(READY) {
            if let Some(connection) = &mut self.0.borrow_mut().connection {
                connection.ready = true;
            }
            return self.send_next();
        }
        match wire::decode::<Numbered<Option<Response>>>(event.data().unchecked_ref()) {
            Ok(Numbered { body: None, .. }) => self.go_over_to_the_whole(),
            Ok(Numbered { id, body: Some(answer) }) => {
                let on_answer = {
                    let mut state = self.0.borrow_mut();
                    let expected = state.current.take_if(|(number, _)| *number == id).is_some();
                    state.patience = None;
                    expected.then(|| state.on_answer.clone())
                };
                if let Some(on_answer) = on_answer {
                    on_answer.emit(answer);
                }
            }
            Err(error) => self.0.borrow().on_failure.clone().emit(error),
        }
        self.send_next();
    }

    /// Ends the small worker; the question that it could not answer is the whole one's first.
    fn go_over_to_the_whole(&self) {
        let mut state = self.0.borrow_mut();
        state.whole = true;
        state.patience = None;
        if let Some((_, request)) = state.current.take() {
            let kind = discriminant(&request);
            // A newer question of its kind stands for it.
            if !state.waiting.iter().any(|waiting| discriminant(waiting) == kind) {
                state.waiting.insert(0, request);
            }
        }
        // The closure that runs belongs to the connection, which therefore goes a moment later.
        let connection = state.connection.take();
        Timeout::new(0, move || drop(connection)).forget();
    }

    /// The engine broke down: that is our fault, and the next question gets a fresh one.
    fn fail(&self, event: ErrorEvent) {
        let on_failure = {
            let mut state = self.0.borrow_mut();
            state.current = None;
            // The closure that runs belongs to the connection, which therefore goes a moment later.
            let connection = state.connection.take();
            Timeout::new(0, move || drop(connection)).forget();
            state.on_failure.clone()
        };
        on_failure.emit(event.message());
    }
}

/// What JavaScript says about a failure.
fn describe(error: &JsValue) -> String {
    error
        .dyn_ref::<js_sys::Error>()
        .map_or_else(|| "the engine does not start".to_owned(), |error| error.message().into())
}
