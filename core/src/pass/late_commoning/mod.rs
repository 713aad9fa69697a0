//! Late commoning: computations that if-conversion has put side by side are done once.
//!
//! ```text
//! @p x = mul.u32 a, 3            @p x = mul.u32 a, 3
//! @p y = mul.u32 a, 3     ──▶    @p y = mov.u32 x
//! @!p z = mul.u32 a, 3           @!p z = mul.u32 a, 3      with `complementary`: one multiplication without a guard
//! ```
//!
//! 1. Walk down the dominator tree in program order, with a table of opcodes and operands that
//!    dominate. Copies are followed, unless `DisableMoveCommoning` is on; operands that commute are
//!    not sorted, which is the work of `gvn-cse`.
//! 2. Test an entry with the same work against the page's seven [`conditions`].
//! 3. Replace the later instruction by copies of the earlier one's results. With `complementary`,
//!    run one instruction in all lanes, into new registers that the lanes of both guards copy from.
//! 4. Walk again if a removed definition was the reason of an earlier refusal, on a back edge.
//!
//! Sound because the earlier instruction has run on every path to the later one, in the same lanes,
//! with the same operands and the same memory, and its registers still hold its results. A load
//! runs in all lanes only if each lane would have read the same at its place and no lane can have
//! ended in between.
//!
//! Cost: O(n log n) for each walk, of which there are at most [`MAX_WALKS`]; the remark
//! `max-rounds` tells. If nothing reads a register before an instruction, its value there has no
//! name; searches for such values take [`STEPS_A_VALUE`] steps for each value of the function, all
//! together. The remark of a refusal after that says that the register may have been written since.
//!
//! The page's phase is on; the knob `ForceLateCommoning` turns the pass off.
//!
//! Source: ptxas page, phase 64 (LateOriCommoning).

mod conditions;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

use hashbrown::HashSet;
use smallvec::{SmallVec, smallvec};

use super::gvn_cse::eligibility::Class;
use super::gvn_cse::expressions::Number;
use super::gvn_cse::numbering::Options;
use super::gvn_cse::numbers::ValueNumbers;
use super::gvn_cse::scoped::ScopedStacks;
use super::{Knob, KnobKind, Pass, PassError, PassInfo, Settings};
use crate::compact_sort::CompactSort;
use crate::edit::Rewrite;
use crate::flow::{Definition, Value, Values};
use crate::graph::Cfg;
use crate::ir::{Block, Function, Inst, InstData, Reg, Type};
use crate::pass::support::copies::{copies, overwritten_early, replace_by_copies};
use crate::pass::support::rounds::tell_max_rounds;
use crate::text::instruction_text;
use crate::trace::{Fact, Place, Remark};
use crate::view::View;
use conditions::{Broken, Conditions};

/// Searches of a walk for the contents of registers stop after as many steps for each value of the
/// function.
const STEPS_A_VALUE: usize = 2;

/// A further walk is not made, and the remark `max-rounds` says so.
const MAX_WALKS: usize = 16;

/// The pass.
pub struct LateCommoning;

impl Pass for LateCommoning {
    const INFO: PassInfo = PassInfo {
        name: "late-commoning",
        paper: "ptxas page, phase 64",
        summary: "Replaces computations repeated under one guard, as if-conversion leaves them, by copies.",
        knobs: &[
            Knob {
                name: "ForceLateCommoning",
                label: "Enabled",
                kind: KnobKind::Switch { default: true },
                help: "Enable the pass.",
            },
            Knob {
                name: "DisableMoveCommoning",
                label: "Copies as values",
                kind: KnobKind::Switch { default: false },
                help: "Treat a copy as a value of its own instead of as its source.",
            },
            Knob {
                name: "complementary",
                label: "Opposite guards",
                kind: KnobKind::Switch { default: false },
                help: "Merge a computation under a guard and its opposite into one without guard, which ptxas does \
                       not.",
            },
        ],
        needs_fast_math: false,
    };

    fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError> {
        if !settings.knobs.switch("ForceLateCommoning") {
            return Ok(());
        }
        for _ in 0..MAX_WALKS {
            if !walk(view, settings) {
                return Ok(());
            }
        }
        tell_max_rounds(view, MAX_WALKS as u64, "each of which replaced something");
        Ok(())
    }
}

