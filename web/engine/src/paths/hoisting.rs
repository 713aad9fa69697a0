//! What `spec-pre` does about the evaluations of a program, with the pass's own survey: how one of them comes up to where
//! its value is at hand, moment by moment.
//!
//! ```text
//! n7: b = add.u32 x, y   needed      ahead of n6   n2: a = add.u32 x, y   available
//!                        hoisted                   n3: evaluated now      inserted
//! ```
//!
//! The survey tells where it is evaluated then and which evaluations go. What lies between is found by going back from those
//! over the graph, a step at a time, as far as the value has to be brought.

use std::collections::{BTreeMap, BTreeSet};

use cranelift_entity::EntityRef;
use warpscope_core::graph::Cfg;
use warpscope_core::ir::{Block, Func, Function, Inst, Module};
use warpscope_core::pass::Settings as PassSettings;
use warpscope_core::pass::spec_pre::survey::{
    self as core, Branch, BranchVerdict, Detail, Position, Question, Weighed, executed_paths,
};
use warpscope_core::session::Session;
use warpscope_core::text::instruction_text;

use super::{
    MOST_PATHS, MOST_STATEMENTS, frequencies, in_order, listed, name, names, origin, places, places_of, planned, rows,
    sign, warp_cycles, written,
};
use crate::message::{Bits, JoinRow, Mark, PathRow, SinkMoment, Sinking, Spot, StatementRow, Survey, Surveyed};

/// The paths, where the pass is `spec-pre`.
pub(super) fn paths(session: &Session, settings: &PassSettings, pass: usize, kernel: Func, asked: &Survey) -> Surveyed {
    let module = session.module();
    let frequencies = frequencies(asked);
    let of =
        |wanted: Option<Inst>| core::survey(module, kernel, settings, Question { wanted, frequencies: &frequencies });
    let declared = in_order(&module.funcs[kernel], executed_paths(&module.funcs[kernel]));
    let is_edited = !frequencies.is_empty();
    let planned = planned(session, pass, kernel).filter(|_| !is_edited);
    let wanted = asked.wanted.map(Inst::from_u32);
    let mut found = of(wanted.or(planned));
    let first = || found.redundancies.iter().find(|surveyed| surveyed.passes)?.evaluations.first().copied();
    let next = if is_edited { first() } else { planned };
    if wanted.is_none() && found.detail.is_none() {
        // Where nothing is done, something that was weighed.
        let weighed = |surveyed: &&core::Surveyed| matches!(surveyed.verdict.rule, "cost" | "warps" | "no-benefit");
        let weighed = found.redundancies.iter().find(weighed).or(found.redundancies.first());
        if let Some(inst) = weighed.and_then(|surveyed| surveyed.evaluations.first().copied()) {
            found = of(Some(inst));
        }
    }
    let told = Told { module, func: &module.funcs[kernel], found: &found };
    let rows = rows(told.func, &declared, &found.paths, &frequencies);
    let has_begun = session.events_of(pass).start < session.done();
    Surveyed {
        lead: told.lead(next, has_begun, is_edited),
        is_hoisting: true,
        origin: origin(&rows, found.estimated.is_some(), asked),
        more_paths: rows.len().saturating_sub(MOST_PATHS),
        written: is_edited.then(|| written(session, kernel, asked, &rows)).flatten(),
        statements: told.redundancies(next),
        more_statements: found.redundancies.len().saturating_sub(MOST_STATEMENTS),
        next: next.map(Inst::as_u32),
        sinking: told.hoisting(wanted, &rows),
        paths: rows.into_iter().take(MOST_PATHS).collect(),
    }
}

/// What was found, in words.
struct Told<'a> {
    module: &'a Module,
    func: &'a Function,
    found: &'a core::Survey,
}

/// A step of an evaluation's way up.
enum Step {
    /// It is needed by an instruction, from the beginning of its block or behind another evaluation.
    Needed { inst: Inst, behind: Option<Inst> },
    /// It comes up through a block.
    Through(Block),
    /// An evaluation in the block has the value.
    Available(Inst),
    /// It has to be evaluated at a place that does not have the value.
    Lacking(Position),
}

/// A step with the edge that it came by.
struct Came {
    wave: usize,
    by: Option<(Block, Block)>,
    is_speculative: bool,
    step: Step,
}

