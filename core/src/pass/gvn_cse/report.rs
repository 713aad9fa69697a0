//! What the walk tells of its value table, where somebody listens.
//!
//! ```text
//! x = add.u32 a, b      held v1: parameter, by a
//!                       held v2: parameter, by b
//!                       held v3: add.u32 v1, v2, by x
//! ```
//!
//! What instructions compute is told where the walk meets them, and whatever else has a number (a parameter, a join, a
//! constant in a register) before it is first mentioned. Numbers are told in the order in which they come, without the
//! gaps that keys leave which nobody sees.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::packed_option::PackedOption;

use super::commoning::Commoning;
use crate::flow::{Definition, Value};
use crate::ir::{Block, Function, Inst, InstData, Module, Op, Operand, Reg};
use crate::text::expression_text;
use crate::value_table::{Holder, TableEvent};
use crate::view::{Listener, View};

/// What has been told of a table.
pub(super) struct Report {
    /// By number: the number that is shown; 0 for what has not been told. Empty where nobody listens.
    shown: Vec<u32>,
    /// By shown number: the outermost block for which it was told.
    told: Vec<PackedOption<Block>>,
    /// The tree of dominators that the walk is in.
    root: PackedOption<Block>,
}

impl Report {
    /// Of a walk over values with so many numbers.
    pub fn new<S: Listener>(numbers: usize) -> Report {
        let shown = if S::LISTENS { vec![0; numbers] } else { Vec::new() };
        Report { shown, told: vec![None.into()], root: None.into() }
    }

    /// A number as it is shown.
    pub fn shown(&self, number: u32) -> u64 {
        u64::from(self.shown.get(number as usize).copied().unwrap_or(number))
    }

    /// The walk comes to a block.
    pub fn open<S: Listener>(&mut self, view: &mut View<'_, S>, commoning: &Commoning<'_>, block: Block) {
        if commoning.dominators.parent(block).is_none() {
            self.root = block.into();
        }
        let reach = commoning.scope.top(block).or(self.root.expand()).unwrap_or(block);
        view.tell_table(|_| TableEvent::Opened { block, reach });
    }

    /// The walk leaves a block.
    pub fn close<S: Listener>(&mut self, view: &mut View<'_, S>, block: Block) {
        view.tell_table(|_| TableEvent::Closed { block });
    }

    /// What an instruction computes, in numbers, of which those are told that have not been.
    pub fn expression<S: Listener>(
        &mut self,
        view: &mut View<'_, S>,
        commoning: &Commoning<'_>,
        inst: Inst,
    ) -> Option<String> {
        if !S::LISTENS || view.func().insts[inst].dsts.is_empty() {
            return None;
        }
        let used = commoning.values.used(inst);
        used.iter().for_each(|&value| self.mention(view, commoning, value));
        let (module, func) = (view.module(), view.func());
        let mut data = func.insts[inst].clone();
        let numbers: Vec<(Reg, u32)> = (data.uses().iter().copied().zip(used))
            .filter_map(|(reg, &value)| Some((reg, self.shown[commoning.numbering.of_value(value)?.0 as usize])))
            .collect();
        let number = |reg: Reg| numbers.iter().find(|(known, _)| *known == reg).map(|&(_, number)| number);
        sort_operands(&mut data, &number);
        Some(expression_text(module, func, &data, &|reg| number(reg).map(|number| format!("v{number}"))))
    }

    /// An instruction's results are there from here on: the numbers from `first` on, or those of its values.
    pub fn results<S: Listener>(
        &mut self,
        view: &mut View<'_, S>,
        commoning: &Commoning<'_>,
        (block, inst): (Block, Inst),
        first: Option<u32>,
        expression: Option<String>,
    ) {
        let Some(expression) = expression else { return };
        for (index, &value) in commoning.values.defined(inst).iter().enumerate() {
            let number = match first {
                Some(first) => Some(first + index as u32),
                None => commoning.numbering.of_value(value).map(|number| number.0),
            };
            let Some(number) = number else { continue };
            let text = if index == 0 { expression.clone() } else { format!("{expression}, result {}", index + 1) };
            let name = name_of(view.func(), commoning.values.reg(value));
            self.hold(view, commoning, number, text, Holder { name, block, inst: Some(inst) });
        }
    }

