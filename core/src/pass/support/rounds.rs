//! The remark of a pass that ends after its last permitted round, though another one might find more.

use alloc::format;

use crate::trace::{Fact, Remark};
use crate::view::View;

/// Records that a pass stopped after `rounds` rounds, and what those did.
pub fn tell_max_rounds(view: &mut View<'_>, rounds: u64, effect: &str) {
    if let Some(entry) = view.func().entry_block() {
        view.miss(|_| {
            let message = format!("stopped after {rounds} rounds, {effect}");
            Remark::missed("max-rounds", entry, message).with("rounds", Fact::Count(rounds))
        });
    }
}
