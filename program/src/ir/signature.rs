//! Operands of each opcode: one table for the parsers, the verifier, the printer and the simulator's decoder.

use smallvec::{SmallVec, smallvec};

use super::inst::{InstData, Operand};
use super::opcode::{AtomicOp, Flags, Op, Opcode};
use super::types::Type;

/// Barriers of a block.
pub const BARRIERS: u64 = 16;

/// Kind of operand that a position takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArgKind {
    /// A register that agrees with the type, a constant, and where the width fits a special register (32 bits) or the
    /// address of a symbol (32 or 64 bits).
    Value(Type),
    /// As `Value`, but the register may be wider than the type: `st` and `cvt` read its low bits.
    LowBits(Type),
    /// A predicate register, plain or negated with `!`.
    Predicate,
    /// A memory operand.
    Address,
    /// A brace list of that many values; an element may be wider, as for `LowBits`.
    Elements(Type, u8),
    /// A texture: a `tex2d` parameter, a 64-bit register that holds one, or a `texref` of the module.
    Texture,
    /// The name of an `input`.
    Input,
    /// A special register, which is read anew each time.
    Special,
    /// A register or a symbol that stays what it is, for an opaque instruction.
    Kept,
    /// A constant number of cycles.
    Cycles,
    /// A value of any type: what the callee or the context asks for. A constant has the type given.
    Any(Type),
}

/// Kind of register that a destination takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DstKind {
    /// The type written. The first definition of a register without a `reg` line gives it this type.
    pub ty: Type,
    /// May the register be wider? `ld` and `cvt` then extend by the type's sign.
    pub may_be_wider: bool,
}

/// The shape of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// Destinations in order.
    pub dsts: SmallVec<[DstKind; 4]>,
    /// How many of them must be there.
    pub required_dsts: usize,
    /// Operands in order.
    pub args: SmallVec<[ArgKind; 4]>,
    /// How many of them must be there.
    pub required_args: usize,
    /// Kind of any number of further operands.
    pub rest: Option<ArgKind>,
}

impl Signature {
    fn new<const D: usize, const A: usize>(dsts: [Type; D], args: [ArgKind; A]) -> Signature {
        // Signatures are made for every instruction that is read, checked or changed: filling arrays of a fixed size is
        // several times as fast as collecting.
        let mut all_dsts = [DstKind { ty: Type::B32, may_be_wider: false }; 4];
        all_dsts.iter_mut().zip(dsts).for_each(|(place, ty)| place.ty = ty);
        let mut all_args = [ArgKind::Address; 4];
        all_args[..A].copy_from_slice(&args);
        Signature {
            dsts: SmallVec::from_buf_and_len(all_dsts, D),
            required_dsts: D,
            args: SmallVec::from_buf_and_len(all_args, A),
            required_args: A,
            rest: None,
        }
    }

    fn with_optional_dst(mut self, ty: Type) -> Signature {
        self.dsts.push(DstKind { ty, may_be_wider: false });
        self
    }

    fn with_optional_arg(mut self, kind: ArgKind) -> Signature {
        self.args.push(kind);
        self
    }

    /// Makes the four elements of a texel the destinations.
    fn giving_texel(self, ty: Type) -> Signature {
        Signature { dsts: smallvec![DstKind { ty, may_be_wider: false }; 4], required_dsts: 4, ..self }
    }

    /// Returns the kind of operand at position `index`, if there is one.
    pub fn arg(&self, index: usize) -> Option<ArgKind> {
        self.args.get(index).copied().or(self.rest)
    }
}

