//! Opcode classes: the opcodes that cost the same.

use crate::ir::{Flags, Op, Opcode, Space, TypeClass};

macro_rules! classes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),* $(,)?) => {
        /// Opcodes that cost the same on every machine.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
        pub enum OpClass { $($(#[$doc])* $variant),* }

        impl OpClass {
            /// Every class, in table order.
            pub const ALL: &'static [OpClass] = &[$(OpClass::$variant),*];

            /// The name that tables show.
            pub const fn name(self) -> &'static str {
                match self { $(OpClass::$variant => $name),* }
            }
        }
    };
}

classes! {
    /// 8- to 32-bit `mov`, `add`, `sub`, logic, shifts, comparisons, `selp`, `min`, `max`, `bfe`, `bfi`, `prmt`.
    Integer = "integer",
    /// Integer operations on 64 bits: two machine instructions.
    Integer64 = "integer-64",
    /// 32-bit `mul`, `mad`, and the wide forms.
    IntegerMul = "integer-mul",
    /// 64-bit `mul` and `mad`.
    IntegerMul64 = "integer-mul-64",
    /// 32-bit `div`.
    IntegerDiv = "integer-div",
    /// 32-bit `rem`.
    IntegerRem = "integer-rem",
    /// 64-bit `div` and `rem`.
    IntegerDiv64 = "integer-div-64",
    /// `popc`, `clz`, `brev`.
    BitCount = "bit-count",
    /// f16 `add`, `sub`, `mul`, `fma`, `min`, `max`.
    Float16 = "float-16",
    /// f32 `add`, `sub`, `mul`, `fma`, `min`, `max`, `neg`, `abs`, comparisons.
    Float32 = "float-32",
    /// Float operations in f64.
    Float64 = "float-64",
    /// `div.rn.f32` and the other exact roundings.
    Div32 = "div-32",
    /// `div.f64`.
    Div64 = "div-64",
    /// `div.approx.f32` and `div.full.f32`: a reciprocal and a product.
    DivApprox = "div-approx",
    /// `sqrt.rn.f32`.
    Sqrt32 = "sqrt-32",
    /// `sqrt.f64`.
    Sqrt64 = "sqrt-64",
    /// `rcp.rn.f32`.
    Rcp32 = "rcp-32",
    /// `rcp.f64` and `rsqrt.f64`.
    Rcp64 = "rcp-64",
    /// The special function unit: `ex2 lg2 sin cos rcp.approx sqrt.approx`.
    Special = "special",
    /// `rsqrt.approx.f32`.
    Rsqrt = "rsqrt",
    /// `cvt` between types of at most 32 bits.
    Convert = "convert",
    /// `cvt` from or to a type of 64 bits.
    Convert64 = "convert-64",
    /// `vote`, `activemask`.
    Vote = "vote",
    /// `shfl`.
    Shuffle = "shuffle",
    /// `match`.
    Match = "match",
    /// `redux`.
    Reduce = "reduce",
    /// `ld` from global memory, or generic: the latency in the table is that of a first-level hit.
    LoadGlobal = "load-global",
    /// `ld` from local memory, which lies behind the same cache.
    LoadLocal = "load-local",
    /// `ld.shared`.
    LoadShared = "load-shared",
    /// `ld.const` and `ld.param`.
    LoadConst = "load-const",
    /// `tex`: the latency in the table is that of a first-level hit.
    Texture = "texture",
    /// `st`: the next instruction need not wait.
    Store = "store",
    /// `atom` and `red` on global memory.
    Atomic = "atomic",
    /// `atom` and `red` on shared memory.
    AtomicShared = "atomic-shared",
    /// `bar.sync`, `bar.warp.sync`.
    Barrier = "barrier",
    /// `bar.red`: a barrier with an answer.
    BarrierReduce = "barrier-reduce",
    /// `membar`.
    Fence = "fence",
    /// `br`, `switch`, `call`, `ret`, `exit`.
    Control = "control",
    /// `in`: an outside value costs what a move costs.
    Draw = "draw",
    /// `work`: its operand says.
    Work = "work",
}

impl OpClass {
    /// Does it go through the load-store unit?
    pub const fn is_memory(self) -> bool {
        matches!(
            self,
            OpClass::LoadGlobal
                | OpClass::LoadShared
                | OpClass::LoadConst
                | OpClass::LoadLocal
                | OpClass::Texture
                | OpClass::Store
                | OpClass::Atomic
                | OpClass::AtomicShared
        )
    }

    /// The class of an opcode.
    pub fn of(opcode: Opcode) -> OpClass {
        let wide = opcode.ty.bits() == 64 || opcode.src_ty.bits() == 64;
        let float = opcode.ty.class() == TypeClass::Float;
        let float_class = match opcode.ty.bits() {
            16 => OpClass::Float16,
            32 => OpClass::Float32,
            _ => OpClass::Float64,
        };
        let integer_class = if wide { OpClass::Integer64 } else { OpClass::Integer };
        let approximate = opcode.has(Flags::APPROX) || opcode.has(Flags::FULL);
        match opcode.op {
            Op::Mov | Op::Cvta | Op::Selp | Op::Isspacep => integer_class,
            Op::Add | Op::Sub | Op::Neg | Op::Abs | Op::Min | Op::Max | Op::Setp | Op::Copysign if float => float_class,
            Op::Mul | Op::Mad | Op::Fma if float => float_class,
            Op::Add | Op::Sub | Op::Neg | Op::Abs | Op::Min | Op::Max | Op::Setp | Op::Copysign => integer_class,
            Op::And | Op::Or | Op::Xor | Op::Not | Op::Shl | Op::Shr => integer_class,
            Op::ShfL | Op::ShfR | Op::Bfe | Op::Bfi | Op::Prmt | Op::Addc | Op::Subc => integer_class,
            Op::Mul | Op::MulHi | Op::Mad | Op::MadHi | Op::Madc if wide => OpClass::IntegerMul64,
            Op::Mul | Op::MulHi | Op::Mad | Op::MadHi | Op::Madc | Op::MulWide | Op::MadWide | Op::Fma => {
                OpClass::IntegerMul
            }
            Op::Div if float && approximate => OpClass::DivApprox,
            Op::Div if float && wide => OpClass::Div64,
            Op::Div if float => OpClass::Div32,
            Op::Div | Op::Rem if wide => OpClass::IntegerDiv64,
            Op::Div => OpClass::IntegerDiv,
            Op::Rem => OpClass::IntegerRem,
            Op::Sqrt if wide => OpClass::Sqrt64,
            Op::Sqrt if approximate => OpClass::Special,
            Op::Sqrt => OpClass::Sqrt32,
            Op::Rcp | Op::Rsqrt if wide => OpClass::Rcp64,
            Op::Rcp if !approximate => OpClass::Rcp32,
            Op::Rsqrt => OpClass::Rsqrt,
            Op::Rcp | Op::Sin | Op::Cos | Op::Ex2 | Op::Lg2 => OpClass::Special,
            Op::Popc | Op::Clz | Op::Brev => OpClass::BitCount,
            Op::Cvt if wide => OpClass::Convert64,
            Op::Cvt => OpClass::Convert,
            Op::Ld => match opcode.space {
                Some(Space::Shared) => OpClass::LoadShared,
                Some(Space::Const | Space::Param) => OpClass::LoadConst,
                Some(Space::Local) => OpClass::LoadLocal,
                Some(Space::Global) | None => OpClass::LoadGlobal,
            },
            Op::St => OpClass::Store,
            Op::Atom | Op::Red if opcode.space == Some(Space::Shared) => OpClass::AtomicShared,
            Op::Atom | Op::Red => OpClass::Atomic,
            Op::Tex1d | Op::Tex2d => OpClass::Texture,
            Op::BarSync | Op::BarWarp => OpClass::Barrier,
            Op::BarPopc | Op::BarAnd | Op::BarOr => OpClass::BarrierReduce,
            Op::Membar => OpClass::Fence,
            Op::Nanosleep => OpClass::Control,
            // An instruction that does not run here has no cost of its own: passes weigh it as an arrival.
            Op::BarArrive | Op::Trap | Op::Ptx => OpClass::Barrier,
            Op::Read => OpClass::Draw,
            Op::VoteAll | Op::VoteAny | Op::VoteUni | Op::VoteBallot | Op::Activemask => OpClass::Vote,
            Op::ShflIdx | Op::ShflUp | Op::ShflDown | Op::ShflBfly => OpClass::Shuffle,
            Op::MatchAny | Op::MatchAll => OpClass::Match,
            Op::Redux => OpClass::Reduce,
            Op::In => OpClass::Draw,
            Op::Work => OpClass::Work,
            Op::Call | Op::CallTo | Op::Br | Op::BrIf | Op::Switch | Op::Ret | Op::Exit => OpClass::Control,
        }
    }
}
