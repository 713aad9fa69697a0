//! Replaces what has been computed before by a copy of it.
//!
//! ```text
//! x = add.u32 a, b              x = add.u32 a, b
//! y = add.u32 b, a       ──▶    y = mov.u32 x
//! ```
//!
//! A walk over the dominator tree holds, for every number, the *leader*: the first value of that number on the way down.
//! Leaving a block takes back what was learnt in it. An instruction whose numbers all have leaders copies from their
//! registers. Where a leader's register has been written since, a register that holds a later value of that number serves
//! as well; where none does, the leader is kept in a temporary, copied right behind its definition.
//!
//! Sound because the leader's definition dominates and its register holds the leader still, as the names of values tell
//! ([`crate::flow::Values::before`]). No register holds anything else than before, so what was found out before the first
//! replacement stays true after it.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::packed_option::PackedOption;
use smallvec::SmallVec;

use super::eligibility::Class;
use super::memory::MemoryStates;
use super::numbering::{Numbering, is_copy};
use super::report::Report;
use super::scope::Scope;
use crate::edit::{Fact, Place, Remark, Rewrite};
use crate::flow::{Definition, Value, Values};
use crate::graph::Dominators;
use crate::ir::{Block, Function, Inst, InstData, Module, Opcode, Operand, Reg};
use crate::text::instruction_text;
use crate::view::{Listener, View};

/// What replacing needs to know.
pub(super) struct Commoning<'a> {
    /// Names of the values before anything is replaced.
    pub values: &'a Values,
    pub numbering: &'a Numbering,
    pub dominators: &'a Dominators,
    pub memory: &'a MemoryStates,
    pub scope: Scope,
    /// Eligible instructions that are looked at.
    pub limit: usize,
}

/// Replaces all that can be.
pub(super) fn replace_repetitions<S: Listener>(view: &mut View<'_, S>, commoning: &Commoning<'_>) {
    let holders = vec![Holders::default(); commoning.numbering.count()];
    let mut walk = Walk {
        commoning,
        holders,
        undo: Vec::new(),
        works: if S::LISTENS { vec![None.into(); commoning.numbering.count()] } else { Vec::new() },
        temporaries: BTreeMap::new(),
        left: commoning.limit,
        limit_is_told: false,
        report: Report::new::<S>(commoning.numbering.count()),
    };
    let mut open: Vec<(usize, usize, Block)> = Vec::new();
    for (place, &block) in commoning.dominators.preorder().iter().enumerate() {
        while let Some((_, first, left)) = open.pop_if(|(end, ..)| *end <= place) {
            walk.take_back(first);
            walk.report.close(view, left);
        }
        open.push((place + commoning.dominators.subtree(block).len(), walk.undo.len(), block));
        walk.report.open(view, commoning, block);
        walk.block(view, block);
    }
    open.into_iter().rev().for_each(|(.., left)| walk.report.close(view, left));
}

/// The values of a number on the way down to the open block.
#[derive(Clone, Copy, Default)]
struct Holders {
    /// The first one within reach.
    leader: PackedOption<Value>,
    /// The last one.
    latest: PackedOption<Value>,
}

struct Walk<'a> {
    commoning: &'a Commoning<'a>,
    /// By number.
    holders: Vec<Holders>,
    /// What stood in `holders` before, for numbers held since a block was opened.
    undo: Vec<(u32, Holders)>,
    /// By number of work, where somebody listens: an instruction that did it.
    works: Vec<PackedOption<Inst>>,
    /// Temporaries that keep leaders.
    temporaries: BTreeMap<Value, Reg>,
    /// Eligible instructions that may still be looked at.
    left: usize,
    limit_is_told: bool,
    /// What is told of all this.
    report: Report,
}

/// Where a value is read from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// A register that holds it.
    Register(Reg),
    /// A temporary that is still to be made.
    Temporary(Value),
}

