//! The laboratory behind a message. The page and its worker speak in [`message`]; an [`Engine`] answers. The npm package
//! speaks in [`api`] and [`analyses`].

pub mod analyses;
pub mod api;
mod catalogue;
mod comparison;
mod current_change;
mod drawing;
mod facts;
mod failure;
mod lanes;
mod map;
pub mod message;
mod print;
mod program;
mod share;
mod simulation;
mod sources;
mod trial;
mod view;
mod zeros;

use message::{Bench, Look, Print, Request, Response};

/// Answers requests. What it remembers only saves it from computing twice; every answer depends on its request alone.
pub struct Engine {
    clock: fn() -> f64,
    opened: Option<(Bench, view::Opened)>,
    runner: simulation::Runner,
    watched: lanes::Watcher,
    mapper: map::Mapper,
}

impl Engine {
    /// An engine that remembers nothing. `clock` gives microseconds since some moment.
    pub fn new(clock: fn() -> f64) -> Engine {
        Engine {
            clock,
            opened: None,
            runner: simulation::Runner::default(),
            watched: lanes::Watcher::default(),
            mapper: map::Mapper::default(),
        }
    }

    /// Answers one request. Never panics on bad input: what is wrong with a program is part of the answer.
    pub fn answer(&mut self, request: Request) -> Response {
        match request {
            Request::Catalogue => Response::Catalogue(catalogue::catalogue()),
            Request::Look(Look { bench, position, scope, moment }) => {
                Response::View(Box::new(self.open(bench).view(position, scope, moment)))
            }
            Request::Inspect(inspect) => {
                Response::Inspected(self.open(inspect.bench.clone()).inspection(&inspect).map(Box::new))
            }
            Request::Simulate(simulate) => Response::Simulated(Box::new(self.runner.simulate(&simulate))),
            Request::Probe(probe) => Response::Zeros(zeros::zeros(&probe).map(Box::new)),
            Request::Try(trial) => Response::Tried(Box::new(trial::try_pipeline(&trial, self.clock))),
            Request::Map(piece) => Response::Mapped(Box::new(self.mapper.map(&piece, self.clock))),
            Request::Watch(watch) => Response::Watched(self.watched.moment(&watch).map(Box::new)),
            Request::Print(Print { bench, position }) => {
                Response::Printed(Box::new(self.open(bench).printed(position)))
            }
            Request::Share(shared) => Response::Link(share::link(&shared)),
            Request::Open(link) => Response::Opened(share::open(&link).map(Box::new)),
        }
    }

    /// The bench, opened anew unless it is the last one.
    fn open(&mut self, bench: Bench) -> &mut view::Opened {
        let remembered = self.opened.take().filter(|(last, _)| *last == bench);
        let opened = remembered.unwrap_or_else(|| {
            let opened = view::Opened::new(&bench, self.clock);
            (bench, opened)
        });
        &mut self.opened.insert(opened).1
    }
}
