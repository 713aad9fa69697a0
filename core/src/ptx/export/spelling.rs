//! How PTX spells an opcode: complete where the text IR has defaults, and with the types that PTX wants.
//!
//! ```text
//! mul.u32 → mul.lo.u32      fma.f32 → fma.rn.f32      cvt.f32.s32 → cvt.rn.f32.s32      sin.f32 → sin.approx.f32
//! cvt.rni.sat.s32.s16 → cvt.s32.s16      setp.lo.s32 → setp.lo.u32      div.approx.f64 → div.rn.f64
//! ```
//!
//! The text IR takes modifiers where they change nothing, which PTX refuses; they are left out.
//!
//! Source: PTX ISA, the section of each instruction.

use crate::ir::{AtomicOp, Cmp, Flags, Op, Opcode, Rounding, Space, Type, TypeClass};
use alloc::format;
use alloc::string::{String, ToString};

/// The spelling, without operands.
pub fn spelling(opcode: Opcode) -> String {
    let opcode = completed(opcode);
    let text = opcode.to_string();
    match opcode.op {
        Op::Mul if opcode.ty.is_integer() => text.replacen("mul", "mul.lo", 1),
        Op::Mad if opcode.ty.is_integer() => text.replacen("mad", "mad.lo", 1),
        Op::Madc if !opcode.has(Flags::HI) => text.replacen("madc", "madc.lo", 1),
        Op::VoteAll | Op::VoteAny | Op::VoteUni | Op::BarAnd | Op::BarOr => format!("{text}.pred"),
        Op::BarPopc => format!("{text}.u32"),
        Op::VoteBallot | Op::Activemask => format!("{text}.b32"),
        Op::Tex1d | Op::Tex2d if opcode.src_ty == Type::F32 => format!("{text}.f32"),
        // Subnormal results of halves are kept, and PTX wants that said.
        Op::Atom | Op::Red if opcode.ty == Type::F16 || opcode.has(Flags::BF16) => {
            let operation = opcode.atomic.map_or("", AtomicOp::name);
            text.replacen(&format!(".{operation}."), &format!(".{operation}.noftz."), 1)
        }
        _ => text,
    }
}

/// The opcode with the modifiers and types that PTX asks for, and without those that it has not.
pub fn completed(mut opcode: Opcode) -> Opcode {
    let ty = opcode.ty;
    opcode.flags.remove(Flags::SPEC);
    // Approximate functions of f64 are PTX's two, which are coarse; everything else is rounded as the simulator does.
    let is_coarse = matches!(opcode.op, Op::Rsqrt) || opcode.op == Op::Rcp && opcode.has(Flags::FTZ);
    if ty == Type::F64 && !is_coarse {
        opcode.flags.remove(Flags::APPROX | Flags::FULL);
    }
    match opcode.op {
        Op::Fma | Op::Div | Op::Sqrt | Op::Rcp if ty.is_float() && !is_approximate(opcode) => {
            opcode.rounding.get_or_insert(Rounding::Rn);
        }
        Op::Mad if ty.is_float() => {
            opcode.rounding.get_or_insert(Rounding::Rn);
        }
        Op::Rsqrt | Op::Sin | Op::Cos | Op::Ex2 | Op::Lg2 => opcode.flags |= Flags::APPROX,
        Op::Cvt => {
            opcode.rounding = conversion_rounding(opcode);
            if holds_all(ty, opcode.src_ty) {
                opcode.flags.remove(Flags::SAT);
            }
        }
        // Movements know bits and the types that have registers of their width.
        Op::Mov if ty.bits() == 8 => opcode.ty = Type::B16,
        Op::Mov | Op::Selp if ty == Type::F16 => opcode.ty = Type::B16,
        Op::Cvta => opcode.ty = unsigned(ty),
        // Only equality is defined on `b` types.
        Op::Setp if ty.class() == TypeClass::Bits && !matches!(opcode.cmp, Some(Cmp::Eq | Cmp::Ne)) => {
            opcode.ty = unsigned(ty);
        }
        Op::Setp if matches!(opcode.cmp, Some(Cmp::Lo | Cmp::Ls | Cmp::Hi | Cmp::Hs)) => opcode.ty = unsigned(ty),
        Op::Shr if ty.class() == TypeClass::Bits => opcode.ty = unsigned(ty),
        Op::Ld | Op::St => {
            opcode.flags = access_flags(opcode);
            if ty == Type::F16 {
                opcode.ty = Type::B16;
            }
        }
        Op::Atom | Op::Red => {
            opcode.ty = atomic_type(opcode);
            opcode.flags = with_one_scope(with_one_order(opcode.flags));
        }
        Op::ShflIdx | Op::ShflUp | Op::ShflDown | Op::ShflBfly | Op::MatchAny | Op::MatchAll => {
            opcode.ty = ty.as_bits();
            opcode.flags |= Flags::SYNC;
        }
        Op::VoteAll | Op::VoteAny | Op::VoteUni | Op::VoteBallot => opcode.flags |= Flags::SYNC,
        Op::Redux => {
            if matches!(opcode.atomic, Some(AtomicOp::And | AtomicOp::Or | AtomicOp::Xor)) {
                opcode.ty = Type::B32;
            }
            opcode.flags |= Flags::SYNC;
        }
        Op::Membar => {
            let scopes = [Flags::SYS, Flags::GL, Flags::CTA];
            let widest = scopes.into_iter().find(|scope| opcode.has(*scope)).unwrap_or(Flags::GL);
            opcode.flags.remove(Flags::SYS | Flags::GL | Flags::CTA);
            opcode.flags |= widest;
        }
        Op::Tex1d | Op::Tex2d if ty == Type::B32 => opcode.ty = Type::U32,
        _ => {}
    }
    opcode.flags.remove(Flags::UNI);
    opcode
}