    /// Tells of a value's number, if that has not been told where the walk stands.
    pub fn mention<S: Listener>(&mut self, view: &mut View<'_, S>, commoning: &Commoning<'_>, value: Value) {
        if let Some(number) = commoning.numbering.of_value(value) {
            self.mention_as(view, commoning, number.0, value);
        }
    }

    /// The same for a number that a value has.
    pub fn mention_as<S: Listener>(
        &mut self,
        view: &mut View<'_, S>,
        commoning: &Commoning<'_>,
        number: u32,
        value: Value,
    ) {
        let Commoning { values, dominators, .. } = *commoning;
        if !S::LISTENS {
            return;
        }
        let block = values.block(view.func(), value).or(self.root.expand());
        let told = self.told[self.shown[number as usize] as usize].expand();
        let is_told = told.zip(block).is_some_and(|(told, block)| dominators.dominates(told, block));
        if let Some(block) = block.filter(|_| !is_told) {
            let text = origin(view.module(), view.func(), commoning, value);
            let name = name_of(view.func(), values.reg(value));
            let inst = values.definition(value).inst();
            self.hold(view, commoning, number, text, Holder { name, block, inst });
        }
    }

    fn hold<S: Listener>(
        &mut self,
        view: &mut View<'_, S>,
        commoning: &Commoning<'_>,
        number: u32,
        expression: String,
        holder: Holder,
    ) {
        let shown = &mut self.shown[number as usize];
        if *shown == 0 {
            *shown = self.told.len() as u32;
            self.told.push(None.into());
        }
        let number = *shown;
        // Further down it is still told, and the scope further up is open for longer.
        let told = &mut self.told[number as usize];
        if !told.expand().is_some_and(|told| commoning.dominators.dominates(told, holder.block)) {
            *told = holder.block.into();
        }
        view.tell_table(|_| TableEvent::Held { number, expression, holder });
    }
}

/// Puts the operands of what commutes into the order in which the key has them.
fn sort_operands(data: &mut InstData, number: &impl Fn(Reg) -> Option<u32>) {
    if let [Operand::Reg(left), Operand::Reg(right), ..] = data.args[..]
        && data.opcode.op.is_commutative()
        && number(left) > number(right)
    {
        data.args.swap(0, 1);
    }
}

/// What stands for a value that no expression computes.
fn origin(module: &Module, func: &Function, commoning: &Commoning<'_>, mut value: Value) -> String {
    let values = commoning.values;
    loop {
        match values.definition(value) {
            Definition::Entry => return "parameter".to_string(),
            Definition::Join { block } => {
                return format!("join in {}", func.blocks[block].name);
            }
            Definition::Guarded { inst, .. } => {
                let guard = func.insts[inst].guard;
                let name = guard.map_or(String::new(), |guard| name_of(func, guard.reg));
                let sign = if guard.is_some_and(|guard| guard.negated) { "!" } else { "" };
                return format!("written under @{sign}{name}");
            }
            Definition::Inst { inst, .. } => {
                let data = &func.insts[inst];
                match (data.opcode.op, &data.args[..], values.operands(inst)) {
                    (Op::Mov, [Operand::Reg(_)], &[copied]) => value = copied,
                    _ => {
                        let text = expression_text(module, func, data, &|_| None);
                        let constant = text.split_once(' ').filter(|_| data.opcode.op == Op::Mov);
                        return constant.map_or(text.clone(), |(_, constant)| constant.to_string());
                    }
                }
            }
        }
    }
}

fn name_of(func: &Function, reg: Reg) -> String {
    func.regs[reg].name.clone()
}