impl Opcode {
    /// The shape of an instruction with this opcode. Calls and `ret` take what the callee's declaration says, so
    /// their operands are `Any` here and the verifier looks further. A packing `mov` (`mov.b64 r, {a, b}` and the
    /// reverse) is described by [`Opcode::packing_signature`].
    pub fn signature(self) -> Signature {
        use ArgKind::{Address, Any, Cycles, Elements, Input, Kept, LowBits, Predicate, Special, Texture, Value};
        let ty = self.ty;
        let value = Value(ty);
        match self.op {
            Op::Mov | Op::Neg | Op::Abs | Op::Not | Op::Brev | Op::Cvta => Signature::new([ty], [value]),
            Op::Sqrt | Op::Rsqrt | Op::Rcp | Op::Sin | Op::Cos | Op::Ex2 | Op::Lg2 => Signature::new([ty], [value]),
            Op::Popc | Op::Clz => Signature::new([Type::U32], [value]),
            Op::Cvt => {
                let mut signature = Signature::new([ty], [LowBits(self.src_ty)]);
                signature.dsts[0].may_be_wider = true;
                signature
            }
            Op::Add | Op::Sub if self.has(Flags::CC) => Signature::new([ty, Type::Pred], [value, value]),
            Op::Mad | Op::MadHi if self.has(Flags::CC) => Signature::new([ty, Type::Pred], [value, value, value]),
            Op::Addc | Op::Subc => with_carry(self, Signature::new([ty], [value, value, Predicate])),
            Op::Madc => with_carry(self, Signature::new([ty], [value, value, value, Predicate])),
            Op::Add
            | Op::Sub
            | Op::Mul
            | Op::MulHi
            | Op::Div
            | Op::Rem
            | Op::Min
            | Op::Max
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Copysign => Signature::new([ty], [value, value]),
            Op::MulWide => Signature::new([self.wide_type()], [value, value]),
            Op::MadWide => Signature::new([self.wide_type()], [value, value, Value(self.wide_type())]),
            Op::Mad | Op::MadHi | Op::Fma | Op::Prmt => Signature::new([ty], [value, value, value]),
            Op::Shl | Op::Shr => Signature::new([ty], [value, Value(Type::U32)]),
            Op::ShfL | Op::ShfR => Signature::new([ty], [value, value, Value(Type::U32)]),
            Op::Bfe => Signature::new([ty], [value, Value(Type::U32), Value(Type::U32)]),
            Op::Bfi => Signature::new([ty], [value, value, Value(Type::U32), Value(Type::U32)]),
            Op::Setp => {
                let signature = Signature::new([Type::Pred], [value, value]).with_optional_dst(Type::Pred);
                match self.combine {
                    None => signature,
                    Some(_) => Signature { required_args: 3, ..signature.with_optional_arg(Predicate) },
                }
            }
            Op::Isspacep => Signature::new([Type::Pred], [Value(Type::B64)]),
            Op::Selp => Signature::new([ty], [value, value, Predicate]),
            Op::Ld => Signature {
                dsts: (0..self.vector).map(|_| DstKind { ty, may_be_wider: true }).collect(),
                required_dsts: usize::from(self.vector),
                ..Signature::new([], [Address])
            },
            Op::St if self.vector > 1 => Signature::new([], [Address, Elements(ty, self.vector)]),
            Op::St => Signature::new([], [Address, LowBits(ty)]),
            Op::Atom if self.atomic == Some(AtomicOp::Cas) => Signature::new([ty], [Address, value, value]),
            Op::Atom if self.vector > 1 => Signature {
                dsts: (0..self.vector).map(|_| DstKind { ty, may_be_wider: false }).collect(),
                required_dsts: usize::from(self.vector),
                ..Signature::new([], [Address, Elements(ty, self.vector)])
            },
            Op::Atom => Signature::new([ty], [Address, value]),
            Op::Red if self.vector > 1 => Signature::new([], [Address, Elements(ty, self.vector)]),
            Op::Red => Signature::new([], [Address, value]),
            Op::Tex1d => Signature::new([], [Texture, Value(self.src_ty)]).giving_texel(ty),
            Op::Tex2d => Signature::new([], [Texture, Value(self.src_ty), Value(self.src_ty)]).giving_texel(ty),
            Op::BarSync => {
                Signature::new([], []).with_optional_arg(Value(Type::U32)).with_optional_arg(Value(Type::U32))
            }
            Op::BarArrive => Signature::new([], [Value(Type::U32), Value(Type::U32)]),
            Op::BarPopc | Op::BarAnd | Op::BarOr => Signature::new([ty], [Predicate])
                .with_optional_arg(Value(Type::U32))
                .with_optional_arg(Value(Type::U32)),
            Op::BarWarp => Signature::new([], []).with_optional_arg(Value(Type::B32)),
            Op::Membar => Signature::new([], []),
            Op::Nanosleep => Signature::new([], [Value(Type::U32)]),
            Op::VoteAll | Op::VoteAny | Op::VoteUni => with_members(self, Signature::new([Type::Pred], [Predicate])),
            Op::VoteBallot => with_members(self, Signature::new([Type::B32], [Predicate])),
            Op::ShflIdx | Op::ShflUp | Op::ShflDown | Op::ShflBfly => Signature::new([ty], [value, Value(Type::U32)])
                .with_optional_dst(Type::Pred)
                .with_optional_arg(Value(Type::U32))
                .with_optional_arg(Value(Type::B32)),
            Op::MatchAny => with_members(self, Signature::new([Type::B32], [value])),
            Op::MatchAll => with_members(self, Signature::new([Type::B32], [value]).with_optional_dst(Type::Pred)),
            Op::Activemask => Signature::new([Type::B32], []),
            Op::Redux => with_members(self, Signature::new([ty], [value])),
            Op::In => Signature::new([ty], [Input]),
            Op::Work => Signature { rest: Some(Any(ty)), ..Signature::new([ty], [Cycles]) },
            Op::Call | Op::CallTo => Signature { rest: Some(Any(ty)), ..Signature::new([], []).with_optional_dst(ty) },
            Op::Read => Signature::new([ty], [Special]),
            Op::Trap => Signature::new([], []),
            // Its destinations are as many as it has, of the types that they have.
            Op::Ptx => Signature { rest: Some(Kept), ..Signature::new([], []) },
            Op::Br | Op::Exit => Signature::new([], []),
            Op::BrIf => Signature::new([], [Predicate]),
            Op::Switch => Signature::new([], [Value(Type::U32)]),
            Op::Ret => Signature::new([], []).with_optional_arg(Any(ty)),
        }
    }

