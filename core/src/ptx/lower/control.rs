//! Blocks and what ends them.
//!
//! ```text
//! @%p1 bra $L__BB0_2;              br p1, L__BB0_2, L__BB0_1
//! add.s32 %r1, %r2, 1;       →   L__BB0_1:
//! @%p2 ret;                          r1 = add.s32 r2, 1
//! …                                  br p2, leave, L__BB0_2
//! ```
//!
//! A branch's predicate is read where the branch stands, so splitting the block there changes nothing.

use super::body::{Lowered, Lowering, Reported};
use super::names::fallthrough;
use crate::ir::{Block, FuncKind, Guard, InstData, Op, Opcode, Operand, Type};
use crate::ptx::syntax::{Inst, OperandKind, Statement};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

impl<'a> Lowering<'a, '_> {
    /// The block that instructions go to. After a terminator without a label nothing is reachable, but it may be
    /// wrong all the same, so it gets a block like any other.
    pub(super) fn block(&mut self) -> Block {
        match self.current {
            Some(block) => block,
            None => {
                let block = self.place_unlabelled();
                self.current = Some(block);
                block
            }
        }
    }

    /// The block of a label of this scope.
    pub(super) fn labelled(&self, label: &str) -> Option<Block> {
        self.scope_chain().next().and_then(|scope| scope.labels.get(label).copied())
    }

    /// Begins the block of a label: control falls into it.
    pub(super) fn start(&mut self, block: Block) {
        self.flush();
        if self.func.layout.has_block(block) {
            return; // The second of two labels of one name, which is reported.
        }
        if self.current.is_some() {
            self.emit_unguarded(InstData::branch(block));
        }
        self.place(block);
        self.current = Some(block);
    }

    /// `bra`, guarded or not. True where the following statement was taken along: nvcc's unoptimised code writes a
    /// conditional branch as `@p bra A; bra.uni B;`, which is one `br p, A, B`.
    pub(super) fn branch(&mut self, inst: &Inst<'a>, rest: &[Statement<'a>]) -> Lowered<bool> {
        let target = self.only_label(inst)?;
        let Some(guard) = self.guard.take() else {
            self.terminate(InstData::branch(target));
            return Ok(false);
        };
        if let Some(Statement::Inst(next)) = rest.first()
            && next.opcode.text == "bra"
            && next.guard.is_none()
        {
            let otherwise = self.only_label(next)?;
            self.terminate(InstData::branch_if(condition(guard), target, otherwise));
            return Ok(true);
        }
        self.branch_or_fall_through(guard, target, rest);
        Ok(false)
    }

    /// `brx.idx index, table`.
    pub(super) fn switch(&mut self, inst: &Inst<'a>, rest: &[Statement<'a>]) -> Lowered<()> {
        let [index, table] = &inst.operands[..] else {
            return Err(self.error("ptx-operands", "`brx.idx` takes an index and a table"));
        };
        let OperandKind::Name(name) = table.kind else {
            return Err(self.error("ptx-operands", "`brx.idx` takes the name of a table of labels"));
        };
        let Some(labels) = self.scope_chain().find_map(|scope| scope.tables.get(name)).cloned() else {
            return Err(self.undefined_label("table", name));
        };
        let targets = labels.iter().map(|label| self.label(label.text)).collect::<Lowered<Vec<Block>>>()?;
        self.leave_guarded("dispatch", rest);
        let index = self.value(index, Type::U32)?;
        self.resume_after(InstData::new(Opcode::untyped(Op::Switch), [], [index]).to(targets));
        Ok(())
    }

    /// `ret` and `exit`; a kernel that returns ends the thread, so both print alike there.
    pub(super) fn leave(&mut self, op: Op, rest: &[Statement<'a>]) {
        if self.guard.is_some() {
            self.flush();
        }
        self.leave_guarded("leave", rest);
        let data = match op {
            Op::Ret => self.return_inst(),
            _ => InstData::new(Opcode::untyped(op), [], []),
        };
        self.resume_after(data);
    }

    /// The end of the body without a `ret`.
    pub(super) fn finish(&mut self) -> Lowered<()> {
        let data = self.return_inst();
        self.terminate(data);
        Ok(())
    }

    fn return_inst(&mut self) -> InstData {
        let mut data = InstData::new(Opcode::untyped(Op::Ret), [], []);
        if self.func.kind == FuncKind::Func
            && let Some(ty) = self.func.returns
        {
            let value = match self.pending_result.take() {
                Some(value) => value,
                None => Operand::Reg(self.result_register(ty)),
            };
            data.args.push(value);
        }
        data
    }

    /// Branches to a new block for a guarded terminator and makes that the current one.
    fn leave_guarded(&mut self, stem: &str, rest: &[Statement<'a>]) {
        if let Some(guard) = self.guard.take() {
            let name = self.func.fresh_block_name(stem);
            let own = self.func.build_detached_block(name, None);
            self.branch_or_fall_through(guard, own, rest);
            let after = self.current;
            self.func.layout.insert_block(own, after);
            self.last = after.or(Some(own));
            self.current = Some(own);
        }
    }

    /// Ends the current block with `data` and goes on with the block that stands after it, if one was made.
    fn resume_after(&mut self, data: InstData) {
        let block = self.block();
        self.terminate(data);
        self.current = self.func.layout.next_block(block);
    }

    fn branch_or_fall_through(&mut self, guard: Guard, target: Block, rest: &[Statement<'a>]) {
        let labelled = match rest.first() {
            Some(Statement::Label(label)) => self.labelled(label.text),
            _ => None,
        };
        let block = self.block();
        match labelled {
            Some(next) => self.terminate(InstData::branch_if(condition(guard), target, next)),
            None => {
                let next = self.detached_unlabelled(block);
                self.terminate(InstData::branch_if(condition(guard), target, next));
                self.place(next);
                self.current = Some(next);
            }
        }
    }

    pub(super) fn terminate(&mut self, data: InstData) {
        self.emit_unguarded(data);
        self.current = None;
    }

    fn place_unlabelled(&mut self) -> Block {
        let block = match self.last {
            Some(previous) => self.detached_unlabelled(previous),
            None => {
                let name = self.func.fresh_block_name("entry");
                self.func.build_detached_block(name, None)
            }
        };
        self.place(block);
        block
    }

    /// Puts a block last.
    pub(super) fn place(&mut self, block: Block) {
        self.func.layout.insert_block(block, None);
        self.last = Some(block);
    }

    fn detached_unlabelled(&mut self, previous: Block) -> Block {
        let name = match self.unlabelled_name(previous) {
            Some(name) => self.func.fresh_block_name(&name),
            None => {
                let mut number = self.func.blocks.len();
                while self.func.block_name_is_taken(&format!("bb{number}")) {
                    number += 1;
                }
                format!("bb{number}")
            }
        };
        self.func.build_detached_block(name, None)
    }

    fn unlabelled_name(&self, previous: Block) -> Option<String> {
        fallthrough(&self.func.blocks[previous].name, self.llvm_label.as_deref()?)
    }

    fn only_label(&mut self, inst: &Inst<'a>) -> Lowered<Block> {
        match inst.operands.first().map(|operand| &operand.kind) {
            Some(OperandKind::Name(label)) => self.label(label),
            _ => Err(self.error("ptx-operands", "`bra` takes a label")),
        }
    }

    fn label(&mut self, label: &'a str) -> Lowered<Block> {
        let found = self.scope_chain().find_map(|scope| scope.labels.get(label).copied());
        found.ok_or_else(|| self.undefined_label("label", label))
    }

    /// Reports a label or a table of labels at its first use.
    fn undefined_label(&mut self, what: &str, name: &'a str) -> Reported {
        match self.undefined_labels.insert(name) {
            true => self.error(super::UNKNOWN, &format!("undefined {what} `{name}`")),
            false => Reported,
        }
    }
}

pub(super) fn condition(guard: Guard) -> Operand {
    if guard.negated { Operand::NotReg(guard.reg) } else { Operand::Reg(guard.reg) }
}