/// Walks over the function once. Returns whether another walk may find more.
fn walk(view: &mut View<'_>, settings: &Settings) -> bool {
    let knobs = &settings.knobs;
    let (cfg, dominators, values) = (view.cfg(), view.dominators(), view.values());
    let options = Options {
        enhanced: true,
        is_algebraic: false,
        follows_copies: !knobs.switch("DisableMoveCommoning"),
        forwards_stores: false,
    };
    let numbers = ValueNumbers::compute(view, options);
    let complementary = knobs.switch("complementary");
    let mut leaders: ScopedStacks<Inst> = ScopedStacks::new(numbers.count());
    let mut workers: ScopedStacks<Inst> = ScopedStacks::new(numbers.count());
    // Last instruction of the open block by work, predicate of its guard, and whether that is
    // negated.
    let mut guarded: BTreeMap<(Number, Number, bool), Inst> = BTreeMap::new();
    let mut registers = Registers::of(&cfg, &values);
    for (place, &block) in dominators.preorder().iter().enumerate() {
        for stacks in [&mut leaders, &mut workers] {
            while stacks.close(place) {}
            stacks.open(place + dominators.subtree(block).len());
        }
        guarded.clear();
        let has_call = complementary && has_call(view.func(), block);
        let mut next = view.func().layout.first_inst(block);
        while let Some(inst) = next {
            next = view.func().layout.next_inst(inst);
            let data = &view.func().insts[inst];
            let Some(own) = numbers.of(inst).filter(|_| can_be_common(data)) else { continue };
            let Some(work) = own.work.expand() else { continue };
            let number = own.replaceable().unwrap_or(work);
            let guard = own.guard.filter(|_| complementary);
            let same_guard_leader = leaders.get(number).last();
            let opposite_leader = || guarded.get(&guard.map(|guard| (work, guard.predicate, !guard.negated))?);
            let any_guard_leader = || workers.get(work).last();
            let leader = same_guard_leader.or_else(opposite_leader).or_else(any_guard_leader).copied();
            // Numbers of work do not tell `{p, q} = setp` from `p = setp`.
            let has_as_many = |leader: &Inst| view.func().insts[*leader].dsts.len() == data.dsts.len();
            if let Some(leader) = leader.filter(has_as_many) {
                let func = view.func();
                let conditions = Conditions { func, numbers: &numbers };
                let from = func.inst_block(leader).unwrap_or(block);
                let pair = Pair {
                    leader: (from, leader),
                    inst: (block, inst),
                    has_lost_guard: conditions.has_lost_guard(leader),
                };
                let outcome = conditions.hold(leader, inst);
                let are_complementary = complementary && conditions.are_complementary(pair.leader, pair.inst, has_call);
                match outcome {
                    Ok(()) if pair.try_replace(view, &mut registers, false) => continue,
                    Err(Broken::C4) if are_complementary && pair.try_replace(view, &mut registers, true) => continue,
                    Err(broken) if !(broken == Broken::C4 && are_complementary) => pair.tell_refusal(view, broken),
                    _ => {}
                }
            }
            workers.push(work, inst);
            leaders.push(number, inst);
            guarded.extend(guard.map(|guard| ((work, guard.predicate, guard.negated), inst)));
        }
    }
    registers.is_any_refusal_lifted()
}

fn has_call(func: &Function, block: Block) -> bool {
    func.block_insts(block).any(|inst| func.insts[inst].opcode.op.is_call())
}

/// Contents of registers during a walk.
struct Registers {
    cfg: Rc<Cfg>,
    values: Rc<Values>,
    /// Results of removed writes, each with the current value of the register.
    removed: BTreeMap<Value, Value>,
    refused: Vec<Overwritten>,
    /// Steps that are left.
    steps: usize,
}

/// A register that does not hold what is to be copied.
struct Overwritten {
    reg: Reg,
    /// Value that is to be copied.
    wanted: Value,
    /// Value that it holds instead.
    held: Held,
}

/// Content of a register at a point.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Held {
    Value(Value),
    /// The unnamed live-in value of this block.
    Unnamed(Block),
}

