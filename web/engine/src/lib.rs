//! The laboratory behind a message. The page and its worker speak in [`message`]; [`run`] answers.
//! The npm package speaks in [`api`].

pub mod api;
pub mod message;

use message::{Catalogue, Request, Response, Run, Simulated, View};

/// Answers one request of the page. Never panics on bad input: what is wrong with a program is part of the answer.
pub fn run(request: Request) -> Response {
    match request {
        Request::Catalogue => Response::Catalogue(Catalogue::default()),
        Request::Look(_) => Response::View(Box::new(View::default())),
        Request::Simulate(_) => {
            Response::Simulated(Box::new(Simulated { before: Ok(Run::default()), after: Ok(Run::default()) }))
        }
        Request::Watch(_) => Response::Watched(Err("not yet".to_owned())),
        Request::Share(_) => Response::Link(Err("not yet".to_owned())),
        Request::Open(_) => Response::Opened(Err("not yet".to_owned())),
    }
}
