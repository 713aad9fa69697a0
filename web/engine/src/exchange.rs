//! What programs come from and go to outside: PTX, links, and the launch that is guessed where nobody wrote one.
//!
//! All of it is about a third of the engine, and the first view needs none of it. The page therefore starts with a
//! worker without it. A request that needs it is [`Beyond`] that worker, upon which the page starts the one that has it
//! and asks again.

use warpscope_core::ir::{Function, Launch, Module};
use warpscope_core::ptx;
use warpscope_core::text::Parsed;

use crate::message::Shared;
use crate::share;

/// The functions, behind pointers: a binary that never names [`EXCHANGE`] does not contain them.
#[derive(Clone, Copy)]
pub struct Exchange {
    /// Reads PTX.
    pub import: fn(&str) -> Parsed,
    /// Guesses a launch for a kernel that has none.
    pub derive_launch: fn(&Module, &Function) -> Launch,
    /// Guesses what a launch leaves out.
    pub complete_launch: fn(&Module, &Function, &Launch) -> Launch,
    /// Makes a link.
    pub link: fn(&Shared) -> Result<String, String>,
    /// Reads a link.
    pub open: fn(&str) -> Result<Shared, String>,
}

/// All of it.
pub const EXCHANGE: Exchange = Exchange {
    import: ptx::import,
    derive_launch: ptx::derive_launch,
    complete_launch: ptx::complete_launch,
    link: share::link,
    open: share::open,
};

/// Why an engine without [`Exchange`] gives no answer.
#[derive(Clone, Copy, Debug)]
pub struct Beyond;

/// Why a program does not run.
pub enum Trouble {
    /// This engine cannot even read it.
    Beyond,
    /// A sentence for people.
    Said(String),
}

impl From<Beyond> for Trouble {
    fn from(_: Beyond) -> Trouble {
        Trouble::Beyond
    }
}

impl From<String> for Trouble {
    fn from(sentence: String) -> Trouble {
        Trouble::Said(sentence)
    }
}

impl Trouble {
    /// An answer that may be a sentence for people.
    pub fn sort<T>(result: Result<T, Trouble>) -> Result<Result<T, String>, Beyond> {
        match result {
            Ok(value) => Ok(Ok(value)),
            Err(Trouble::Said(sentence)) => Ok(Err(sentence)),
            Err(Trouble::Beyond) => Err(Beyond),
        }
    }
}