impl Told<'_> {
    fn name(&self, block: Block) -> String {
        name(self.func, block)
    }

    fn text(&self, inst: Inst) -> String {
        instruction_text(self.module, self.func, inst)
    }

    /// What an instruction computes, without its result.
    fn expression(&self, inst: Inst) -> String {
        let text = self.text(inst);
        text.split_once(" = ").map_or(text.clone(), |(_, expression)| expression.to_owned())
    }

    fn block_names(&self, insts: &[Inst]) -> String {
        let mut blocks: Vec<Block> = insts.iter().filter_map(|&inst| self.func.inst_block(inst)).collect();
        blocks.dedup();
        names(self.func, &blocks)
    }

    fn lead(&self, next: Option<Inst>, has_begun: bool, is_edited: bool) -> String {
        if let Some(why) = &self.found.refused {
            return format!("`spec-pre` cannot run: {why}.");
        }
        match next {
            Some(inst) if is_edited => {
                format!("With these frequencies, `{}` would be evaluated once first.", self.expression(inst))
            }
            Some(inst) => format!(
                "Next, `{}` is evaluated once where it is evaluated twice: play its way up, or step forward.",
                self.expression(inst)
            ),
            None if is_edited => "With these frequencies, nothing would be evaluated elsewhere.".to_owned(),
            None if self.found.redundancies.is_empty() && !has_begun => {
                "Nothing is evaluated twice on any way: `spec-pre` changes nothing.".to_owned()
            }
            None if self.found.paths.is_empty() => {
                "No `profile path` or `profile edge` says how often paths are executed, so nothing is evaluated by speculation. \
                 Declare one, or let the simulator measure it: its switch is called profile."
                    .to_owned()
            }
            None if has_begun => "Nothing more is gained. Step back to see what was, and why.".to_owned(),
            None => "Nothing pays here: `spec-pre` changes nothing.".to_owned(),
        }
    }

    fn redundancies(&self, next: Option<Inst>) -> Vec<StatementRow> {
        let is_next = |surveyed: &core::Surveyed| next.is_some_and(|next| surveyed.evaluations.contains(&next));
        let rank = |surveyed: &core::Surveyed| match surveyed.verdict.rule {
            _ if is_next(surveyed) => 0,
            _ if surveyed.passes => 1,
            "cost" | "warps" => 2,
            _ => 3,
        };
        let mut all: Vec<&core::Surveyed> = self.found.redundancies.iter().collect();
        all.retain(|surveyed| !surveyed.evaluations.is_empty());
        all.sort_by_key(|surveyed| rank(surveyed));
        let row = |surveyed: &core::Surveyed| {
            let insts = &surveyed.evaluations;
            let blocks = insts.iter().filter_map(|&inst| self.func.inst_block(inst));
            StatementRow {
                insts: insts.iter().map(|inst| inst.as_u32()).collect(),
                text: self.expression(insts[0]),
                at: blocks.map(|block| self.func.blocks[block].name.as_str()).collect::<Vec<_>>().join(" "),
                passes: surveyed.passes,
                rule: surveyed.verdict.rule.to_owned(),
                verdict: format!("{}.", surveyed.verdict.message),
            }
        };
        all.into_iter().take(MOST_STATEMENTS).map(row).collect()
    }

    fn hoisting(&self, wanted: Option<Inst>, rows: &[PathRow]) -> Option<Sinking> {
        let Some(detail) = &self.found.detail else {
            let inst = wanted.filter(|&inst| self.func.insts.is_valid(inst))?;
            let verdict = "No other way evaluates it, or what it reads is written in between: there is nothing to do.";
            let (insts, text) = (vec![inst.as_u32()], self.text(inst));
            return Some(Sinking { insts, text, verdict: verdict.to_owned(), ..Sinking::default() });
        };
        let surveyed = &self.found.redundancies[detail.redundancy];
        let place_of = places_of(rows, &self.found.paths);
        let warps = match detail.warp_cycles {
            Some((before, after)) if self.found.is_by_warp => format!("Warps pay: {}.", warp_cycles(before, after)),
            _ => String::new(),
        };
        Some(Sinking {
            insts: surveyed.evaluations.iter().map(|inst| inst.as_u32()).collect(),
            text: surveyed.evaluations.first().map_or_else(String::new, |&inst| self.expression(inst)),
            verdict: format!("{}.", surveyed.verdict.message),
            warps,
            joins: detail.branches.iter().map(|branch| self.branch(branch, detail, &place_of)).collect(),
            moments: self.moments(surveyed, detail),
        })
    }

    fn branch(&self, branch: &Branch, detail: &Detail, place_of: &[Option<usize>]) -> JoinRow {
        let (word, passes, verdict) = self.decision(branch);
        let bits = place_of.iter().map(|place| {
            let holds = |set: &[usize]| place.is_some_and(|place| set.binary_search(&place).is_ok());
            Bits {
                on: holds(&branch.on),
                available: holds(&branch.available),
                removable: holds(&branch.anticipated),
                benefit: holds(&branch.benefits),
                cost: holds(&branch.costs),
            }
        });
        JoinRow {
            block: branch.block.index() as u32,
            name: self.func.blocks[branch.block].name.clone(),
            word: word.to_owned(),
            passes,
            verdict,
            line: self.line(branch, detail),
            printed: String::new(),
            bits: bits.collect(),
        }
    }

    /// What was decided about a branch: in a word, whether it is passed, and in a sentence.
    fn decision(&self, branch: &Branch) -> (&'static str, bool, String) {
        let name = self.name(branch.block);
        let others: Vec<Block> = branch.together.iter().copied().filter(|&block| block != branch.block).collect();
        let with = if others.is_empty() {
            String::new()
        } else {
            format!(", together with {}, which its benefit needs", names(self.func, &others))
        };
        match branch.verdict {
            BranchVerdict::Plain => {
                ("passed", true, format!("All ways on from {name} need it: evaluated ahead of it, no path loses."))
            }
            BranchVerdict::Enabled => {
                ("enabled", true, format!("It is evaluated ahead of {name} by speculation{with}: that pays."))
            }
            BranchVerdict::EnabledWith(later) => (
                "enabled",
                true,
                format!(
                    "It is evaluated ahead of {name} by speculation because the benefit of {} needs that, whatever it brings by itself.",
                    self.name(later)
                ),
            ),
            BranchVerdict::Cost => {
                ("refused", false, format!("It is not evaluated ahead of {name}{with}: that costs more."))
            }
            BranchVerdict::Warps => {
                ("refused", false, format!("Paths would gain by an evaluation ahead of {name}{with}, warps would not."))
            }
            BranchVerdict::NoBenefit => {
                ("no benefit", false, format!("Ahead of {name} no frequent path would lose an evaluation."))
            }
            BranchVerdict::NotReached => {
                ("not reached", false, format!("No evaluation comes up to {name}, or none leads on to the value."))
            }
            BranchVerdict::NoSpeculation => {
                ("no profile", false, format!("No profile says whether it pays to evaluate it ahead of {name}."))
            }
        }
    }

    /// `Benefit 19 · T = 19 > Cost 5 · T = 5`.
    fn line(&self, branch: &Branch, detail: &Detail) -> String {
        let (weighed, by_itself) = match (branch.weighed, branch.verdict) {
            (Some(weighed), _) => (weighed, ""),
            (None, BranchVerdict::EnabledWith(_)) => {
                let frequency =
                    |set: &[usize]| set.iter().map(|&path| self.found.paths[path].frequency as f64).sum::<f64>();
                let (benefit_paths, cost_paths) = (frequency(&branch.benefits), frequency(&branch.costs));
                let (benefit, cost) = (benefit_paths * detail.cycles, cost_paths * detail.cycles);
                (Weighed { benefit_paths, cost_paths, benefit, cost }, "By itself: ")
            }
            (None, _) => return String::new(),
        };
        let Weighed { benefit_paths, cost_paths, benefit, cost } = weighed;
        let than = sign(benefit, cost);
        format!("{by_itself}Benefit {benefit_paths} · T = {benefit} {than} Cost {cost_paths} · T = {cost}")
    }

    fn moments(&self, surveyed: &core::Surveyed, detail: &Detail) -> Vec<SinkMoment> {
        let mut moments = Vec::new();
        let mut say = |word: &str, sentence: String, marks: Vec<Mark>| {
            moments.push(SinkMoment { word: word.to_owned(), sentence, marks });
        };
        let way = if surveyed.passes { self.way(detail) } else { Vec::new() };
        let waves = way.iter().map(|came| came.wave).max().map_or(0, |last| last + 1);
        for wave in 0..waves {
            let here: Vec<&Came> = way.iter().filter(|came| came.wave == wave).collect();
            let marks = here.iter().flat_map(|came| marks(came, self.func)).collect();
            let mut sentences: Vec<String> = here.iter().filter_map(|came| self.sentence(came, detail)).collect();
            sentences.dedup();
            say(if wave == 0 { "needed" } else { "hoisted" }, sentences.join(" "), marks);
        }
        let is_refused = |branch: &&Branch| {
            let comes_up = way.iter().any(|came| came.by.is_some_and(|(from, _)| from == branch.block));
            let decided =
                matches!(branch.verdict, BranchVerdict::Cost | BranchVerdict::Warps | BranchVerdict::NoSpeculation);
            decided && (comes_up || !surveyed.passes)
        };
        for branch in detail.branches.iter().filter(is_refused) {
            let line = self.line(branch, detail);
            let line = if line.is_empty() { line } else { format!(" {line}.") };
            let mark = Mark::Rests(branch.block.index() as u32);
            say("refused", format!("{}{line}", self.decision(branch).2), vec![mark]);
        }
        if !surveyed.passes {
            say("stays", format!("{}.", surveyed.verdict.message), Vec::new());
            return moments;
        }
        let label = detail.replaced.first().map(|&inst| self.expression(inst)).unwrap_or_default();
        if !detail.inserted.is_empty() {
            let mut all: Vec<String> = detail.inserted.iter().map(|&position| self.place(position)).collect();
            all.dedup();
            let lands = detail.inserted.iter().map(|&position| Mark::Lands(spot(position), label.clone())).collect();
            say("inserted", format!("Where its value is not at hand it is evaluated now: {}.", places(&all)), lands);
        }
        let result = |inst: Inst| self.func.insts[inst].dst().map_or("", |reg| &self.func.regs[reg].name);
        let goes = |&inst: &Inst| {
            let spot = Spot::Before(inst.as_u32());
            [Mark::Lands(spot, result(inst).to_owned()), Mark::Dropped(spot)]
        };
        let results: BTreeSet<String> = detail.replaced.iter().map(|&inst| format!("`{}`", result(inst))).collect();
        let results: Vec<String> = results.into_iter().collect();
        let (verb, blocks) = (if results.len() == 1 { "takes" } else { "take" }, self.block_names(&detail.replaced));
        say(
            "replaced",
            format!("In {blocks}, {} {verb} the value that is there, and evaluates nothing.", listed(&results)),
            detail.replaced.iter().flat_map(goes).collect(),
        );
        moments
    }

    /// The way up from the evaluations that go to where their value comes from.
    fn way(&self, detail: &Detail) -> Vec<Came> {
        let cfg = Cfg::compute(self.func);
        let block_of = |inst: Inst| self.func.inst_block(inst);
        // By block: what gives the value at its end. An evaluation that goes does so as well, as it has the value then.
        let mut givers: BTreeMap<Block, Inst> = BTreeMap::new();
        for &inst in detail.replaced.iter().chain(&detail.sources) {
            givers.extend(block_of(inst).map(|block| (block, inst)));
        }
        let is_enabled = |block: Block| {
            let passes = |branch: &Branch| {
                branch.block == block
                    && matches!(branch.verdict, BranchVerdict::Enabled | BranchVerdict::EnabledWith(_))
            };
            detail.branches.iter().any(passes)
        };
        let mut way = Vec::new();
        let mut next: Vec<(Block, bool)> = Vec::new();
        for &inst in &detail.replaced {
            let Some(block) = block_of(inst) else { continue };
            let before =
                |other: &Inst| self.func.block_insts(block).take_while(|&at| at != inst).any(|at| at == *other);
            let behind = detail.sources.iter().copied().find(before);
            way.push(Came { wave: 0, by: None, is_speculative: false, step: Step::Needed { inst, behind } });
            if behind.is_none() {
                next.push((block, false));
            }
        }
        let mut seen: BTreeSet<Block> = BTreeSet::new();
        let mut wave = 0;
        while !next.is_empty() {
            wave += 1;
            for (block, is_speculative) in std::mem::take(&mut next) {
                let mut from: Vec<Block> = cfg.predecessors(block).to_vec();
                from.sort_unstable();
                from.dedup();
                for before in from.into_iter().filter(|&before| cfg.is_reachable(before)) {
                    let is_speculative = is_speculative || is_enabled(before);
                    let edge = Position::Edge(before, block);
                    let step = if detail.inserted.contains(&edge) {
                        Step::Lacking(edge)
                    } else if let Some(&giver) = givers.get(&before) {
                        Step::Available(giver)
                    } else if detail.inserted.contains(&Position::Block(before)) {
                        Step::Lacking(Position::Block(before))
                    } else {
                        if seen.insert(before) {
                            next.push((before, is_speculative));
                        }
                        Step::Through(before)
                    };
                    way.push(Came { wave, by: Some((before, block)), is_speculative, step });
                }
            }
        }
        way
    }

    fn sentence(&self, came: &Came, detail: &Detail) -> Option<String> {
        Some(match came.step {
            Step::Needed { inst, behind: Some(behind) } => format!(
                "`{}` in {} needs what `{}` has evaluated above it.",
                self.text(inst),
                self.block_names(&[inst]),
                self.text(behind)
            ),
            Step::Needed { inst, behind: None } => {
                format!("`{}` is evaluated in {}.", self.text(inst), self.block_names(&[inst]))
            }
            Step::Through(block) => {
                let name = self.name(block);
                let branch = detail.branches.iter().find(|branch| branch.block == block);
                match branch {
                    Some(branch) if branch.verdict == BranchVerdict::Plain => {
                        format!("It comes up through {name}, all of whose ways on need it.")
                    }
                    Some(branch) if self.decision(branch).1 => {
                        let line = self.line(branch, detail);
                        let line = if line.is_empty() { line } else { format!(" {line}.") };
                        format!("It comes up ahead of {name}, though not all ways on need it.{line}")
                    }
                    _ => format!("It comes up through {name}."),
                }
            }
            Step::Available(inst) => {
                format!("In {} its value is at hand: `{}`.", self.block_names(&[inst]), self.text(inst))
            }
            Step::Lacking(Position::Block(block)) => format!("{} does not have it.", self.name(block)),
            Step::Lacking(Position::Edge(from, to)) => {
                format!("Along the edge from {} to {} it does not come.", self.name(from), self.name(to))
            }
        })
    }

    fn place(&self, position: Position) -> String {
        match position {
            Position::Block(block) => format!("in {}", self.name(block)),
            Position::Edge(from, to) => format!("on the edge from {} to {}", self.name(from), self.name(to)),
        }
    }
}

