//! The executed paths at a position and what `pde` does about them, with the pass's own survey.

use std::collections::{BTreeMap, BTreeSet};

use cranelift_entity::EntityRef;
use warpscope_core::ir::{Block, Func, Function, Inst, Module, Profile, WarpCounts};
use warpscope_core::pass::pde::survey::{self as core, Detail, Flooded, Join, JoinVerdict, Landed, Predicate};
use warpscope_core::pass::{Settings as PassSettings, Step};
use warpscope_core::profile;
use warpscope_core::session::Session;
use warpscope_core::text::instruction_text;

use crate::message::{
    Bits, JoinRow, Mark, PathRow, Settings, SinkMoment, Sinking, Spot, StatementRow, Survey, Surveyed,
};
use crate::simulation::measure_within;

/// Paths and statements that are listed.
const MOST_PATHS: usize = 200;
const MOST_STATEMENTS: usize = 300;
/// Paths that keep the order of the profile: as many as the page draws.
const FEW_PATHS: usize = 8;
/// How long a run may take that only tells what warps pay, in microseconds.
const COUNTING: f64 = 1e6;

/// The paths in the program at the session's position, where `pass` is the one at hand. `warps` is what [`count_warps`] gave
/// there.
pub fn paths(
    session: &Session,
    steps: &[Step],
    pass: usize,
    kernel: Func,
    asked: &Survey,
    warps: Option<&WarpCounts>,
) -> Surveyed {
    let settings = PassSettings { knobs: steps[pass].knob_values(), fast_math: asked.bench.fast_math };
    let module = session.module();
    let of = |frequencies: &[(Vec<Block>, u64)], wanted: Option<Inst>| {
        core::survey(module, kernel, &settings, core::Question { wanted, frequencies, warps })
    };
    let block = |&block: &u32| Block::new(block as usize);
    let frequencies: Vec<(Vec<Block>, u64)> =
        asked.frequencies.iter().map(|(blocks, count)| (blocks.iter().map(block).collect(), *count)).collect();
    let declared = in_order(&module.funcs[kernel], core::executed_paths(&module.funcs[kernel]));
    // The journal knows what comes next, as a round goes on from the program that it began with.
    let events = session.journal().events();
    let planned = session
        .events_of(pass)
        .skip_while(|&event| event < session.done())
        .find(|&event| events[event].func == kernel && events[event].is_rewrite())
        .and_then(|event| events[event].remark.inst);
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
    let told = Told { module, func: &module.funcs[kernel], found: &found, declared: &declared };
    let rows = told.rows(&frequencies);
    let sinking = found.detail.as_ref().map(|detail| told.sinking(detail, wanted, &rows, is_by_choice(&settings)));
    let has_begun = session.events_of(pass).start < session.done();
    Surveyed {
        lead: told.lead(next, has_begun, !frequencies.is_empty()),
        origin: match (rows.is_empty(), found.estimated.is_some(), asked.bench.measured.is_some()) {
            (true, ..) => String::new(),
            (false, true, _) => "estimated".to_owned(),
            (false, false, true) => "measured".to_owned(),
            (false, false, false) => "declared".to_owned(),
        },
        more_paths: rows.len().saturating_sub(MOST_PATHS),
        written: (!frequencies.is_empty()).then(|| written(session, kernel, asked, &rows)).flatten(),
        statements: told.statements(next),
        more_statements: found.statements.len().saturating_sub(MOST_STATEMENTS),
        next: next.map(Inst::as_u32),
        sinking,
        paths: rows.into_iter().take(MOST_PATHS).collect(),
    }
}

/// Paths as a person numbers them: a few in the order of the profile, many by their frequency.
fn in_order(func: &Function, mut paths: Vec<(Vec<Block>, u64)>) -> Vec<(Vec<Block>, u64)> {
    if paths.len() <= FEW_PATHS {
        let declared: Vec<&Vec<Block>> = func
            .profiles
            .iter()
            .filter_map(|profile| if let Profile::Path(paths) = profile { Some(paths) } else { None })
            .flatten()
            .map(|(blocks, _)| blocks)
            .collect();
        paths.sort_by_key(|(blocks, _)| declared.iter().position(|path| *path == blocks));
    }
    paths
}

