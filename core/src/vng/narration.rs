//! Events of a value name graph as sentences.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Names, Vertex, VertexKind};
use crate::ir::{Block, Inst, Op};
use crate::names::Name;
use crate::text::instruction_text;
use crate::trace::{FactKind, NameEnd, ValueEvent};

/// The result of an event.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(untagged))]
pub enum Outcome {
    /// Nothing but what the sentence says.
    None,
    /// A word, or a name.
    Word(String),
    /// Several names.
    Names(Vec<String>),
    /// Lanes.
    Count(u64),
    /// A lower and an upper bound, or a flow and its capacity.
    Pair(u64, u64),
}

/// An event for people and for machines.
#[derive(Clone, PartialEq, Debug)]
pub struct Narrated {
    /// `seed`, `name`, `end`, `apart`, `class`, `fact`, `entry`, `exit`, `flow` or `bound`.
    pub kind: &'static str,
    /// The block where it happens; None for the function as a whole.
    pub at: Option<Block>,
    /// The block of the other end of an edge.
    pub from: Option<Block>,
    /// The instruction that it is about.
    pub inst: Option<Inst>,
    /// The name that it is about.
    pub name: String,
    /// The result.
    pub value: Outcome,
    /// The rule that decided.
    pub rule: &'static str,
    /// The sentence.
    pub why: String,
}

impl Names<'_, '_> {
    /// An event of the graph as a sentence.
    pub fn narrate(&self, event: &ValueEvent) -> Narrated {
        match event {
            ValueEvent::Seed { inst, name, is_user } => self.narrate_seed(*inst, *name, *is_user),
            ValueEvent::Name { at, from, inst, name, above } => self.narrate_name(*at, *from, *inst, (*name, *above)),
            ValueEvent::End { at, from, name, end } => self.narrate_end(*at, *from, *name, *end),
            ValueEvent::Apart { names, because } => self.narrate_apart(*names, *because),
            ValueEvent::Class { names } => self.narrate_class(names),
            ValueEvent::Fact { vertex, kind, answer } => self.narrate_fact(Vertex::from_u32(*vertex), *kind, answer),
            ValueEvent::Entry { value, from, vertex, count, is_available } => {
                let vertex = Vertex::from_u32(*vertex);
                let source = from.map_or_else(|| "nowhere".into(), |from| self.quoted(from));
                let with = if *is_available { "with it" } else { "without it" };
                Narrated {
                    rule: if *is_available { "available" } else { "missing" },
                    from: *from,
                    value: Outcome::Count(*count),
                    ..self.of_region("entry", *value, vertex, &format!("{count} lanes come from {source} {with}"))
                }
            }
            ValueEvent::Exit { value, vertex, to, count, is_needed } => {
                let vertex = Vertex::from_u32(*vertex);
                let need = if *is_needed { "and need it once" } else { "and do not need it" };
                let from = self.graph.graph.vertices[vertex].block;
                let why = match to {
                    Some(to) => format!("{count} lanes go on to {} {need}", self.quoted(*to)),
                    None => format!("{count} lanes end in a call of {}", self.quoted(from)),
                };
                Narrated {
                    rule: if *is_needed { "needed" } else { "not-needed" },
                    at: Some(to.unwrap_or(from)),
                    from: Some(from),
                    value: Outcome::Count(*count),
                    ..self.of_region("exit", *value, vertex, &why)
                }
            }
            ValueEvent::Flow { value, is_available, vertex, to, flow, capacity } => {
                let vertex = Vertex::from_u32(*vertex);
                let with = if *is_available { "with it" } else { "without it" };
                let why =
                    format!("of {capacity} lanes to {}, {flow} that came {with} may go on to a use", self.quoted(*to));
                Narrated {
                    rule: if *is_available { "available" } else { "missing" },
                    at: Some(*to),
                    from: Some(self.graph.graph.vertices[vertex].block),
                    value: Outcome::Pair(*flow, *capacity),
                    ..self.of_region("flow", *value, vertex, &why)
                }
            }
            ValueEvent::Bound { value, estimator, low, high } => Narrated {
                kind: "bound",
                at: None,
                from: None,
                inst: None,
                name: format!("value {value}"),
                value: Outcome::Pair(*low, *high),
                rule: estimator,
                why: format!("`{estimator}`: value {value} is reused {low} to {high} times"),
            },
        }
    }

    fn quoted(&self, block: Block) -> String {
        format!("`{}`", self.label(block))
    }

    fn narrate_seed(&self, inst: Inst, name: Name, is_user: bool) -> Narrated {
        let block = self.func.layout.inst_block(inst);
        let name = block.map_or_else(String::new, |block| self.at(name, block, Some(inst)));
        let text = instruction_text(self.module, self.func, inst);
        let (word, why) = match is_user {
            true => ("user", format!("`{text}` computes `{name}`: where has it been computed before?")),
            false => ("generator", format!("`{text}` makes `{name}` known")),
        };
        Narrated {
            kind: "seed",
            at: block,
            from: None,
            inst: Some(inst),
            name,
            value: Outcome::Word(word.into()),
            rule: "seed",
            why,
        }
    }

    /// A name, and the one that it is above an edge or an instruction.
    fn narrate_name(&self, at: Block, from: Block, inst: Option<Inst>, (name, above): (Name, Name)) -> Narrated {
        let below = inst.map_or_else(|| self.func.layout.first_inst(at), |inst| self.func.layout.next_inst(inst));
        let name = self.at(name, at, below);
        let above = self.at(above, from, inst);
        let (rule, why) = match inst {
            Some(inst) => {
                let text = instruction_text(self.module, self.func, inst);
                let rule = if self.func.insts[inst].opcode.op == Op::St { "store" } else { "load" };
                (rule, format!("before `{text}`, `{name}` is `{above}`"))
            }
            None => (
                "join",
                format!("on the edge from {} to {}, `{name}` is `{above}`", self.quoted(from), self.quoted(at)),
            ),
        };
        Narrated { kind: "name", at: Some(at), from: Some(from), inst, name, value: Outcome::Word(above), rule, why }
    }

