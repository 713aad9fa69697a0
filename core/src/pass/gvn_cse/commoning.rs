//! Replaces what has been computed before by a copy of it.
//!
//! ```text
//! x = add.u32 a, b              x = add.u32 a, b
//! y = add.u32 b, a       ──▶    y = mov.u32 x
//! ```
//!
//! Along the walk that numbers the values, every number has its *leader*: the first value of that number on the way down.
//! An instruction whose numbers all have leaders copies from their registers. Where a leader's register has been written
//! since, a register that holds a later value of that number serves as well; where none does, the leader is kept in a
//! temporary, copied right behind its definition.
//!
//! Sound because the leader's definition dominates and its register holds the leader still, as the numbers of registers
//! tell. No register holds anything else than before, so what was found out before a replacement stays true after it.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use smallvec::SmallVec;

use super::eligibility::Class;
use super::expressions::Number;
use super::memory::concerns_memory;
use super::numbering::{Details, Numbered, Numbering};
use super::report::Report;
use super::scope::Scope;
use crate::edit::Rewrite;
use crate::graph::Dominators;
use crate::ir::{Block, Function, Inst, InstData, Module, Op, Opcode, Operand, Reg};
use crate::pass::copies::{overwritten_early, replace_by_copies};
use crate::text::{constant_text, instruction_text};
use crate::trace::{Fact, Place, Remark};
use crate::view::View;

/// Replaces all that can be, within a scope. At most `limit` eligible instructions are looked at.
pub(super) fn replace_repetitions(
    view: &mut View<'_>,
    dominators: &Dominators,
    numbering: Numbering<'_>,
    scope: &Scope,
    limit: usize,
) {
    let mut walk = Walk {
        dominators,
        numbering,
        scope,
        leaders: Vec::with_capacity(view.func().insts.len() + view.func().regs.len()),
        latest: Vec::new(),
        undo: Vec::new(),
        works: Vec::new(),
        temporaries: BTreeMap::new(),
        unread: None,
        limit,
        limit_is_told: false,
        left: limit,
        report: Report::new(dominators, scope),
    };
    let mut open: Vec<(usize, usize, Block)> = Vec::new();
    let mut joins: Vec<(Reg, Number)> = Vec::new();
    for index in 0..walk.numbering.block_count() {
        while let Some((_, first, left)) = open.pop_if(|(end, ..)| *end <= index) {
            walk.take_back(first);
            walk.report.close(view, left);
        }
        let block = walk.numbering.enter(index, |reg, number| joins.push((reg, number)));
        open.push((index + dominators.subtree(block).len(), walk.undo.len(), block));
        walk.report.open(view, block);
        for (reg, number) in joins.drain(..) {
            let holder = Holder { reg, number, maker: Maker::join(block), block };
            walk.report.note_join(view, block, holder);
            if scope.has_joins() {
                walk.hold(view.func(), block, number, (reg, number, holder.maker));
            }
        }
        walk.block(view, block);
        walk.numbering.leave(block);
    }
    open.into_iter().rev().for_each(|(.., left)| walk.report.close(view, left));
}

/// A value of some number: where it was defined, and in which register it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Holder {
    pub reg: Reg,
    /// The number that the register holds with it: another one if it was written under a guard.
    pub number: Number,
    pub maker: Maker,
    /// The block in which it comes to hold the value. Not asked from the maker, which is far away when it is looked for.
    pub block: Block,
}

/// An instruction, or the beginning of a block where definitions meet; that has the uppermost bit set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Maker(u32);

const JOIN: u32 = 1 << 31;

impl Maker {
    /// Nothing.
    const NONE: Maker = Maker(u32::MAX);

    fn inst(inst: Inst) -> Maker {
        Maker(inst.as_u32())
    }

    fn join(block: Block) -> Maker {
        Maker(JOIN | block.as_u32())
    }

    /// The instruction, or else the block.
    pub fn place(self) -> Result<Inst, Block> {
        if self.0 & JOIN == 0 { Ok(Inst::from_u32(self.0)) } else { Err(Block::from_u32(self.0 & !JOIN)) }
    }
}

impl Holder {
    fn none() -> Holder {
        Holder { reg: Reg::from_u32(0), number: Number(0), maker: Maker::NONE, block: Block::from_u32(0) }
    }

