//! The spelling of opcodes: `fma.rn.ftz.f32` to an [`Opcode`] and back.
//!
//! Suffixes are accepted in any order and printed in PTX's. Sound because every suffix belongs to exactly one
//! modifier once the root is known. The time is linear in the spelling.

use core::fmt;

use super::opcode::{AtomicOp, Cmp, Combine, FLAG_NAMES, Flags, Op, Opcode, PrmtMode, Rounding};
use super::types::{Space, Type, TypeClass};

/// Why a spelling is no opcode. The fields quote the spelling.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SpellingError<'a> {
    /// No opcode starts like that.
    UnknownRoot(&'a str),
    /// The root exists, the suffix does not go with it.
    UnknownSuffix(Op, &'a str),
    /// The type suffix is missing.
    MissingType(Op),
    /// The opcode exists, not for this type.
    WrongType(Op, Type),
    /// `setp` without a comparison, `atom` without an operation, and the like; the text says what.
    Missing(Op, &'static str),
    /// The root has the suffix, but not for this type.
    SuffixForType(Op, &'static str, Type),
    /// Second suffix of one kind.
    Repeated(Op, &'a str),
}

impl Op {
    /// Is the operation defined for that type (`ty`, not `src_ty`)?
    pub fn allows(self, ty: Type) -> bool {
        use TypeClass::{Bits, Float, Pred, Signed, Unsigned};
        let (class, bits) = (ty.class(), ty.bits());
        let integer = matches!(class, Signed | Unsigned);
        match self {
            Op::Mov | Op::In => true,
            Op::Cvt => matches!(class, Signed | Unsigned | Float),
            Op::Cvta => bits >= 32 && class != Float,
            Op::Add | Op::Sub | Op::Mul | Op::Min | Op::Max => class == Float || (integer && bits >= 16),
            Op::MulHi | Op::Rem => integer && bits >= 16,
            Op::MulWide | Op::MadWide => integer && (bits == 16 || bits == 32),
            Op::Mad => (class == Float && bits >= 32) || (integer && bits >= 16),
            Op::MadHi => integer && bits >= 16,
            Op::Fma => class == Float,
            Op::Div => (class == Float && bits >= 32) || (integer && bits >= 16),
            Op::Neg | Op::Abs => class == Float || (class == Signed && bits >= 16),
            Op::Sqrt | Op::Rsqrt | Op::Rcp | Op::Copysign => class == Float && bits >= 32,
            Op::Sin | Op::Cos | Op::Ex2 | Op::Lg2 => ty == Type::F32,
            Op::And | Op::Or | Op::Xor | Op::Not => class == Pred || (class == Bits && bits >= 16),
            Op::Shl => class == Bits && bits >= 16,
            Op::Shr => (integer || class == Bits) && bits >= 16,
            Op::ShfL | Op::ShfR | Op::Prmt => ty == Type::B32,
            Op::Bfe => integer && bits >= 32,
            Op::Bfi | Op::Popc | Op::Clz | Op::Brev => class == Bits && bits >= 32,
            Op::Addc | Op::Subc | Op::Madc => integer && bits >= 32,
            Op::Isspacep => ty == Type::Pred,
            Op::Setp | Op::Selp => class != Pred && bits >= 16,
            Op::Ld | Op::St | Op::Work => class != Pred,
            Op::Atom | Op::Red => class != Pred && bits >= 16,
            Op::Tex1d | Op::Tex2d => bits == 32,
            Op::ShflIdx | Op::ShflUp | Op::ShflDown | Op::ShflBfly => bits == 32,
            Op::MatchAny | Op::MatchAll => class != Pred && bits >= 32,
            Op::Redux => bits == 32 && class != Float,
            Op::VoteAll | Op::VoteAny | Op::VoteUni => ty == Type::Pred,
            Op::VoteBallot | Op::Activemask => bits == 32,
            Op::BarSync | Op::BarArrive | Op::BarWarp | Op::Membar | Op::Trap | Op::Ptx => true,
            Op::Read => class == Unsigned && bits >= 32,
            Op::BarPopc | Op::Nanosleep => matches!(ty, Type::U32),
            Op::BarAnd | Op::BarOr => matches!(ty, Type::Pred),
            Op::Call | Op::Br | Op::BrIf | Op::Switch | Op::Ret | Op::Exit | Op::CallTo => true,
        }
    }

    /// Does the spelling end with a type?
    pub const fn has_type_suffix(self) -> bool {
        !(self.is_terminator()
            || matches!(
                self,
                Op::BarSync
                    | Op::BarPopc
                    | Op::Isspacep
                    | Op::BarAnd
                    | Op::BarOr
                    | Op::BarWarp
                    | Op::BarArrive
                    | Op::Membar
                    | Op::Trap
                    | Op::Ptx
                    | Op::VoteAll
                    | Op::VoteAny
                    | Op::VoteUni
                    | Op::VoteBallot
                    | Op::Activemask
                    | Op::Call
            ))
    }

    /// The flags that go with the root.
    pub const fn allowed_flags(self) -> Flags {
        const ORDERS: Flags = Flags::RELAXED
            .union(Flags::ACQUIRE)
            .union(Flags::RELEASE)
            .union(Flags::ACQ_REL)
            .union(Flags::CTA)
            .union(Flags::GPU)
            .union(Flags::SYS);
        match self {
            Op::Add | Op::Sub | Op::Mad => Flags::FTZ.union(Flags::SAT).union(Flags::CC),
            Op::MadHi => Flags::SAT.union(Flags::CC),
            Op::Mul | Op::Fma => Flags::FTZ.union(Flags::SAT),
            Op::Addc | Op::Subc => Flags::CC,
            Op::Madc => Flags::CC.union(Flags::HI),
            Op::Cvt => Flags::FTZ.union(Flags::SAT),
            Op::Cvta => Flags::TO,
            Op::Isspacep => Flags::CLUSTER,
            Op::Div => Flags::FTZ.union(Flags::APPROX).union(Flags::FULL),
            Op::Neg | Op::Abs | Op::Min | Op::Max | Op::Setp => Flags::FTZ,
            Op::Sqrt | Op::Rsqrt | Op::Rcp | Op::Sin | Op::Cos | Op::Ex2 | Op::Lg2 => Flags::FTZ.union(Flags::APPROX),
            Op::ShfL | Op::ShfR => Flags::WRAP.union(Flags::CLAMP),
            Op::Ld => ORDERS
                .union(Flags::VOLATILE)
                .union(Flags::SPEC)
                .union(Flags::NC)
                .union(Flags::CA)
                .union(Flags::CG)
                .union(Flags::CS)
                .union(Flags::LU)
                .union(Flags::CV),
            Op::St => ORDERS.union(Flags::VOLATILE).union(Flags::WB).union(Flags::CG).union(Flags::CS).union(Flags::WT),
            Op::Atom | Op::Red => ORDERS.union(Flags::BF16),
            Op::Membar => Flags::CTA.union(Flags::GL).union(Flags::SYS),
            Op::VoteAll | Op::VoteAny | Op::VoteUni | Op::VoteBallot => Flags::SYNC,
            Op::ShflIdx | Op::ShflUp | Op::ShflDown | Op::ShflBfly => Flags::SYNC,
            Op::MatchAny | Op::MatchAll | Op::Redux => Flags::SYNC,
            Op::Br | Op::BrIf | Op::Call | Op::CallTo => Flags::UNI,
            _ => Flags::empty(),
        }
    }

    /// Every suffix that goes with the root, for suggestions.
    pub fn suffixes(self) -> impl Iterator<Item = &'static str> {
        let memory = matches!(self, Op::Ld | Op::St | Op::Atom | Op::Red | Op::Cvta | Op::Isspacep);
        let atomics = matches!(self, Op::Atom | Op::Red);
        let vectors = atomics || matches!(self, Op::Ld | Op::St | Op::Tex1d | Op::Tex2d);
        let words = |given: bool, words: &'static [&'static str]| if given { words } else { &[] }.iter().copied();
        let types = Type::ALL.into_iter().filter(move |ty| self.has_type_suffix() && self.allows(*ty)).map(Type::name);
        let flags = FLAG_NAMES.iter().filter(move |(flag, _)| self.allowed_flags().contains(*flag));
        types
            .chain(flags.map(|(_, name)| *name))
            .chain(Cmp::ALL.iter().filter(move |_| self == Op::Setp).map(|cmp| cmp.name()))
            .chain(Combine::ALL.iter().filter(move |_| self == Op::Setp).map(|combine| combine.name()))
            .chain(AtomicOp::ALL.iter().filter(move |op| self.has_operation(**op)).map(|op| op.name()))
            .chain(PrmtMode::ALL.iter().filter(move |_| self == Op::Prmt).map(|mode| mode.name()))
            .chain(Space::ALL.into_iter().filter(move |_| memory).map(Space::name))
            .chain(words(vectors, &["v2", "v4"]))
            .chain(words(atomics, &["bf16"]))
            .chain(Rounding::ALL.iter().filter(move |r| self.allows_rounding(Type::F32, **r)).map(|r| r.name()))
    }

    /// Are there forms of the root with that operation?
    const fn has_operation(self, operation: AtomicOp) -> bool {
        match self {
            Op::Atom | Op::Red => true,
            Op::Redux => !matches!(operation, AtomicOp::Inc | AtomicOp::Dec | AtomicOp::Exch | AtomicOp::Cas),
            _ => false,
        }
    }

    fn allows_rounding(self, ty: Type, rounding: Rounding) -> bool {
        let to_integer = matches!(rounding, Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi);
        match self {
            Op::Cvt => !to_integer || ty.is_integer() || ty.is_float(),
            Op::Add | Op::Sub | Op::Mul | Op::Mad | Op::Fma | Op::Div | Op::Sqrt | Op::Rcp => {
                ty.is_float() && !to_integer
            }
            _ => false,
        }
    }
}

impl Opcode {
    /// Reads a spelling. Words before the type come in any order; `.lo` of `mul` and `mad` is the default and dropped,
    /// and PTX's `barrier.sync.aligned` is `bar.sync`.
    pub fn from_spelling(text: &str) -> Result<Opcode, SpellingError<'_>> {
        let (op, rest, inner) =
            split_root(text).ok_or_else(|| SpellingError::UnknownRoot(text.split('.').next().unwrap_or(text)))?;
        let mut opcode = Opcode::untyped(op);
        opcode.flags |= inner;
        let mut types = 0;
        for word in rest.split('.').filter(|word| !word.is_empty()) {
            apply_suffix(&mut opcode, word, &mut types)?;
        }
        if op.has_type_suffix() && types == 0 {
            return Err(SpellingError::MissingType(op));
        }
        complete(opcode, types)
    }
}

/// Splits `mul.hi.u32` into its root and the rest, with the modifier that PTX spells within the root, if any.
fn split_root(text: &str) -> Option<(Op, &str, Flags)> {
    for family in ["vote", "shfl"] {
        let Some(rest) = text.strip_prefix(family).and_then(|rest| rest.strip_prefix(".sync.")) else { continue };
        let mode = rest.split('.').next()?;
        let op = Op::ALL
            .iter()
            .copied()
            .find(|op| op.name().strip_prefix(family).is_some_and(|m| m.strip_prefix('.') == Some(mode)))?;
        return Some((op, &rest[mode.len()..], Flags::SYNC));
    }
    if let Some(rest) = text.strip_prefix("barrier.") {
        let forms = Op::ALL.iter().copied().filter(|op| op.is_block_barrier());
        let (op, rest) = forms.filter_map(|op| Some((op, rest.strip_prefix(&op.name()["bar.".len()..])?))).next()?;
        return match rest.strip_prefix(".aligned") {
            Some(rest) => Some((op, rest, Flags::empty())),
            None => Some((op, rest, Flags::UNALIGNED)),
        };
    }
    let mut best: Option<(Op, &str)> = None;
    for &op in Op::ALL {
        if matches!(op, Op::BrIf | Op::CallTo) {
            continue;
        }
        if let Some(rest) = text.strip_prefix(op.name())
            && (rest.is_empty() || rest.starts_with('.'))
            && best.is_none_or(|(known, _)| known.name().len() < op.name().len())
        {
            best = Some((op, rest));
        }
    }
    best.map(|(op, rest)| (op, rest, Flags::empty()))
}

fn apply_suffix<'a>(opcode: &mut Opcode, word: &'a str, types: &mut u32) -> Result<(), SpellingError<'a>> {
    let op = opcode.op;
    let unknown = Err(SpellingError::UnknownSuffix(op, word));
    let repeated = Err(SpellingError::Repeated(op, word));
    if word == "lo" && matches!(op, Op::Mul | Op::Mad | Op::Madc) {
        return Ok(());
    }
    if op == Op::Setp {
        if let Some(cmp) = Cmp::from_name(word) {
            return if opcode.cmp.replace(cmp).is_some() { repeated } else { Ok(()) };
        }
        if let Some(combine) = Combine::from_name(word) {
            return if opcode.combine.replace(combine).is_some() { repeated } else { Ok(()) };
        }
    }
    if let Some(atomic) = AtomicOp::from_name(word).filter(|atomic| op.has_operation(*atomic)) {
        return if opcode.atomic.replace(atomic).is_some() { repeated } else { Ok(()) };
    }
    if op == Op::Prmt
        && let Some(mode) = PrmtMode::from_name(word)
    {
        return if opcode.prmt.replace(mode).is_some() { repeated } else { Ok(()) };
    }
    if matches!(op, Op::Ld | Op::St | Op::Atom | Op::Red | Op::Cvta | Op::Isspacep)
        && let Some(space) = Space::from_name(word.split("::").next().unwrap_or(word))
    {
        // Blocks of a cluster see each other's shared memory; a block is alone here.
        opcode.flags.set(Flags::CLUSTER, opcode.has(Flags::CLUSTER) || op == Op::Isspacep && word == "shared::cluster");
        return if opcode.space.replace(space).is_some() { repeated } else { Ok(()) };
    }
    let has_vectors = matches!(op, Op::Ld | Op::St | Op::Atom | Op::Red) || op.is_texture();
    if has_vectors && matches!(word, "v2" | "v4") {
        if opcode.vector > 1 {
            return repeated;
        }
        opcode.vector = if word == "v2" { 2 } else { 4 };
        return Ok(());
    }
    if let Some(&(flag, _)) = FLAG_NAMES.iter().find(|(_, name)| *name == word)
        && op.allowed_flags().contains(flag)
    {
        return if opcode.has(flag) {
            repeated
        } else {
            opcode.flags |= flag;
            Ok(())
        };
    }
    if let Some(rounding) = Rounding::from_name(word)
        && op.allows_rounding(Type::F32, rounding)
    {
        return if opcode.rounding.replace(rounding).is_some() { repeated } else { Ok(()) };
    }
    let is_bfloat = word == "bf16" && matches!(op, Op::Atom | Op::Red);
    opcode.flags.set(Flags::BF16, is_bfloat || opcode.has(Flags::BF16));
    let Some(ty) = Type::from_name(if is_bfloat { "b16" } else { word }) else { return unknown };
    match (*types, op) {
        (0, _) => (opcode.ty, opcode.src_ty) = (ty, ty),
        (1, Op::Cvt | Op::Tex1d | Op::Tex2d) => opcode.src_ty = ty,
        _ => return repeated,
    }
    *types += 1;
    Ok(())
}

