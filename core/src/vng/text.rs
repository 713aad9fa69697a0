//! Names of a value name graph as text, over the registers that hold their atoms.

use alloc::format;
use alloc::string::String;

use super::{Foundation, ValueNameGraph, Vertex};
use crate::flow::Value;
use crate::ir::{Block, Function, Inst, Module};
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
}

impl Names<'_, '_> {
    /// The label of a block.
    pub fn label(&self, block: Block) -> String {
        self.func.blocks[block].name.clone()
    }

    /// A name over the registers before an instruction, or before the end of a block.
    pub fn at(&self, name: Name, block: Block, before: Option<Inst>) -> String {
        let values = self.foundation.values();
        let register = |value: Value| {
            let reg = values.reg(value);
            let held = match before {
                Some(inst) => values.before(self.func, inst, reg),
                None => values.at_end(block, reg),
            };
            let name = &self.func.regs[reg].name;
            match held == Some(value) {
                true => name.clone(),
                false => {
                    let made = values.block(self.func, value).map_or("entry", |block| &self.func.blocks[block].name);
                    format!("{name}@{made}")
                }
            }
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
