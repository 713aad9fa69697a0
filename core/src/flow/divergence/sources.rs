//! Effect of each opcode on divergence: differ by itself, pass its operands' divergence on, or even it out.

use super::Source;
use crate::ir::{FuncKind, Function, InstData, Op, Operand, Space};

/// How an instruction's results depend on its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Behaviour {
    /// Divergent whatever it reads.
    Differs(Source),
    /// Divergent if something that it reads is.
    Follows,
    /// Equal in all lanes that run it, whatever operand 0 is; divergent if another operand is (a member mask).
    Evens,
}

/// The behaviour of an instruction's results; guards are not looked at. `at_moments`: lanes may run it at different
/// moments although they meet behind it.
pub(super) fn behaviour(func: &Function, inst: &InstData, at_moments: bool) -> Behaviour {
    if at_moments && depends_on_moment(inst) {
        return Behaviour::Differs(Source::Moment);
    }
    if let Some(special) = inst.args.iter().find_map(divergent_special) {
        return Behaviour::Differs(special);
    }
    match inst.opcode.op {
        Op::Call | Op::CallTo => Behaviour::Differs(Source::Call),
        Op::Ptx => Behaviour::Differs(Source::Opaque),
        Op::Atom => Behaviour::Differs(Source::Atomic),
        Op::ShflIdx | Op::ShflUp | Op::ShflDown | Op::ShflBfly => Behaviour::Differs(Source::Exchange),
        Op::VoteAll | Op::VoteAny | Op::VoteUni | Op::VoteBallot | Op::Activemask => Behaviour::Evens,
        Op::MatchAll | Op::Redux | Op::BarPopc | Op::BarAnd | Op::BarOr => Behaviour::Evens,
        Op::In => match inst.args.first() {
            Some(Operand::Input(input)) if func.inputs[*input].uniform && func.kind == FuncKind::Kernel => {
                Behaviour::Follows
            }
            _ => Behaviour::Differs(Source::Input),
        },
        Op::Ld if inst.opcode.reads_anew() => Behaviour::Differs(Source::Volatile),
        Op::Ld => match inst.opcode.space {
            // One address is one place for the whole warp there, read at one moment.
            Some(Space::Global | Space::Shared | Space::Const | Space::Param) => Behaviour::Follows,
            Some(Space::Local) | None => Behaviour::Differs(Source::ThreadMemory),
        },
        _ => Behaviour::Follows,
    }
}

/// Depends the result on when, or with which lanes, an instruction runs?
fn depends_on_moment(inst: &InstData) -> bool {
    let op = inst.opcode.op;
    match op {
        Op::Ld => matches!(inst.opcode.space, Some(Space::Global | Space::Shared)),
        _ => op.is_convergent() && !op.is_call() && !inst.dsts.is_empty(),
    }
}

fn divergent_special(operand: &Operand) -> Option<Source> {
    match operand {
        Operand::Special(special) if !special.is_warp_uniform() => Some(Source::Special(*special)),
        Operand::List(elements) => elements.iter().find_map(divergent_special),
        _ => None,
    }
}
