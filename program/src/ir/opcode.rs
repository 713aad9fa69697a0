//! Opcodes: the root, its type or types, and PTX's modifiers, in one small value that compares and hashes.

use super::types::{Space, Type};

macro_rules! roots {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),* $(,)?) => {
        /// Operation of an instruction, without types and modifiers.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[allow(missing_docs)]
        pub enum Op { $($(#[$doc])* $variant),* }

        impl Op {
            /// Every root.
            pub const ALL: &'static [Op] = &[$(Op::$variant),*];

            /// The canonical spelling of the root, dots included where the root is several words (`mul.hi`).
            pub const fn name(self) -> &'static str {
                match self { $(Op::$variant => $name),* }
            }
        }
    };
}

roots! {
    /// Copies; with a brace list on one side it packs or unpacks.
    Mov = "mov",
    /// Converts from `src_ty` to `ty`.
    Cvt = "cvt",
    /// Between a generic address and one of a space; addresses are the same number here, so a copy.
    Cvta = "cvta",
    Add = "add", Sub = "sub",
    /// The low half of the product.
    Mul = "mul",
    /// The high half of the product.
    MulHi = "mul.hi",
    /// The whole product, twice as wide as `ty`.
    MulWide = "mul.wide",
    /// `a * b + c`, the low half.
    Mad = "mad",
    /// The high half of `a * b`, plus `c`.
    MadHi = "mad.hi",
    /// The whole product plus a `c` twice as wide as `ty`.
    MadWide = "mad.wide",
    /// Fused: rounded once.
    Fma = "fma",
    Div = "div", Rem = "rem", Neg = "neg", Abs = "abs", Min = "min", Max = "max",
    Sqrt = "sqrt", Rsqrt = "rsqrt", Rcp = "rcp", Sin = "sin", Cos = "cos", Ex2 = "ex2", Lg2 = "lg2",
    And = "and", Or = "or", Xor = "xor", Not = "not", Shl = "shl", Shr = "shr",
    /// Funnel shift left of two 32-bit words.
    ShfL = "shf.l",
    /// Funnel shift right of two 32-bit words.
    ShfR = "shf.r",
    Bfe = "bfe", Bfi = "bfi", Popc = "popc", Clz = "clz", Brev = "brev", Prmt = "prmt",
    /// Add with carry in (last operand).
    Addc = "addc",
    /// Subtract with borrow in (last operand).
    Subc = "subc",
    /// `a * b + c + carry`, low half (high with [`Flags::HI`]).
    Madc = "madc",
    /// The second operand with the sign of the first, as in PTX.
    Copysign = "copysign",
    /// Does a generic address lie in the space?
    Isspacep = "isspacep",
    Setp = "setp", Selp = "selp",
    Ld = "ld", St = "st", Atom = "atom", Red = "red",
    /// `tex.1d.v4.f32 T, x`: as `tex.2d` in row 0.
    Tex1d = "tex.1d",
    /// `tex.2d.v4.f32 T, x, y`: an opaque pure load of four elements.
    Tex2d = "tex.2d",
    BarSync = "bar.sync",
    /// Waits as `bar.sync` does, and gives in how many threads a predicate holds.
    BarPopc = "bar.red.popc",
    /// Waits, and gives whether it holds in all threads.
    BarAnd = "bar.red.and",
    /// Waits, and gives whether it holds in any thread.
    BarOr = "bar.red.or",
    /// Arrives at a barrier of a block for a number of threads, and does not wait.
    BarArrive = "bar.arrive",
    /// Waits for the lanes of a member mask within one warp.
    BarWarp = "bar.warp.sync",
    Membar = "membar",
    /// Lets other lanes of the warp run; the operand is a time in nanoseconds, which takes none here.
    Nanosleep = "nanosleep",
    VoteAll = "vote.all", VoteAny = "vote.any", VoteUni = "vote.uni", VoteBallot = "vote.ballot",
    ShflIdx = "shfl.idx", ShflUp = "shfl.up", ShflDown = "shfl.down", ShflBfly = "shfl.bfly",
    MatchAny = "match.any", MatchAll = "match.all", Activemask = "activemask",
    /// Reduction of the values of a warp's lanes, in all of these lanes: their sum, minimum or union.
    Redux = "redux",
    /// Draws the next value of an `input`.
    In = "in",
    /// A pure function of its operands that costs what its first operand says, in cycles.
    Work = "work",
    /// Reads a special register of which each read may give another value.
    Read = "read",
    /// Ends the launch with an error.
    Trap = "trap",
    /// An instruction of PTX that has no meaning here: it is kept where it is and printed as it came in. It counts as
    /// convergent, and as one that may do anything to memory.
    Ptx = "ptx",
    /// Calls a function with one exit.
    Call = "call",
    /// Terminator: goes to its one target.
    Br = "br",
    /// Terminator: goes to the first target where the predicate holds, else to the second.
    BrIf = "br if",
    /// Terminator: goes to the target numbered by the operand; the last one for every value beyond.
    Switch = "switch",
    /// Terminator: returns, with a value or without, by exit number [`super::InstData::exit`].
    Ret = "ret",
    /// Terminator: ends the thread.
    Exit = "exit",
    /// Terminator: calls; exit k of the callee goes on at the k-th target.
    CallTo = "call to",
}

impl Op {
    /// Does it end a block?
    pub const fn is_terminator(self) -> bool {
        matches!(self, Op::Br | Op::BrIf | Op::Switch | Op::Ret | Op::Exit | Op::CallTo)
    }

    /// Is it `call`, in either form?
    pub const fn is_call(self) -> bool {
        matches!(self, Op::Call | Op::CallTo)
    }

    /// Is it a texture fetch?
    pub const fn is_texture(self) -> bool {
        matches!(self, Op::Tex1d | Op::Tex2d)
    }

    /// Is it a barrier for all threads of a block, in one of its forms?
    pub const fn is_block_barrier(self) -> bool {
        matches!(self, Op::BarSync | Op::BarPopc | Op::BarAnd | Op::BarOr)
    }

    /// Is it a barrier, of a block or of a warp?
    pub const fn is_barrier(self) -> bool {
        self.is_block_barrier() || matches!(self, Op::BarWarp)
    }

    /// Is what others have stored seen behind it, or what is stored before it seen by others: a barrier or a fence?
    pub const fn orders_memory(self) -> bool {
        self.is_barrier() || matches!(self, Op::BarArrive | Op::Membar | Op::Ptx)
    }

    /// Does it read memory?
    pub const fn reads_memory(self) -> bool {
        matches!(self, Op::Ld | Op::Atom | Op::Red | Op::Tex1d | Op::Tex2d | Op::Ptx) || self.is_call()
    }

    /// Does it write memory?
    pub const fn writes_memory(self) -> bool {
        matches!(self, Op::St | Op::Atom | Op::Red | Op::Ptx) || self.is_call()
    }

    /// Does its result depend on which lanes are active with it, or does it wait for them?
    pub const fn is_convergent(self) -> bool {
        matches!(
            self,
            Op::VoteAll
                | Op::VoteAny
                | Op::VoteUni
                | Op::VoteBallot
                | Op::ShflIdx
                | Op::ShflUp
                | Op::ShflDown
                | Op::ShflBfly
                | Op::MatchAny
                | Op::MatchAll
                | Op::Activemask
                | Op::Redux
                | Op::BarArrive
                | Op::Ptx
        ) || self.is_barrier()
            || self.is_call()
    }

    /// Index of the operand that is a member mask, if it is given; None for an operation without one.
    pub const fn members_at(self) -> Option<usize> {
        match self {
            Op::BarWarp => Some(0),
            Op::VoteAll | Op::VoteAny | Op::VoteUni | Op::VoteBallot | Op::MatchAny | Op::MatchAll | Op::Redux => {
                Some(1)
            }
            Op::ShflIdx | Op::ShflUp | Op::ShflDown | Op::ShflBfly => Some(3),
            _ => None,
        }
    }

    /// Must it stay although nothing reads its result: stores, barriers, draws, clocks, calls, terminators?
    pub const fn has_effect(self) -> bool {
        self.writes_memory()
            || self.is_terminator()
            || self.orders_memory()
            || matches!(self, Op::In | Op::Read | Op::Trap | Op::Nanosleep)
    }

    /// Is the result a function of the operands alone, in every lane by itself? Such an instruction can be repeated,
    /// moved and removed freely where its operands are the same. (No arithmetic of this machine traps.)
    pub const fn is_pure(self) -> bool {
        !self.has_effect() && !self.reads_memory() && !self.is_convergent()
    }

    /// Do the first two operands commute?
    pub const fn is_commutative(self) -> bool {
        matches!(
            self,
            Op::Add
                | Op::Mul
                | Op::MulHi
                | Op::MulWide
                | Op::Mad
                | Op::MadHi
                | Op::MadWide
                | Op::Fma
                | Op::Min
                | Op::Max
                | Op::And
                | Op::Or
                | Op::Xor
                | Op::Addc
                | Op::Madc
        )
    }
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[allow(missing_docs)]
        pub enum $name { $($(#[$vdoc])* $variant),* }

        impl $name {
            /// Every value.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The spelling, without a dot.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }

            /// The value of that spelling.
            pub fn from_name(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|value| value.name() == name)
            }
        }
    };
}

words! {
    /// How a result that does not fit is rounded.
    Rounding {
        /// To nearest, ties to even.
        Rn = "rn",
        /// Towards zero.
        Rz = "rz",
        /// Towards minus infinity.
        Rm = "rm",
        /// Towards plus infinity.
        Rp = "rp",
        /// To an integer: nearest even.
        Rni = "rni",
        /// To an integer: towards zero.
        Rzi = "rzi",
        /// To an integer: towards minus infinity.
        Rmi = "rmi",
        /// To an integer: towards plus infinity.
        Rpi = "rpi",
    }
}

words! {
    /// Comparisons of `setp`. The `u` forms are true when an operand is NaN; on integers `lo ls hi hs` are the unsigned
    /// spellings of `lt le gt ge`.
    Cmp {
        Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge",
        Lo = "lo", Ls = "ls", Hi = "hi", Hs = "hs",
        Equ = "equ", Neu = "neu", Ltu = "ltu", Leu = "leu", Gtu = "gtu", Geu = "geu",
        /// Neither operand is NaN.
        Num = "num",
        /// At least one operand is NaN.
        Nan = "nan",
    }
}

impl Cmp {
    /// The comparison that says the same with its operands exchanged.
    pub const fn swapped(self) -> Cmp {
        match self {
            Cmp::Lt => Cmp::Gt,
            Cmp::Le => Cmp::Ge,
            Cmp::Gt => Cmp::Lt,
            Cmp::Ge => Cmp::Le,
            Cmp::Lo => Cmp::Hi,
            Cmp::Ls => Cmp::Hs,
            Cmp::Hi => Cmp::Lo,
            Cmp::Hs => Cmp::Ls,
            Cmp::Ltu => Cmp::Gtu,
            Cmp::Leu => Cmp::Geu,
            Cmp::Gtu => Cmp::Ltu,
            Cmp::Geu => Cmp::Leu,
            Cmp::Eq | Cmp::Ne | Cmp::Equ | Cmp::Neu | Cmp::Num | Cmp::Nan => self,
        }
    }

    /// The comparison of integers that holds where this one does not. None for comparisons of floats alone.
    pub const fn complement(self) -> Option<Cmp> {
        Some(match self {
            Cmp::Eq => Cmp::Ne,
            Cmp::Ne => Cmp::Eq,
            Cmp::Lt => Cmp::Ge,
            Cmp::Ge => Cmp::Lt,
            Cmp::Le => Cmp::Gt,
            Cmp::Gt => Cmp::Le,
            Cmp::Lo => Cmp::Hs,
            Cmp::Hs => Cmp::Lo,
            Cmp::Ls => Cmp::Hi,
            Cmp::Hi => Cmp::Ls,
            _ => return None,
        })
    }
}

words! {
    /// How `setp` combines its comparison with a third, predicate operand.
    Combine { And = "and", Or = "or", Xor = "xor" }
}

words! {
    /// The operation of `atom` and `red`, and of `redux`, which has the first six.
    AtomicOp {
        Add = "add", Min = "min", Max = "max", And = "and", Or = "or", Xor = "xor",
        /// Wraps to 0 above the operand.
        Inc = "inc",
        /// Wraps to the operand below 0.
        Dec = "dec",
        Exch = "exch",
        /// Compare (first operand) and swap (second).
        Cas = "cas",
    }
}

words! {
    /// The special modes of `prmt`.
    PrmtMode { F4e = "f4e", B4e = "b4e", Rc8 = "rc8", Ecl = "ecl", Ecr = "ecr", Rc16 = "rc16" }
}

bitflags::bitflags! {
    /// Modifiers that are simply there or not.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
    pub struct Flags: u32 {
        /// Subnormal inputs and results are zero.
        const FTZ = 1;
        /// Clamps: f32 to [0, 1] with NaN to 0; integers to their range.
        const SAT = 1 << 1;
        /// The approximate function.
        const APPROX = 1 << 2;
        /// `div.full`: approximate over the whole range.
        const FULL = 1 << 3;
        /// Carry out (second destination); of a subtraction the borrow, which is the opposite of PTX's flag.
        const CC = 1 << 4;
        /// The high half (`madc.hi`).
        const HI = 1 << 5;
        /// Neither removed, merged nor moved.
        const VOLATILE = 1 << 6;
        /// A non-faulting load: 0 outside a buffer.
        const SPEC = 1 << 7;
        /// Through the read-only cache.
        const NC = 1 << 8;
        /// `.sync`: the last operand is a member mask.
        const SYNC = 1 << 9;
        /// Memory order.
        const RELAXED = 1 << 10;
        /// Memory order.
        const ACQUIRE = 1 << 11;
        /// Memory order.
        const RELEASE = 1 << 12;
        /// Memory order.
        const ACQ_REL = 1 << 13;
        /// Scope: the block.
        const CTA = 1 << 14;
        /// Scope: the device.
        const GPU = 1 << 15;
        /// Scope: the device (`membar.gl`).
        const GL = 1 << 16;
        /// Scope: the system.
        const SYS = 1 << 17;
        /// `cvta.to`: from a generic address.
        const TO = 1 << 18;
        /// Cache operator of a load.
        const CA = 1 << 19;
        /// Cache operator.
        const CG = 1 << 20;
        /// Cache operator.
        const CS = 1 << 21;
        /// Cache operator.
        const LU = 1 << 22;
        /// Cache operator.
        const CV = 1 << 23;
        /// Cache operator of a store.
        const WB = 1 << 24;
        /// Cache operator of a store.
        const WT = 1 << 25;
        /// `shf`: the shift amount wraps at 32.
        const WRAP = 1 << 26;
        /// `shf`: the shift amount clamps at 32.
        const CLAMP = 1 << 27;
        /// `mov`-like branch hint `.uni`, kept on `br` and `call` where PTX had it.
        const UNI = 1 << 28;
        /// `barrier.sync` without `.aligned`: lanes of a warp may come at different instructions.
        const UNALIGNED = 1 << 29;
        /// An atomic on bfloats: its type is `b16`, spelled `bf16`. It has the bit of
        /// [`Flags::UNALIGNED`], since it is no barrier.
        const BF16 = 1 << 29;
        /// `isspacep.shared::cluster`, with the bit of [`Flags::BF16`]: it is no atomic.
        const CLUSTER = 1 << 29;
    }
}

/// The spelling of each flag, without a dot.
pub const FLAG_NAMES: &[(Flags, &str)] = &[
    (Flags::APPROX, "approx"),
    (Flags::FULL, "full"),
    (Flags::FTZ, "ftz"),
    (Flags::SAT, "sat"),
    (Flags::HI, "hi"),
    (Flags::CC, "cc"),
    (Flags::VOLATILE, "volatile"),
    (Flags::SPEC, "spec"),
    (Flags::NC, "nc"),
    (Flags::SYNC, "sync"),
    (Flags::RELAXED, "relaxed"),
    (Flags::ACQUIRE, "acquire"),
    (Flags::RELEASE, "release"),
    (Flags::ACQ_REL, "acq_rel"),
    (Flags::CTA, "cta"),
    (Flags::GPU, "gpu"),
    (Flags::GL, "gl"),
    (Flags::SYS, "sys"),
    (Flags::TO, "to"),
    (Flags::CA, "ca"),
    (Flags::CG, "cg"),
    (Flags::CS, "cs"),
    (Flags::LU, "lu"),
    (Flags::CV, "cv"),
    (Flags::WB, "wb"),
    (Flags::WT, "wt"),
    (Flags::WRAP, "wrap"),
    (Flags::CLAMP, "clamp"),
    (Flags::UNI, "uni"),
];

/// A complete opcode, `setp.lt.and.ftz.f32` for instance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Opcode {
    /// The root.
    pub op: Op,
    /// The type of the operation. Where the spelling has none (`bar.sync`, `br`), it is the type of the result, or
    /// `b32`.
    pub ty: Type,
    /// The second type: what `cvt` converts from, the coordinates of `tex`. Elsewhere the same as `ty`.
    pub src_ty: Type,
    /// `ld st atom red cvta`: the memory named; nothing is generic.
    pub space: Option<Space>,
    /// `ld st tex`: elements moved, 1, 2 or 4.
    pub vector: u8,
    /// Rounding, where spelled.
    pub rounding: Option<Rounding>,
    /// `setp`'s comparison.
    pub cmp: Option<Cmp>,
    /// `setp` with a third operand.
    pub combine: Option<Combine>,
    /// The operation of `atom`, `red` and `redux`.
    pub atomic: Option<AtomicOp>,
    /// `prmt`'s mode.
    pub prmt: Option<PrmtMode>,
    /// The rest.
    pub flags: Flags,
}

impl Opcode {
    /// The opcode with that type and no modifiers.
    pub const fn new(op: Op, ty: Type) -> Opcode {
        Opcode {
            op,
            ty,
            src_ty: ty,
            space: None,
            vector: 1,
            rounding: None,
            cmp: None,
            combine: None,
            atomic: None,
            prmt: None,
            flags: Flags::empty(),
        }
    }

    /// An opcode whose spelling has no type (`br`, `ret`, `bar.sync`, `vote.all`).
    pub const fn untyped(op: Op) -> Opcode {
        let ty = match op {
            Op::VoteAll | Op::VoteAny | Op::VoteUni | Op::BarAnd | Op::BarOr | Op::Isspacep => Type::Pred,
            Op::BarPopc => Type::U32,
            _ => Type::B32,
        };
        Opcode::new(op, ty)
    }

    /// All of it in three words, the first below 2³¹: what has the same words is the same opcode.
    /// What is absent has the number behind all others, which is how it stands in memory, so that
    /// nothing has to be asked.
    #[inline]
    pub fn words(&self) -> [u32; 3] {
        // The widest numbers of fields that lie side by side: each has to fit below the next one.
        const _: () = assert!(Op::ALL.len() <= 1 << 7 && Type::ALL.len() <= 1 << 4 && Space::ALL.len() < 1 << 3);
        const _: () =
            assert!(Rounding::ALL.len() < 1 << 4 && Combine::ALL.len() < 1 << 2 && PrmtMode::ALL.len() < 1 << 4);
        const _: () = assert!(Cmp::ALL.len() < 1 << 8);
        let space = self.space.map_or(Space::ALL.len() as u32, |space| space as u32);
        let rounding = self.rounding.map_or(Rounding::ALL.len() as u32, |rounding| rounding as u32);
        let combine = self.combine.map_or(Combine::ALL.len() as u32, |combine| combine as u32);
        let prmt = self.prmt.map_or(PrmtMode::ALL.len() as u32, |mode| mode as u32);
        // Vectors have up to 4 elements: 3 bits.
        let types = (self.ty as u32) << 7 | (self.src_ty as u32) << 11;
        let modifiers = space << 15 | u32::from(self.vector) << 18 | rounding << 21 | combine << 25 | prmt << 27;
        let atomic = self.atomic.map_or(AtomicOp::ALL.len() as u32, |atomic| atomic as u32);
        [self.op as u32 | types | modifiers, Opcode::comparison_word(self.cmp) | atomic << 8, self.flags.bits()]
    }

    const fn comparison_word(cmp: Option<Cmp>) -> u32 {
        match cmp {
            Some(cmp) => cmp as u32,
            None => Cmp::ALL.len() as u32,
        }
    }

    /// `mov.ty`.
    pub const fn mov(ty: Type) -> Opcode {
        Opcode::new(Op::Mov, ty)
    }

    /// `setp.cmp.ty`.
    pub const fn setp(cmp: Cmp, ty: Type) -> Opcode {
        let mut opcode = Opcode::new(Op::Setp, ty);
        opcode.cmp = Some(cmp);
        opcode
    }

    /// `cvt.ty.from`.
    pub const fn cvt(ty: Type, from: Type) -> Opcode {
        let mut opcode = Opcode::new(Op::Cvt, ty);
        opcode.src_ty = from;
        opcode
    }

    /// `ld.space.ty` or `st.space.ty`.
    pub const fn memory(op: Op, space: Option<Space>, ty: Type) -> Opcode {
        let mut opcode = Opcode::new(op, ty);
        opcode.space = space;
        opcode
    }

    /// Is that modifier there?
    pub const fn has(self, flags: Flags) -> bool {
        self.flags.contains(flags)
    }

    /// Pure in the sense of [`Op::is_pure`]; no modifier takes that away.
    pub const fn is_pure(self) -> bool {
        self.op.is_pure()
    }

    /// The float type in which arithmetic computes the result, so that a NaN there is the canonical one. None where the
    /// result is no float, or somebody's bits, which moves keep.
    pub fn computed_float(self) -> Option<Type> {
        let moves_bits = match self.op {
            Op::Mov | Op::Selp | Op::Ld | Op::St | Op::Atom | Op::Red | Op::Tex1d | Op::Tex2d | Op::In | Op::Setp => {
                true
            }
            op => op.is_convergent() || op.is_terminator(),
        };
        Some(self.ty).filter(|ty| ty.is_float() && !moves_bits)
    }

    /// Is each execution of such a load one of its own, as others may write meanwhile what it reads?
    pub const fn reads_anew(self) -> bool {
        self.flags.intersects(Flags::VOLATILE.union(Flags::RELAXED).union(Flags::ACQUIRE).union(Flags::CV))
    }

    /// Is what other threads have stored before they let go of something seen behind it, wherever that is?
    pub const fn acquires(self) -> bool {
        self.flags.intersects(Flags::ACQUIRE.union(Flags::ACQ_REL))
    }

    /// May lanes wait for others by repeating it, because each execution sees what others have stored?
    pub const fn may_spin(self) -> bool {
        let sees_others = Flags::VOLATILE.union(Flags::RELAXED).union(Flags::ACQUIRE).union(Flags::ACQ_REL);
        matches!(self.op, Op::Atom | Op::Red) || self.flags.intersects(sees_others.union(Flags::CV))
    }

    /// Must it stay although nothing reads its result? A volatile load must, and one that others are ordered behind.
    pub const fn has_effect(self) -> bool {
        self.op.has_effect() || self.has(Flags::VOLATILE) || self.acquires()
    }

    /// The type twice as wide, for `mul.wide` and `mad.wide`; `ty` itself where there is none.
    pub fn wide_type(self) -> Type {
        self.ty.with_bits(self.ty.bits() * 2).unwrap_or(self.ty)
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;

    fn or_none<T: Copy>(all: &[T]) -> impl Iterator<Item = Option<T>> + '_ {
        core::iter::once(None).chain(all.iter().copied().map(Some))
    }

    /// No two opcodes have the same words: neither where all fields of the first word differ, nor
    /// where one of the second does.
    #[test]
    fn words_tell_opcodes_apart() {
        let mut firsts = BTreeMap::new();
        for space in or_none(&Space::ALL) {
            for vector in [1, 2, 4] {
                for rounding in or_none(Rounding::ALL) {
                    for combine in or_none(Combine::ALL) {
                        for prmt in or_none(PrmtMode::ALL) {
                            for op in [Op::ALL[0], Op::ALL[Op::ALL.len() - 1]] {
                                for ty in [Type::Pred, Type::F64] {
                                    for src_ty in [Type::Pred, Type::F64] {
                                        let kept = Opcode::new(op, ty);
                                        let opcode = Opcode { src_ty, space, vector, rounding, combine, prmt, ..kept };
                                        let before = firsts.insert(opcode.words(), opcode);
                                        assert_eq!(before, None, "the words of {opcode:?}");
                                        assert!(opcode.words()[0] < 1 << 31, "{opcode:?}");
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        let mut seconds = BTreeMap::new();
        for cmp in or_none(Cmp::ALL) {
            for atomic in or_none(AtomicOp::ALL) {
                let opcode = Opcode { cmp, atomic, ..Opcode::new(Op::Mov, Type::U32) };
                assert_eq!(seconds.insert(opcode.words(), opcode), None, "the words of {opcode:?}");
            }
        }
    }
}