    /// The shape of a `mov` that packs `parts` registers into one (`packs`) or unpacks one into `parts`. `None` where
    /// the width cannot be shared out evenly into 8 bits or more.
    pub fn packing_signature(self, parts: usize, packs: bool) -> Option<Signature> {
        if self.op != Op::Mov || !matches!(parts, 2 | 4) {
            return None;
        }
        let part = self.ty.as_bits().with_bits(self.ty.bits() / parts as u32)?;
        if part.bits() < 8 {
            return None;
        }
        Some(if packs {
            Signature::new([self.ty], [ArgKind::Elements(part, parts as u8)])
        } else {
            Signature {
                dsts: (0..parts).map(|_| DstKind { ty: part, may_be_wider: false }).collect(),
                required_dsts: parts,
                ..Signature::new([], [ArgKind::Value(self.ty)])
            }
        })
    }
}

impl InstData {
    /// The shape that this instruction should have: the opcode's, or for a packing or unpacking `mov` that one's.
    pub fn signature(&self) -> Signature {
        if self.opcode.op == Op::Mov {
            let packed = match self.args.first() {
                Some(Operand::List(elements)) => self.opcode.packing_signature(elements.len(), true),
                _ if self.dsts.len() > 1 => self.opcode.packing_signature(self.dsts.len(), false),
                _ => None,
            };
            if let Some(signature) = packed {
                return signature;
            }
        }
        self.opcode.signature()
    }

    /// The operand that names one of a block's barriers, if it has one.
    pub fn barrier_operand(&self) -> Option<usize> {
        // What is asked of the threads comes before it, if anything is.
        let op = self.opcode.op;
        let index = usize::from(!matches!(op, Op::BarSync | Op::BarArrive));
        ((op.is_block_barrier() || op == Op::BarArrive) && index < self.args.len()).then_some(index)
    }

    /// May a constant stand where a register of its operand number `index` stands? A register may hold the number of a
    /// barrier that there is not.
    pub fn takes_constant(&self, index: usize, bits: u64) -> bool {
        bits < BARRIERS || self.barrier_operand() != Some(index)
    }

    /// Returns the kind of operand number `index`. Quicker than [`InstData::signature`] for the many opcodes
    /// whose operands are all values of one type.
    pub fn arg_kind(&self, index: usize) -> Option<ArgKind> {
        match self.opcode.op {
            Op::Add | Op::Sub | Op::Mul | Op::Mad | Op::Fma | Op::Min | Op::Max | Op::And | Op::Or | Op::Xor => {
                Some(ArgKind::Value(self.opcode.ty))
            }
            _ => self.signature().arg(index),
        }
    }
}

/// Adds the carry out of the `.cc` forms.
fn with_carry(opcode: Opcode, signature: Signature) -> Signature {
    if opcode.has(Flags::CC) {
        let signature = signature.with_optional_dst(Type::Pred);
        Signature { required_dsts: 2, ..signature }
    } else {
        signature
    }
}

/// Adds the member mask of the `.sync` forms; without `.sync` it may not stand there.
fn with_members(opcode: Opcode, signature: Signature) -> Signature {
    if opcode.has(Flags::SYNC) { signature.with_optional_arg(ArgKind::Value(Type::B32)) } else { signature }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_one_operand_is_that_of_the_whole_shape() {
        for &op in Op::ALL {
            for flags in [Flags::empty(), Flags::CC] {
                let data = InstData::new(Opcode { flags, ..Opcode::new(op, Type::U32) }, [], []);
                for (index, &kind) in data.signature().args.iter().enumerate() {
                    assert_eq!(data.arg_kind(index), Some(kind), "operand {index} of {}", op.name());
                }
            }
        }
    }
}