impl Registers {
    fn of(cfg: &Rc<Cfg>, values: &Rc<Values>) -> Registers {
        let (cfg, values) = (cfg.clone(), values.clone());
        let steps = STEPS_A_VALUE * values.len();
        Registers { cfg, values, removed: BTreeMap::new(), refused: Vec::new(), steps }
    }

    /// A result of the leader whose register may hold another value before the given instruction.
    fn overwritten(&mut self, func: &Function, leader: Inst, (block, inst): (Block, Inst)) -> Option<Overwritten> {
        let values = self.values.clone();
        func.insts[leader].dsts.iter().zip(values.defined(leader)).find_map(|(&reg, &wanted)| {
            let held = values.before(func, inst, reg).map_or(Held::Unnamed(block), Held::Value);
            let overwritten = Overwritten { reg, wanted, held };
            (!self.holds(&overwritten)).then_some(overwritten)
        })
    }

    /// True if the register holds the wanted value on every path once removed writes are left out.
    /// False if no steps are left to find out.
    fn holds(&mut self, &Overwritten { reg, wanted, held }: &Overwritten) -> bool {
        let mut work: SmallVec<[Held; 8]> = smallvec![held];
        let mut seen: HashSet<Held> = HashSet::new();
        while let Some(held) = work.pop() {
            if held == Held::Value(wanted) || !seen.insert(held) {
                continue;
            }
            let Some(left) = self.steps.checked_sub(1) else { return false };
            self.steps = left;
            match held {
                Held::Value(value) => match (self.removed.get(&value), self.values.definition(value)) {
                    (Some(&before), _) => work.push(Held::Value(before)),
                    (None, Definition::Join { .. }) => {
                        work.extend(self.values.join_args(value).iter().map(|arg| Held::Value(arg.value)));
                    }
                    // Something else has been written.
                    _ => return false,
                },
                // A value from outside is another one.
                Held::Unnamed(block) if self.cfg.is_entry(block) => return false,
                Held::Unnamed(block) => {
                    let at_end = |before: Block| self.values.at_end(before, reg);
                    let from = |&before: &Block| at_end(before).map_or(Held::Unnamed(before), Held::Value);
                    work.extend(self.cfg.predecessors(block).iter().map(from));
                }
            }
        }
        true
    }

    /// True if a refused copy would be right now that writes have been removed.
    fn is_any_refusal_lifted(&mut self) -> bool {
        let mut regs: Vec<Reg> = self.removed.keys().map(|&value| self.values.reg(value)).collect();
        regs.compact_sort();
        regs.dedup();
        let refused = core::mem::take(&mut self.refused);
        refused.iter().any(|refused| regs.binary_search(&refused.reg).is_ok() && self.holds(refused))
    }
}

/// True if copies could give the instruction's results.
fn can_be_common(data: &InstData) -> bool {
    !data.dsts.is_empty() && !matches!(Class::of(data), Class::Never | Class::Atomic)
}

/// An instruction and an earlier one of the same work.
struct Pair {
    leader: (Block, Inst),
    inst: (Block, Inst),
    /// True if the leader has lost its guard, so that its registers are temporaries written once.
    has_lost_guard: bool,
}