/// Memory orders.
pub const ORDERS: Flags = Flags::RELAXED.union(Flags::ACQUIRE).union(Flags::RELEASE).union(Flags::ACQ_REL);
/// Scopes of memory orders.
pub const SCOPES: Flags = Flags::CTA.union(Flags::GPU).union(Flags::SYS);
const CACHES: [Flags; 7] = [Flags::CA, Flags::CG, Flags::CS, Flags::LU, Flags::CV, Flags::WB, Flags::WT];

/// The modifiers of a load or store that PTX takes together: `.volatile` alone; an order with a scope; or one cache
/// operator, and `.nc` of global memory only. Which cache is a hint, and where more is asked for than PTX takes, the
/// stronger stays.
fn access_flags(opcode: Opcode) -> Flags {
    let flags = opcode.flags;
    let kept = |flags: Flags| opcode.flags.difference(ORDERS | SCOPES | all(&CACHES) | Flags::NC) | flags;
    if flags.contains(Flags::VOLATILE) {
        return kept(Flags::empty());
    }
    if flags.intersects(ORDERS | SCOPES) {
        let order = with_one_order(flags) & ORDERS;
        let order = if order.is_empty() { Flags::RELAXED } else { order };
        let scope = with_one_scope(flags) & SCOPES;
        return kept(order | if scope.is_empty() { Flags::SYS } else { scope });
    }
    let cache = CACHES.into_iter().find(|cache| flags.contains(*cache)).unwrap_or(Flags::empty());
    let may_go_through = opcode.space == Some(Space::Global) && !cache.intersects(Flags::LU | Flags::CV);
    let through = if may_go_through { flags & Flags::NC } else { Flags::empty() };
    kept(cache | through)
}

fn all(flags: &[Flags]) -> Flags {
    flags.iter().fold(Flags::empty(), |all, flag| all | *flag)
}

/// The strongest of several memory orders.
fn with_one_order(flags: Flags) -> Flags {
    let both = Flags::ACQUIRE | Flags::RELEASE;
    let strongest = match flags & ORDERS {
        orders if orders.contains(Flags::ACQ_REL) || orders.contains(both) => Flags::ACQ_REL,
        orders if orders.intersects(both) => orders & both,
        orders => orders,
    };
    flags.difference(ORDERS) | strongest
}

/// The widest of several scopes.
fn with_one_scope(flags: Flags) -> Flags {
    let widest = [Flags::SYS, Flags::GPU, Flags::CTA].into_iter().find(|scope| flags.contains(*scope));
    flags.difference(SCOPES) | widest.unwrap_or(Flags::empty())
}

/// Describes the feature of an opcode that PTX lacks.
pub fn missing(opcode: Opcode) -> Option<String> {
    let (ty, order) = (opcode.ty, with_one_order(opcode.flags) & ORDERS);
    let directed = opcode.rounding.filter(|rounding| matches!(rounding, Rounding::Rz | Rounding::Rm | Rounding::Rp));
    let is_strong = |weaker: Flags| !order.difference(Flags::RELAXED | weaker).is_empty();
    match opcode.op {
        Op::Ld if is_strong(Flags::ACQUIRE) => Some("load that releases".to_string()),
        Op::St if is_strong(Flags::RELEASE) => Some("store that acquires".to_string()),
        Op::Ld | Op::St if opcode.has(Flags::VOLATILE) && is_strong(Flags::empty()) => {
            Some("`.volatile` beside a memory order".to_string())
        }
        Op::Red if is_strong(Flags::RELEASE) => Some("`red` that acquires".to_string()),
        Op::Atom | Op::Red if !has_atomic(opcode) => {
            let operation = opcode.atomic.map_or("?", AtomicOp::name);
            let ty = if opcode.has(Flags::BF16) { "bf16" } else { ty.name() };
            Some(format!("`{}.{operation}.{ty}`", opcode.op.name()))
        }
        Op::Ld | Op::St | Op::Atom | Op::Red | Op::Cvt => None,
        _ if opcode.has(Flags::CC) && opcode.has(Flags::SAT) => Some("`.sat` beside `.cc`".to_string()),
        _ => directed.filter(|_| ty == Type::F16).map(|rounding| format!("`.{}` of f16", rounding.name())),
    }
}

