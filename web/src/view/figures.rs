//! The figures of runs of the source, of the program here, and of that at the end: names, values, and their table.

use warpscope_engine::message::Counts;
use yew::{Html, html};

use super::thousands;
use crate::presets;
use crate::state::Lab;

/// A number that counts give.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Figure {
    /// Cycles of the scheduler.
    Cycles,
    /// Issues by warps.
    WarpInstructions,
    /// Active lanes, summed over issues.
    ThreadInstructions,
    /// Issues without those of terminators.
    EvaluationsByWarps,
    /// Active lanes of these.
    EvaluationsByLanes,
    /// The share of active lanes.
    SimtEfficiency,
    /// Branches that split their warp.
    DivergentBranches,
    /// Loads from a space.
    Loads(String),
    /// Stores to a space.
    Stores(String),
    /// 32-byte sectors by accesses that asked for any.
    SectorsARequest,
    /// The share of sectors that the first-level cache had.
    CacheHits,
    /// Extra cycles by shared-memory bank conflicts.
    BankConflicts,
    /// Cycles without an issue, by cause.
    Idle(String),
}

/// A change that would be shown as 0.0 % or 0.0 pp.
const SMALLEST_CHANGE: f64 = 0.000_5;

impl Figure {
    /// The figures that say something about any of these counts, after a pass of that name.
    pub fn all<'a>(counts: impl Iterator<Item = &'a Counts> + Clone, pass: &str) -> Vec<Figure> {
        let names = |of: fn(&Counts) -> &Vec<(String, u64)>| {
            let mut names: Vec<String> = Vec::new();
            for (name, _) in counts.clone().flat_map(of) {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
            names
        };
        let mut all = vec![Figure::Cycles];
        if saves_evaluations(pass) {
            all.extend([Figure::EvaluationsByLanes, Figure::EvaluationsByWarps]);
        }
        all.extend([
            Figure::WarpInstructions,
            Figure::ThreadInstructions,
            Figure::SimtEfficiency,
            Figure::DivergentBranches,
        ]);
        all.extend(names(|counts| &counts.loads).into_iter().map(Figure::Loads));
        all.extend(names(|counts| &counts.stores).into_iter().map(Figure::Stores));
        all.extend([Figure::SectorsARequest, Figure::CacheHits, Figure::BankConflicts]);
        all.extend(names(|counts| &counts.idle).into_iter().map(Figure::Idle));
        all
    }

    /// Name for people.
    pub fn name(&self) -> String {
        let of_space = |space: &str, what: &str| {
            let (first, rest) = space.split_at(space.len().min(1));
            format!("{}{rest} {what}", first.to_uppercase())
        };
        match self {
            Figure::Cycles => "Cycles".to_owned(),
            Figure::WarpInstructions => "Warp instructions".to_owned(),
            Figure::ThreadInstructions => "Thread instructions".to_owned(),
            Figure::EvaluationsByWarps => "Evaluations by warps".to_owned(),
            Figure::EvaluationsByLanes => "Evaluations by lanes".to_owned(),
            Figure::SimtEfficiency => "SIMT efficiency".to_owned(),
            Figure::DivergentBranches => "Divergent branches".to_owned(),
            Figure::Loads(space) => of_space(space, "loads"),
            Figure::Stores(space) => of_space(space, "stores"),
            Figure::SectorsARequest => "Sectors per request".to_owned(),
            Figure::CacheHits => "L1 hit rate".to_owned(),
            Figure::BankConflicts => "Bank conflicts".to_owned(),
            Figure::Idle(cause) => format!("Stalled: {cause}"),
        }
    }

    /// Its value; none where there is nothing to divide by.
    pub fn of(&self, counts: &Counts) -> Option<f64> {
        let named = |list: &[(String, u64)], name: &str| {
            Some(list.iter().find(|(found, _)| found == name).map_or(0.0, |(_, count)| *count as f64))
        };
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        match self {
            Figure::Cycles => Some(counts.cycles as f64),
            Figure::WarpInstructions => Some(counts.issues as f64),
            Figure::ThreadInstructions => Some(counts.lanes as f64),
            Figure::EvaluationsByWarps => Some(counts.evaluations.0 as f64),
            Figure::EvaluationsByLanes => Some(counts.evaluations.1 as f64),
            Figure::SimtEfficiency => counts.simt_efficiency(),
            Figure::DivergentBranches => Some(counts.divergent as f64),
            Figure::Loads(space) => named(&counts.loads, space),
            Figure::Stores(space) => named(&counts.stores, space),
            Figure::SectorsARequest => share(counts.sectors, counts.requests),
            Figure::CacheHits => share(counts.l1_hits, counts.sectors),
            Figure::BankConflicts => Some(counts.bank_conflicts as f64),
            Figure::Idle(cause) => named(&counts.idle, cause),
        }
    }

    fn show(&self, value: Option<f64>) -> String {
        match (self, value) {
            (_, None) => "–".to_owned(),
            (Figure::SimtEfficiency | Figure::CacheHits, Some(value)) => format!("{:.1} %", value * 100.0),
            (Figure::SectorsARequest, Some(value)) => format!("{value:.2}"),
            (_, Some(value)) => thousands(value as u64),
        }
    }

    /// Whether it is a share, of which more is better.
    fn is_rate(&self) -> bool {
        matches!(self, Figure::SimtEfficiency | Figure::CacheHits)
    }

    /// Whether its change says how good `pass` was: cycles for every pass, and what the pass is for.
    fn is_purpose_of(&self, pass: &str) -> bool {
        match self {
            Figure::Cycles => true,
            Figure::EvaluationsByLanes | Figure::EvaluationsByWarps => saves_evaluations(pass),
            Figure::Loads(_) => presets::SAVE_LOADS.contains(&pass),
            Figure::SimtEfficiency | Figure::DivergentBranches => presets::AVOID_DIVERGENCE.contains(&pass),
            _ => false,
        }
    }

    /// The change from one value to another: rates change by points, counts by a share.
    fn change(&self, old: f64, new: f64) -> String {
        let change = if self.is_rate() { new - old } else { new / old - 1.0 };
        let unit = if self.is_rate() { "pp" } else { "%" };
        match change {
            _ if old == new => "=".to_owned(),
            _ if change.is_infinite() => "new".to_owned(),
            change if change.abs() < SMALLEST_CHANGE => "≈".to_owned(),
            change => format!("{:+.1} {unit}", change * 100.0).replace('-', "−"),
        }
    }

    /// Three cells: before, after, and by how much they differ, in colour if that is what `pass` is for.
    pub fn cells(&self, before: Option<&Counts>, after: Option<&Counts>, pass: &str) -> Html {
        let (old, new) = (before.and_then(|counts| self.of(counts)), after.and_then(|counts| self.of(counts)));
        let change = old.zip(new).map(|(old, new)| self.change(old, new)).unwrap_or_default();
        let class = match old.zip(new) {
            Some((old, new)) if self.is_purpose_of(pass) && old != new && change != "≈" => {
                if (new > old) == self.is_rate() { "change good" } else { "change bad" }
            }
            _ => "change",
        };
        html! { <><td>{ self.show(old) }</td><td>{ self.show(new) }</td><td {class}>{ change }</td></> }
    }
}

