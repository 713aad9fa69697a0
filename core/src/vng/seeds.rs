//! Seeds: the instructions whose names are followed.

use alloc::vec::Vec;

use crate::flow::Values;
use crate::ir::{Block, Function, Inst, Op};
use crate::names::{Name, NameTable};

/// Which instructions are seeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Seeds {
    /// Loads use values and generate them, stores generate them.
    #[default]
    Loads,
    /// Pure instructions with one destination, copies and comparisons aside.
    Arithmetic,
    /// Comparisons.
    Branches,
    /// All three.
    All,
}

/// Role of a seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It computes a value that may be known already, and makes it known.
    User,
    /// It makes a value known.
    Generator,
}

/// An instruction whose name is followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seed {
    /// Its block.
    pub block: Block,
    /// Its place in the block.
    pub index: u32,
    /// The instruction.
    pub inst: Inst,
    /// The name of what it computes or stores, without a negation.
    pub name: Name,
    /// Whether it computes the negation of the name.
    pub is_negated: bool,
    /// Its role.
    pub role: Role,
    /// Names of the elements that it makes known besides.
    pub elements: Vec<Name>,
}

/// The seeds of a function in the order of its reachable blocks, and how many guarded computations are none.
pub(super) fn collect(
    func: &Function,
    blocks: &[Block],
    values: &Values,
    table: &mut NameTable<'_>,
    kinds: Seeds,
) -> (Vec<Seed>, usize) {
    let (mut seeds, mut guarded) = (Vec::new(), 0);
    for &block in blocks {
        for (inst, index) in func.block_insts(block).zip(0..) {
            let Some(role) = role(func, inst, kinds) else { continue };
            if func.insts[inst].guard.is_some() {
                guarded += 1;
                continue;
            }
            let is_access = matches!(func.insts[inst].opcode.op, Op::Ld | Op::St);
            let name = match is_access {
                true => table.of_access(inst),
                false => values.defined(inst).first().map(|&value| table.of_value(value)),
            };
            // What is a constant or another value at once is known without a search.
            let Some(whole) = name else { continue };
            let name = table.without_negation(whole);
            if table.is_at_hand(name) {
                continue;
            }
            let is_vector = is_access && func.insts[inst].opcode.vector > 1;
            let elements = if is_vector { table.of_elements(inst).unwrap_or_default() } else { Vec::new() };
            seeds.push(Seed { block, index, inst, name, is_negated: name != whole, role, elements });
        }
    }
    (seeds, guarded)
}

/// The role of an instruction, guarded or not.
fn role(func: &Function, inst: Inst, kinds: Seeds) -> Option<Role> {
    let data = &func.insts[inst];
    let op = data.opcode.op;
    let (loads, arithmetic, branches) = match kinds {
        Seeds::Loads => (true, false, false),
        Seeds::Arithmetic => (false, true, false),
        Seeds::Branches => (false, false, true),
        Seeds::All => (true, true, true),
    };
    let is_pure = op.is_pure() && data.dsts.len() == 1 && !matches!(op, Op::Mov | Op::Cvta);
    match op {
        Op::Ld if loads => Some(Role::User),
        Op::St if loads => Some(Role::Generator),
        Op::Setp => (branches && is_pure).then_some(Role::User),
        _ => (arithmetic && is_pure).then_some(Role::User),
    }
}