fn spot(position: Position) -> Spot {
    let id = |block: Block| block.index() as u32;
    match position {
        Position::Block(block) => Spot::End(id(block)),
        Position::Edge(from, to) => Spot::Edge(id(from), id(to)),
    }
}

/// What a step leaves on the graph.
fn marks(came: &Came, func: &Function) -> Vec<Mark> {
    let id = |block: Block| block.index() as u32;
    let is_partial = came.is_speculative;
    let mut marks = Vec::new();
    if let (Some((from, to)), false) = (came.by, matches!(came.step, Step::Lacking(Position::Edge(..)))) {
        marks.push(Mark::Way { from: id(from), to: id(to), is_partial });
    }
    let flood = |inst: Inst, from: Option<Inst>, to: Option<Inst>| {
        let block = id(func.inst_block(inst)?);
        Some(Mark::Flood { block, from: from.map(Inst::as_u32), to: to.map(Inst::as_u32), is_partial })
    };
    marks.extend(match came.step {
        Step::Needed { inst, behind } => flood(inst, behind, Some(inst)),
        Step::Available(inst) => flood(inst, Some(inst), None),
        Step::Through(block) => Some(Mark::Flood { block: id(block), from: None, to: None, is_partial }),
        Step::Lacking(_) => None,
    });
    marks
}

