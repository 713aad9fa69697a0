//! Names of a value name graph as text, over the registers that hold their atoms.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;

use super::{Foundation, ValueNameGraph, Vertex};
use crate::flow::Value;
use crate::ir::{Block, Function, Inst, Module, Op};
use crate::names::{Name, NameText};

/// Writes the names of a graph at points of its function.
pub struct Names<'g, 'a> {
    /// The program.
    pub module: &'g Module,
    /// The function.
    pub func: &'g Function,
    /// Its analyses.
    pub foundation: &'g Foundation<'a>,
    /// Its graph.
    pub graph: &'g ValueNameGraph<'g>,
    /// Values that copy each value, directly or over other copies.
    copies: SecondaryMap<Value, Vec<Value>>,
}

impl<'g, 'a> Names<'g, 'a> {
    /// The names of a graph.
    pub fn new(
        module: &'g Module,
        func: &'g Function,
        foundation: &'g Foundation<'a>,
        graph: &'g ValueNameGraph<'g>,
    ) -> Names<'g, 'a> {
        let values = foundation.values();
        let mut copies: SecondaryMap<Value, Vec<Value>> = SecondaryMap::new();
        let mut originals: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
        // A definition is visited before the copies of it, which it dominates.
        for inst in foundation.cfg().reverse_postorder().iter().flat_map(|&block| func.block_insts(block)) {
            let data = &func.insts[inst];
            let is_copy = data.opcode.op == Op::Mov && data.guard.is_none();
            let (&[read], &[written]) = (values.operands(inst), values.defined(inst)) else { continue };
            let width = |value: Value| func.reg_types[values.reg(value)].bits();
            if is_copy && width(read) == data.opcode.ty.bits() && width(written) == data.opcode.ty.bits() {
                let original = originals[read].unwrap_or(read);
                originals[written] = Some(original);
                copies[original].push(written);
            }
        }
        Names { module, func, foundation, graph, copies }
    }
}

impl Names<'_, '_> {
    /// The label of a block.
    pub fn label(&self, block: Block) -> String {
        self.func.blocks[block].name.clone()
    }

    /// A name over the registers before an instruction, or before the end of a block.
    pub fn at(&self, name: Name, block: Block, before: Option<Inst>) -> String {
        let values = self.foundation.values();
        let is_held = |value: &Value| {
            let held = match before {
                Some(inst) => values.before(self.func, inst, values.reg(*value)),
                None => values.at_end(block, values.reg(*value)),
            };
            held == Some(*value)
        };
        let name_of = |value: Value| &self.func.regs[values.reg(value)].name;
        let register = |value: Value| {
            let mut holders = core::iter::once(value).chain(self.copies[value].iter().copied());
            holders.find(is_held).map_or_else(
                || {
                    let made = values.block(self.func, value).map_or("entry", |block| &self.func.blocks[block].name);
                    format!("{}@{made}", name_of(value))
                },
                |holder| name_of(holder).clone(),
            )
        };
        NameText { table: &self.graph.names, module: self.module, register: &register }.text(name)
    }

    /// The name of a class at a vertex: of those that hold there, the one that holds from the earliest point on.
    pub fn of_vertex(&self, vertex: Vertex) -> String {
        let data = &self.graph.graph.vertices[vertex];
        let first = self.foundation.instruction(data.block, data.place);
        let ValueNameGraph { classes, threads, .. } = self.graph;
        let name = classes.first_name(self.foundation.shape(), threads, data.class, (data.block, data.place));
        let name = name.map(|(name, _)| name).or_else(|| classes.members(data.class).first().copied());
        name.map_or_else(String::new, |name| self.at(name, data.block, first))
    }
}
