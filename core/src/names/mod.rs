//! Names: what is computed at a point, as an expression over the values that reach it.
//!
//! ```text
//! ld.global.s32 A[i]                 A[i]           a load, by the address that it reads
//! k = add.s32 i, 1                   i + 1          a sum, modulo 2^32
//! ld.global.s32 A[k]                 A[i + 1]       values in straight code are substituted at once
//! q = div.u32 k, n                   div.u32 i + 1, n
//! y = ld.global.u64 p[0]; ld y[2]    y[2], or *(p)[2] before the load of y
//! ```
//!
//! 1. A value that an unguarded instruction computes is taken apart: integer arithmetic becomes a
//!    sum ([`AffineNames`]), other pure work an operation over names, nested to a depth.
//! 2. Everything else is an atom: joins, parameters, loaded values, results of calls, guarded
//!    writes, and what depends on other lanes or on time.
//! 3. Names are interned: equal names are one number, and equal names at a point are one value.
//! 4. A name is moved backward by replacing atoms: a join by its argument along an edge, a loaded
//!    value by the memory that it was loaded from, that memory by what was stored there.
//! 5. Memory inside an address has a version, so that it is one number, as a value is.
//!
//! Sums of addresses have 64 bits, under the language's rule for overflow; other integer sums are
//! modulo 2^width, of either sign. Comparisons have one form up to a negation: `gt` and `ge` with
//! their operands exchanged, and of integers `le` and `ne` as the negations of `lt` and `eq`.
//! Operations on constants are folded.
//!
//! Cost: O(size) for each name, hashed. Limits: the depth of operations, the levels of memory, the
//! terms of a sum; a replacement that would exceed one has no name.

mod construction;
mod load_kind;
mod operations;
mod replacement;
mod text;

use core::hash::BuildHasher;

use cranelift_entity::{PrimaryMap, entity_impl};
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use smallvec::SmallVec;

use crate::alias::AliasClasses;
use crate::compact_sort::CompactSort;
use crate::flow::{Definition, Value, Values};
use crate::ir::{Block, Function, Inst, Opcode, ParamType, Special};
use crate::symbolic::{Affine, AffineNames, Atom, Extension, is_kept};
pub use load_kind::LoadKind;
pub use replacement::{Replaced, Replacement, VersionOf};
pub use text::NameText;

/// A name. Equal names at one point stand for equal values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(u32);
entity_impl!(Name, "name");

/// The expression that a name stands for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expression {
    /// A number of so many bits.
    Constant { number: u64, width: u32 },
    /// A special register that does not change.
    Special(Special),
    /// A value that is not taken apart.
    Value(Value),
    /// A sum, modulo 2^width.
    Sum { sum: Affine<Name>, width: u32 },
    /// A pure operation.
    Operation { opcode: Opcode, width: u32, args: Args },
    /// The negation of a predicate.
    Not(Name),
    /// The memory at an address of 64 bits.
    Load { kind: LoadKind, address: Name },
    /// The number that a load reads inside an address: `*(address)`.
    Memory { load: Name, version: MemoryVersion },
}

/// A stretch of a run over which memory at one address stays the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MemoryVersion {
    /// From the definition of the address on.
    First,
    /// From an instruction on that may change the memory.
    After(Inst),
    /// From the start of a block on into which edges bring several versions.
    Join(Block),
}

/// Operands of an operation.
pub type Args = SmallVec<[Name; 3]>;

/// A name's expression and what is asked of it often.
struct NameData {
    expression: Expression,
    /// Values that occur, each once, rising.
    values: SmallVec<[Value; 4]>,
    /// Memory that occurs, each once, rising.
    memories: SmallVec<[Name; 1]>,
    /// Operations one in the other.
    depth: u32,
    /// Loads one in the other.
    levels: u32,
}

/// Limits of the expressions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameLimits {
    /// Operations one in the other.
    pub depth: u32,
    /// Loads inside an address, one in the other.
    pub dereferences: u32,
}

/// All names of a function.
pub struct NameTable<'a> {
    func: &'a Function,
    values: &'a Values,
    sums: AffineNames<'a>,
    classes: &'a AliasClasses,
    limits: NameLimits,
    names: PrimaryMap<Name, NameData>,
    numbers: HashTable<Name>,
    hasher: DefaultHashBuilder,
    /// Names of values, by depth.
    of_values: HashMap<(Value, u32), Name>,
}

impl<'a> NameTable<'a> {
    /// A table without names.
    pub fn new(
        func: &'a Function,
        values: &'a Values,
        sums: AffineNames<'a>,
        classes: &'a AliasClasses,
        limits: NameLimits,
    ) -> NameTable<'a> {
        NameTable {
            func,
            values,
            sums,
            classes,
            limits,
            names: PrimaryMap::new(),
            numbers: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            of_values: HashMap::new(),
        }
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Are there no names?
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The expression of a name.
    pub fn expression(&self, name: Name) -> &Expression {
        &self.names[name].expression
    }

    /// The values that occur in a name, each once, rising.
    pub fn values_in(&self, name: Name) -> &[Value] {
        &self.names[name].values
    }

    /// The memory that occurs in a name, each once, rising.
    pub fn memories_in(&self, name: Name) -> &[Name] {
        &self.names[name].memories
    }

    /// The load and the version of a memory.
    pub fn as_memory(&self, name: Name) -> Option<(Name, MemoryVersion)> {
        match *self.expression(name) {
            Expression::Memory { load, version } => Some((load, version)),
            _ => None,
        }
    }

    /// Is a name a load of memory that nothing writes while the kernel runs?
    pub fn is_never_written(&self, name: Name) -> bool {
        matches!(self.expression(name), Expression::Load { kind, .. } if kind.is_never_written())
    }

