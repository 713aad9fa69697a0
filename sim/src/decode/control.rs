//! Decodes branches, calls and returns.

use alloc::vec::Vec;

use super::instruction::{Decoder, Refusal};
use super::operands::Frame;
use super::{CallSite, DecodedInst, Kind, RetSite, SwitchSite, Value};
use crate::ir::{Block, InstData, Op, Type};
use crate::lanes::Slots;

impl Decoder<'_, '_> {
    fn target(&self, block: Block) -> Result<u32, Refusal> {
        self.builder.block_pcs[self.index].get(&block).copied().ok_or("the target is not a block of the function")
    }

    fn targets(&self, data: &InstData) -> Result<Vec<u32>, Refusal> {
        data.targets().iter().map(|&block| self.target(block)).collect()
    }

    pub(super) fn control(&mut self, data: &InstData, decoded: &mut DecodedInst) -> Result<(), Refusal> {
        let targets = self.targets(data)?;
        match data.opcode.op {
            Op::Br => {
                decoded.kind = Kind::Branch;
                decoded.slots.a = *targets.first().ok_or("the target is missing")?;
            }
            Op::BrIf => {
                let [on_true, on_false] = targets[..] else { return Err("a conditional branch has two targets") };
                let condition = data.args.first().ok_or("the condition is missing")?;
                let Value::Predicate(f, flip) = self.value(condition, Type::Pred)? else {
                    return Err("the condition is not a predicate");
                };
                decoded.kind = Kind::BranchIf;
                decoded.slots = Slots { a: on_true, b: on_false, c: self.join, f, flip, ..Slots::default() };
            }
            Op::Switch => {
                let selector = data.args.first().ok_or("the selector is missing")?;
                let Value::Word(selector) = self.value(selector, Type::U32)? else {
                    return Err("the selector has 32 bits");
                };
                if targets.is_empty() {
                    return Err("the targets are missing");
                }
                decoded.kind = Kind::Switch;
                decoded.side = self.builder.program.switches.len() as u32;
                self.builder.program.switches.push(SwitchSite { selector, targets, join: self.join });
            }
            Op::Ret => {
                let ty = self.body.returns.unwrap_or(Type::B32);
                let value = data.args.first().map(|operand| self.value(operand, ty)).transpose()?;
                decoded.kind = Kind::Ret;
                decoded.side = self.builder.program.rets.len() as u32;
                self.builder.program.rets.push(RetSite { value, exit: data.exit() });
            }
            Op::Exit => decoded.kind = Kind::Exit,
            _ => self.call(data, targets, decoded)?,
        }
        Ok(())
    }

    fn call(&mut self, data: &InstData, targets: Vec<u32>, decoded: &mut DecodedInst) -> Result<(), Refusal> {
        let callee = data.callee().ok_or("the callee is missing")?;
        let index =
            self.builder.funcs.iter().position(|&func| func == callee.func).ok_or("the callee is not declared")?;
        let body = &self.builder.module.funcs[callee.func];
        if index == 0 {
            return Err("a kernel cannot be called");
        }
        let entry_block = body.entry_blocks().get(callee.entry as usize).copied().ok_or("there is no such entry")?;
        let entry = *self.builder.block_pcs[index].get(&entry_block).ok_or("the callee has no block")?;
        let mut callee_frame = Frame::new(callee.func, body);
        let params = callee_frame.params(false).ok_or("the callee takes an array by value")?;
        if params.len() != data.args.len() {
            return Err("the callee takes another number of operands");
        }
        let mut arguments = Vec::with_capacity(params.len());
        for (operand, param) in data.args.iter().zip(params) {
            let param = param.ok_or("the callee takes an array by value")?;
            let ty = match param {
                Value::Word(_) => Type::B32,
                Value::Wide(_) => Type::B64,
                Value::Predicate(..) => Type::Pred,
            };
            let value = self.value(operand, ty)?;
            if core::mem::discriminant(&value) != core::mem::discriminant(&param) {
                return Err("an operand has another width than the parameter");
            }
            arguments.push((value, param));
        }
        let dst = data.dst().map(|reg| (self.frame.reg(reg), self.frame.clock(reg)));
        let exits = (data.opcode.op == Op::CallTo).then_some((targets, self.join));
        decoded.kind = Kind::Call;
        decoded.side = self.builder.program.calls.len() as u32;
        self.builder.program.calls.push(CallSite { callee: index, entry, arguments, dst, exits });
        Ok(())
    }
}
