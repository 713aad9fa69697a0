//! Definitions of a name's atoms: values and versions of memory, and the latest of them.

use cranelift_entity::SecondaryMap;

use super::threads::Shape;
use crate::flow::{Definition, Value};
use crate::ir::{Block, Inst};
use crate::names::{MemoryVersion, Name, NameTable};

/// The place of a definition. Of the definitions of one name's atoms each dominates the later ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Latest {
    /// Depth of the block in the dominator tree.
    depth: u32,
    /// The block.
    pub block: Block,
    /// 0 for joins, else one more than the place of the instruction in the block.
    pub place: u32,
}

/// The meaning of a name's latest definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LatestDefinition {
    /// Joins of a block, of values or of memory.
    Joins(Block),
    /// An instruction that gives an atom its value.
    Value(Value),
    /// An instruction that may change memory in the name, and gives no atom its value.
    Change(Inst),
}

/// The places of all definitions of a function.
pub struct AtomDefinitions<'a> {
    shape: Shape<'a>,
    /// Place of each instruction in its block.
    places: SecondaryMap<Inst, u32>,
}

impl<'a> AtomDefinitions<'a> {
    /// The definitions of a function.
    pub fn new(shape: Shape<'a>) -> AtomDefinitions<'a> {
        let mut places = SecondaryMap::new();
        for block in shape.func.block_order() {
            shape.func.block_insts(block).zip(0..).for_each(|(inst, place)| places[inst] = place);
        }
        AtomDefinitions { shape, places }
    }

    /// The latest definition of an atom in a name. None if all are given on entry.
    pub fn latest(&self, table: &NameTable<'_>, name: Name) -> Option<(Latest, LatestDefinition)> {
        let Shape { func, values, .. } = self.shape;
        let of_values = table.values_in(name).iter().filter_map(|&value| {
            Some(match values.definition(value) {
                Definition::Entry => return None,
                Definition::Join { block } => (self.start(block), LatestDefinition::Joins(block)),
                Definition::Inst { inst, .. } | Definition::Guarded { inst, .. } => {
                    (self.after(inst, func.inst_block(inst)?), LatestDefinition::Value(value))
                }
            })
        });
        let of_memory = table.memories_in(name).iter().filter_map(|&memory| {
            Some(match table.as_memory(memory)?.1 {
                MemoryVersion::First => return None,
                MemoryVersion::Join(block) => (self.start(block), LatestDefinition::Joins(block)),
                MemoryVersion::After(inst) => {
                    (self.after(inst, func.inst_block(inst)?), LatestDefinition::Change(inst))
                }
            })
        });
        // Where an instruction does both, the value counts.
        of_memory.chain(of_values).max_by_key(|&(latest, _)| latest)
    }

    /// The point before an instruction.
    pub fn before(&self, inst: Inst) -> Option<(Block, u32)> {
        Some((self.shape.func.inst_block(inst)?, self.places[inst]))
    }

    fn start(&self, block: Block) -> Latest {
        Latest { depth: self.shape.dominators.depth(block), block, place: 0 }
    }

    fn after(&self, inst: Inst, block: Block) -> Latest {
        Latest { depth: self.shape.dominators.depth(block), block, place: self.places[inst] + 1 }
    }
}