impl Pair {
    /// Replaces the instruction by copies of the leader's results, if their registers still hold
    /// them. Under opposite guards, the leader then does the work in all lanes. Returns whether the
    /// instruction was replaced.
    fn try_replace(&self, view: &mut View<'_>, registers: &mut Registers, are_opposite: bool) -> bool {
        let ((from, leader), (block, inst)) = (self.leader, self.inst);
        let (module, func) = (view.module(), view.func());
        let leader_dsts = func.insts[leader].dsts.to_vec();
        let frees_leader = are_opposite && !self.has_lost_guard;
        let reads_registers = !are_opposite && !self.has_lost_guard;
        let overwritten = if reads_registers { registers.overwritten(func, leader, self.inst) } else { None };
        let obstacle = self.obstacle(func, frees_leader);
        let is_known = registers.steps > 0;
        let since = if is_known { "has been written since" } else { "may have been written since" };
        let since = overwritten.as_ref().map(|overwritten| (overwritten.reg, since));
        if let Some((reg, why)) = since.or(obstacle) {
            registers.refused.extend(overwritten.filter(|_| obstacle.is_none()));
            view.miss(|func| {
                let (text, name) = (instruction_text(module, func, inst), &func.regs[reg].name);
                let message = format!("kept `{text}`, already computed in `{name}`: `{name}` {why}");
                Remark::missed("overwritten", block, message).at(inst).with("leader", Fact::Reg(reg))
            });
            return false;
        }
        let mut rewrite = view.rewrite(|func| {
            let text = instruction_text(module, func, inst);
            let names: Vec<_> = leader_dsts.iter().map(|&reg| format!("`{}`", func.regs[reg].name)).collect();
            let names = names.join(", ");
            let (rule, message) = if are_opposite {
                let message = format!("`{text}` is also computed where its guard fails, into {names}, so all lanes ");
                ("complementary", message + "compute it once")
            } else {
                let name = &func.blocks[from].name;
                ("common", format!("`{text}` was already computed in `{name}`: its value is in {names}"))
            };
            let remark = Remark::applied(rule, block, message);
            let remark = remark.at(inst).with("leader", Fact::Reg(leader_dsts[0]));
            if are_opposite { remark } else { remark.with("scope", Fact::Block(from)) }
        });
        let sources = if frees_leader { compute_in_all_lanes(&mut rewrite, leader) } else { leader_dsts };
        let (results, leader_results) = (registers.values.defined(inst), registers.values.defined(leader));
        for (index, (dst, source)) in rewrite.func().insts[inst].dsts.iter().zip(&sources).enumerate() {
            // A register that is copied to itself has held that value before.
            if dst == source
                && let (Some(&result), Some(&held)) = (results.get(index), leader_results.get(index))
            {
                registers.removed.insert(result, held);
            }
        }
        replace_by_copies(&mut rewrite, inst, &sources);
        true
    }

    /// A register that prevents the copies whatever is written in between, and the reason.
    fn obstacle(&self, func: &Function, frees_leader: bool) -> Option<(Reg, &'static str)> {
        let (first, second) = (&func.insts[self.leader.1], &func.insts[self.inst.1]);
        let is_other = |&(&reg, &dst): &(&Reg, &Reg)| !func.reg_types[reg].agrees_with(func.reg_types[dst]);
        if let Some((&reg, _)) = first.dsts.iter().zip(&second.dsts).find(is_other) {
            return Some((reg, "has another type"));
        }
        let temporaries = vec![None; first.dsts.len()];
        let sources: Vec<_> = first.dsts.iter().copied().map(Some).collect();
        let overwritten = match frees_leader {
            true => overwritten_early(first, &temporaries).or_else(|| overwritten_early(second, &temporaries)),
            false => overwritten_early(second, &sources),
        };
        overwritten.map(|reg| (reg, "would be written too early"))
    }

    fn tell_refusal(&self, view: &mut View<'_>, broken: Broken) {
        let (module, leader, (block, inst)) = (view.module(), self.leader.1, self.inst);
        view.miss(|func| {
            let (condition, why) = broken.explain();
            let (text, name) = (instruction_text(module, func, inst), &func.regs[func.insts[leader].dsts[0]].name);
            let message = format!("kept `{text}`, which repeats the computation of `{name}`: {why} ({condition})");
            Remark::missed("not-common", block, message).at(inst).with("condition", Fact::Text(condition.into()))
        });
    }
}

/// Removes an instruction's guard and lets it write temporaries, from which copies under the guard
/// fill its registers. Returns the temporaries.
fn compute_in_all_lanes(rewrite: &mut Rewrite<'_, '_>, inst: Inst) -> Vec<Reg> {
    let data = rewrite.func().insts[inst].clone();
    let types: Vec<Type> = data.dsts.iter().map(|&dst| rewrite.func().reg_types[dst]).collect();
    let kept: Vec<Reg> = types.into_iter().map(|ty| rewrite.create_temporary(ty)).collect();
    if let Some(block) = rewrite.func().inst_block(inst) {
        let before = rewrite.func().layout.next_inst(inst);
        for copy in copies(rewrite.func(), &data, &kept) {
            rewrite.insert(Place { block, before }, copy);
        }
    }
    rewrite.replace(inst, InstData { guard: None, dsts: kept.iter().copied().collect(), ..data });
    kept
}
