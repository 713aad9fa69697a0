//! The operations on registers that generated programs use, and the kinds of registers they use them on.

/// A pool of registers of one type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `u32`.
    U32,
    /// `s32`.
    S32,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// `u64`.
    U64,
    /// `pred`.
    Pred,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 6] = [Kind::U32, Kind::S32, Kind::F32, Kind::F64, Kind::U64, Kind::Pred];

    /// Prefix of its registers' names, and the size of the pool.
    pub const fn pool(self) -> (&'static str, usize) {
        match self {
            Kind::U32 => ("u", 5),
            Kind::S32 => ("s", 3),
            Kind::F32 => ("f", 5),
            Kind::F64 => ("d", 2),
            Kind::U64 => ("w", 2),
            Kind::Pred => ("p", 4),
        }
    }

    /// The spelling of the type.
    pub const fn type_name(self) -> &'static str {
        match self {
            Kind::U32 => "u32",
            Kind::S32 => "s32",
            Kind::F32 => "f32",
            Kind::F64 => "f64",
            Kind::U64 => "u64",
            Kind::Pred => "pred",
        }
    }

    /// Constants that break careless arithmetic.
    pub const fn awkward(self) -> &'static [&'static str] {
        match self {
            Kind::U32 => &["4294967295", "2147483648", "31", "32", "0x55555555"],
            Kind::S32 => &["-2147483648", "2147483647", "-1", "31", "-32"],
            Kind::F32 => &["-0.0", "inf", "-inf", "nan", "1e-40", "3.4e38", "0f7F800001", "0fFFC12345", "0.5"],
            Kind::F64 => &["-0.0", "inf", "nan", "0dFFF8000012345678", "1e-310", "1e300", "0.1"],
            Kind::U64 => &["18446744073709551615", "4294967296", "63", "64"],
            Kind::Pred => &["0", "1"],
        }
    }
}

/// Kind of operand of a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arg {
    /// A register of the kind, or a number.
    Value(Kind),
    /// A register of the kind.
    Reg(Kind),
    /// A predicate register, plain or negated.
    Condition,
    /// A number of cycles.
    Cycles,
}

/// An opcode with what it writes and reads.
pub struct Operation {
    /// The spelling.
    pub opcode: &'static str,
    /// Kinds of the destinations.
    pub dsts: &'static [Kind],
    /// Kinds of the operands.
    pub args: &'static [Arg],
}

const fn operation(opcode: &'static str, dsts: &'static [Kind], args: &'static [Arg]) -> Operation {
    Operation { opcode, dsts, args }
}

const U: Arg = Arg::Value(Kind::U32);
const S: Arg = Arg::Value(Kind::S32);
const F: Arg = Arg::Value(Kind::F32);
const D: Arg = Arg::Value(Kind::F64);
const W: Arg = Arg::Value(Kind::U64);
const P: Arg = Arg::Reg(Kind::Pred);
const IF: Arg = Arg::Condition;

const TO_U: &[Kind] = &[Kind::U32];
const TO_S: &[Kind] = &[Kind::S32];
const TO_F: &[Kind] = &[Kind::F32];
const TO_D: &[Kind] = &[Kind::F64];
const TO_W: &[Kind] = &[Kind::U64];
const TO_P: &[Kind] = &[Kind::Pred];

