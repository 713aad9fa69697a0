//! Events of the value table: scopes that open and close, and registers that come to hold numbers.
//!
//! ```text
//! x = add.u32 a, b      held v1: parameter, by a
//!                       held v2: parameter, by b
//!                       held v3: add.u32 v1, v2, by x
//! ```
//!
//! The result of an instruction is recorded at the instruction; parameters, joins and constants in
//! registers before the first instruction that reads them. Numbers are shown in the order of their
//! events, without gaps.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;

use super::commoning::Holder;
use super::eligibility::is_copy;
use super::expressions::Number;
use super::numbers::ValueNumbers;
use super::scope::Scope;
use crate::flow::{Definition, Value, Values};
use crate::graph::Dominators;
use crate::ir::{Block, Function, Inst, InstData, Module, Op, Operand, Reg};
use crate::text::expression_text;
use crate::trace::{Holder as TableHolder, TableEvent};
use crate::view::View;

/// The events so far.
pub(super) struct Report<'a> {
    dominators: &'a Dominators,
    scope: &'a Scope,
    /// The shown numbers; 0 for numbers without events.
    shown: Vec<u32>,
    /// The outermost block with an event, by shown number.
    recorded: Vec<PackedOption<Block>>,
    /// Root of the open block in the dominator tree.
    root: PackedOption<Block>,
}

impl<'a> Report<'a> {
    /// No events.
    pub fn new(dominators: &'a Dominators, scope: &'a Scope) -> Report<'a> {
        Report { dominators, scope, shown: Vec::new(), recorded: vec![None.into()], root: None.into() }
    }

    /// The shown number of a number; 0 before its first event.
    pub fn shown(&self, number: Number) -> u64 {
        u64::from(self.shown.get(number.index()).copied().unwrap_or(0))
    }

    /// Records that the scope of a block opens.
    pub fn open(&mut self, view: &mut View<'_>, block: Block) {
        if self.dominators.parent(block).is_none() {
            self.root = block.into();
        }
        let reach = self.scope.top(block).or(self.root.expand()).unwrap_or(block);
        view.record_table(|_| TableEvent::Opened { block, reach });
    }

    /// Records that the scope of a block closes.
    pub fn close(&mut self, view: &mut View<'_>, block: Block) {
        view.record_table(|_| TableEvent::Closed { block });
    }

    /// The expression of an instruction over shown numbers. Records the values that it reads.
    pub fn expression(&mut self, view: &mut View<'_>, numbers: &ValueNumbers, inst: Inst) -> Option<String> {
        if !view.is_traced() {
            return None;
        }
        let mut data = view.func().insts[inst].clone();
        let mut known: Vec<(Reg, u64)> = Vec::new();
        for (&reg, &value) in data.uses().iter().zip(numbers.values().used(inst)) {
            if let Some(number) = numbers.of_value(value) {
                self.mention(view, numbers, value);
                known.push((reg, self.shown(number)));
            }
        }
        let (module, func) = (view.module(), view.func());
        let number = |reg: Reg| known.iter().find(|(known, _)| *known == reg).map(|&(_, number)| number);
        sort_operands(&mut data, &number);
        Some(expression_text(module, func, &data, &|reg| number(reg).map(|number| format!("v{number}"))))
    }

    /// Records a result of an instruction, which has the number `result` if it may be replaced.
    /// Comes with the result's index and the instruction's expression.
    pub fn note_write(
        &mut self,
        view: &mut View<'_>,
        numbers: &ValueNumbers,
        holder: Holder,
        result: Option<Number>,
        (index, expression): (usize, &str),
    ) {
        let Some(inst) = holder.inst else { return };
        let number = match result {
            None if is_copy(&view.func().insts[inst]) => return,
            None => numbers.of_value(holder.value),
            result => result,
        };
        let text = if index == 0 { expression.into() } else { format!("{expression}, result {}", index + 1) };
        let name = view.func().regs[numbers.values().reg(holder.value)].name.clone();
        if let Some(number) = number {
            self.hold(view, number, text, TableHolder { name, block: holder.block, inst: Some(inst) });
        }
    }

    /// Records the number of a value, if its definition has not been recorded for a block that
    /// dominates it.
    pub fn mention(&mut self, view: &mut View<'_>, numbers: &ValueNumbers, value: Value) {
        let (Some(root), Some(number)) = (self.root.expand(), numbers.of_value(value)) else { return };
        let (values, func) = (numbers.values(), view.func());
        let block = values.block(func, value).unwrap_or(root);
        let recorded = self.recorded[self.shown(number) as usize].expand();
        if !view.is_traced() || recorded.is_some_and(|recorded| self.dominators.dominates(recorded, block)) {
            return;
        }
        let text = origin(view.module(), func, values, value);
        let name = func.regs[values.reg(value)].name.clone();
        let inst = values.definition(value).inst();
        self.hold(view, number, text, TableHolder { name, block, inst });
    }

    fn hold(&mut self, view: &mut View<'_>, number: Number, expression: String, holder: TableHolder) {
        let place = number.index();
        if place >= self.shown.len() {
            self.shown.resize(place + 1, 0);
        }
        let shown = &mut self.shown[place];
        if *shown == 0 {
            *shown = self.recorded.len() as u32;
            self.recorded.push(None.into());
        }
        let number = *shown;
        // The event of an outer scope counts for all inner ones.
        let recorded = &mut self.recorded[number as usize];
        if !recorded.expand().is_some_and(|recorded| self.dominators.dominates(recorded, holder.block)) {
            *recorded = holder.block.into();
        }
        view.record_table(|_| TableEvent::Held { number, expression, holder });
    }
}

/// Sorts commuting operands by their shown numbers.
fn sort_operands(data: &mut InstData, number: &impl Fn(Reg) -> Option<u64>) {
    if let [Operand::Reg(left), Operand::Reg(right), ..] = data.args[..]
        && data.opcode.op.is_commutative()
        && number(left) > number(right)
    {
        data.args.swap(0, 1);
    }
}

/// The origin of a value that no replaceable instruction computes.
fn origin(module: &Module, func: &Function, values: &Values, mut value: Value) -> String {
    loop {
        match values.definition(value) {
            Definition::Entry => return "parameter".into(),
            Definition::Join { block } => return format!("join in {}", func.blocks[block].name),
            Definition::Guarded { inst, .. } => {
                let guard = func.insts[inst].guard.map(|guard| (guard.negated, &func.regs[guard.reg].name));
                let (negated, name) = guard.map_or((false, ""), |(negated, name)| (negated, name.as_str()));
                return format!("written under @{}{name}", if negated { "!" } else { "" });
            }
            Definition::Inst { inst, .. } => {
                let data = &func.insts[inst];
                match (data.opcode.op, &data.args[..], values.operands(inst)) {
                    (Op::Mov, [Operand::Reg(_)], &[source]) => value = source,
                    (op, ..) => {
                        let text = expression_text(module, func, data, &|_| None);
                        let constant = text.split_once(' ').filter(|_| op == Op::Mov);
                        return constant.map_or(text.clone(), |(_, constant)| constant.into());
                    }
                }
            }
        }
    }
}
