//! Which memory accesses may meet.
//!
//! ```text
//! kernel k(x: ptr.global restrict, y: ptr.global)
//! ld.global.f32 x[i]     st.global.f32 x[i]        must     the same bytes
//! ld.global.f32 x[i]     st.global.f32 x[i + 1]    no       the same object, other bytes
//! ld.global.f32 x[i]     st.global.f32 y[j]        no       x is restrict
//! ld.global.f32 y[i]     st.global.f32 y[j]        may
//! ```
//!
//! Three questions are asked in turn. *Space*: two different named spaces never meet; a generic access may go anywhere
//! but to `const` and `param`. *Object*: declared arrays and globals are different from each other; nothing but itself
//! reaches what a `restrict` pointer points to; other pointers may meet each other and globals, and in a kernel not the
//! shared and local arrays, which no caller can know. *Offset*: if the difference of two addresses is a constant, it
//! and the widths decide. Accesses outside their object are errors, so that objects need no bounds here.
//!
//! An address of unknown base may come from any pointer, a `restrict` one included, since it may have been computed
//! from it.
//!
//! What is said is about one thread, and about the accesses at one time: where the names in both addresses stand for
//! the same numbers. [`Moment::Any`] asks about any two executions, in different iterations of a loop say; then only
//! names that never change may be compared. Calls, barriers, accesses that others are ordered with and those that are
//! made anew each time are not judged by address: [`Effect`] says so.

mod bases;
mod classes;

use crate::flow::{Definition, ValueNames, Values};
use crate::ir::{FuncKind, Function, Inst, InstData, Module, Op, ParamType, Space, Symbol};
use crate::symbolic::{Affine, AffineNames, Atom, Base, SymbolicAddress};

pub(crate) use bases::{Bases, Definitions, Start};
pub use classes::{AliasClass, AliasClasses};

/// Do two accesses reach the same memory?
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Relation {
    /// No byte in common.
    No,
    /// Perhaps.
    May,
    /// Exactly the same bytes.
    Must,
}

/// Which executions of two instructions are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// Both while every value name stands for one number: in the same iteration of the loops around both.
    Same,
    /// Any execution of the one and any of the other.
    Any,
}

/// One memory access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// The space that it goes to; none for a generic access of which nothing more is known.
    pub space: Option<Space>,
    /// The address, where it could be written as a sum.
    pub address: Option<SymbolicAddress>,
    /// How many bytes, from the address on.
    pub bytes: u32,
    /// Does it read?
    pub reads: bool,
    /// Does it write?
    pub writes: bool,
}

/// Effect of an instruction on memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing. Texture reads count here: nothing writes textures.
    None,
    /// One access, which other instructions may be compared with.
    Access(Access),
    /// A volatile or relaxed access or an atomic: other accesses to the same memory keep their
    /// order with it, and it is neither removed nor repeated.
    Ordered(Access),
    /// It orders all memory (a barrier, a fence, an access that acquires), or may do anything to it (a call).
    Everything,
}

/// The alias analysis of one function.
#[derive(Clone, Copy)]
pub struct AliasAnalysis<'a> {
    func: &'a Function,
    objects: Objects<'a>,
    values: &'a dyn ValueNames,
    names: AffineNames<'a>,
}

impl<'a> AliasAnalysis<'a> {
    /// For a function of a module, through the sums that its addresses are.
    pub fn new(module: &'a Module, func: &'a Function, values: &'a Values, names: AffineNames<'a>) -> Self {
        AliasAnalysis::over(module, func, values, names)
    }

    /// Creates the analysis with names that were found in another way.
    pub fn over(module: &'a Module, func: &'a Function, values: &'a dyn ValueNames, names: AffineNames<'a>) -> Self {
        AliasAnalysis { func, objects: Objects { module, func }, values, names }
    }

    /// Effect of an instruction on memory.
    pub fn effect(self, inst: Inst) -> Effect {
        let data = &self.func.insts[inst];
        if !Self::may_have_effect(data) {
            return Effect::None;
        }
        match data.opcode.op {
            op if op.is_call() || op.orders_memory() => Effect::Everything,
            // What others have stored anywhere may be seen behind it.
            _ if data.opcode.acquires() => Effect::Everything,
            Op::Atom | Op::Red => self.access(inst).map_or(Effect::Everything, Effect::Ordered),
            Op::Ld | Op::St => match self.access(inst) {
                None => Effect::Everything,
                Some(access) if data.opcode.reads_anew() => Effect::Ordered(access),
                Some(access) => Effect::Access(access),
            },
            _ => Effect::None,
        }
    }