    /// Is its maker still there?
    fn is_there(self, func: &Function) -> bool {
        self.maker.place().is_err() || self.maker.place().is_ok_and(|inst| func.inst_block(inst).is_some())
    }
}

struct Walk<'a> {
    dominators: &'a Dominators,
    numbering: Numbering<'a>,
    scope: &'a Scope,
    /// Leader of each number: the first value of it within reach on the path down to the open block, or one that is out of date, as it
    /// stands in a block that does not dominate the open one.
    leaders: Vec<Leader>,
    /// The last values of numbers, where there are several of one.
    latest: Vec<Holder>,
    /// Former leader and latest holder, where they dominate the block in which they were changed.
    undo: Vec<(Number, Holder, Holder)>,
    /// Instruction that did each work, by its number; empty while the trace is off.
    works: Vec<Option<Worker>>,
    /// Temporaries that keep leaders.
    temporaries: BTreeMap<(Maker, Reg), Reg>,
    /// The last store of the open block, and its address, as long as nobody may have read what it stored.
    unread: Option<(Inst, u32)>,
    limit: usize,
    limit_is_told: bool,
    /// Eligible instructions that may still be looked at.
    left: usize,
    report: Report<'a>,
}

/// The first value of a number, and where its last one is kept, if there are several.
#[derive(Clone, Copy)]
struct Leader {
    holder: Holder,
    latest: u32,
}

/// There is only one.
const ALONE: u32 = u32::MAX;

/// An instruction and what is known of it.
#[derive(Clone, Copy)]
struct Worker {
    inst: Inst,
    numbered: Numbered,
    details: Details,
}

/// Source of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// A register that holds it.
    Register(Reg),
    /// A temporary that is still to be made.
    Temporary(Holder),
}

