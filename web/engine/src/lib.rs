//! The laboratory behind a message. The page and its worker speak in [`message`]; an [`Engine`] answers. The npm package
//! speaks in [`api`].

pub mod api;
mod catalogue;
mod comparison;
mod drawing;
mod exchange;
pub mod message;
mod program;
mod share;
mod simulation;
mod view;
pub mod worker;

use exchange::Trouble;
pub use exchange::{Beyond, EXCHANGE, Exchange};
use message::{Bench, Request, Response};

/// Answers requests. What it remembers only saves it from computing twice; every answer depends on its request alone.
pub struct Engine {
    clock: fn() -> f64,
    exchange: Option<Exchange>,
    opened: Option<(Bench, view::Opened)>,
    watched: simulation::Watcher,
}

impl Engine {
    /// An engine that remembers nothing. `clock` gives microseconds since some moment. Without an `exchange` some
    /// requests are beyond it.
    pub fn new(clock: fn() -> f64, exchange: Option<Exchange>) -> Engine {
        Engine { clock, exchange, opened: None, watched: simulation::Watcher::default() }
    }

    /// Answers one request. Never panics on bad input: what is wrong with a program is part of the answer.
    pub fn answer(&mut self, request: Request) -> Result<Response, Beyond> {
        let exchange = self.exchange;
        Ok(match request {
            Request::Catalogue => Response::Catalogue(catalogue::catalogue()),
            Request::Look(look) => {
                let remembered = self.opened.take().filter(|(bench, _)| *bench == look.bench);
                let (bench, mut opened) = match remembered {
                    Some(remembered) => remembered,
                    None => {
                        let opened = view::Opened::new(&look.bench, self.clock, exchange)?;
                        (look.bench, opened)
                    }
                };
                let view = opened.view(look.position, look.scope);
                self.opened = Some((bench, opened));
                Response::View(Box::new(view))
            }
            Request::Simulate(simulate) => {
                Response::Simulated(Box::new(simulation::simulate(&simulate, self.clock, exchange)?))
            }
            Request::Watch(watch) => {
                Response::Watched(Trouble::sort(self.watched.moment(&watch, self.clock, exchange))?.map(Box::new))
            }
            Request::Share(shared) => Response::Link((exchange.ok_or(Beyond)?.link)(&shared)),
            Request::Open(link) => Response::Opened((exchange.ok_or(Beyond)?.open)(&link).map(Box::new)),
        })
    }
}