/// Every operation. What occurs often in kernels stands here often.
pub const OPERATIONS: &[Operation] = &[
    operation("mov.u32", TO_U, &[U]),
    operation("add.u32", TO_U, &[U, U]),
    operation("sub.u32", TO_U, &[U, U]),
    operation("mul.u32", TO_U, &[U, U]),
    operation("mad.u32", TO_U, &[U, U, U]),
    operation("div.u32", TO_U, &[U, U]),
    operation("rem.u32", TO_U, &[U, U]),
    operation("min.u32", TO_U, &[U, U]),
    operation("max.u32", TO_U, &[U, U]),
    operation("mul.hi.u32", TO_U, &[U, U]),
    operation("mad.hi.u32", TO_U, &[U, U, U]),
    operation("and.b32", TO_U, &[U, U]),
    operation("or.b32", TO_U, &[U, U]),
    operation("xor.b32", TO_U, &[U, U]),
    operation("not.b32", TO_U, &[U]),
    operation("shl.b32", TO_U, &[U, U]),
    operation("shr.u32", TO_U, &[U, U]),
    operation("shf.l.wrap.b32", TO_U, &[U, U, U]),
    operation("shf.r.clamp.b32", TO_U, &[U, U, U]),
    operation("bfe.u32", TO_U, &[U, U, U]),
    operation("bfi.b32", TO_U, &[U, U, U, U]),
    operation("popc.b32", TO_U, &[U]),
    operation("clz.b32", TO_U, &[U]),
    operation("brev.b32", TO_U, &[U]),
    operation("prmt.b32", TO_U, &[U, U, U]),
    operation("selp.u32", TO_U, &[U, U, IF]),
    operation("cvt.u32.s32", TO_U, &[S]),
    operation("cvt.u32.f32", TO_U, &[F]),
    operation("cvt.u32.u64", TO_U, &[W]),
    operation("cvt.u32.u8", TO_U, &[Arg::Reg(Kind::U32)]),
    operation("add.cc.u32", &[Kind::U32, Kind::Pred], &[U, U]),
    operation("sub.cc.u32", &[Kind::U32, Kind::Pred], &[U, U]),
    operation("addc.u32", TO_U, &[U, U, IF]),
    operation("subc.u32", TO_U, &[U, U, IF]),
    operation("mov.s32", TO_S, &[S]),
    operation("add.s32", TO_S, &[S, S]),
    operation("sub.s32", TO_S, &[S, S]),
    operation("mul.s32", TO_S, &[S, S]),
    operation("mad.s32", TO_S, &[S, S, S]),
    operation("div.s32", TO_S, &[S, S]),
    operation("rem.s32", TO_S, &[S, S]),
    operation("neg.s32", TO_S, &[S]),
    operation("abs.s32", TO_S, &[S]),
    operation("min.s32", TO_S, &[S, S]),
    operation("max.s32", TO_S, &[S, S]),
    operation("shr.s32", TO_S, &[S, U]),
    operation("bfe.s32", TO_S, &[S, U, U]),
    operation("selp.s32", TO_S, &[S, S, IF]),
    operation("cvt.s32.u32", TO_S, &[U]),
    operation("cvt.s32.f32", TO_S, &[F]),
    operation("cvt.rni.s32.f32", TO_S, &[F]),
    operation("cvt.s32.s16", TO_S, &[Arg::Reg(Kind::S32)]),
    operation("add.sat.s32", TO_S, &[S, S]),
    operation("mov.f32", TO_F, &[F]),
    // The bits of an integer, which may be those of any NaN.
    operation("mov.b32", TO_F, &[Arg::Reg(Kind::U32)]),
    operation("add.f32", TO_F, &[F, F]),
    operation("add.f32", TO_F, &[F, F]),
    operation("sub.f32", TO_F, &[F, F]),
    operation("mul.f32", TO_F, &[F, F]),
    operation("mul.f32", TO_F, &[F, F]),
    operation("fma.f32", TO_F, &[F, F, F]),
    operation("fma.f32", TO_F, &[F, F, F]),
    operation("div.f32", TO_F, &[F, F]),
    operation("neg.f32", TO_F, &[F]),
    operation("abs.f32", TO_F, &[F]),
    operation("min.f32", TO_F, &[F, F]),
    operation("max.f32", TO_F, &[F, F]),
    operation("sqrt.f32", TO_F, &[F]),
    operation("rcp.f32", TO_F, &[F]),
    operation("ex2.approx.f32", TO_F, &[F]),
    operation("add.sat.f32", TO_F, &[F, F]),
    operation("mul.rz.f32", TO_F, &[F, F]),
    operation("mul.ftz.f32", TO_F, &[F, F]),
    operation("fma.sat.f32", TO_F, &[F, F, F]),
    operation("copysign.f32", TO_F, &[F, F]),
    operation("selp.f32", TO_F, &[F, F, IF]),
    operation("cvt.f32.s32", TO_F, &[S]),
    operation("cvt.f32.u32", TO_F, &[U]),
    operation("cvt.f32.f64", TO_F, &[D]),
    operation("mov.b32", TO_F, &[Arg::Reg(Kind::F32)]),
    operation("work.f32", TO_F, &[Arg::Cycles, F, F]),
    operation("mov.f64", TO_D, &[D]),
    operation("add.f64", TO_D, &[D, D]),
    operation("mul.f64", TO_D, &[D, D]),
    operation("fma.f64", TO_D, &[D, D, D]),
    operation("cvt.f64.f32", TO_D, &[F]),
    operation("cvt.f64.s32", TO_D, &[S]),
    operation("mov.u64", TO_W, &[W]),
    operation("add.u64", TO_W, &[W, W]),
    operation("mul.u64", TO_W, &[W, W]),
    operation("xor.b64", TO_W, &[W, W]),
    operation("shl.b64", TO_W, &[W, U]),
    operation("mul.wide.u32", TO_W, &[U, U]),
    operation("mad.wide.u32", TO_W, &[U, U, W]),
    operation("cvt.u64.u32", TO_W, &[U]),
    operation("setp.lt.u32", TO_P, &[U, U]),
    operation("setp.eq.u32", TO_P, &[U, U]),
    operation("setp.ne.u32", TO_P, &[U, U]),
    operation("setp.hi.u32", TO_P, &[U, U]),
    operation("setp.lt.s32", TO_P, &[S, S]),
    operation("setp.ge.s32", TO_P, &[S, S]),
    operation("setp.gt.f32", TO_P, &[F, F]),
    operation("setp.neu.f32", TO_P, &[F, F]),
    operation("setp.nan.f32", TO_P, &[F, F]),
    operation("setp.lt.and.s32", TO_P, &[S, S, IF]),
    operation("setp.le.or.f32", TO_P, &[F, F, IF]),
    operation("setp.gt.u32", &[Kind::Pred, Kind::Pred], &[U, U]),
    operation("and.pred", TO_P, &[P, P]),
    operation("or.pred", TO_P, &[P, P]),
    operation("xor.pred", TO_P, &[P, P]),
    operation("not.pred", TO_P, &[P]),
    operation("mov.pred", TO_P, &[P]),
];