impl Walk<'_> {
    /// Takes back what was learnt behind that place of `undo`.
    fn take_back(&mut self, first: usize) {
        for (number, leader, latest) in self.undo.drain(first..).rev() {
            let slot = &mut self.leaders[number.0 as usize];
            slot.holder = leader;
            self.latest[slot.latest as usize] = latest;
        }
    }

    fn block(&mut self, view: &mut View<'_>, block: Block) {
        self.unread = None;
        let mut next = view.func().layout.first_inst(block);
        while let Some(inst) = next {
            next = view.func().layout.next_inst(inst);
            let Some(numbered) = self.numbering.number(view.func(), block, inst) else {
                self.note_store(view, block, inst);
                continue;
            };
            let own = Worker { inst, numbered, details: self.numbering.details() };
            let earlier = if view.is_traced() { self.note_work(view.func(), own) } else { None };
            let expression = self.report.expression(view, &self.numbering, inst);
            let dsts = view.func().insts[inst].dsts.clone();
            let mut is_there = true;
            if let Some(first) = numbered.replaceable() {
                if self.left == 0 {
                    self.tell_limit(view, block, inst);
                    return;
                }
                self.left -= 1;
                if (first.0..).take(dsts.len()).all(|number| self.is_held(view.func(), block, number)) {
                    self.replace(view, block, inst, first);
                    is_there = view.func().inst_block(inst).is_some();
                } else if let Some(constant) = self.loaded_constant(view.func(), inst, first) {
                    replace_by_constant(view, block, inst, constant);
                } else if let Some(earlier) = earlier {
                    self.tell_refusal(view, block, own, earlier);
                }
            } else if let Some(earlier) = earlier {
                self.tell_refusal(view, block, own, earlier);
            }
            if self.unread.is_some() && concerns_memory(view.func().insts[inst].opcode.op) {
                self.unread = None;
            }
            for (index, &reg) in (0..).zip(&dsts) {
                let number = self.numbering.write(numbered, index, reg);
                let maker = Maker::inst(inst);
                let first = numbered.replaceable().map(|first| Number(first.0 + index));
                if view.is_traced() {
                    let holder = Holder { reg, number, maker, block };
                    self.report.note_write(view, block, holder, first, (index, &expression));
                }
                if let Some(first) = first.filter(|_| is_there) {
                    self.hold(view.func(), block, first, (reg, number, maker));
                }
            }
        }
    }

    /// A register that was stored holds its value here, if nobody else does. What was stored before, and nobody may have
    /// read, goes away, and so does a store of what memory holds already.
    fn note_store(&mut self, view: &mut View<'_>, block: Block, inst: Inst) {
        let Some(stored) = self.numbering.take_stored() else {
            if self.unread.is_some() && concerns_memory(view.func().insts[inst].opcode.op) {
                self.unread = None;
            }
            return;
        };
        if stored.is_repeated && stored.value.is_none_or(|(_, number)| self.is_held(view.func(), block, number.0)) {
            return remove_repeated(view, block, inst);
        }
        if let Some((reg, number)) = stored.value
            && !self.is_held(view.func(), block, number.0)
        {
            self.hold(view.func(), block, number, (reg, number, Maker::inst(inst)));
        }
        let before = self.unread.replace((inst, stored.address));
        if let Some((earlier, _)) = before.filter(|&(_, address)| address == stored.address) {
            remove_overwritten(view, block, earlier, inst);
        }
    }

    /// The constant that a load finds, since it was stored there.
    fn loaded_constant(&self, func: &Function, inst: Inst, number: Number) -> Option<u64> {
        if !self.numbering.forwards_stores() {
            return None;
        }
        let data = &func.insts[inst];
        if data.opcode.op == Op::Ld && data.dsts.len() == 1 { self.numbering.constant(number) } else { None }
    }

    /// Notes who did an instruction's work first, and gives who did it before.
    fn note_work(&mut self, func: &Function, own: Worker) -> Option<Worker> {
        let work = own.details.work?.0 as usize;
        if work >= self.works.len() {
            self.works.resize(work + 1, None);
        }
        let slot = &mut self.works[work];
        let before = slot.filter(|before| {
            let (from, to) = (func.inst_block(before.inst), func.inst_block(own.inst));
            from.zip(to).is_some_and(|(from, to)| self.dominators.dominates(from, to))
        });
        if before.is_none() {
            *slot = Some(own);
        }
        before
    }

    /// Says once that the pass looks at nothing more.
    fn tell_limit(&mut self, view: &mut View<'_>, block: Block, inst: Inst) {
        if core::mem::replace(&mut self.limit_is_told, true) {
            return;
        }
        let (module, limit) = (view.module(), self.limit);
        view.miss(|func| {
            let text = instruction_text(module, func, inst);
            let message = format!("`{text}` and what follows is not looked at: {limit} instructions were");
            Remark::missed("limit", block, message).at(inst).with("limit", Fact::Count(limit as u64))
        });
    }

    /// Says why an instruction stays although another one does the same work.
    fn tell_refusal(&self, view: &mut View<'_>, block: Block, own: Worker, earlier: Worker) {
        let module = view.module();
        view.miss(|func| {
            let text = instruction_text(module, func, own.inst);
            let (rule, why) = self.refusal(module, func, own, earlier);
            let name = func.insts[earlier.inst].dsts.first().map_or("", |&dst| &func.regs[dst].name);
            let message = format!("`{text}` does what gave `{name}` its value, and stays: {why}");
            Remark::missed(rule, block, message).at(own.inst).with("earlier", Fact::Text(name.into()))
        });
    }

    /// Why an instruction is not replaced by an earlier one that does the same work.
    fn refusal(&self, module: &Module, func: &Function, own: Worker, earlier: Worker) -> (&'static str, String) {
        let class = Class::of(&func.insts[own.inst]);
        match class {
            Class::Atomic => return ("atomic", "each time it changes memory".into()),
            Class::Never => return ("volatile", "each time is one of its own".into()),
            _ if own.numbered.replaceable().is_none() => return ("enhanced-scope", "enhanced scope is off".into()),
            _ => {}
        }
        if own.numbered.guard != earlier.numbered.guard {
            return ("guard", "it is under another guard".into());
        }
        match (class, own.details.state, earlier.details.state) {
            (Class::Load, Some(now), Some(before)) if now != before => {
                let changed = [(now.memory, before.memory), (now.barrier, before.barrier), (now.call, before.call)];
                let state = changed.iter().find(|(now, before)| now != before).map_or(0, |&(now, _)| now);
                let who = self.numbering.maker(state).filter(|&maker| func.inst_block(maker).is_some());
                let why = match who {
                    Some(maker) => {
                        format!("`{}` may have written what it reads", instruction_text(module, func, maker))
                    }
                    None => "what it reads may have been written on some way here".into(),
                };
                ("memory", why)
            }
            _ if func.insts[own.inst].dsts.len() > func.insts[earlier.inst].dsts.len() => {
                ("results", "it has more results".into())
            }
            (Class::Convergent | Class::Shuffle, ..) => ("lanes", "other lanes may be active here".into()),
            _ => ("scope", "it is out of this mode's reach".into()),
        }
    }

    /// Notes that a value of a number is there from here on: where a [`Holder`] of these three holds it. Numbers rise along
    /// the walk, so most of them are new.
    ///
    /// The three come one by one: a record that is put together in memory and read again as a whole has to wait until what
    /// was written before it has reached the cache.
    #[inline(always)]
    fn hold(&mut self, func: &Function, block: Block, number: Number, (reg, held, maker): (Reg, Number, Maker)) {
        let place = number.0 as usize;
        if place < self.leaders.len() {
            return self.hold_again(func, block, number, reg, held, maker);
        }
        self.leaders.resize(place, Leader { holder: Holder::none(), latest: ALONE });
        self.leaders.push(Leader { holder: Holder { reg, number: held, maker, block }, latest: ALONE });
    }

    /// Holds a number again that may have had a leader.
    fn hold_again(&mut self, func: &Function, block: Block, number: Number, reg: Reg, held: Number, maker: Maker) {
        let holder = Holder { reg, number: held, maker, block };
        let place = number.0 as usize;
        let Leader { holder: before, latest } = self.leaders[place];
        if before.maker == Maker::NONE || !self.dominates(func, before, block) {
            self.leaders[place].holder = holder;
            return;
        }
        // What is out of reach here is so further down.
        if !self.is_within_reach(before, block) {
            self.leaders[place].holder = holder;
        }
        if latest == ALONE {
            self.leaders[place].latest = self.latest.len() as u32;
            self.latest.push(holder);
            self.undo.push((number, before, before));
        } else {
            let latest = core::mem::replace(&mut self.latest[latest as usize], holder);
            self.undo.push((number, before, latest));
        }
    }

    fn dominates(&self, func: &Function, holder: Holder, block: Block) -> bool {
        // A store that a register was held by may have been taken out since.
        self.dominators.dominates(holder.block, block) && (!self.numbering.forwards_stores() || holder.is_there(func))
    }

    fn is_within_reach(&self, holder: Holder, block: Block) -> bool {
        self.scope.reaches(self.dominators, holder.block, block)
    }

    /// Has a number a leader within reach?
    fn is_held(&self, func: &Function, block: Block, number: u32) -> bool {
        self.leaders.get(number as usize).is_some_and(|&Leader { holder: leader, .. }| {
            leader.maker != Maker::NONE && self.dominates(func, leader, block) && self.is_within_reach(leader, block)
        })
    }

    /// Copies an instruction's results from where they have been computed before, if that can be.
    fn replace(&mut self, view: &mut View<'_>, block: Block, inst: Inst, first: Number) {
        let count = view.func().insts[inst].dsts.len();
        let numbers = (first.0..).take(count).map(Number);
        for number in numbers.clone() {
            self.report.mention_holder(view, number, self.leaders[number.0 as usize].holder);
        }
        let shown = self.report.shown(first);
        let sources: SmallVec<[Source; 2]> = numbers.map(|number| self.source(view.func(), block, number)).collect();
        if let Err(why) = self.can_copy(view.func(), &view.func().insts[inst], &sources) {
            let module = view.module();
            view.miss(|func| {
                let text = instruction_text(module, func, inst);
                Remark::missed("repeated", block, format!("`{text}` has been computed before and stays: {why}"))
                    .at(inst)
                    .with("number", Fact::Count(shown))
            });
            return;
        }
        let leader = self.leaders[first.0 as usize].holder;
        let module = view.module();
        let mut rewrite = view.rewrite(|func| {
            let text = instruction_text(module, func, inst);
            let scope = leader.block;
            let name = &func.regs[leader.reg].name;
            let at = &func.blocks[scope].name;
            let kept = match sources[0] {
                Source::Temporary(_) => ", which is kept in a temporary because its register is written again",
                Source::Register(_) => "",
            };
            Remark::applied("repeated", block, format!("`{text}` is what `{name}` was given in `{at}`{kept}"))
                .at(inst)
                .with("number", Fact::Count(shown))
                .with("leader", Fact::Text(name.clone()))
                .with("scope", Fact::Block(scope))
        });
        let mut registers: SmallVec<[Reg; 2]> = SmallVec::new();
        for source in sources {
            registers.push(match source {
                Source::Register(reg) => reg,
                Source::Temporary(holder) => {
                    let kept = keep(&mut rewrite, holder);
                    self.temporaries.insert((holder.maker, holder.reg), kept);
                    kept
                }
            });
        }
        replace_by_copies(&mut rewrite, inst, &registers);
    }

    /// Source of a number's value at this point of the walk.
    fn source(&self, func: &Function, block: Block, number: Number) -> Source {
        let Leader { holder: leader, latest } = self.leaders[number.0 as usize];
        let still_holds = |holder: Holder| self.numbering.held(holder.reg) == Some(holder.number);
        if still_holds(leader) {
            return Source::Register(leader.reg);
        }
        // The latest one may stand in a block that the walk has left.
        let latest = self.latest.get(latest as usize);
        if let Some(latest) = latest.filter(|&&latest| still_holds(latest) && self.dominates(func, latest, block)) {
            return Source::Register(latest.reg);
        }
        let kept = self.temporaries.get(&(leader.maker, leader.reg));
        kept.map_or(Source::Temporary(leader), |&kept| Source::Register(kept))
    }

    /// Can copies from those sources, one after the other, do the instruction's work?
    fn can_copy(&self, func: &Function, data: &InstData, sources: &[Source]) -> Result<(), &'static str> {
        let types = |source: &Source| match source {
            Source::Register(reg) => func.reg_types[*reg],
            Source::Temporary(holder) => func.reg_types[holder.reg],
        };
        if data.dsts.iter().zip(sources).any(|(&dst, source)| !types(source).agrees_with(func.reg_types[dst])) {
            return Err("it has another type");
        }
        let registers: SmallVec<[Option<Reg>; 2]> = sources
            .iter()
            .map(|source| match source {
                Source::Register(reg) => Some(*reg),
                Source::Temporary(_) => None,
            })
            .collect();
        if overwritten_early(data, &registers).is_some() {
            return Err("copies one after the other would overwrite what the next one reads");
        }
        Ok(())
    }
}

