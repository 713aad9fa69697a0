//! Decodes what the lanes of a warp do together: barriers, votes, shuffles, matches, reductions.

use super::instruction::{Decoder, Refusal};
use super::{DecodedInst, Kind, WarpSite};
use crate::ir::{ArgKind, Flags, InstData, Op, Type};

impl Decoder<'_, '_> {
    pub(super) fn warp(&mut self, data: &InstData, decoded: &mut DecodedInst) -> Result<(), Refusal> {
        let op = data.opcode.op;
        let signature = data.opcode.signature();
        let reduction = match (op, data.opcode.atomic) {
            (Op::Redux, None) => return Err("the reduction's operation is missing"),
            (Op::Redux, Some(operation)) => Some((operation, data.opcode.ty.is_signed())),
            _ => None,
        };
        let mut site = WarpSite {
            op,
            ty: data.opcode.ty,
            dst: None,
            predicate: None,
            operands: [None; 3],
            members: None,
            names_all: false,
            join: self.join,
            is_aligned: !data.opcode.has(Flags::UNALIGNED),
            reduction,
        };
        let members_at = op.members_at();
        for (k, operand) in data.args.iter().enumerate() {
            let ty = match signature.arg(k).ok_or("too many operands")? {
                ArgKind::Value(ty) => ty,
                ArgKind::Predicate => Type::Pred,
                _ => return Err("a value was expected here"),
            };
            let value = Some(self.value(operand, ty)?);
            if Some(k) == members_at {
                site.members = value;
                site.names_all = operand.as_const().is_some_and(|mask| mask as u32 == !0);
            } else {
                *site.operands.get_mut(k).ok_or("too many operands")? = value;
            }
        }
        if let Some(&reg) = data.dsts.first() {
            site.dst = Some(self.dst(reg, signature.dsts[0].ty)?);
        }
        if let Some(&reg) = data.dsts.get(1) {
            site.predicate = Some(self.predicate(reg)?);
        }
        if matches!(op, Op::BarPopc | Op::BarAnd | Op::BarOr) {
            // As for `bar.sync`: first the barrier and how many threads it is for.
            site.operands.rotate_left(1);
        }
        decoded.kind = match op {
            Op::BarWarp if site.members.is_none() => Kind::Pause,
            Op::BarWarp => Kind::WarpBarrier,
            _ if op.is_block_barrier() || op == Op::BarArrive => Kind::Barrier,
            _ => Kind::Warp,
        };
        decoded.side = self.builder.program.warp_sites.len() as u32;
        self.builder.program.warp_sites.push(site);
        Ok(())
    }
}
