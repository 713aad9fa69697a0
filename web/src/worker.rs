//! The engine in its worker: questions go in, answers come out as actions, and a question that is no longer of
//! interest does not hold up the next one.
//!
//! A worker answers one question at a time. A newer question of the same kind takes the place of one that still waits.
//! If the one that is being answered takes longer than [`PATIENCE_MS`] while another waits, the worker is ended and a
//! new one started: that is all there is to cancelling, because every question carries what it depends on.
//!
//! The first view needs no worker: until one is started, questions with an answer in the [`Record`] have that one.

use std::cell::RefCell;
use std::mem::discriminant;
use std::rc::Rc;

use gloo::timers::callback::Timeout;
use js_sys::Uint8Array;
use warpscope_engine::message::{Numbered, READY, Request, Response, wire};
use wasm_bindgen::prelude::*;
use web_sys::{ErrorEvent, MessageEvent, Worker, WorkerOptions, WorkerType};
use yew::Callback;

use crate::compiled::Compiled;
use crate::first_view::Record;

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
    /// Answers to the first questions, until there is a worker.
    record: Rc<Record>,
    /// The question that is being answered.
    current: Option<(u32, Request)>,
    waiting: Vec<Request>,
    number: u32,
    patience: Option<Timeout>,
    code: Compiled,
    listeners: Listeners,
}

/// Listeners of an engine.
pub struct Listeners {
    /// A question has its answer.
    pub answered: Callback<(Request, Response)>,
    /// The engine broke down, or could not be loaded.
    pub failed: Callback<String>,
    /// It has been loaded.
    pub ready: Callback<()>,
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
    /// An engine of this code that starts with its first question that has no answer in `record`.
    pub fn new(code: Compiled, record: Rc<Record>, listeners: Listeners) -> Self {
        let (current, waiting, patience) = (None, Vec::new(), None);
        let state = State { connection: None, record, current, waiting, number: 0, patience, code, listeners };
        Engine(Rc::new(RefCell::new(state)))
    }

    /// Starts the worker: a question may come soon.
    pub fn wake(&self) {
        let asleep = self.0.borrow().connection.is_none();
        if asleep {
            self.start();
        }
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
        let nothing_waits = self.0.borrow().waiting.is_empty();
        if nothing_waits || self.answer_from_record() {
            return;
        }
        self.wake();
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
            connection.worker.post_message(&Uint8Array::from(bytes.as_slice())).map_err(|error| describe(&error))
        });
        if let Err(error) = sent {
            state.current = None;
            let report = state.listeners.failed.clone();
            drop(state);
            report.emit(error);
        }
    }

    /// Whether the next question has an answer without a worker, which then arrives like one from there: a moment later.
    fn answer_from_record(&self) -> bool {
        let mut state = self.0.borrow_mut();
        if state.connection.is_some() || state.current.is_some() {
            return false;
        }
        let Some(request) = state.waiting.first() else { return false };
        let Some(answer) = state.record.answer(request).cloned() else { return false };
        state.number += 1;
        let number = state.number;
        let request = state.waiting.remove(0);
        state.current = Some((number, request));
        let engine = self.clone();
        Timeout::new(0, move || engine.deliver(number, answer)).forget();
        true
    }

    fn start(&self) {
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        let worker = match Worker::new_with_options("start-worker.js", &options) {
            Ok(worker) => worker,
            Err(error) => return self.give_up(describe(&error)),
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
        let connection =
            Connection { worker: worker.clone(), ready: false, _on_message: on_message, _on_error: on_error };
        self.0.borrow_mut().connection = Some(connection);
        let (engine, code) = (self.clone(), self.0.borrow().code.clone());
        wasm_bindgen_futures::spawn_local(async move {
            let sent = code.get().await.and_then(|module| worker.post_message(&module));
            let is_current = engine.0.borrow().connection.as_ref().is_some_and(|current| current.worker == worker);
            if let (Err(error), true) = (sent, is_current) {
                engine.give_up(describe(&error));
            }
        });
    }

    fn receive(&self, event: MessageEvent) {
        if event.data().as_string().as_deref() == Some(READY) {
            if let Some(connection) = &mut self.0.borrow_mut().connection {
                connection.ready = true;
            }
            let ready = self.0.borrow().listeners.ready.clone();
            ready.emit(());
            return self.send_next();
        }
        let bytes: Uint8Array = event.data().unchecked_into();
        match wire::decode::<Numbered<Response>>(&bytes.to_vec()) {
            Ok(Numbered { id, body }) => self.deliver(id, body),
            Err(error) => {
                let failed = self.0.borrow().listeners.failed.clone();
                failed.emit(error);
                self.send_next();
            }
        }
    }

    /// Passes an answer on, if it is still waited for, and asks what waits next.
    fn deliver(&self, number: u32, answer: Response) {
        let expected = {
            let mut state = self.0.borrow_mut();
            state.patience = None;
            let expected = state.current.take_if(|(current, _)| *current == number);
            expected.map(|(_, request)| (request, state.listeners.answered.clone()))
        };
        if let Some((request, answered)) = expected {
            answered.emit((request, answer));
        }
        self.send_next();
    }

    /// The engine broke down: that is our fault, and the next question gets a fresh one.
    fn fail(&self, event: ErrorEvent) {
        self.give_up(event.message());
    }

    /// Ends the worker and forgets what was asked: whatever made it fail would do so again.
    fn give_up(&self, why: String) {
        let failed = {
            let mut state = self.0.borrow_mut();
            state.current = None;
            state.waiting.clear();
            state.patience = None;
            // The closure that runs belongs to the connection, which therefore goes a moment later.
            let connection = state.connection.take();
            Timeout::new(0, move || drop(connection)).forget();
            state.listeners.failed.clone()
        };
        failed.emit(why);
    }
}

/// Message of a JavaScript failure.
fn describe(error: &JsValue) -> String {
    error
        .dyn_ref::<js_sys::Error>()
        .map_or_else(|| "the engine does not start".to_owned(), |error| error.message().into())
}
