//! What the page asks and what the worker answers, as plain data that crosses the worker's boundary.

use serde::{Deserialize, Serialize};

/// One question of the page. Each carries all that its answer depends on, so that a respawned worker can answer it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Request {
    /// Is anybody there?
    Ping,
}

/// The worker's answer to one [`Request`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Response {
    /// The answer to [`Request::Ping`].
    Pong,
}

/// A request or response with the number that pairs them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Numbered<T> {
    /// Chosen by the page; the answer repeats it.
    pub id: u32,
    /// The request or response itself.
    pub body: T,
}

/// What the worker posts, as a plain string, as soon as it listens. The page sends nothing before.
pub const READY: &str = "ready";
