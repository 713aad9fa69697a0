//! Steps of the walk's value table for the trace, and the texts in them.
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

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::packed_option::PackedOption;

use super::commoning::Holder;
use super::eligibility::is_copy;
use super::expressions::Number;
use super::numbering::Numbering;
use super::scope::Scope;
use crate::graph::Dominators;
use crate::ir::{Block, Function, Inst, InstData, Op, Operand, Reg};
use crate::text::expression_text;
use crate::trace::{Holder as TableHolder, TableEvent};
use crate::view::View;

/// Reported part of a table.
pub(super) struct Report<'a> {
    dominators: &'a Dominators,
    scope: &'a Scope,
    /// Shown number of each number; 0 for those not reported.
    shown: Vec<u32>,
    /// Outermost block for which each shown number was reported.
    told: Vec<PackedOption<Block>>,
    /// The tree of dominators that the walk is in.
    root: PackedOption<Block>,
    /// The block that the walk came to last.
    at: PackedOption<Block>,
    /// Places where registers came to hold numbers, the last one last, and the meanings of the numbers. Empty while the
    /// trace is off.
    written: BTreeMap<(Reg, u32), Vec<Written>>,
}

/// How a register came to hold a number.
#[derive(Clone)]
struct Written {
    block: Block,
    inst: Option<Inst>,
    text: String,
}

