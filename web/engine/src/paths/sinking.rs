//! What `pde` does about the statements of a program, with the pass's own survey: their way down, moment by moment.

use std::collections::BTreeSet;

use cranelift_entity::EntityRef;
use warpscope_core::ir::{Block, Func, Function, Inst, Module, WarpCounts};
use warpscope_core::pass::Settings as PassSettings;
use warpscope_core::pass::pde::survey::{
    self as core, Detail, Flooded, Join, JoinVerdict, Landed, Predicate, Question, executed_paths,
};
use warpscope_core::session::Session;
use warpscope_core::text::instruction_text;

use super::{
    MOST_PATHS, MOST_STATEMENTS, frequencies, in_order, name, names, origin, places, places_of, planned, rows, sign,
    warp_cycles, written,
};
use crate::message::{Bits, JoinRow, Mark, PathRow, SinkMoment, Sinking, Spot, StatementRow, Survey, Surveyed};

/// The paths, where the pass is `pde`. `warps` is what warps execute there.
pub(super) fn paths(
    session: &Session,
    settings: &PassSettings,
    pass: usize,
    kernel: Func,
    asked: &Survey,
    warps: Option<&WarpCounts>,
) -> Surveyed {
    let module = session.module();
    let of = |frequencies: &[(Vec<Block>, u64)], wanted: Option<Inst>| {
        core::survey(module, kernel, settings, Question { wanted, frequencies, warps })
    };
    let frequencies = frequencies(asked);
    let declared = in_order(&module.funcs[kernel], executed_paths(&module.funcs[kernel]));
    let planned = planned(session, pass, kernel);
    let wanted = asked.wanted.map(Inst::from_u32);
    let mut found = of(&frequencies, wanted.or(planned.filter(|_| frequencies.is_empty())));
    let next = if frequencies.is_empty() {
        planned
    } else {
        found.round.first().map(|&place| found.statements[place].occurrences[0])
    };
    if wanted.is_none() && found.detail.as_ref().is_none_or(|detail| detail.statement.is_none()) {
        // Where nothing sinks, something that was weighed.
        let weighed = |surveyed: &&core::Surveyed| matches!(surveyed.rule, "cost" | "warps" | "no-benefit");
        if let Some(surveyed) = found.statements.iter().find(weighed) {
            found = of(&frequencies, Some(surveyed.occurrences[0]));
        }
    }
    let told = Told { module, func: &module.funcs[kernel], found: &found };
    let rows = rows(told.func, &declared, &found.paths, &frequencies);
    let sinking = found.detail.as_ref().map(|detail| told.sinking(detail, wanted, &rows, is_by_choice(settings)));
    let has_begun = session.events_of(pass).start < session.done();
    Surveyed {
        lead: told.lead(next, has_begun, !frequencies.is_empty()),
        is_hoisting: false,
        origin: origin(&rows, found.estimated.is_some(), asked),
        more_paths: rows.len().saturating_sub(MOST_PATHS),
        written: (!frequencies.is_empty()).then(|| written(session, kernel, asked, &rows)).flatten(),
        statements: told.statements(next),
        more_statements: found.statements.len().saturating_sub(MOST_STATEMENTS),
        next: next.map(Inst::as_u32),
        sinking,
        paths: rows.into_iter().take(MOST_PATHS).collect(),
    }
}

fn is_by_choice(settings: &PassSettings) -> bool {
    settings.knobs.choice("cost") != "auto"
}

/// What was found, in words.
struct Told<'a> {
    module: &'a Module,
    func: &'a Function,
    found: &'a core::Survey,
}