#[cfg(test)]
mod tests {
    use crate::Engine;
    use crate::message::{Bench, Bits, Mark, Request, Response, Stage, Survey, Surveyed};

    const FIGURE_11: &str = include_str!("../../../../www/examples/spec-pre/figure-11.wir");

    fn told(source: &str, frequencies: &[(&[u32], u64)]) -> Surveyed {
        let knobs = [("machine".to_owned(), "unit".to_owned())].into();
        let pipeline = vec![Stage { pass: "spec-pre".to_owned(), on: true, knobs, ..Stage::default() }];
        let bench = Bench { source: source.to_owned(), pipeline, ..Bench::default() };
        let frequencies = frequencies.iter().map(|(path, count)| (path.to_vec(), *count)).collect();
        match Engine::new(|| 0.0).answer(Request::Survey(Survey { bench, frequencies, ..Survey::default() })) {
            Response::Surveyed(Some(surveyed)) => *surveyed,
            other => panic!("{other:?}"),
        }
    }

    fn words(told: &Surveyed) -> Vec<&str> {
        let sinking = told.sinking.as_ref().expect("something is told");
        sinking.moments.iter().map(|moment| moment.word.as_str()).collect()
    }

    #[test]
    fn a_figure_is_told_as_the_paper_tells_it() {
        let told = told(FIGURE_11, &[]);
        assert!(told.is_hoisting && told.lead.starts_with("Next, `add.u32 x, y`"), "{}", told.lead);
        assert_eq!((told.origin.as_str(), told.paths.len(), told.statements.len()), ("declared", 6, 1));
        assert_eq!(words(&told), ["needed", "hoisted", "hoisted", "hoisted", "inserted", "replaced"]);
        let sinking = told.sinking.expect("it is evaluated once");
        let [six] = sinking.joins.as_slice() else { panic!("{:?}", sinking.joins) };
        assert_eq!((six.name.as_str(), six.passes), ("n6", true));
        assert_eq!(six.line, "Benefit 19 · T = 19 > Cost 5 · T = 5");
        let of = |holds: fn(&Bits) -> bool| -> Vec<u64> {
            told.paths.iter().zip(&six.bits).filter(|(_, bits)| holds(bits)).map(|(row, _)| row.frequency).collect()
        };
        assert_eq!(of(|bits| bits.available), [10, 9, 8, 7]);
        assert_eq!(of(|bits| bits.removable), [10, 9, 6]);
        assert_eq!((of(|bits| bits.benefit), of(|bits| bits.cost)), (vec![10, 9], vec![5]));
        let sentences: Vec<&str> = sinking.moments.iter().map(|moment| moment.sentence.as_str()).collect();
        assert_eq!(sentences[3], "In `n2` its value is at hand: `a = add.u32 x, y`.");
        assert_eq!(sentences[4], "Where its value is not at hand it is evaluated now: in `n3`.");
        assert_eq!(sentences[5], "In `n7`, `b` takes the value that is there, and evaluates nothing.");
        // From the branch on, not all ways need it.
        let flooded = sinking.moments.iter().flat_map(|moment| &moment.marks).filter_map(|mark| match mark {
            Mark::Flood { block, is_partial, .. } => Some((*block, *is_partial)),
            _ => None,
        });
        assert_eq!(flooded.collect::<Vec<_>>(), [(6, false), (5, true), (3, true), (4, true), (1, true), (1, true)]);
    }

