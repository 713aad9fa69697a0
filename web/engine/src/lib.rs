//! The laboratory behind a message. The page and its worker speak in [`message`]; an [`Engine`] answers. The npm package
//! speaks in [`api`].

pub mod api;
mod catalogue;
mod comparison;
mod drawing;
pub mod message;
mod program;
mod share;
mod simulation;
mod sources;
mod view;
mod walk;
pub mod worker;

use message::{Bench, Request, Response};

/// Answers requests. What it remembers only saves it from computing twice; every answer depends on its request alone.
pub struct Engine {
    clock: fn() -> f64,
    opened: Option<(Bench, view::Opened)>,
    watched: simulation::Watcher,
}

impl Engine {
    /// An engine that remembers nothing. `clock` gives microseconds since some moment.
    pub fn new(clock: fn() -> f64) -> Engine {
        Engine { clock, opened: None, watched: simulation::Watcher::default() }
    }

    /// Answers one request. Never panics on bad input: what is wrong with a program is part of the answer.
    pub fn answer(&mut self, request: Request) -> Response {
        match request {
            Request::Catalogue => Response::Catalogue(catalogue::catalogue()),
            Request::Look(look) => {
                let remembered = self.opened.take().filter(|(bench, _)| *bench == look.bench);
                let (bench, mut opened) = remembered.unwrap_or_else(|| {
                    let opened = view::Opened::new(&look.bench, self.clock);
                    (look.bench, opened)
                });
                let view = opened.view(look.position, look.scope, look.moment);
                self.opened = Some((bench, opened));
                Response::View(Box::new(view))
            }
            Request::Simulate(simulate) => Response::Simulated(Box::new(simulation::simulate(&simulate, self.clock))),
            Request::Watch(watch) => Response::Watched(self.watched.moment(&watch, self.clock).map(Box::new)),
            Request::Share(shared) => Response::Link(share::link(&shared)),
            Request::Open(link) => Response::Opened(share::open(&link).map(Box::new)),
        }
    }
}