impl Walk<'_> {
    /// Takes back what was learnt behind that place of `undo`.
    fn take_back(&mut self, first: usize) {
        for (number, before) in self.undo.drain(first..).rev() {
            self.holders[number as usize] = before;
        }
    }

    fn block<S: Listener>(&mut self, view: &mut View<'_, S>, block: Block) {
        let Commoning { values, numbering, ref scope, .. } = *self.commoning;
        if scope.has_joins() {
            for join in values.joins(block) {
                if let Some(number) = numbering.of_value(join) {
                    self.hold(view.func(), block, number.0, join);
                }
            }
        }
        let mut next = view.func().layout.first_inst(block);
        while let Some(inst) = next {
            next = view.func().layout.next_inst(inst);
            let earlier = self.note_work(view.func(), inst);
            let expression = self.report.expression(view, self.commoning, inst);
            let Some(first) = numbering.of_inst(inst) else {
                self.tell_refusal(view, block, inst, earlier);
                if !is_copy(&view.func().insts[inst]) {
                    self.report.results(view, self.commoning, (block, inst), None, expression);
                }
                continue;
            };
            if self.left == 0 {
                self.tell_limit(view, block, inst);
                return;
            }
            self.left -= 1;
            let defined = values.defined(inst);
            let leaders: Option<SmallVec<[Holders; 2]>> = (first.0..)
                .take(defined.len())
                .map(|number| self.holders_within_reach(view.func(), block, number))
                .collect();
            match leaders {
                Some(leaders) => self.replace(view, block, inst, first.0, &leaders),
                None => self.tell_refusal(view, block, inst, earlier),
            }
            for (number, &value) in (first.0..).zip(defined) {
                self.hold(view.func(), block, number, value);
            }
            self.report.results(view, self.commoning, (block, inst), Some(first.0), expression);
        }
    }

    /// Says once that the pass looks at nothing more.
    fn tell_limit<S: Listener>(&mut self, view: &mut View<'_, S>, block: Block, inst: Inst) {
        if !core::mem::replace(&mut self.limit_is_told, true) {
            let (module, limit) = (view.module(), self.commoning.limit);
            view.miss(|func| {
                let text = instruction_text(module, func, inst);
                let message = format!("`{text}` and what follows is not looked at: {limit} instructions were");
                Remark::missed("limit", block, message).at(inst).with("limit", Fact::Count(limit as u64))
            });
        }
    }

    /// Notes who did an instruction's work first, and gives who did it before.
    fn note_work(&mut self, func: &Function, inst: Inst) -> Option<Inst> {
        if self.works.is_empty() {
            return None;
        }
        let work = self.commoning.numbering.work(inst)?;
        let slot = &mut self.works[work.0 as usize];
        let before = slot.expand().filter(|&before| {
            let (from, to) = (func.inst_block(before), func.inst_block(inst));
            from.zip(to).is_some_and(|(from, to)| self.commoning.dominators.dominates(from, to))
        });
        if before.is_none() {
            *slot = inst.into();
        }
        before
    }

    /// Says why an instruction stays although another one does the same work.
    fn tell_refusal<S: Listener>(&self, view: &mut View<'_, S>, block: Block, inst: Inst, earlier: Option<Inst>) {
        let Some(earlier) = earlier else { return };
        let module = view.module();
        view.miss(|func| {
            let text = instruction_text(module, func, inst);
            let (rule, why) = self.refusal(module, func, inst, earlier);
            let name = func.insts[earlier].dsts.first().map_or("", |&dst| &func.regs[dst].name);
            let message = format!("`{text}` does what gave `{name}` its value, and stays: {why}");
            Remark::missed(rule, block, message).at(inst).with("earlier", Fact::Text(name.into()))
        });
    }

    /// Why an instruction is not replaced by an earlier one that does the same work.
    fn refusal(&self, module: &Module, func: &Function, inst: Inst, earlier: Inst) -> (&'static str, String) {
        let Commoning { values, numbering, memory, .. } = *self.commoning;
        let data = &func.insts[inst];
        let class = Class::of(data);
        match class {
            Class::Atomic => return ("atomic", "each time it changes memory".into()),
            Class::Never => return ("volatile", "each time is one of its own".into()),
            _ if numbering.of_inst(inst).is_none() => return ("enhanced-scope", "enhanced scope is off".into()),
            _ => {}
        }
        let guard = |inst: Inst| {
            let number = values.guard(inst).and_then(|guard| numbering.of_value(guard));
            (number, func.insts[inst].guard.map(|guard| guard.negated))
        };
        if guard(inst) != guard(earlier) {
            return ("guard", "it stands under another guard".into());
        }
        match class {
            Class::Load if memory.of(inst) != memory.of(earlier) => {
                let (now, before) = (memory.of(inst), memory.of(earlier));
                let changed = [(now.memory, before.memory), (now.barrier, before.barrier), (now.call, before.call)];
                let state = changed.iter().find(|(now, before)| now != before).map_or(0, |&(now, _)| now);
                let who = memory.maker(state).filter(|&maker| func.inst_block(maker).is_some());
                let why = match who {
                    Some(maker) => {
                        format!("`{}` may have written what it reads", instruction_text(module, func, maker))
                    }
                    None => "what it reads may have been written on some way here".into(),
                };
                ("memory", why)
            }
            Class::Convergent | Class::Shuffle => ("lanes", "other lanes may be active here".into()),
            _ => ("scope", "it is out of this mode's reach".into()),
        }
    }

    /// Notes that a value of a number is there from here on.
    fn hold(&mut self, func: &Function, block: Block, number: u32, value: Value) {
        let before = self.holders[number as usize];
        // What is out of reach here is so further down.
        let leader = self.holders_within_reach(func, block, number).map_or(value.into(), |held| held.leader);
        self.undo.push((number, before));
        self.holders[number as usize] = Holders { leader, latest: value.into() };
    }

    fn holders_within_reach(&self, func: &Function, block: Block, number: u32) -> Option<Holders> {
        let held = self.holders[number as usize];
        let from = self.commoning.values.block(func, held.leader.expand()?)?;
        self.commoning.scope.reaches(self.commoning.dominators, from, block).then_some(held)
    }

    /// Copies an instruction's results from where they have been computed before, if that can be.
    fn replace<S: Listener>(
        &mut self,
        view: &mut View<'_, S>,
        block: Block,
        inst: Inst,
        number: u32,
        leaders: &[Holders],
    ) {
        let data = view.func().insts[inst].clone();
        for (number, held) in (number..).zip(leaders) {
            if let Some(leader) = held.leader.expand() {
                self.report.mention_as(view, self.commoning, number, leader);
            }
        }
        let shown = self.report.shown(number);
        let sources: SmallVec<[Source; 2]> = leaders.iter().map(|&held| self.source(view.func(), inst, held)).collect();
        if let Err(why) = self.can_copy(view.func(), &data, &sources) {
            let module = view.module();
            view.miss(|func| {
                let text = instruction_text(module, func, inst);
                Remark::missed("repeated", block, format!("`{text}` has been computed before and stays: {why}"))
                    .at(inst)
                    .with("number", Fact::Count(shown))
            });
            return;
        }
        let values = self.commoning.values;
        let leader = leaders[0].leader.expand();
        let module = view.module();
        let mut rewrite = view.rewrite(|func| {
            let text = instruction_text(module, func, inst);
            let scope = leader.and_then(|leader| values.block(func, leader)).unwrap_or(block);
            let name = leader.map_or("", |leader| &func.regs[values.reg(leader)].name);
            let at = &func.blocks[scope].name;
            let kept = match sources[0] {
                Source::Temporary(_) => ", which is kept in a temporary because its register is written again",
                Source::Register(_) => "",
            };
            Remark::applied("repeated", block, format!("`{text}` is what `{name}` was given in `{at}`{kept}"))
                .at(inst)
                .with("number", Fact::Count(shown))
                .with("leader", Fact::Text(name.into()))
                .with("scope", Fact::Block(scope))
        });
        let mut copies: SmallVec<[InstData; 2]> = SmallVec::new();
        for (&dst, &source) in data.dsts.iter().zip(&sources) {
            let from = match source {
                Source::Register(reg) => reg,
                Source::Temporary(value) => {
                    let kept = keep(&mut rewrite, values, value);
                    self.temporaries.insert(value, kept);
                    kept
                }
            };
            if from != dst {
                let ty = rewrite.func().regs[dst].ty;
                copies.push(InstData {
                    guard: data.guard,
                    ..InstData::new(Opcode::mov(ty), [dst], [Operand::Reg(from)])
                });
            }
        }
        let last = copies.pop();
        for copy in copies {
            rewrite.insert_before(inst, copy);
        }
        match last {
            Some(copy) => rewrite.replace(inst, copy),
            // Every register holds already what it would be given.
            None => rewrite.remove(inst),
        }
    }

    /// Where a value of a number can be read at an instruction.
    fn source(&self, func: &Function, inst: Inst, held: Holders) -> Source {
        let values = self.commoning.values;
        let holding = [held.leader, held.latest].into_iter().filter_map(PackedOption::expand);
        for value in holding {
            let reg = values.reg(value);
            if values.before(func, inst, reg) == Some(value) {
                return Source::Register(reg);
            }
        }
        let leader = held.leader.expand().unwrap_or_else(|| Value::from_u32(0));
        self.temporaries.get(&leader).map_or(Source::Temporary(leader), |&kept| Source::Register(kept))
    }

    /// Can copies from those sources, one after the other, do the instruction's work?
    fn can_copy(&self, func: &Function, data: &InstData, sources: &[Source]) -> Result<(), &'static str> {
        let types = |source: &Source| match source {
            Source::Register(reg) => func.regs[*reg].ty,
            Source::Temporary(value) => func.regs[self.commoning.values.reg(*value)].ty,
        };
        if data.dsts.iter().zip(sources).any(|(&dst, source)| !types(source).agrees_with(func.regs[dst].ty)) {
            return Err("it has another type");
        }
        let is_overwritten = |index: usize, reg: Reg| {
            let earlier = data.dsts[..index].contains(&reg);
            earlier && sources[index] != Source::Register(data.dsts[index])
        };
        let reads_late = sources.iter().enumerate().any(|(index, source)| match source {
            Source::Register(reg) => is_overwritten(index, *reg),
            Source::Temporary(_) => false,
        });
        let guard_is_written = data.guard.is_some_and(|guard| data.dsts.contains(&guard.reg));
        if reads_late || (guard_is_written && data.dsts.len() > 1) {
            return Err("copies one after the other would overwrite what the next one reads");
        }
        Ok(())
    }
}

/// Keeps a value in a new temporary, right behind its definition.
fn keep<S: Listener>(rewrite: &mut Rewrite<'_, '_, S>, values: &Values, value: Value) -> Reg {
    let reg = values.reg(value);
    let ty = rewrite.func().regs[reg].ty;
    let kept = rewrite.create_temporary(ty);
    let copy = InstData::new(Opcode::mov(ty), [kept], [Operand::Reg(reg)]);
    match values.definition(value) {
        Definition::Join { block } => {
            rewrite.prepend(block, copy);
        }
        definition => {
            if let Some(maker) = definition.inst()
                && let Some(block) = rewrite.func().inst_block(maker)
            {
                let before = rewrite.func().layout.next_inst(maker);
                rewrite.insert(Place { block, before }, copy);
            }
        }
    }
    kept
}