fn is_by_choice(settings: &PassSettings) -> bool {
    settings.knobs.choice("cost") != "auto"
}

/// What warps execute in a run of the program as it is, if that is known soon.
pub fn count_warps(module: &Module, kernel: Func, settings: &Settings, clock: fn() -> f64) -> Option<WarpCounts> {
    let counted = measure_within(module, kernel, settings, clock, COUNTING).ok()?;
    let mut measured = module.clone();
    measured.funcs[kernel].profiles.clear();
    profile::declare(&mut measured, &counted);
    Some(WarpCounts::of(&measured.funcs[kernel])).filter(|warps| !warps.is_empty())
}

/// What was found, in words.
struct Told<'a> {
    module: &'a Module,
    func: &'a Function,
    found: &'a core::Survey,
    /// The paths as the profile says them.
    declared: &'a [(Vec<Block>, u64)],
}

impl Told<'_> {
    fn name(&self, block: Block) -> String {
        format!("`{}`", self.func.blocks.get(block).map_or("", |data| &data.name))
    }

    fn names(&self, blocks: &[Block]) -> String {
        listed(&blocks.iter().map(|&block| self.name(block)).collect::<Vec<_>>())
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

    /// The paths, in the order of the profile, also those that are said to be executed never.
    fn rows(&self, frequencies: &[(Vec<Block>, u64)]) -> Vec<PathRow> {
        let frequency = |blocks: &Vec<Block>, declared: u64| {
            frequencies.iter().find(|(path, _)| path == blocks).map_or(declared, |(_, frequency)| *frequency)
        };
        let total: u64 = self.declared.iter().map(|(blocks, count)| frequency(blocks, *count)).sum();
        let row = |(blocks, declared): &(Vec<Block>, u64)| {
            let frequency = frequency(blocks, *declared);
            let path = self.found.paths.iter().find(|path| path.blocks == *blocks);
            PathRow {
                blocks: blocks.iter().map(|block| block.index() as u32).collect(),
                names: blocks.iter().map(|&block| self.func.blocks[block].name.clone()).collect(),
                frequency,
                declared: *declared,
                share: frequency as f64 / total.max(1) as f64,
                is_frequent: path.is_some_and(|path| path.is_frequent),
            }
        };
        self.declared.iter().map(row).collect()
    }

    fn statements(&self, next: Option<Inst>) -> Vec<StatementRow> {
        let is_next = |surveyed: &core::Surveyed| next.is_some_and(|next| surveyed.occurrences.contains(&next));
        let rank = |surveyed: &core::Surveyed| match surveyed.rule {
            _ if is_next(surveyed) => 0,
            _ if surveyed.passes => 1,
            "cost" | "warps" => 2,
            "dead" | "needed" => 4,
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
        // Bits are of paths as the survey lists them.
        let place_of: Vec<Option<usize>> = rows
            .iter()
            .take(MOST_PATHS)
            .map(|row| {
                let is_it = |path: &core::Path| {
                    path.blocks.iter().map(|block| block.index() as u32).eq(row.blocks.iter().copied())
                };
                self.found.paths.iter().position(is_it)
            })
            .collect();
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
        let cycles = match format!("{before:.0}") {
            one if one == "1" => format!("1 cycle before, {after:.0} behind"),
            many => format!("{many} cycles before, {after:.0} behind"),
        };
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
        let than = if benefit > cost {
            ">"
        } else if benefit < cost {
            "<"
        } else {
            "="
        };
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

/// `a, b and c`.
fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// `in a, b and on the edge from c to d`.
fn places(all: &[String]) -> String {
    let short = |(place, word): (usize, &String)| match word.strip_prefix("in ").filter(|_| place > 0) {
        Some(rest) if all[place - 1].starts_with("in ") => rest.to_owned(),
        _ => word.clone(),
    };
    listed(&all.iter().enumerate().map(short).collect::<Vec<_>>())
}

/// The source with a `profile path` of these rows in the place of those that it has, if the paths are of the source.
fn written(session: &Session, kernel: Func, asked: &Survey, rows: &[PathRow]) -> Option<String> {
    let start = &session.start().funcs[kernel];
    let names: BTreeMap<usize, &str> =
        start.block_order().map(|block| (block.index(), start.blocks[block].name.as_str())).collect();
    let is_of_source = |row: &PathRow| {
        row.blocks.iter().zip(&row.names).all(|(block, name)| names.get(&(*block as usize)) == Some(&name.as_str()))
    };
    let entry = start.entry_block()?;
    if rows.is_empty() || !rows.iter().all(is_of_source) {
        return None;
    }
    let lines: Vec<String> =
        rows.iter().map(|row| format!("        {}: {}\n", row.names.join(" "), row.frequency)).collect();
    let block = format!("    profile path {{\n{}    }}\n", lines.concat());
    declare_in(&asked.bench.source, start.block_spans[entry].start as usize, &block)
}

/// Puts a block of text in the place of the `profile path` blocks of the kernel whose body is at an offset, or at the end of
/// that.
fn declare_in(source: &str, body: usize, block: &str) -> Option<String> {
    let mut text = source.get(..body)?.to_owned();
    let (mut depth, mut at) = (1usize, None);
    let mut inside = false;
    let mut lines = source.get(body..)?.split_inclusive('\n');
    for line in lines.by_ref() {
        let code = line.split("//").next().unwrap_or("");
        let words: Vec<&str> = code.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
        let begins = depth == 1
            && words.first() == Some(&"profile")
            && words.get(1).is_some_and(|word| word.starts_with("path"));
        inside |= begins;
        if begins && at.is_none() {
            at = Some(text.len());
        }
        for brace in code.matches(['{', '}']) {
            depth = if brace == "{" { depth + 1 } else { depth.checked_sub(1)? };
        }
        if depth == 0 {
            // The kernel ends here.
            at = at.or(Some(text.len()));
            text.push_str(line);
            break;
        }
        if !inside {
            text.push_str(line);
        }
        inside &= depth > 1;
    }
    text.insert_str(at?, block);
    text.extend(lines);
    (depth == 0).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::declare_in;
    use crate::Engine;
    use crate::message::{Bench, Mark, Position, Request, Response, Spot, Stage, StatementRow, Survey, Surveyed};

    const FIGURE_5: &str = include_str!("../../../www/examples/pde/figure-5.wir");
    const FIGURE_3: &str = include_str!("../../../www/examples/pde/figure-3.wir");

    fn survey(source: &str, step: usize) -> Survey {
        let knobs = [("machine".to_owned(), "unit".to_owned())].into();
        let pipeline = vec![Stage { pass: "pde".to_owned(), on: true, knobs, ..Stage::default() }];
        let bench = Bench { source: source.to_owned(), pipeline, ..Bench::default() };
        Survey { bench, position: Position { stage: step.min(1), step }, ..Survey::default() }
    }

    fn ask(survey: &Survey) -> Surveyed {
        match Engine::new(|| 0.0).answer(Request::Survey(survey.clone())) {
            Response::Surveyed(Some(surveyed)) => *surveyed,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_figure_is_told_as_the_paper_tells_it() {
        let told = ask(&survey(FIGURE_5, 0));
        assert_eq!((told.origin.as_str(), told.paths.len(), told.more_paths), ("declared", 8, 0));
        assert!(told.lead.starts_with("Next, `x = mul.f32 a, b` sinks"), "{}", told.lead);
        let sinking = told.sinking.expect("it sinks");
        let [five, nine] = sinking.joins.as_slice() else { panic!("{:?}", sinking.joins) };
        assert_eq!(five.line, "Benefit 150 · T[s] = 150 > Cost 100 · T[p?s] = 100");
        assert_eq!(nine.line, "By itself: Benefit 25 · T[s] = 25 < Cost 100 · T[p?s] = 100");
        assert!(five.verdict.contains("together with `n9`") && nine.verdict.contains("`n5`"));
        let of = |holds: fn(&crate::message::Bits) -> bool| -> Vec<u64> {
            told.paths.iter().zip(&five.bits).filter(|(_, bits)| holds(bits)).map(|(row, _)| row.frequency).collect()
        };
        assert_eq!((of(|bits| bits.benefit), of(|bits| bits.cost)), (vec![125, 25], vec![50, 50]));
        assert!(
            sinking.warps.contains("no `profile warp`") && sinking.warps.contains("launch lose"),
            "{}",
            sinking.warps
        );
        let words: Vec<&str> = sinking.moments.iter().map(|moment| moment.word.as_str()).collect();
        assert_eq!(words.first(), Some(&"stands"));
        assert!(words.ends_with(&["delayed", "inserted", "eliminated", "predicate"]), "{words:?}");
        let marks: Vec<&Mark> = sinking.moments.iter().flat_map(|moment| &moment.marks).collect();
        let dropped = marks.iter().filter(|mark| matches!(mark, Mark::Dropped(..))).count();
        let lands = |label: &str| {
            let is_it =
                |mark: &&&Mark| matches!(mark, Mark::Lands(Spot::Before(_) | Spot::Start(_), it) if it == label);
            marks.iter().filter(is_it).count()
        };
        assert_eq!((dropped, lands("x"), lands("@p1 x")), (2, 3, 1), "{marks:?}");
        // The predicate comes last, and the later join says whose benefit needs it.
        let [.., predicate] = sinking.moments.as_slice() else { panic!("moments") };
        assert!(matches!(predicate.marks.as_slice(), [Mark::Lands(_, label)] if label == "@p1 x"));
        let at_nine =
            sinking.moments.iter().find(|moment| moment.sentence.contains("the join `n9`")).expect("a moment");
        assert!(
            at_nine.sentence.contains("and passes as the benefit of `n5` needs that. By itself: "),
            "{}",
            at_nine.sentence
        );
        // The edges along which it comes are told once each.
        let mut ways: Vec<(u32, u32)> = marks
            .iter()
            .filter_map(|mark| if let Mark::Way { from, to, .. } = mark { Some((*from, *to)) } else { None })
            .collect();
        let count = ways.len();
        ways.sort_unstable();
        ways.dedup();
        assert!(count == ways.len() && count > 4, "{ways:?}");
    }

    #[test]
    fn a_join_that_the_printed_rule_enables_behind_another_says_so() {
        let mut asked = survey(include_str!("../../../www/examples/pde/printed-rule.wir"), 0);
        asked.bench.pipeline[0].knobs.insert("rule".to_owned(), "printed".to_owned());
        let sinking = ask(&asked).sinking.expect("it sinks");
        let [five, nine] = sinking.joins.as_slice() else { panic!("{:?}", sinking.joins) };
        assert_eq!(five.line, "Benefit 150 · T[s] = 150 > Cost 50 · T[p?s] = 50");
        assert!(nine.passes && nine.verdict.contains("because the benefit of `n5` needs that"), "{}", nine.verdict);
        assert_eq!(nine.line, "By itself: Benefit 25 · T[s] = 25 < Cost 200 · T[p?s] = 200");
    }

    #[test]
    fn the_paper_s_count_stands_beside_the_true_one() {
        let source = include_str!("../../../www/examples/pde/figure-6.wir");
        let sinking = ask(&survey(source, 0)).sinking.expect("it sinks");
        let join = sinking.joins.iter().find(|join| join.name == "n5").expect("the loop's tail");
        assert_eq!(join.line, "Benefit 85 · T[s] = 85 > Cost 5 · T[p?s] = 5");
        assert!(join.verdict.contains("The paper counts a benefit of 95: 10 of these"), "{}", join.verdict);
        assert_eq!(join.printed, "the paper counts 95");
    }

    #[test]
    fn paths_that_are_estimated_are_said_to_be() {
        let (head, rest) = FIGURE_5.split_once("    profile path {").expect("a profile");
        let (_, tail) = rest.split_once("    }\n").expect("its end");
        let counts = [
            ("n1 -> n2", 160),
            ("n1 -> n3", 130),
            ("n2 -> n5", 160),
            ("n3 -> n4", 70),
            ("n3 -> n6", 60),
            ("n4 -> n5", 70),
            ("n5 -> n7", 135),
            ("n5 -> n8", 95),
            ("n8 -> n9", 95),
            ("n6 -> n9", 60),
            ("n9 -> n10", 45),
            ("n9 -> n11", 110),
            ("n7 -> n12", 135),
            ("n10 -> n12", 45),
            ("n11 -> n12", 110),
        ];
        let lines: String = counts.iter().map(|(edge, count)| format!("        {edge}: {count}\n")).collect();
        let edges = format!("    profile edge {{\n{lines}    }}\n");
        let told = ask(&survey(&format!("{head}{edges}{tail}"), 0));
        assert!(told.origin == "estimated" && !told.paths.is_empty(), "{}", told.origin);
    }

    #[test]
    fn another_frequency_changes_the_verdict_and_can_be_written() {
        let mut asked = survey(FIGURE_5, 0);
        let first = ask(&asked);
        assert_eq!(first.written, None);
        asked.wanted = first.next;
        asked.frequencies = vec![(first.paths[0].blocks.clone(), 20)];
        let other = ask(&asked);
        assert_eq!((other.paths[0].frequency, other.paths[0].declared, other.next), (20, 125, None));
        assert!(other.lead.contains("nothing would sink"), "{}", other.lead);
        let sinking = other.sinking.expect("what was asked for");
        assert_eq!(sinking.joins[0].line, "Benefit 45 · T[s] = 45 < Cost 100 · T[p?s] = 100");
        assert!(!sinking.joins[0].passes && sinking.joins[0].word == "refused");
        let written = other.written.expect("a source");
        assert!(written.contains("n1 n2 n5 n7 n12: 20\n") && !written.contains(": 125"));
        assert_eq!(written.matches("profile path").count(), 1);
        // What is written says the same without being asked.
        let again = ask(&Survey { wanted: asked.wanted, ..survey(&written, 0) });
        assert_eq!((again.next, again.lead.starts_with("Nothing pays")), (None, true));
        // A path that is executed never stays in the list.
        asked.frequencies[0].1 = 0;
        assert_eq!(ask(&asked).paths.len(), 8);
    }

    #[test]
    fn what_stays_says_why() {
        let mut asked = survey(FIGURE_3, 0);
        asked.bench.pipeline[0].knobs.insert("fp".to_owned(), "1".to_owned());
        let product = |row: &&StatementRow| row.text.starts_with("x = work");
        asked.wanted = ask(&asked).statements.iter().find(product).map(|row| row.insts[0]);
        let sinking = ask(&asked).sinking.expect("it sinks as far as it goes");
        assert!(sinking.moments.iter().all(|moment| moment.word != "stays" && moment.word != "predicate"));
        let four = sinking.joins.iter().find(|join| join.name == "n4").expect("a join");
        assert_eq!((four.word.as_str(), four.bits.iter().filter(|bits| bits.cost).count()), ("refused", 6));
        assert_eq!(four.bits.iter().filter(|bits| bits.benefit).count(), 1);
        let refused = sinking.moments.iter().find(|moment| moment.word == "refused").expect("it comes to that join");
        assert!(refused.sentence.contains("on some ways only, and stops: Benefit 64"), "{}", refused.sentence);
        assert_eq!(refused.marks, [Mark::Stops(four.block)]);
        let behind = ask(&survey(FIGURE_3, 2));
        assert!(behind.lead.contains("any more") && behind.next.is_none(), "{}", behind.lead);
        let no_profile = ask(&survey("kernel k() {\nentry:\n    ret\n}\n", 0));
        assert!(no_profile.lead.contains("`profile path`") && no_profile.paths.is_empty());
        let other = Survey { wanted: Some(0), ..survey(FIGURE_5, 0) };
        assert!(ask(&other).sinking.expect("an answer").verdict.contains("cannot leave its block"));
    }

    #[test]
    fn a_profile_is_written_where_one_was_or_at_the_end() {
        let source = "kernel k() {\na:\n    ret // }\n    profile path {\n        a: 1\n    }\n}\nlaunch k {\n}\n";
        let at = source.find("a:").expect("a block");
        let new = "    profile path {\n        a: 2\n    }\n";
        assert_eq!(declare_in(source, at, new).as_deref(), Some(source.replace("a: 1", "a: 2").as_str()));
        let bare = "kernel k() {\na:\n    ret\n}\n";
        assert_eq!(declare_in(bare, at, new), Some(format!("kernel k() {{\na:\n    ret\n{new}}}\n")));
        assert_eq!(declare_in("kernel k() {\na:\n", at, new), None);
    }
}
