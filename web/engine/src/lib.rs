//! The laboratory behind a message. The page and its worker speak in [`message`]; [`run`] answers.
//! The npm package speaks in [`api`].

pub mod api;
pub mod message;

use message::{Request, Response};

/// Answers one request of the page. Never panics on bad input: what is wrong with a program is part of the answer.
pub fn run(request: Request) -> Response {
    match request {
        Request::Ping => Response::Pong,
    }
}