    #[test]
    fn what_does_not_pay_comes_up_to_the_branch_and_rests() {
        // The fifth path, which does not need it, is executed more often than the first two.
        let told = told(FIGURE_11, &[(&[0, 2, 5, 7, 8], 20)]);
        assert_eq!(
            (told.lead.as_str(), told.next),
            ("With these frequencies, nothing would be evaluated elsewhere.", None)
        );
        assert_eq!(words(&told), ["refused", "stays"]);
        let sinking = told.sinking.expect("it was weighed");
        assert_eq!(sinking.joins[0].line, "Benefit 19 · T = 19 < Cost 20 · T = 20");
        assert_eq!(sinking.moments[0].marks, [Mark::Rests(5)]);
        let written = told.written.expect("the paths are the source's");
        assert!(written.contains("n1 n3 n6 n8 n9: 20"), "{written}");
    }

    #[test]
    fn what_is_evaluated_twice_in_a_block_goes_nowhere() {
        let source = "kernel k(x: u32, o: ptr.global) {\nn0:\n    a = mul.u32 x, x\n    b = mul.u32 x, x\n    \
                      c = add.u32 a, b\n    st.global.u32 o[0], c\n    ret\n}\n";
        let told = told(source, &[]);
        assert_eq!(words(&told), ["needed", "replaced"]);
        let sinking = told.sinking.expect("it is evaluated once");
        assert_eq!(
            sinking.moments[0].sentence,
            "`b = mul.u32 x, x` in `n0` needs what `a = mul.u32 x, x` has evaluated above it."
        );
        assert!(sinking.joins.is_empty() && told.paths.is_empty());
    }

    #[test]
    fn where_nothing_is_evaluated_twice_that_is_said() {
        let source = "kernel k(x: u32, o: ptr.global) {\nn0:\n    st.global.u32 o[0], x\n    ret\n}\n";
        let told = told(source, &[]);
        assert_eq!(told.lead, "Nothing is evaluated twice on any way: `spec-pre` changes nothing.");
        assert_eq!(told.sinking, None);
    }
}