/// The checks that need the whole spelling.
fn complete<'a>(mut opcode: Opcode, types: u32) -> Result<Opcode, SpellingError<'a>> {
    let op = opcode.op;
    if !op.allows(opcode.ty) {
        return Err(SpellingError::WrongType(op, opcode.ty));
    }
    match op {
        Op::Cvt => {
            if types < 2 {
                return Err(SpellingError::Missing(op, "the type converted from, as in `cvt.f32.s32`"));
            }
            if !op.allows(opcode.src_ty) {
                return Err(SpellingError::WrongType(op, opcode.src_ty));
            }
        }
        Op::Tex1d | Op::Tex2d => {
            if types < 2 {
                opcode.src_ty = Type::F32;
            }
            if opcode.src_ty != Type::F32 && opcode.src_ty != Type::S32 {
                return Err(SpellingError::WrongType(op, opcode.src_ty));
            }
            if opcode.vector != 4 {
                return Err(SpellingError::Missing(op, "`.v4`: a texture gives four elements"));
            }
        }
        Op::Isspacep if opcode.space.is_none() => {
            return Err(SpellingError::Missing(op, "a space, as in `isspacep.global`"));
        }
        Op::Setp if opcode.cmp.is_none() => {
            return Err(SpellingError::Missing(op, "a comparison, as in `setp.lt.s32`"));
        }
        Op::Atom | Op::Red if opcode.atomic.is_none() => {
            return Err(SpellingError::Missing(op, "an operation, as in `atom.global.add.u32`"));
        }
        Op::Redux if opcode.atomic.is_none() => {
            return Err(SpellingError::Missing(op, "an operation, as in `redux.sync.add.s32`"));
        }
        Op::ShfL | Op::ShfR if !opcode.flags.intersects(Flags::WRAP | Flags::CLAMP) => {
            return Err(SpellingError::Missing(op, "`.wrap` or `.clamp`"));
        }
        Op::ShfL | Op::ShfR if opcode.flags.contains(Flags::WRAP | Flags::CLAMP) => {
            return Err(SpellingError::Repeated(op, "clamp"));
        }
        // Each of these says how exact the result is.
        Op::Div | Op::Sqrt | Op::Rcp if opcode.has(Flags::APPROX) && opcode.has(Flags::FULL) => {
            return Err(SpellingError::Repeated(op, "full"));
        }
        Op::Div | Op::Sqrt | Op::Rcp if opcode.rounding.is_some() && opcode.has(Flags::APPROX) => {
            return Err(SpellingError::Repeated(op, "approx"));
        }
        Op::Div | Op::Sqrt | Op::Rcp if opcode.rounding.is_some() && opcode.has(Flags::FULL) => {
            return Err(SpellingError::Repeated(op, "full"));
        }
        _ => {}
    }
    match suffix_for_another_type(opcode) {
        Some(suffix) => Err(SpellingError::SuffixForType(op, suffix, opcode.ty)),
        None => Ok(opcode),
    }
}