/// Does PTX have an access that others see in order (`.volatile`, one with a memory order, an atomic) in that memory?
/// Generic addresses reach all of them.
pub fn has_form(opcode: Opcode, space: Space, version: (u32, u32)) -> bool {
    match space {
        Space::Global | Space::Shared => true,
        Space::Local if matches!(opcode.op, Op::Ld | Op::St) && opcode.has(Flags::VOLATILE) => version >= (9, 1),
        Space::Local | Space::Const | Space::Param => {
            let is_plain = matches!(opcode.op, Op::Ld | Op::St);
            is_plain && !opcode.flags.intersects(ORDERS | SCOPES | Flags::VOLATILE)
        }
    }
}

/// Does PTX have the operation on that type?
fn has_atomic(opcode: Opcode) -> bool {
    let Some(atomic) = opcode.atomic else { return false };
    let (ty, is_integer) = (opcode.ty, !opcode.ty.is_float());
    let is_word = ty.bits() >= 32;
    let is_of_halves = ty == Type::F16 || opcode.has(Flags::BF16);
    match atomic {
        AtomicOp::Add => is_word || is_of_halves,
        AtomicOp::Min | AtomicOp::Max if is_of_halves => opcode.vector > 1,
        AtomicOp::Min | AtomicOp::Max | AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => is_word && is_integer,
        AtomicOp::Inc | AtomicOp::Dec => ty.bits() == 32 && is_integer,
        AtomicOp::Exch => is_word && opcode.op == Op::Atom,
        AtomicOp::Cas => ty.bits() >= 16 && opcode.op == Op::Atom,
    }
}

fn is_approximate(opcode: Opcode) -> bool {
    opcode.flags.intersects(Flags::APPROX | Flags::FULL)
}

/// `cvt` rounds where the result cannot hold every value, and must say how. To an integer PTX has the `i` spellings
/// only.
fn conversion_rounding(opcode: Opcode) -> Option<Rounding> {
    use Rounding::{Rm, Rmi, Rn, Rni, Rp, Rpi, Rz, Rzi};
    let (to, from) = (opcode.ty, opcode.src_ty);
    let narrows = to.is_float() && (!from.is_float() || to.bits() < from.bits());
    match opcode.rounding {
        _ if !to.is_float() && !from.is_float() => None,
        // Integers are whole numbers already.
        Some(rounding) if to.is_float() && !from.is_float() => Some(plain(rounding)),
        None if narrows => Some(Rn),
        None if from.is_float() && !to.is_float() => Some(Rzi),
        Some(rounding) if from.is_float() && !to.is_float() => Some(match rounding {
            Rn => Rni,
            Rz => Rzi,
            Rm => Rmi,
            Rp => Rpi,
            other => other,
        }),
        // Nothing is lost, so there is nothing to round.
        Some(Rn | Rz | Rm | Rp) if !narrows => None,
        rounding => rounding,
    }
}

/// The rounding of the same direction that is not to an integer.
pub fn plain(rounding: Rounding) -> Rounding {
    match rounding {
        Rounding::Rni => Rounding::Rn,
        Rounding::Rzi => Rounding::Rz,
        Rounding::Rmi => Rounding::Rm,
        Rounding::Rpi => Rounding::Rp,
        other => other,
    }
}

/// Does one integer type hold all values of another?
fn holds_all(to: Type, from: Type) -> bool {
    let magnitude = |ty: Type| ty.bits() - u32::from(ty.is_signed());
    let are_integers = to.is_integer() && from.is_integer();
    are_integers && (to.is_signed() || !from.is_signed()) && magnitude(to) >= magnitude(from)
}

fn atomic_type(opcode: Opcode) -> Type {
    let ty = opcode.ty;
    match opcode.atomic {
        Some(AtomicOp::And | AtomicOp::Or | AtomicOp::Xor | AtomicOp::Exch | AtomicOp::Cas) => ty.as_bits(),
        // 64-bit sums wrap, so their sign makes no difference, and PTX has the unsigned ones only.
        Some(AtomicOp::Add) if ty == Type::S64 => Type::U64,
        _ if ty.class() == TypeClass::Bits => unsigned(ty),
        _ => ty,
    }
}

fn unsigned(ty: Type) -> Type {
    Type::U64.with_bits(ty.bits()).unwrap_or(ty)
}
