//! Answers of the engine, kept with the question: an answer to another question is none.

use std::rc::Rc;

use warpscope_engine::message::inspect::Inspection;
use warpscope_engine::message::{Inspect, Probe, Request, Response, Simulate, Zeros};

use super::{Dialog, Lab, Notice};

/// An inspection, and the request for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// Request that was made.
    pub asked: Inspect,
    /// The inspection.
    pub inspection: Rc<Inspection>,
}

/// The zeros of a program, or why it did not end well.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// Request that was made.
    pub asked: Probe,
    /// Zeros that were found.
    pub zeros: Result<Box<Zeros>, String>,
}

impl Lab {
    pub(super) fn take_answer(&mut self, request: &Request, response: Response) {
        match response {
            Response::Catalogue(catalogue) => self.catalogue = Some(Rc::new(catalogue)),
            Response::View(view) => {
                let is_last = matches!(request, Request::Look(look) if *look == self.look());
                if let Request::Look(look) = request
                    && is_last
                {
                    self.looking = false;
                    self.is_newly_opened = false;
                    self.answered = Some(Rc::new(look.clone()));
                }
                // A program that has left the page is not the last good one of what is there now.
                if self.is_newly_opened {
                    return;
                }
                // Whoever pastes another program does not mean its launch to be that of the last one.
                if view.launch_is_foreign && self.source_leads && is_last {
                    self.launches.replace((&self.before_edit.0, &self.before_edit.1), (&self.bench.source, ""));
                    self.bench.launch.clear();
                }
                // A step into a pass whose rewrites were not known yet stands at the first of them.
                if is_last && view.position.stage == self.position.stage && view.position.step > self.position.step {
                    self.position = view.position;
                }
                let view = Rc::new(*view);
                self.view = Some(view.clone());
                if is_last {
                    self.make_waiting_moves();
                }
                if self.lacks_program() {
                    self.forget_others_runs();
                } else {
                    self.last_good = Some(view);
                }
            }
            Response::Inspected(inspection) => {
                if let Request::Inspect(inspect) = request {
                    let leads_on = |told: &Inspection| told.timeline.as_ref().is_some_and(|it| it.leads_to_change);
                    self.asking &= inspection.as_deref().is_some_and(leads_on) || self.course_here().is_some();
                    self.inspected = inspection.map(|inspection| {
                        Rc::new(Answered { asked: inspect.clone(), inspection: Rc::new(*inspection) })
                    });
                }
            }
            Response::Simulated(runs) => {
                self.running = false;
                self.runs = Some(Rc::new(*runs));
                if let Request::Simulate(Simulate { before, after, .. }) = request {
                    self.ran = Rc::new((before.text.clone(), after.text.clone()));
                }
                // An answer may come late.
                self.forget_others_runs();
            }
            Response::Zeros(zeros) => {
                if let Request::Probe(probe) = request {
                    self.zeros = Some(Rc::new(Counted { asked: probe.clone(), zeros }));
                }
                self.forget_others_runs();
            }
            Response::Tried(tried) => {
                if let Request::Try(trial) = request {
                    Rc::make_mut(&mut self.trials).learn(trial.clone(), *tried);
                }
            }
            Response::Mapped(mapped) => {
                if let Request::Map(piece) = request {
                    Rc::make_mut(&mut self.map).learn(piece, *mapped);
                }
            }
            Response::Watched(moment) => {
                let ended = moment.as_ref().is_ok_and(|moment| moment.ended) || moment.is_err();
                // Somebody may have typed another number meanwhile.
                let is_last = matches!(request, Request::Watch(watch) if watch.issue == self.watched.issue);
                if let Some(moment) = moment.as_ref().ok().filter(|_| is_last) {
                    self.watched.issue = moment.issue;
                }
                self.watched.playing &= !(ended && is_last);
                self.moment = Some(Rc::new(moment));
                self.forget_others_runs();
            }
            // Somebody may have closed the dialog meanwhile.
            Response::Printed(printed) => {
                if self.dialog == Some(Dialog::Ptx(None)) {
                    self.dialog = Some(Dialog::Ptx(Some(printed)));
                }
            }
            Response::Link(Ok(link)) => self.dialog = Some(Dialog::Share(link)),
            Response::Link(Err(why)) => self.notice = Some(Notice { text: why, is_error: true }),
            Response::Opened(Ok(shared)) => {
                self.enter_link();
                self.keep("The link is open.");
                self.load(*shared);
                // What was told of another one is out of date.
                self.notice = None;
            }
            Response::Opened(Err(why)) => {
                let text = format!("This link could not be opened: {why}. Showing an example instead.");
                self.enter_link();
                self.keep("An example is open.");
                self.load_first_example();
                self.notice = Some(Notice { text, is_error: true });
            }
        }
    }
}