    /// The memory of a load, in a version.
    pub fn memory(&mut self, load: Name, version: MemoryVersion) -> Name {
        self.intern(Expression::Memory { load, version })
    }

    /// The number, if a name is one.
    pub fn as_constant(&self, name: Name) -> Option<u64> {
        match self.expression(name) {
            Expression::Constant { number, .. } => Some(*number),
            _ => None,
        }
    }

    /// The value, if a name is one alone.
    pub fn as_value(&self, name: Name) -> Option<Value> {
        match self.expression(name) {
            Expression::Value(value) => Some(*value),
            _ => None,
        }
    }

    /// Is a name a constant or one value alone, also that of a special register or the address of a symbol?
    pub fn is_at_hand(&self, name: Name) -> bool {
        match self.expression(name) {
            Expression::Constant { .. } | Expression::Value(_) | Expression::Special(_) => true,
            Expression::Sum { sum, .. } => matches!((sum.terms(), sum.offset()), ([(Atom::Symbol(_), 1)], 0)),
            _ => false,
        }
    }

    /// The name of a predicate or of its negation, whichever is not negated.
    pub fn without_negation(&self, name: Name) -> Name {
        if let Expression::Not(inner) = *self.expression(name) { inner } else { name }
    }

    /// A number.
    fn constant(&mut self, number: u64, width: u32) -> Name {
        let number = if width < 64 { number & ((1 << width) - 1) } else { number };
        self.intern(Expression::Constant { number, width })
    }

    /// A name as a term of a sum: of the same width a sum itself, a constant extended, everything else an atom.
    fn as_sum(&self, name: Name, extension: Extension, width: u32) -> Affine<Name> {
        let own = self.width(name);
        let extension = match self.expression(name) {
            Expression::Constant { number, width: own } => return Affine::constant(extension.extend(*number, *own)),
            Expression::Sum { sum, .. } if own == width => return sum.clone(),
            Expression::Special(special) if own >= width || is_kept(*special, own, extension) => {
                return Affine::atom(Atom::Special(*special));
            }
            Expression::Value(value) if own < width => match self.sums.atom(*value, own, extension) {
                Atom::Value(_, extension) => extension,
                _ => extension,
            },
            _ if own >= width => Extension::Zero,
            _ => extension,
        };
        Affine::atom(Atom::Value(name, extension))
    }

    /// Is a value a pointer that the function was given?
    fn is_pointer(&self, value: Value) -> bool {
        let param = self.func.param_of(self.values.reg(value));
        self.values.definition(value) == Definition::Entry
            && param.is_some_and(|param| matches!(param.ty, ParamType::Pointer { .. }))
    }

    /// The bits that a name has.
    fn width(&self, name: Name) -> u32 {
        match self.expression(name) {
            Expression::Constant { width, .. } | Expression::Sum { width, .. } => *width,
            Expression::Special(special) => special.ty().bits(),
            Expression::Value(value) => self.func.reg_types[self.values.reg(*value)].bits(),
            Expression::Operation { width, .. } => *width,
            Expression::Not(_) => 1,
            Expression::Load { kind, .. } => kind.width,
            Expression::Memory { load, .. } => self.width(*load),
        }
    }

    /// The name of a sum, which is a constant or a name alone where it has no more to it.
    fn sum(&mut self, sum: Affine<Name>, width: u32) -> Name {
        let sum = if width < 64 { sum.modulo(width) } else { sum };
        if let Some(constant) = sum.as_constant() {
            return self.constant(constant as u64, width);
        }
        if let ([(atom, 1)], 0) = (sum.terms(), sum.offset()) {
            match *atom {
                Atom::Value(name, _) if self.width(name) == width => return name,
                Atom::Special(special) if special.ty().bits() == width => {
                    return self.intern(Expression::Special(special));
                }
                _ => {}
            }
        }
        self.intern(Expression::Sum { sum, width })
    }

    /// The number of an expression.
    fn intern(&mut self, expression: Expression) -> Name {
        let hash = self.hasher.hash_one(&expression);
        if let Some(&known) = self.numbers.find(hash, |&name| self.names[name].expression == expression) {
            return known;
        }
        let mut values: SmallVec<[Value; 4]> = SmallVec::new();
        let mut memories: SmallVec<[Name; 1]> = SmallVec::new();
        let (mut depth, mut levels) = (0, 0);
        let mut visit = |name: Name| {
            let inner = &self.names[name];
            values.extend_from_slice(&inner.values);
            memories.extend_from_slice(&inner.memories);
            (depth, levels) = (depth.max(inner.depth), levels.max(inner.levels));
        };
        match &expression {
            Expression::Constant { .. } | Expression::Special(_) => {}
            Expression::Value(value) => values.push(*value),
            Expression::Sum { sum, .. } => sum.terms().iter().for_each(|(atom, _)| {
                if let Atom::Value(name, _) = atom {
                    visit(*name);
                }
            }),
            Expression::Operation { args, .. } => {
                args.iter().for_each(|&arg| visit(arg));
                depth += 1;
            }
            Expression::Not(inner) => visit(*inner),
            Expression::Load { address, .. } => {
                visit(*address);
                levels += 1;
            }
            Expression::Memory { load, .. } => {
                visit(*load);
                memories.push(self.names.next_key());
            }
        }
        values.compact_sort();
        values.dedup();
        memories.compact_sort();
        memories.dedup();
        let name = self.names.push(NameData { expression, values, memories, depth, levels });
        let hash_of = |&name: &Name| self.hasher.hash_one(&self.names[name].expression);
        self.numbers.insert_unique(hash, name, hash_of);
        name
    }
}
