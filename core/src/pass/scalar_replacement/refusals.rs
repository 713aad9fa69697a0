//! Remarks about refused insertions and moves, one for each reason.

use alloc::format;
use alloc::string::String;

use crate::ir::{Block, Function};
use crate::query::{InsertionPoint, Refusal};
use crate::trace::{Fact, Remark};

/// The remark about a refused insertion.
pub(super) fn refusal_remark(func: &Function, block: Block, what: &str, refusal: Refusal) -> Remark {
    let name = |block: Block| &func.blocks[block].name;
    let place = |point: InsertionPoint| point.text(func);
    match refusal {
        Refusal::NotThere => Remark::missed("not-there", block, format!("`{what}` is not available on any path")),
        Refusal::NotDownSafe(_, at) => {
            let message =
                format!("`{what}` is available on some paths to `{}`, which is not down-safe for it", name(at));
            Remark::missed("down-safe", block, message).with("join", Fact::Block(at))
        }
        Refusal::Divergent(_, point, branch) => {
            let who = match point {
                InsertionPoint::End(block) => format!("`{}` depends", name(block)),
                InsertionPoint::Edge(..) | InsertionPoint::BeforeEntry(_) => String::from("the edge depends"),
            };
            let message = format!(
                "did not insert `{what}` {}: {who} on the divergent branch of `{}`",
                place(point),
                name(branch)
            );
            Remark::missed("divergent", block, message)
                .with("insertion", Fact::Block(point.block()))
                .with("branch", Fact::Block(branch))
        }
        Refusal::Unassigned(_, point) => {
            let message = format!("did not insert `{what}` {}: an operand is unassigned there", place(point));
            Remark::missed("unassigned", block, message)
        }
        Refusal::NoPlace(_, at) => {
            let message = format!("did not insert `{what}` before `{}`: control enters the function there", name(at));
            Remark::missed("no-place", block, message)
        }
        Refusal::MayFault(_, point) => {
            let message = format!("did not insert `{what}` {}: it might fault there", place(point));
            Remark::missed("faulting", block, message)
        }
        Refusal::Budget => {
            let message = String::from("budget of questions used up: later ones are answered no");
            Remark::missed("budget", block, message)
        }
    }
}