    fn narrate_end(&self, at: Option<Block>, from: Option<Block>, name: Name, end: NameEnd) -> Narrated {
        let name = self.where_it_begins(name);
        let place = match (at, from) {
            (Some(at), Some(from)) => format!("on the edge from {} to {}", self.quoted(from), self.quoted(at)),
            (Some(at), None) => format!("in {}", self.quoted(at)),
            (None, _) => "where the function begins".into(),
        };
        let (rule, why) = match end {
            NameEnd::Constant => ("constant", format!("`{name}` is a constant: it is available")),
            NameEnd::Value => ("value", format!("{place}, `{name}` is one value alone: its definition makes it known")),
            NameEnd::Entry => ("entry", format!("`{name}` is not available where the function begins")),
            NameEnd::Definition => {
                ("definition", format!("{place}, a part of `{name}` is defined by an instruction that no name follows"))
            }
            NameEnd::Overwritten => {
                ("overwritten", format!("{place}, a store may change what an address of `{name}` reads"))
            }
            NameEnd::Language => {
                ("language", format!("{place}, `{name}` gets too many terms, operations or levels of memory"))
            }
            NameEnd::Window => ("window", format!("{place}, the window ends for `{name}`")),
            NameEnd::Limit => ("limit", format!("{place}, the limit of names ends `{name}`")),
        };
        Narrated { kind: "end", at, from, inst: None, name, value: Outcome::None, rule, why }
    }

    fn narrate_apart(&self, (first, second): (Name, Name), because: Option<(Name, Name)>) -> Narrated {
        let (at, [first, second]) = self.together([first, second]);
        let (rule, why) = match because {
            None => ("end", format!("`{first}` and `{second}` differ: nothing before makes them equal")),
            Some((a, b)) => {
                let (_, [a, b]) = self.together([a, b]);
                ("above", format!("`{first}` and `{second}` differ, since `{a}` and `{b}` do above"))
            }
        };
        Narrated { kind: "apart", at, from: None, inst: None, name: first, value: Outcome::Word(second), rule, why }
    }

    fn narrate_class(&self, names: &[Name]) -> Narrated {
        let texts: Vec<String> = names.iter().map(|&name| self.where_it_begins(name)).collect();
        let quoted: Vec<String> = texts.iter().map(|text| format!("`{text}`")).collect();
        Narrated {
            kind: "class",
            at: None,
            from: None,
            inst: None,
            name: texts.first().cloned().unwrap_or_default(),
            value: Outcome::Names(texts),
            rule: "synonyms",
            why: format!("{} are one value wherever they hold", quoted.join(", ")),
        }
    }

    fn narrate_fact(&self, vertex: Vertex, kind: FactKind, answer: &str) -> Narrated {
        let block = self.graph.graph.vertices[vertex].block;
        let name = self.of_vertex(vertex);
        let place = self.place(vertex);
        let (rule, verb, end) = match kind {
            FactKind::Available => ("available", "is available", "to here"),
            FactKind::Anticipated => ("anticipated", "will be used", "from here"),
        };
        let paths = match answer {
            "must" => "all paths",
            "no" => "no path",
            _ => "some paths",
        };
        Narrated {
            kind: "fact",
            at: Some(block),
            from: None,
            inst: None,
            value: Outcome::Word(answer.to_string()),
            rule,
            why: format!("{place}, `{name}` {verb} on {paths} {end}"),
            name,
        }
    }

    /// An event of the region of a value, at a vertex.
    fn of_region(&self, kind: &'static str, value: usize, vertex: Vertex, why: &str) -> Narrated {
        let name = self.of_vertex(vertex);
        Narrated {
            kind,
            at: Some(self.graph.graph.vertices[vertex].block),
            from: None,
            inst: None,
            why: format!("value {value}, `{name}`: {why}"),
            name,
            value: Outcome::None,
            rule: "",
        }
    }

    /// The place of a vertex in words.
    fn place(&self, vertex: Vertex) -> String {
        let data = &self.graph.graph.vertices[vertex];
        let block = self.quoted(data.block);
        match (data.kind, data.place) {
            (VertexKind::User(inst) | VertexKind::Generator(inst) | VertexKind::Kill(inst), _) => {
                format!("before `{}` in {block}", instruction_text(self.module, self.func, inst))
            }
            (_, 0) => format!("at the start of {block}"),
            _ => format!("in {block}"),
        }
    }

    /// A name over the registers at the point from which on it holds.
    fn where_it_begins(&self, name: Name) -> String {
        self.together([name]).1[0].clone()
    }

    /// Names over the registers at the first point where all of them hold, and its block.
    fn together<const N: usize>(&self, names: [Name; N]) -> (Option<Block>, [String; N]) {
        let latest = names.iter().filter_map(|&name| self.graph.threads.of(name)?.latest).max();
        let entry = self.foundation.cfg().reverse_postorder().first().copied();
        let block = latest.map(|latest| latest.block);
        let at = block.or(entry);
        let place = latest.map_or(0, |latest| latest.place);
        let before = at.and_then(|at| self.foundation.instruction(at, place));
        (block, names.map(|name| at.map_or_else(String::new, |at| self.at(name, at, before))))
    }
}