fn remove_repeated(view: &mut View<'_>, block: Block, inst: Inst) {
    let module = view.module();
    let mut rewrite = view.rewrite(|func| {
        let text = instruction_text(module, func, inst);
        Remark::applied("repeated-store", block, format!("removed `{text}`: memory already holds this value")).at(inst)
    });
    rewrite.remove(inst);
}

fn remove_overwritten(view: &mut View<'_>, block: Block, inst: Inst, later: Inst) {
    let module = view.module();
    let mut rewrite = view.rewrite(|func| {
        let [text, later] = [inst, later].map(|inst| instruction_text(module, func, inst));
        let message = format!("removed `{text}`: `{later}` overwrites it before any read");
        Remark::applied("overwritten-store", block, message).at(inst)
    });
    rewrite.remove(inst);
}

fn replace_by_constant(view: &mut View<'_>, block: Block, inst: Inst, constant: u64) {
    let module = view.module();
    let mut rewrite = view.rewrite(|func| {
        let text = instruction_text(module, func, inst);
        let ty = func.insts[inst].opcode.ty;
        let message = format!("`{text}` loads {}, which was stored there", constant_text(constant, ty));
        Remark::applied("stored", block, message).at(inst)
    });
    let data = rewrite.func().insts[inst].clone();
    if let Some(dst) = data.dst() {
        let copy = InstData::new(Opcode::mov(data.opcode.ty), [dst], [Operand::Const(constant)]);
        rewrite.replace(inst, InstData { guard: data.guard, ..copy });
    }
}

/// Keeps a value in a new temporary, right behind its definition.
fn keep(rewrite: &mut Rewrite<'_, '_>, holder: Holder) -> Reg {
    let ty = rewrite.func().reg_types[holder.reg];
    let kept = rewrite.create_temporary(ty);
    let copy = InstData::new(Opcode::mov(ty), [kept], [Operand::Reg(holder.reg)]);
    match holder.maker.place() {
        Err(block) => {
            rewrite.prepend(block, copy);
        }
        Ok(maker) => {
            if let Some(block) = rewrite.func().inst_block(maker) {
                let before = rewrite.func().layout.next_inst(maker);
                rewrite.insert(Place { block, before }, copy);
            }
        }
    }
    kept
}
