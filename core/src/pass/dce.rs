//! Dead code elimination.
//!
//! ```text
//! i = mov.u32 0                     loop:
//! loop:                                 st.global.f32 x[j], v
//!     i = add.u32 i, 1       ──▶        …
//!     x[j] = v …
//! ```
//!
//! Everything is dead until shown needed. Instructions with an effect are needed; a needed instruction needs every
//! definition that reaches one of its reads. What is left goes away, cycles of instructions that only feed each other
//! included. A register with one definition points straight at it. For the others the search runs backwards from the
//! read to the definitions before it: an unguarded one ends the search, a guarded one does not, because other lanes
//! keep what they had.
//!
//! Sound because a removed instruction writes only values that no needed instruction can see. A load may be removed
//! although it could have faulted: a program that faults has no result to keep.
//!
//! Cost: linear in the instructions, plus for each register with several definitions the blocks of its live range.
//! Running it again finds nothing more.
//!
//! Source: Cytron et al., TOPLAS 1991, section 7.1, on use-definition chains in place of SSA.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;
use cranelift_entity::{EntitySet, SecondaryMap};

use super::{Pass, PassError, PassInfo, Settings};
use crate::edit::Remark;
use crate::graph::Cfg;
use crate::ir::{Block, Flags, Function, Inst, InstData, Op, Operand, Reg};
use crate::text::instruction_text;
use crate::view::{Listener, View};

/// See the file's head.
pub struct Dce;

impl Pass for Dce {
    const INFO: PassInfo = PassInfo {
        name: "dce",
        paper: "Cytron et al. 1991, 7.1",
        summary: "Removes instructions whose results nothing needs, also those that only feed each other.",
        knobs: &[],
        needs_fast_math: false,
    };

    fn run<S: Listener>(view: &mut View<'_, S>, _: &Settings) -> Result<(), PassError> {
        let cfg = view.cfg();
        let needed = Needs::of(view.func(), &cfg);
        // Readers go before what they read, so that every state on the way is a good program.
        for block in cfg.postorder() {
            let mut next = view.func().layout.last_inst(block);
            while let Some(inst) = next {
                next = view.func().layout.prev_inst(inst);
                if !needed.contains(inst) {
                    remove(view, block, inst);
                }
            }
        }
        Ok(())
    }
}

fn remove<S: Listener>(view: &mut View<'_, S>, block: Block, inst: Inst) {
    let module = view.module();
    let mut rewrite = view.rewrite(|func| {
        let (text, data) = (instruction_text(module, func, inst), &func.insts[inst]);
        let names: Vec<_> = data.dsts.iter().map(|&dst| format!("`{}`", func.regs[dst].name)).collect();
        let (rule, why) = if copies_itself(data) {
            ("self-copy", format!("{} already holds that", names.join(", ")))
        } else {
            ("dead", format!("nothing needs {}", names.join(", ")))
        };
        Remark::applied(rule, block, format!("`{text}` goes away: {why}")).at(inst)
    });
    rewrite.remove(inst);
}

/// Must the instruction stay whatever reads its result? Beyond effects on memory, a `.sync` form makes lanes wait for
/// each other.
fn has_effect(data: &InstData) -> bool {
    data.opcode.has_effect() || data.opcode.has(Flags::SYNC)
}

/// `x = mov x`: whoever reads `x` afterwards may as well read it before.
fn copies_itself(data: &InstData) -> bool {
    data.opcode.op == Op::Mov && matches!(data.args.as_slice(), [Operand::Reg(from)] if data.dsts.as_slice() == [*from])
}

/// The instructions that are needed.
struct Needs<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    needed: EntitySet<Inst>,
    worklist: Vec<Inst>,
    definitions: Definitions,
    /// Registers with several definitions, and blocks from whose end the search has gone up.
    searched: BTreeSet<(Reg, Block)>,
}