    /// Is an instruction one that [`AliasAnalysis::effect`] may have something to say about? Seen at its opcode.
    pub fn may_have_effect(data: &InstData) -> bool {
        let op = data.opcode.op;
        op.is_call() || op.orders_memory() || op.reads_memory() || op.writes_memory()
    }

    /// The access that a load, store or atomic makes.
    pub fn access(self, inst: Inst) -> Option<Access> {
        let data = &self.func.insts[inst];
        data.address()?;
        let address = self.names.address(inst);
        let space = data.opcode.space.or_else(|| self.objects.space(address.as_ref()?.base));
        Some(Access {
            space,
            address,
            bytes: data.opcode.ty.bytes() * u32::from(data.opcode.vector),
            reads: data.opcode.op.reads_memory(),
            writes: data.opcode.op.writes_memory(),
        })
    }

    /// The access of a load from an address that is no instruction's.
    pub fn load_from(self, space: Option<Space>, address: Option<Affine>, bytes: u32) -> Access {
        let address = address.map(|sum| self.names.split(sum));
        let space = space.or_else(|| self.objects.space(address.as_ref()?.base));
        Access { space, address, bytes, reads: true, writes: false }
    }

    /// May two accesses meet at that moment?
    pub fn relation(self, a: &Access, b: &Access, moment: Moment) -> Relation {
        if !spaces_meet(a.space, b.space) {
            return Relation::No;
        }
        let (Some(a_address), Some(b_address)) = (&a.address, &b.address) else { return Relation::May };
        if !self.objects.meet(a_address.base, b_address.base) {
            return Relation::No;
        }
        // Offsets count from one point only if the base is the same: unknown bases are all counted from zero.
        if a_address.base != b_address.base || a.space != b.space {
            return Relation::May;
        }
        let is_comparable = |offset: &Affine| moment == Moment::Same || self.never_changes(offset);
        if !is_comparable(&a_address.offset) || !is_comparable(&b_address.offset) {
            return Relation::May;
        }
        match b_address.offset.distance_from(&a_address.offset) {
            None => Relation::May,
            Some(0) if a.bytes == b.bytes => Relation::Must,
            Some(distance) if distance >= i64::from(a.bytes) || distance <= -i64::from(b.bytes) => Relation::No,
            Some(_) => Relation::May,
        }
    }

    /// Is the sum the same number whenever the thread computes it?
    fn never_changes(self, sum: &Affine) -> bool {
        sum.terms().iter().all(|(atom, _)| match atom {
            Atom::Symbol(_) | Atom::Special(_) => true,
            Atom::Value(value, _) => self.values.definition(*value) == Definition::Entry,
            Atom::Rounds(..) => false,
        })
    }
}

/// Objects that accesses are counted from, without their offsets.
#[derive(Clone, Copy)]
pub(crate) struct Objects<'a> {
    pub module: &'a Module,
    pub func: &'a Function,
}

impl Objects<'_> {
    /// May accesses to these objects meet, whatever their offsets?
    pub fn meet(self, a: Base, b: Base) -> bool {
        if a == b {
            return true;
        }
        if !spaces_meet(self.space(a), self.space(b)) {
            return false;
        }
        let is_restrict = |base: Base| {
            matches!(base, Base::Pointer(k)
                if matches!(self.func.params[k as usize].ty, ParamType::Pointer { restrict: true, .. }))
        };
        match (a, b) {
            (Base::Unknown, _) | (_, Base::Unknown) => true,
            (Base::Symbol(_), Base::Symbol(_)) => false,
            _ if is_restrict(a) || is_restrict(b) => false,
            (Base::Pointer(_), Base::Pointer(_)) => true,
            (Base::Pointer(_), Base::Symbol(symbol)) | (Base::Symbol(symbol), Base::Pointer(_)) => match symbol {
                Symbol::Global(_) => true,
                // The host that passes a kernel its pointers cannot know the addresses of its arrays.
                Symbol::Array(_) => self.func.kind == FuncKind::Func,
                Symbol::Param(_) => false,
            },
        }
    }

    /// The space that an object is in, where that is known.
    pub fn space(self, base: Base) -> Option<Space> {
        match base {
            Base::Symbol(Symbol::Global(global)) => Some(self.module.globals[global].space),
            Base::Symbol(Symbol::Array(array)) => Some(self.func.arrays[array].space),
            Base::Symbol(Symbol::Param(_)) => Some(Space::Param),
            Base::Pointer(k) => match self.func.params[k as usize].ty {
                ParamType::Pointer { space, .. } => space,
                _ => None,
            },
            Base::Unknown => None,
        }
    }
}

/// May accesses to these spaces (none is generic) meet?
fn spaces_meet(a: Option<Space>, b: Option<Space>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a == b,
        (None, Some(named)) | (Some(named), None) => !named.is_read_only(),
        (None, None) => true,
    }
}
