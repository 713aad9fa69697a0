//! Remarks about refused insertions and moves, one for each reason.

use alloc::format;
use alloc::string::String;

use crate::ir::{Block, Function};
use crate::query::{InsertionPoint, Refusal};
use crate::trace::{Fact, Remark};

/// An insertion point in words.
pub(super) fn point_text(func: &Function, point: InsertionPoint) -> String {
    let name = |block: Block| &func.blocks[block].name;
    match point {
        InsertionPoint::End(block) => format!("at `{}`", name(block)),
        InsertionPoint::Edge(from, to) => format!("between `{}` and `{}`", name(from), name(to)),
        InsertionPoint::BeforeEntry(block) => format!("in front of `{}`", name(block)),
    }
}

/// The remark about a refused insertion.
pub(super) fn refusal_remark(func: &Function, block: Block, what: &str, refusal: Refusal) -> Remark {
    let name = |block: Block| &func.blocks[block].name;
    let place = |point: InsertionPoint| point_text(func, point);
    match refusal {
        Refusal::NotThere => Remark::missed("not-there", block, format!("`{what}` is not available on any way")),
        Refusal::NotDownSafe(_, at) => {
            let message =
                format!("`{what}` is available on some ways to `{}`, which is not down-safe for it", name(at));
            Remark::missed("down-safe", block, message).with("join", Fact::Block(at))
        }
        Refusal::Divergent(_, point, branch) => {
            let who = match point {
                InsertionPoint::End(block) => format!("`{}` depends", name(block)),
                InsertionPoint::Edge(..) | InsertionPoint::BeforeEntry(_) => String::from("that edge depends"),
            };
            let message =
                format!("`{what}` is not inserted {}: {who} on the divergent branch `{}`", place(point), name(branch));
            Remark::missed("divergent", block, message)
                .with("insertion", Fact::Block(point.block()))
                .with("branch", Fact::Block(branch))
        }
        Refusal::Unassigned(_, point) => {
            let message = format!("`{what}` is not inserted {}, where nothing has assigned an operand", place(point));
            Remark::missed("unassigned", block, message)
        }
        Refusal::NoPlace(_, at) => {
            let message = format!("`{what}` is not inserted before `{}`, where control comes from outside", name(at));
            Remark::missed("no-place", block, message)
        }
        Refusal::MayFault(_, point) => {
            let message = format!("`{what}` is not put {}, where it may fault", place(point));
            Remark::missed("faulting", block, message)
        }
        Refusal::Budget => {
            let message = String::from("questions have looked at as much as they may; what follows stays");
            Remark::missed("budget", block, message)
        }
    }
}