impl Needs<'_> {
    fn of(func: &Function, cfg: &Cfg) -> EntitySet<Inst> {
        let mut needs = Needs {
            func,
            cfg,
            needed: EntitySet::with_capacity(func.insts.len()),
            worklist: Vec::new(),
            definitions: Definitions::of(func),
            searched: BTreeSet::new(),
        };
        for &block in cfg.reverse_postorder() {
            for inst in func.block_insts(block) {
                if has_effect(&func.insts[inst]) {
                    needs.need(inst);
                }
            }
        }
        while let Some(inst) = needs.worklist.pop() {
            func.insts[inst].for_each_use(|reg| needs.need_definitions(reg, inst));
        }
        needs.needed
    }

    fn need(&mut self, inst: Inst) {
        // A copy of a register into itself passes the need on to what it reads, and stays out.
        if self.needed.insert(inst) {
            self.worklist.push(inst);
            for &dst in &self.func.insts[inst].dsts {
                if let Count::Several(list) = self.definitions.of_reg[dst] {
                    self.definitions.unneeded[list as usize] -= 1;
                }
            }
        }
    }

    /// Needs every definition of a register that reaches one reader.
    fn need_definitions(&mut self, reg: Reg, reader: Inst) {
        match self.definitions.of_reg[reg] {
            Count::None => {}
            Count::One(definition) => self.need(definition),
            // Once all definitions are needed there is nothing left to search for: a register that is only ever written
            // under guards would otherwise be followed to the entry from each of its reads.
            Count::Several(list) if self.definitions.unneeded[list as usize] == 0 => {}
            Count::Several(list) => {
                let Some(block) = self.func.inst_block(reader) else { return };
                let before = self.definitions.order[reader];
                let mut blocks = Vec::new();
                self.search(reg, list, block, before, &mut blocks);
                while self.definitions.unneeded[list as usize] > 0
                    && let Some(block) = blocks.pop()
                {
                    self.search(reg, list, block, u32::MAX, &mut blocks);
                }
            }
        }
    }

    /// Goes up one block from the position `before`; the predecessors not yet searched go on the list.
    fn search(&mut self, reg: Reg, list: u32, block: Block, before: u32, blocks: &mut Vec<Block>) {
        let definitions = &self.definitions.several[list as usize];
        let end = definitions.partition_point(|&(at, order, _)| (at, order) < (block, before));
        let here: Vec<Inst> =
            definitions[..end].iter().rev().take_while(|(at, ..)| *at == block).map(|&(.., inst)| inst).collect();
        for definition in here {
            let data = &self.func.insts[definition];
            if !copies_itself(data) {
                self.need(definition);
                if data.guard.is_none() {
                    return;
                }
            }
        }
        for &predecessor in self.cfg.predecessors(block) {
            if self.searched.insert((reg, predecessor)) {
                blocks.push(predecessor);
            }
        }
    }
}

/// The definitions of one register.
#[derive(Clone, Copy, Default)]
enum Count {
    #[default]
    None,
    One(Inst),
    /// An index into [`Definitions::several`].
    Several(u32),
}

/// All definitions by register.
struct Definitions {
    of_reg: SecondaryMap<Reg, Count>,
    /// Sorted by block, then by order in the block.
    several: Vec<Vec<(Block, u32, Inst)>>,
    /// How many of each list are not needed yet.
    unneeded: Vec<usize>,
    /// Counts instructions in text order.
    order: SecondaryMap<Inst, u32>,
}

impl Definitions {
    fn of(func: &Function) -> Definitions {
        let mut found = Definitions {
            of_reg: SecondaryMap::with_capacity(func.regs.len()),
            several: Vec::new(),
            unneeded: Vec::new(),
            order: SecondaryMap::with_capacity(func.insts.len()),
        };
        let mut order = 0;
        for block in func.block_order() {
            for inst in func.block_insts(block) {
                found.order[inst] = order;
                order += 1;
                for &dst in &func.insts[inst].dsts {
                    found.add(func, dst, inst);
                }
            }
        }
        for list in &mut found.several {
            list.sort_unstable();
            list.dedup();
            found.unneeded.push(list.len());
        }
        found
    }

    fn add(&mut self, func: &Function, reg: Reg, inst: Inst) {
        let entry = |definitions: &Definitions, inst: Inst| {
            let block = func.inst_block(inst).expect("a definition that stands in the text");
            (block, definitions.order[inst], inst)
        };
        match self.of_reg[reg] {
            Count::None if copies_itself(&func.insts[inst]) => {}
            // A parameter has its value on entry besides, which a read may mean.
            Count::None if func.param_of(reg).is_some() => {
                let list = alloc::vec![entry(self, inst)];
                self.of_reg[reg] = Count::Several(self.several.len() as u32);
                self.several.push(list);
            }
            Count::None => self.of_reg[reg] = Count::One(inst),
            Count::One(first) => {
                let list = alloc::vec![entry(self, first), entry(self, inst)];
                self.of_reg[reg] = Count::Several(self.several.len() as u32);
                self.several.push(list);
            }
            Count::Several(list) => {
                let one = entry(self, inst);
                self.several[list as usize].push(one);
            }
        }
    }
}