/// A suffix of the opcode that is defined for other types than its own.
fn suffix_for_another_type(opcode: Opcode) -> Option<&'static str> {
    let (op, ty) = (opcode.op, opcode.ty);
    if let Some(rounding) = opcode.rounding
        && !op.allows_rounding(ty, rounding)
    {
        return Some(rounding.name());
    }
    let flushes = match op {
        Op::Cvt => ty == Type::F32 || opcode.src_ty == Type::F32,
        // The coarse approximations of f64 flush; its exact roundings do not.
        Op::Rsqrt => true,
        Op::Rcp => ty == Type::F32 || opcode.has(Flags::APPROX),
        _ => matches!(ty, Type::F16 | Type::F32),
    };
    // Integers that clamp are PTX's three.
    let saturates = ty.is_float() || op == Op::Cvt || (ty == Type::S32 && matches!(op, Op::Add | Op::Sub | Op::MadHi));
    let fits = |flag: Flags| match flag {
        Flags::FTZ => flushes,
        Flags::SAT => saturates,
        Flags::APPROX | Flags::FULL => ty.is_float(),
        Flags::CC => ty.is_integer() && ty.bits() >= 32,
        _ => true,
    };
    if let Some((_, name)) = FLAG_NAMES.iter().find(|(flag, _)| opcode.has(*flag) && !fits(*flag)) {
        return Some(name);
    }
    let compares = |cmp: &Cmp| match cmp {
        Cmp::Num | Cmp::Nan | Cmp::Equ | Cmp::Neu | Cmp::Ltu | Cmp::Leu | Cmp::Gtu | Cmp::Geu => ty.is_float(),
        Cmp::Lo | Cmp::Ls | Cmp::Hi | Cmp::Hs => !ty.is_float(),
        _ => true,
    };
    if let Some(cmp) = opcode.cmp.filter(|cmp| !compares(cmp)) {
        return Some(cmp.name());
    }
    let is_bfloat = matches!(op, Op::Atom | Op::Red) && opcode.has(Flags::BF16);
    let has_vectors = is_bfloat || matches!(ty, Type::F16 | Type::F32);
    if matches!(op, Op::Atom | Op::Red) && opcode.vector > 1 && !has_vectors {
        return Some(if opcode.vector == 2 { "v2" } else { "v4" });
    }
    let applies = |atomic: &AtomicOp| match atomic {
        _ if is_bfloat => matches!(atomic, AtomicOp::Add | AtomicOp::Min | AtomicOp::Max),
        AtomicOp::Exch | AtomicOp::Cas => opcode.vector == 1,
        AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => !ty.is_float(),
        AtomicOp::Inc | AtomicOp::Dec => !ty.is_float() && !ty.is_signed(),
        // Here bits have no sum and no order.
        AtomicOp::Add | AtomicOp::Min | AtomicOp::Max => op != Op::Redux || ty.is_integer(),
    };
    opcode.atomic.filter(|atomic| !applies(atomic)).map(AtomicOp::name)
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op = self.op;
        // PTX puts `.sync` inside `vote.sync.all` and `shfl.sync.idx`, behind `match.any.sync` and `redux.sync`.
        let inner_sync = self.has(Flags::SYNC) && !matches!(op, Op::MatchAny | Op::MatchAll | Op::Redux);
        let name = match op {
            Op::BrIf => "br",
            Op::CallTo => "call",
            _ => op.name(),
        };
        match name.split_once('.') {
            Some((_, form)) if self.has(Flags::UNALIGNED) => write!(f, "barrier.{form}")?,
            Some((family, mode)) if inner_sync => write!(f, "{family}.sync.{mode}")?,
            _ => f.write_str(name)?,
        }
        let flags = |f: &mut fmt::Formatter<'_>, group: Flags| -> fmt::Result {
            // Most opcodes have none, and the table is long.
            if !self.flags.intersects(group) {
                return Ok(());
            }
            FLAG_NAMES
                .iter()
                .filter(|(flag, _)| group.contains(*flag) && self.has(*flag))
                .try_for_each(|(_, name)| write!(f, ".{name}"))
        };
        if !inner_sync {
            flags(f, Flags::SYNC)?;
        }
        flags(f, Flags::VOLATILE | Flags::RELAXED | Flags::ACQUIRE | Flags::RELEASE | Flags::ACQ_REL)?;
        flags(f, Flags::CTA | Flags::GPU | Flags::GL | Flags::SYS | Flags::TO | Flags::UNI)?;
        if let Some(space) = self.space {
            write!(f, ".{space}")?;
            if op == Op::Isspacep && self.has(Flags::CLUSTER) {
                f.write_str("::cluster")?;
            }
        }
        flags(f, Flags::SPEC | Flags::CA | Flags::CG | Flags::CS | Flags::LU | Flags::CV)?;
        flags(f, Flags::WB | Flags::WT | Flags::NC)?;
        let words = [self.atomic.map(AtomicOp::name), self.cmp.map(Cmp::name), self.combine.map(Combine::name)];
        for word in words.into_iter().flatten() {
            write!(f, ".{word}")?;
        }
        flags(f, Flags::HI | Flags::CC | Flags::WRAP | Flags::CLAMP)?;
        if let Some(rounding) = self.rounding {
            write!(f, ".{}", rounding.name())?;
        }
        flags(f, Flags::APPROX | Flags::FULL | Flags::FTZ | Flags::SAT)?;
        if self.vector > 1 {
            write!(f, ".v{}", self.vector)?;
        }
        if matches!(op, Op::Atom | Op::Red) && self.has(Flags::BF16) {
            f.write_str(".bf16")?;
        } else if op.has_type_suffix() {
            write!(f, ".{}", self.ty)?;
        }
        if op == Op::Cvt || (op.is_texture() && self.src_ty != Type::F32) {
            write!(f, ".{}", self.src_ty)?;
        }
        match self.prmt {
            Some(mode) => write!(f, ".{}", mode.name()),
            None => Ok(()),
        }
    }
}
