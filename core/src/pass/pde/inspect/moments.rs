//! The way of a statement, moment by moment: where it is, where it is delayed, where it lands, and its predicate.
//!
//! ```text
//! n2: x = mul.f32 a, b    start     n5, n8, n9   delayed     n11: @p1 x   inserted, predicate
//!                                                            n7:  x ×     inserted, eliminated
//! ```

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::SinkReport;
use super::survey::{Detail, Flooded, Join, JoinVerdict, Landed, Position, Predicate, Spot, Surveyed};
use crate::inspect::{Anchor, Look, Mark, Moment};
use crate::ir::{Block, Inst};
use crate::pass::support::path_guided::inspect::words::{following, places};
use crate::pass::support::path_guided::inspect::{mark, refused, stays};

impl SinkReport<'_> {
    pub(super) fn moments(&self, surveyed: &Surveyed, detail: &Detail) -> Vec<Moment> {
        let mut moments = self.waves(surveyed, detail);
        if detail.landings.is_empty() {
            moments.push(stays(&surveyed.verdict));
            return moments;
        }
        moments.extend(self.refusals(detail));
        moments.extend(self.landings(surveyed, detail));
        moments.extend(self.predicate(surveyed, detail));
        if !surveyed.passes {
            moments.push(stays(&surveyed.verdict));
        }
        moments
    }

    /// The place of the statement, and the places where it is delayed, as far as it comes at a time.
    fn waves(&self, surveyed: &Surveyed, detail: &Detail) -> Vec<Moment> {
        let text = format!("`{}`", self.text(surveyed.occurrences[0]));
        let waves = detail.flood.iter().map(|flooded| flooded.wave).max().map_or(0, |last| last + 1);
        let moment = |wave: usize| {
            let here: Vec<&Flooded> = detail.flood.iter().filter(|flooded| flooded.wave == wave).collect();
            let sentences: Vec<String> = here.iter().map(|flooded| self.flooded(flooded, detail, &text)).collect();
            Moment {
                word: if wave == 0 { "start" } else { "delayed" }.into(),
                sentence: sentences.join(" "),
                marks: here.iter().flat_map(|flooded| self.flood(flooded, detail)).collect(),
                ..Moment::default()
            }
        };
        (0..waves).map(moment).collect()
    }

    /// The joins where it stops.
    fn refusals(&self, detail: &Detail) -> impl Iterator<Item = Moment> {
        detail.joins.iter().filter(|join| self.stops_at(join, detail)).map(|join| {
            let name = self.name(join.block);
            let why = match (join.verdict, self.line(join, detail)) {
                (JoinVerdict::Cost, line) if !line.is_empty() => format!(", and stops: {line}."),
                _ => format!(". {}", self.point(join, detail).verdict),
            };
            refused(Anchor::Start(join.block.as_u32()), format!("It reaches the join {name} on some paths only{why}"))
        })
    }

    /// Whether the statement reaches a join that it does not pass, although it could.
    fn stops_at(&self, join: &Join, detail: &Detail) -> bool {
        let is_refused = matches!(
            join.verdict,
            JoinVerdict::Cost | JoinVerdict::Warps | JoinVerdict::NoBenefit | JoinVerdict::NoProfile
        );
        let is_at = |flooded: &Flooded| flooded.position == Position::Block(join.block);
        let leads_there = |flooded: &Flooded| {
            goes_on(flooded)
                && match flooded.position {
                    Position::Block(from) => self.func.successors(from).contains(&join.block),
                    Position::Edge(_, to) => to == join.block,
                }
        };
        is_refused && !detail.flood.iter().any(is_at) && detail.flood.iter().any(leads_there)
    }

    /// Insertions, and removals of those that nobody needs.
    fn landings(&self, surveyed: &Surveyed, detail: &Detail) -> Vec<Moment> {
        let mut inserted: Vec<String> = Vec::new();
        for landed in &detail.landings {
            let place = self.place(landed.spot);
            if !inserted.contains(&place) {
                inserted.push(place);
            }
        }
        let result = self.result(surveyed);
        let mut moments = Vec::from([Moment {
            word: "inserted".into(),
            sentence: format!("It can be delayed no further: it is inserted {}.", places(&inserted)),
            marks: detail.landings.iter().map(|landed| mark(anchor(landed.spot), Look::New, result)).collect(),
            ..Moment::default()
        }]);
        let dead: Vec<&Landed> = detail.landings.iter().filter(|landed| !landed.is_live).collect();
        if !dead.is_empty() {
            let mut removed: Vec<String> = dead.iter().map(|landed| self.place(landed.spot)).collect();
            removed.dedup();
            moments.push(Moment {
                word: "eliminated".into(),
                sentence: format!("Its result is unused {}: it is removed there.", places(&removed)),
                marks: dead.iter().map(|landed| mark(anchor(landed.spot), Look::Removed, "×")).collect(),
                ..Moment::default()
            });
        }
        moments
    }

    /// The predicate under which it lands somewhere.
    fn predicate(&self, surveyed: &Surveyed, detail: &Detail) -> Option<Moment> {
        let result = self.result(surveyed);
        let under = |guard: &str| -> Vec<Mark> {
            let needing = detail.landings.iter().filter(|landed| landed.is_partial && landed.is_live);
            needing.map(|landed| mark(anchor(landed.spot), Look::New, format!("@{guard} {result}"))).collect()
        };
        let (sentence, marks) = match detail.predicate.as_ref()? {
            Predicate::Known(guard) => {
                let name = &self.func.regs[guard.reg].name;
                let (not, says, elsewhere) = if guard.negated { ("!", "false", "true") } else { ("", "true", "false") };
                let sentence = format!(
                    "The predicate `{name}` is {says} on the paths with the statement, and {elsewhere} on all others."
                );
                (sentence, under(&format!("{not}{name}")))
            }
            Predicate::New { begins, clears } => {
                let sets = |anchor: Anchor, value: bool| mark(anchor, Look::Cause, format!("q = {value}"));
                let mut marks: Vec<Mark> =
                    begins.iter().map(|block| sets(Anchor::Start(block.as_u32()), false)).collect();
                marks.extend(surveyed.occurrences.iter().map(|inst| sets(Anchor::Before(inst.as_u32()), true)));
                marks.extend(clears.iter().map(|&clear| sets(anchor(clear), false)));
                marks.extend(under("q"));
                let again = if clears.is_empty() { "" } else { " and false again where it has landed" };
                let sentence = format!(
                    "No predicate tells these paths apart. A new one, `q`, is false at first, true where the statement \
                     was{again}."
                );
                (sentence, marks)
            }
        };
        Some(Moment { word: "predicate".into(), sentence, marks, ..Moment::default() })
    }

    fn flooded(&self, flooded: &Flooded, detail: &Detail, text: &str) -> String {
        let block = match flooded.position {
            Position::Block(block) => block,
            Position::Edge(from, to) if flooded.is_dead => {
                return format!("On the edge from {} to {} its result is dead.", self.name(from), self.name(to));
            }
            Position::Edge(from, to) => {
                return format!("It goes on along the edge from {} to {}.", self.name(from), self.name(to));
            }
        };
        let name = self.name(block);
        let join = detail.joins.iter().find(|join| join.block == block);
        match (flooded.occurrence, flooded.stop) {
            (Some(_), _) => format!("{text} is in {name}: nothing after it there keeps it from going on."),
            (None, _) if flooded.is_dead => format!("It reaches {name}, where its result is dead."),
            (None, Some(stop)) => format!("It reaches {name}, where `{}` stops it.", self.text(stop)),
            (None, None) => match join {
                Some(join) if join.verdict == JoinVerdict::Plain => format!("It reaches {name} on all paths."),
                Some(join) if flooded.is_partial => {
                    let line = following(self.line(join, detail));
                    match join.verdict {
                        JoinVerdict::EnabledWith(earlier) => format!(
                            "It reaches the join {name} on some paths only, and passes as the benefit of {} needs \
                             that.{line}",
                            self.name(earlier)
                        ),
                        JoinVerdict::PastOthers => {
                            format!("It reaches the join {name} on all paths, as it passes others with a predicate.")
                        }
                        _ => format!(
                            "It reaches the join {name} on some paths only, and passes it with a predicate.{line}"
                        ),
                    }
                }
                _ => format!("It goes through {name}."),
            },
        }
    }

    /// The part of a place through which it comes, with the edges on which it came there.
    fn flood(&self, flooded: &Flooded, detail: &Detail) -> Vec<Mark> {
        let look = if flooded.is_partial { Look::Partial } else { Look::Plain };
        let edge = |from: Block, to: Block| mark(Anchor::Edge(from.as_u32(), to.as_u32()), look, "");
        let block = match flooded.position {
            Position::Edge(from, to) => return Vec::from([edge(from, to)]),
            Position::Block(block) => block,
        };
        let mut marks = Vec::new();
        if flooded.occurrence.is_none() {
            let from = detail.flood.iter().filter(|other| goes_on(other)).filter_map(|other| match other.position {
                Position::Block(from) if self.func.successors(from).contains(&block) => Some(from),
                _ => None,
            });
            // A critical edge has been told of before.
            let is_told = |from: Block| detail.flood.iter().any(|other| other.position == Position::Edge(from, block));
            let from: BTreeSet<Block> = from.filter(|&from| !is_told(from)).collect();
            marks.extend(from.into_iter().map(|from| edge(from, block)));
        }
        if !flooded.is_dead {
            let number = |inst: Option<Inst>| inst.map(Inst::as_u32);
            let (from, to) = (number(flooded.occurrence), number(flooded.stop));
            marks.push(mark(Anchor::Range { block: block.as_u32(), from, to }, look, ""));
        }
        marks
    }

    fn place(&self, spot: Spot) -> String {
        match spot {
            Spot::Before(inst) => match self.func.inst_block(inst) {
                Some(block) => format!("in {}", self.name(block)),
                None => String::new(),
            },
            Spot::Start(block) | Spot::End(block) => format!("in {}", self.name(block)),
            Spot::Edge(from, to) => format!("on the edge from {} to {}", self.name(from), self.name(to)),
        }
    }

    /// The name of the register that the statement defines.
    fn result(&self, surveyed: &Surveyed) -> &str {
        self.func.insts[surveyed.occurrences[0]].dst().map_or("", |reg| &self.func.regs[reg].name)
    }
}

/// Whether the statement is delayed to the end of a place.
fn goes_on(flooded: &Flooded) -> bool {
    flooded.occurrence.is_some() || flooded.stop.is_none() && !flooded.is_dead
}

fn anchor(spot: Spot) -> Anchor {
    match spot {
        Spot::Before(inst) => Anchor::Before(inst.as_u32()),
        Spot::Start(block) => Anchor::Start(block.as_u32()),
        Spot::End(block) => Anchor::End(block.as_u32()),
        Spot::Edge(from, to) => Anchor::Edge(from.as_u32(), to.as_u32()),
    }
}