/// Whether a pass is for fewer evaluations.
fn saves_evaluations(pass: &str) -> bool {
    presets::SAVE_EVALUATIONS.contains(&pass)
}

/// The head of a table whose rows end in [`Figure::cells`], and with `has_end` in the value at the end.
pub fn table_head(what: &str, has_end: bool) -> Html {
    html! {
        <thead>
            <tr>
                <th scope="col"><span class="hidden">{ what.to_owned() }</span></th>
                <th scope="col">{ "source" }</th>
                <th scope="col">{ "here" }</th>
                <th scope="col">{ "change" }</th>
                if has_end { <th scope="col" class="end">{ "end" }</th> }
            </tr>
        </thead>
    }
}

/// Counts of three programs, as far as they ran.
#[derive(Clone, Copy, Default)]
pub struct Totals<'a> {
    /// The source.
    pub source: Option<&'a Counts>,
    /// The program at the position.
    pub here: Option<&'a Counts>,
    /// The program after all passes; none where that is the program at the position.
    pub end: Option<&'a Counts>,
}

impl<'a> Totals<'a> {
    /// Counts of the last runs.
    pub fn of(lab: &'a Lab) -> Totals<'a> {
        let Some(runs) = &lab.runs else { return Totals::default() };
        let [source, here, end] = runs.totals();
        Totals { source, here, end: end.filter(|_| runs.end.is_some()) }
    }
}

/// A table of figures, after a pass of that name.
pub fn figure_table(figures: &[Figure], totals: Totals<'_>, pass: &str, test: &'static str) -> Html {
    let Totals { source, here, end } = totals;
    html! {
        <table class="figures" data-testid={test}>
            { table_head("Figure", end.is_some()) }
            <tbody>
                { for figures.iter().map(|figure| {
                    let name = figure.name();
                    let id = name.to_lowercase().replace([' ', ':'], "-");
                    html! {
                        <tr data-testid={format!("{}-{id}", test.trim_end_matches('s'))}>
                            <th scope="row">{ name }</th>
                            { figure.cells(source, here, pass) }
                            if let Some(end) = end { <td class="end">{ figure.show(figure.of(end)) }</td> }
                        </tr>
                    }
                }) }
            </tbody>
        </table>
    }
}

/// All figures and the issues by active lanes.
pub fn all_figures(totals: Totals<'_>, pass: &str, test: &'static str) -> Html {
    let all = Figure::all([totals.source, totals.here, totals.end].into_iter().flatten(), pass);
    html! {
        <>
            { figure_table(&all, totals, pass, test) }
            { about_evaluations(totals, pass) }
            { occupancy(totals.source, totals.here) }
        </>
    }
}

/// Sentence for lanes that evaluate less while their warps take no fewer cycles; nothing where that is not so.
pub fn about_evaluations(totals: Totals<'_>, pass: &str) -> Html {
    let Some((source, here)) = totals.source.zip(totals.here).filter(|_| saves_evaluations(pass)) else {
        return Html::default();
    };
    if here.evaluations.1 >= source.evaluations.1 || here.cycles < source.cycles {
        return Html::default();
    }
    html! {
        <p class="note" data-testid="about-evaluations">
            { "Lanes evaluate less, and cycles do not fall: a warp issues an instruction as long as one of its lanes needs it." }
        </p>
    }
}

/// How many issues had so many active lanes, as two rows of bars.
fn occupancy(before: Option<&Counts>, after: Option<&Counts>) -> Html {
    let sides = [before, after].into_iter().flatten();
    let most = sides.clone().flat_map(|counts| counts.occupancy.iter().skip(1)).copied().max().unwrap_or(0);
    if most == 0 {
        return Html::default();
    }
    let lanes = sides.map(|counts| counts.occupancy.len().saturating_sub(1)).max().unwrap_or(0);
    let bars = |counts: Option<&Counts>, name: &'static str| {
        let Some(counts) = counts else { return Html::default() };
        let full = counts.occupancy.last().copied().unwrap_or(0);
        let share = full as f64 / counts.issues.max(1) as f64 * 100.0;
        let spoken = format!("{name}: {share:.0} % of issues with all {lanes} lanes active");
        let width = 320.0 / lanes.max(1) as f64;
        html! {
            <div class="bars">
                <span>{ name }</span>
                <svg viewBox="0 0 320 36" preserveAspectRatio="none" role="img" aria-label={spoken}>
                    { for counts.occupancy.iter().enumerate().skip(1).map(|(lanes, &issues)| {
                        let height = (issues as f64 / most as f64).sqrt() * 35.0;
                        html! {
                            <rect x={format!("{:.1}", (lanes - 1) as f64 * width + 0.5)} width={format!("{:.1}", (width - 1.0).max(0.5))}
                                y={format!("{:.1}", 36.0 - height)} height={format!("{height:.1}")}>
                                <title>{ format!("{lanes} lanes: {} issues", thousands(issues)) }</title>
                            </rect>
                        }
                    }) }
                </svg>
            </div>
        }
    };
    html! {
        <figure class="occupancy" data-testid="occupancy">
            <figcaption>{ "Issues by active lanes" }</figcaption>
            { bars(before, "source") }
            { bars(after, "here") }
            <p class="axis" aria-hidden="true"><span>{ "1" }</span><span>{ lanes }</span></p>
        </figure>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_change_by_points_and_counts_by_shares() {
        assert_eq!(Figure::SimtEfficiency.change(0.733, 0.715), "−1.8 pp");
        assert_eq!(Figure::CacheHits.change(0.0, 0.5), "+50.0 pp");
        assert_eq!(Figure::CacheHits.change(0.5, 0.500_1), "≈");
        assert_eq!(Figure::Cycles.change(200.0, 150.0), "−25.0 %");
        assert_eq!(Figure::BankConflicts.change(0.0, 3.0), "new");
        assert_eq!(Figure::BankConflicts.change(0.0, 0.0), "=");
    }

    #[test]
    fn only_the_purpose_of_a_pass_is_judged() {
        let loads = Figure::Loads("global".to_owned());
        assert!(Figure::Cycles.is_purpose_of("sink") && loads.is_purpose_of("ssrqp"));
        assert!(!loads.is_purpose_of("dce") && !Figure::SimtEfficiency.is_purpose_of("ssrqp"));
    }
}