impl Told<'_> {
    fn name(&self, block: Block) -> String {
        name(self.func, block)
    }

    fn names(&self, blocks: &[Block]) -> String {
        names(self.func, blocks)
    }

    fn text(&self, inst: Inst) -> String {
        instruction_text(self.module, self.func, inst)
    }

    fn lead(&self, next: Option<Inst>, has_begun: bool, is_edited: bool) -> String {
        if let Some(why) = &self.found.refused {
            return format!("`pde` cannot run: {why}.");
        }
        let with = if is_edited { "With these frequencies" } else { "Next" };
        match next {
            Some(inst) if is_edited => format!("{with}, `{}` would sink first.", self.text(inst)),
            Some(inst) => format!(
                "{with}, `{}` sinks to where its result is needed: play its way down, or step forward.",
                self.text(inst)
            ),
            None if self.found.paths.is_empty() => {
                "No `profile path` or `profile edge` says how often paths are executed, so nothing sinks with a predicate. Declare one, or \
                 let the simulator measure it: its switch is called profile."
                    .to_owned()
            }
            None if is_edited => format!("{with}, nothing would sink."),
            None if has_begun => "Nothing sinks any more. Step back to see what did, and why.".to_owned(),
            None => "Nothing pays here: `pde` changes nothing.".to_owned(),
        }
    }

    fn statements(&self, next: Option<Inst>) -> Vec<StatementRow> {
        let is_next = |surveyed: &core::Surveyed| next.is_some_and(|next| surveyed.occurrences.contains(&next));
        let rank = |surveyed: &core::Surveyed| match surveyed.rule {
            _ if is_next(surveyed) => 0,
            _ if surveyed.passes => 1,
            "cost" | "warps" => 2,
            "dead" | "needed" | "infrequent" => 4,
            _ => 3,
        };
        let mut all: Vec<&core::Surveyed> = self.found.statements.iter().collect();
        all.sort_by_key(|surveyed| rank(surveyed));
        let row = |surveyed: &core::Surveyed| {
            let insts = &surveyed.occurrences;
            let blocks: Vec<Block> = insts.iter().filter_map(|&inst| self.func.inst_block(inst)).collect();
            StatementRow {
                insts: insts.iter().map(|inst| inst.as_u32()).collect(),
                text: self.text(insts[0]),
                at: blocks.iter().map(|&block| self.func.blocks[block].name.as_str()).collect::<Vec<_>>().join(" "),
                passes: surveyed.passes,
                rule: surveyed.rule.to_owned(),
                verdict: format!("{}.", surveyed.verdict),
            }
        };
        all.into_iter().take(MOST_STATEMENTS).map(row).collect()
    }

    fn sinking(&self, detail: &Detail, wanted: Option<Inst>, rows: &[PathRow], is_by_choice: bool) -> Sinking {
        let surveyed = match detail.statement {
            Some(number) => &self.found.statements[number],
            None => {
                let insts: Vec<u32> = wanted.iter().map(|inst| inst.as_u32()).collect();
                let text = wanted.filter(|&inst| self.func.insts.is_valid(inst)).map(|inst| self.text(inst));
                let verdict = format!("{}.", detail.why_none.trim_end_matches('.'));
                return Sinking { insts, text: text.unwrap_or_default(), verdict, ..Sinking::default() };
            }
        };
        let place_of = places_of(rows, &self.found.paths);
        Sinking {
            insts: surveyed.occurrences.iter().map(|inst| inst.as_u32()).collect(),
            text: self.text(surveyed.occurrences[0]),
            verdict: format!("{}.", surveyed.verdict),
            warps: self.warps(surveyed, detail, is_by_choice),
            joins: detail.joins.iter().map(|join| self.join(join, detail, &place_of)).collect(),
            moments: self.moments(surveyed, detail),
        }
    }

    /// What warps pay, beside what paths do.
    fn warps(&self, surveyed: &core::Surveyed, detail: &Detail, is_by_choice: bool) -> String {
        let Some((before, after)) = detail.warp_cycles else { return String::new() };
        let cycles = warp_cycles(before, after);
        let (is_less, is_more) = (after < before - 0.5, after > before + 0.5);
        match (self.found.is_by_warp, surveyed.passes) {
            (true, _) => format!("Warps pay: {cycles}."),
            (false, false) => String::new(),
            (false, true) => {
                let why = if is_by_choice { "as `pde.cost` says" } else { "as no `profile warp` is there" };
                let so = match (is_less, is_more) {
                    (true, _) => format!("Warps of this launch gain as well: {cycles}."),
                    (_, true) => format!(
                        "Warps of this launch lose: {cycles}, as lanes that part take both ways one after the other. With \
                         `pde.cost=warp` it stays."
                    ),
                    _ => format!("To warps of this launch it makes no difference: {cycles}."),
                };
                format!("Paths pay, {why}. {so}")
            }
        }
    }

    fn join(&self, join: &Join, detail: &Detail, place_of: &[Option<usize>]) -> JoinRow {
        let name = self.name(join.block);
        let others: Vec<Block> = join.together.iter().copied().filter(|&block| block != join.block).collect();
        let with = if others.is_empty() {
            String::new()
        } else {
            format!(", together with {}, which its benefit needs", self.names(&others))
        };
        let (word, passes, verdict) = match join.verdict {
            JoinVerdict::Plain => {
                ("passed", true, format!("It comes to {name} on all ways, and passes without a predicate."))
            }
            JoinVerdict::Enabled => ("enabled", true, format!("It passes {name} with a predicate{with}: that pays.")),
            JoinVerdict::EnabledWith(earlier) => (
                "enabled",
                true,
                format!(
                    "It passes {name} with a predicate because the benefit of {} needs that, whatever it brings by itself.",
                    self.name(earlier)
                ),
            ),
            JoinVerdict::PastOthers => {
                ("passed", true, format!("It comes to {name} on all ways, as it passes other joins with a predicate."))
            }
            JoinVerdict::Cost => ("refused", false, format!("It does not pass {name}{with}: that costs more.")),
            JoinVerdict::Warps => {
                ("refused", false, format!("Paths would gain by passing {name}{with}, warps would not."))
            }
            JoinVerdict::NoBenefit => {
                ("no benefit", false, format!("It does not pass {name}: no frequent path would lose it."))
            }
            JoinVerdict::NotReached => ("not reached", false, format!("It does not come to {name}.")),
            JoinVerdict::Ends => (
                "ends",
                false,
                format!("In {name} something needs it, stops it, or defines its register anew: it goes no further."),
            ),
            JoinVerdict::LoopHead => {
                ("loop", false, format!("Control comes back to {name}: nothing passes there with a predicate."))
            }
            JoinVerdict::NoProfile => {
                ("no profile", false, format!("No profile says whether it pays to pass {name} with a predicate."))
            }
        };
        // The paper's count is shown beside the true one.
        let (verdict, printed) = match (join.printed, join.weighed) {
            (Some(printed), Some(weighed)) if printed.benefit_paths > weighed.benefit_paths => (
                format!(
                    "{verdict} The paper counts a benefit of {}: {} of these executions are last trips of a loop that need it behind, or may.",
                    printed.benefit_paths,
                    printed.benefit_paths - weighed.benefit_paths
                ),
                format!("the paper counts {}", printed.benefit_paths),
            ),
            _ => (verdict, String::new()),
        };
        let bits = place_of.iter().map(|place| {
            let holds = |set: &[usize]| place.is_some_and(|place| set.binary_search(&place).is_ok());
            Bits {
                on: holds(&join.on),
                available: holds(&join.available),
                removable: holds(&join.removable),
                benefit: holds(&join.benefits),
                cost: holds(&join.costs),
            }
        });
        JoinRow {
            block: join.block.index() as u32,
            name: self.func.blocks[join.block].name.clone(),
            word: word.to_owned(),
            passes,
            verdict,
            line: self.line(join, detail),
            printed,
            bits: bits.collect(),
        }
    }

    /// `Benefit 150 · T[s] = 150 > Cost 100 · T[p?s] = 100`.
    fn line(&self, join: &Join, detail: &Detail) -> String {
        let (weighed, by_itself) = match (join.weighed, join.verdict) {
            (Some(weighed), _) => (weighed, ""),
            (None, JoinVerdict::EnabledWith(_)) => {
                let frequency =
                    |set: &[usize]| set.iter().map(|&path| self.found.paths[path].frequency as f64).sum::<f64>();
                let (benefit_paths, cost_paths) = (frequency(&join.benefits), frequency(&join.costs));
                let times = core::Times { predicate: 0.0, ..detail.times };
                let (benefit, cost) = (benefit_paths * times.statement, cost_paths * times.predicated);
                (core::Weighed { benefit_paths, cost_paths, benefit, cost, times }, "By itself: ")
            }
            (None, _) => return String::new(),
        };
        let core::Weighed { benefit_paths, cost_paths, benefit, cost, times } = weighed;
        let than = sign(benefit, cost);
        let (of_s, of_p) =
            if times.predicate > 0.0 { ("(T[s] − T[p])", "(T[p?s] + T[p])") } else { ("T[s]", "T[p?s]") };
        format!("{by_itself}Benefit {benefit_paths} · {of_s} = {benefit} {than} Cost {cost_paths} · {of_p} = {cost}")
    }

    fn moments(&self, surveyed: &core::Surveyed, detail: &Detail) -> Vec<SinkMoment> {
        let text = format!("`{}`", self.text(surveyed.occurrences[0]));
        let mut moments = Vec::new();
        let mut say = |word: &str, sentence: String, marks: Vec<Mark>| {
            moments.push(SinkMoment { word: word.to_owned(), sentence, marks });
        };
        let waves = detail.flood.iter().map(|flooded| flooded.wave).max().map_or(0, |last| last + 1);
        for wave in 0..waves {
            let here: Vec<&Flooded> = detail.flood.iter().filter(|flooded| flooded.wave == wave).collect();
            let marks = here.iter().flat_map(|flooded| self.flood(flooded, detail)).collect();
            let sentences: Vec<String> = here.iter().map(|flooded| self.flooded(flooded, detail, &text)).collect();
            say(if wave == 0 { "stands" } else { "delayed" }, sentences.join(" "), marks);
        }
        if detail.landings.is_empty() {
            say("stays", format!("{}.", surveyed.verdict), Vec::new());
            return moments;
        }
        for join in detail.joins.iter().filter(|join| self.stops_at(join, detail)) {
            let name = self.name(join.block);
            let why = match (join.verdict, self.line(join, detail)) {
                (JoinVerdict::Cost, line) if !line.is_empty() => format!(", and stops: {line}."),
                _ => format!(". {}", self.join(join, detail, &[]).verdict),
            };
            say(
                "refused",
                format!("It comes to the join {name} on some ways only{why}"),
                vec![Mark::Stops(join.block.index() as u32)],
            );
        }
        let mut places: Vec<String> = Vec::new();
        for landed in &detail.landings {
            let place = self.place(landed.spot);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let with = match &detail.predicate {
            Some(Predicate::Known(guard)) => {
                format!("@{}{} ", if guard.negated { "!" } else { "" }, self.func.regs[guard.reg].name)
            }
            Some(Predicate::New { .. }) => "@q ".to_owned(),
            None => String::new(),
        };
        let result = self.func.insts[surveyed.occurrences[0]].dst().map_or("", |reg| &self.func.regs[reg].name);
        let lands = detail.landings.iter().map(|landed| Mark::Lands(spot(landed.spot), result.to_owned())).collect();
        let under = || {
            let needing = detail.landings.iter().filter(|landed| landed.is_partial && landed.is_live);
            needing.map(|landed| Mark::Lands(spot(landed.spot), format!("{with}{result}")))
        };
        say("inserted", format!("It can be delayed no further: it is inserted {}.", self::places(&places)), lands);
        let dead: Vec<&Landed> = detail.landings.iter().filter(|landed| !landed.is_live).collect();
        if !dead.is_empty() {
            let mut places: Vec<String> = dead.iter().map(|landed| self.place(landed.spot)).collect();
            places.dedup();
            let marks = dead.iter().map(|landed| Mark::Dropped(spot(landed.spot))).collect();
            say("eliminated", format!("Nobody needs its result {}: there it goes away.", self::places(&places)), marks);
        }
        match &detail.predicate {
            None => {}
            Some(Predicate::Known(guard)) => {
                let name = &self.func.regs[guard.reg].name;
                let not = if guard.negated { "false" } else { "true" };
                say(
                    "predicate",
                    format!(
                        "The program has a predicate that tells whether it is on its way: `{name}`, where that is {not}."
                    ),
                    under().collect(),
                );
            }
            Some(Predicate::New { begins, clears }) => {
                let mut marks: Vec<Mark> =
                    begins.iter().map(|&block| Mark::Predicate(Spot::Start(block.index() as u32), false)).collect();
                marks
                    .extend(surveyed.occurrences.iter().map(|inst| Mark::Predicate(Spot::Before(inst.as_u32()), true)));
                marks.extend(clears.iter().map(|&clear| Mark::Predicate(spot(clear), false)));
                marks.extend(under());
                let again = if clears.is_empty() { "" } else { " and false again where it has landed" };
                say(
                    "predicate",
                    format!(
                        "No predicate of the program tells whether it comes. A new one, `q`, is false at first, true where the statement stood{again}."
                    ),
                    marks,
                );
            }
        }
        if !surveyed.passes {
            say("stays", format!("{}.", surveyed.verdict), Vec::new());
        }
        moments
    }

    /// Does the statement come to a join that it does not pass, although it could?
    fn stops_at(&self, join: &Join, detail: &Detail) -> bool {
        let is_refused = matches!(
            join.verdict,
            JoinVerdict::Cost | JoinVerdict::Warps | JoinVerdict::NoBenefit | JoinVerdict::NoProfile
        );
        let is_at = |flooded: &Flooded| flooded.position == core::Position::Block(join.block);
        let leads_there = |flooded: &Flooded| {
            goes_on(flooded)
                && match flooded.position {
                    core::Position::Block(from) => self.func.successors(from).contains(&join.block),
                    core::Position::Edge(_, to) => to == join.block,
                }
        };
        is_refused && !detail.flood.iter().any(is_at) && detail.flood.iter().any(leads_there)
    }

    fn flooded(&self, flooded: &Flooded, detail: &Detail, text: &str) -> String {
        let block = match flooded.position {
            core::Position::Block(block) => block,
            core::Position::Edge(from, to) if flooded.is_dead => {
                return format!("On the edge from {} to {} its result is dead.", self.name(from), self.name(to));
            }
            core::Position::Edge(from, to) => {
                return format!("It goes on along the edge from {} to {}.", self.name(from), self.name(to));
            }
        };
        let name = self.name(block);
        let join = detail.joins.iter().find(|join| join.block == block);
        match (flooded.occurrence, flooded.stop) {
            (Some(_), _) => format!("{text} stands in {name}: nothing behind it there keeps it from going on."),
            (None, _) if flooded.is_dead => format!("It comes to {name}, where its result is dead."),
            (None, Some(stop)) => format!("It comes to {name}, where `{}` stops it.", self.text(stop)),
            (None, None) => match join {
                Some(join) if join.verdict == JoinVerdict::Plain => format!("It comes to {name} on all ways."),
                Some(join) if flooded.is_partial => {
                    let line = self.line(join, detail);
                    let line = if line.is_empty() { line } else { format!(" {line}.") };
                    match join.verdict {
                        JoinVerdict::EnabledWith(earlier) => format!(
                            "It comes to the join {name} on some ways only, and passes as the benefit of {} needs that.{line}",
                            self.name(earlier)
                        ),
                        JoinVerdict::PastOthers => {
                            format!("It comes to the join {name} on all ways, as it passes others with a predicate.")
                        }
                        _ => format!(
                            "It comes to the join {name} on some ways only, and passes it with a predicate.{line}"
                        ),
                    }
                }
                _ => format!("It goes through {name}."),
            },
        }
    }

    /// What of a place becomes wet, with the edges on which it came there.
    fn flood(&self, flooded: &Flooded, detail: &Detail) -> Vec<Mark> {
        let id = |block: Block| block.index() as u32;
        let is_partial = flooded.is_partial;
        let way = |from: Block, to: Block| Mark::Way { from: id(from), to: id(to), is_partial };
        let block = match flooded.position {
            core::Position::Edge(from, to) => return vec![way(from, to)],
            core::Position::Block(block) => block,
        };
        let mut marks = Vec::new();
        if flooded.occurrence.is_none() {
            let from = detail.flood.iter().filter(|other| goes_on(other)).filter_map(|other| match other.position {
                core::Position::Block(from) if self.func.successors(from).contains(&block) => Some(from),
                _ => None,
            });
            // A critical edge has been told of before.
            let is_edge = |from: Block| {
                detail
                    .flood
                    .iter()
                    .any(|other| matches!(other.position, core::Position::Edge(a, b) if (a, b) == (from, block)))
            };
            marks.extend(
                from.filter(|&from| !is_edge(from)).collect::<BTreeSet<_>>().into_iter().map(|from| way(from, block)),
            );
        }
        if !flooded.is_dead {
            let inst = |inst: Option<Inst>| inst.map(Inst::as_u32);
            marks.push(Mark::Flood {
                block: id(block),
                from: inst(flooded.occurrence),
                to: inst(flooded.stop),
                is_partial,
            });
        }
        marks
    }

    fn place(&self, spot: core::Spot) -> String {
        match spot {
            core::Spot::Before(inst) => match self.func.inst_block(inst) {
                Some(block) => format!("in {}", self.name(block)),
                None => String::new(),
            },
            core::Spot::Start(block) | core::Spot::End(block) => format!("in {}", self.name(block)),
            core::Spot::Edge(from, to) => format!("on the edge from {} to {}", self.name(from), self.name(to)),
        }
    }
}

/// Is the statement delayed to the end of a place?
fn goes_on(flooded: &Flooded) -> bool {
    flooded.occurrence.is_some() || flooded.stop.is_none() && !flooded.is_dead
}

fn spot(spot: core::Spot) -> Spot {
    let id = |block: Block| block.index() as u32;
    match spot {
        core::Spot::Before(inst) => Spot::Before(inst.as_u32()),
        core::Spot::Start(block) => Spot::Start(id(block)),
        core::Spot::End(block) => Spot::End(id(block)),
        core::Spot::Edge(from, to) => Spot::Edge(id(from), id(to)),
    }
}