impl<'a> Report<'a> {
    /// Starts the report of a walk.
    pub fn new(dominators: &'a Dominators, scope: &'a Scope) -> Report<'a> {
        let (shown, told) = (Vec::new(), vec![None.into()]);
        Report { dominators, scope, shown, told, root: None.into(), at: None.into(), written: BTreeMap::new() }
    }

    /// A number as it is shown; 0 for one that is not.
    pub fn shown(&self, number: Number) -> u64 {
        u64::from(self.shown.get(number.0 as usize).copied().unwrap_or(0))
    }

    /// The walk comes to a block.
    pub fn open(&mut self, view: &mut View<'_>, block: Block) {
        if self.dominators.parent(block).is_none() {
            self.root = block.into();
        }
        self.at = block.into();
        let reach = self.scope.top(block).or(self.root.expand()).unwrap_or(block);
        view.record_table(|_| TableEvent::Opened { block, reach });
    }

    /// The walk leaves a block.
    pub fn close(&mut self, view: &mut View<'_>, block: Block) {
        view.record_table(|_| TableEvent::Closed { block });
    }

    /// Definitions of a register meet at the beginning of a block.
    pub fn note_join(&mut self, view: &View<'_>, block: Block, holder: Holder) {
        if view.is_traced() {
            let text = format!("join in {}", view.func().blocks[block].name);
            self.note(holder, Written { block, inst: None, text });
        }
    }

    /// Expression of an instruction, in numbers, of which new ones are reported.
    pub fn expression(&mut self, view: &mut View<'_>, numbering: &Numbering<'_>, inst: Inst) -> Option<String> {
        if !view.is_traced() {
            return None;
        }
        let mut data = view.func().insts[inst].clone();
        let mut numbers: Vec<(Reg, u64)> = Vec::new();
        for &reg in &data.uses() {
            if let Some(number) = numbering.held(reg) {
                self.mention(view, reg, number);
                numbers.push((reg, self.shown(number)));
            }
        }
        let (module, func) = (view.module(), view.func());
        let number = |reg: Reg| numbers.iter().find(|(known, _)| *known == reg).map(|&(_, number)| number);
        sort_operands(&mut data, &number);
        Some(expression_text(module, func, &data, &|reg| number(reg).map(|number| format!("v{number}"))))
    }

    /// A register holds a result of an instruction from here on, whose number is `first` if it may be replaced. Comes
    /// with the result's index and what the instruction computes.
    #[inline]
    pub fn note_write(
        &mut self,
        view: &mut View<'_>,
        block: Block,
        holder: Holder,
        first: Option<Number>,
        (index, expression): (u32, &Option<String>),
    ) {
        if !view.is_traced() {
            return;
        }
        let (Some(expression), Ok(inst)) = (expression, holder.maker.place()) else { return };
        let (module, func) = (view.module(), view.func());
        let data = &func.insts[inst];
        let name = name_of(func, holder.reg);
        let text = match (data.guard, &data.args[..]) {
            (Some(guard), _) => {
                let sign = if guard.negated { "!" } else { "" };
                format!("written under @{sign}{}", name_of(func, guard.reg))
            }
            (None, [Operand::Reg(copied)]) if data.opcode.op == Op::Mov => {
                let written = self.written.get(&(*copied, holder.number.0)).and_then(|written| written.last());
                written.map_or("parameter".to_string(), |written| written.text.clone())
            }
            _ => {
                let text = expression_text(module, func, data, &|_| None);
                let constant = text.split_once(' ').filter(|_| data.opcode.op == Op::Mov);
                constant.map_or(text.clone(), |(_, constant)| constant.to_string())
            }
        };
        let is_copy = is_copy(data);
        self.note(holder, Written { block, inst: Some(inst), text });
        if first.is_some() || !is_copy {
            let number = first.unwrap_or(holder.number);
            let text = if index == 0 { expression.clone() } else { format!("{expression}, result {}", index + 1) };
            self.hold(view, number, text, TableHolder { name, block, inst: Some(inst) });
        }
    }

    /// A register holds a number from here on.
    fn note(&mut self, holder: Holder, written: Written) {
        self.written.entry((holder.reg, holder.number.0)).or_default().push(written);
    }

    /// Tells of the number that a register holds, if that has not been told where the walk stands.
    fn mention(&mut self, view: &mut View<'_>, reg: Reg, number: Number) {
        let (Some(root), Some(at)) = (self.root.expand(), self.at.expand()) else { return };
        // What was written in a block that the walk has left is not what the register holds here.
        if let Some(written) = self.written.get_mut(&(reg, number.0)) {
            let dominators = self.dominators;
            while written.pop_if(|written| !dominators.dominates(written.block, at)).is_some() {}
        }
        let on_entry = || Written { block: root, inst: None, text: "parameter".to_string() };
        let written = self.written.get(&(reg, number.0)).and_then(|written| written.last());
        let written = written.cloned().unwrap_or_else(on_entry);
        let told = self.told[self.shown(number) as usize].expand();
        if !told.is_some_and(|told| self.dominators.dominates(told, written.block)) {
            let Written { block, inst, text } = written;
            let name = name_of(view.func(), reg);
            self.hold(view, number, text, TableHolder { name, block, inst });
        }
    }

    /// Reports the holder of a number, maybe together with something else.
    pub fn mention_holder(&mut self, view: &mut View<'_>, number: Number, holder: Holder) {
        if view.is_traced() && holder.number == number {
            self.mention(view, holder.reg, number);
        }
    }

    fn hold(&mut self, view: &mut View<'_>, number: Number, expression: String, holder: TableHolder) {
        let place = number.0 as usize;
        if place >= self.shown.len() {
            self.shown.resize(place + 1, 0);
        }
        let shown = &mut self.shown[place];
        if *shown == 0 {
            *shown = self.told.len() as u32;
            self.told.push(None.into());
        }
        let number = *shown;
        // Further down it is still told, and the scope further up is open for longer.
        let told = &mut self.told[number as usize];
        if !told.expand().is_some_and(|told| self.dominators.dominates(told, holder.block)) {
            *told = holder.block.into();
        }
        view.record_table(|_| TableEvent::Held { number, expression, holder });
    }
}

/// Puts the operands of what commutes into the order in which the key has them.
fn sort_operands(data: &mut InstData, number: &impl Fn(Reg) -> Option<u64>) {
    if let [Operand::Reg(left), Operand::Reg(right), ..] = data.args[..]
        && data.opcode.op.is_commutative()
        && number(left) > number(right)
    {
        data.args.swap(0, 1);
    }
}

fn name_of(func: &Function, reg: Reg) -> String {
    func.regs[reg].name.clone()
}
