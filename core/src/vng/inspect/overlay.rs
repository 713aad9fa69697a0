//! The threads of a value on the program: strands along the edges, names where they change, splits, and ends.
//!
//! ```text
//! s: A[i] ◆ ──▶ l ──▶ m: A[j]       strand s l m; at the edge from l to m, where j = i: `A[i] → A[j]`
//!           ✕ entry                 an end with its reason
//! ```
//!
//! 1. The overlay has the gaps above the chosen users, back to generators, kills and ends.
//! 2. Each path back through them is a strand, until it reaches a gap again.
//!
//! Cost: O(gaps of the value + paths · blocks). Limits: [`MOST_PATHS`] strands; [`MOST_COUNTED`] paths are counted.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;

use super::{Chosen, ValueList, column, is_gap, sign};
use crate::graph::Cfg;
use crate::inspect::{Anchor, Cell, Inspection, Key, Look, Mark, Row, Strand, Table};
use crate::ir::{Block, Inst};
use crate::text::instruction_text;
use crate::vng::{Class, EndReason, Flow, Role, ThreadEdge, ThreadGraph, Vertex, VertexKind, ways_out};

/// Further paths are counted, not listed.
const MOST_PATHS: usize = 40;

/// Further paths are not even counted: there may be as many as a power of the number of blocks.
const MOST_COUNTED: usize = 200;

/// The share that strands are drawn with, as no count says how often they are executed.
const SHARE: f64 = 0.08;

/// The key of the choice of a thread.
const THREAD: &str = "thread";

/// A region that is shaded in place of where the value is available.
#[derive(Default)]
pub struct Shading {
    /// The look of each gap in it.
    pub looks: SecondaryMap<Vertex, Option<Look>>,
    /// Texts at its border.
    pub labels: Vec<(Anchor, String)>,
}

/// The overlay of a value.
pub struct Overlay {
    marks: Vec<Mark>,
    strands: Vec<Strand>,
    threads: Table,
    legend: Vec<Key>,
}

impl Overlay {
    /// The overlay of a value or of one of its seeds. `shading` is a region of it.
    pub fn new(list: &ValueList<'_, '_>, chosen: Option<Chosen>, shading: Shading) -> Overlay {
        let drawing = OverlayDrawing::new(list);
        let users = chosen.map_or_else(Vec::new, |chosen| drawing.users(chosen));
        let gaps = drawing.gaps(&users);
        let (paths, count) = drawing.paths(&users);
        let mut marks = chosen.map_or_else(Vec::new, |chosen| drawing.seeds(chosen, &gaps));
        let legend = legend(&marks);
        marks.extend(drawing.shades(&gaps, &shading));
        marks.extend(drawing.changes(&gaps, shading.labels));
        let strands = paths.iter().map(|path| path.strand()).collect();
        Overlay { marks, strands, threads: threads(&paths, count), legend }
    }

    /// Adds the overlay to an inspection.
    pub fn add_to(self, inspection: &mut Inspection) {
        inspection.marks.extend(self.marks);
        inspection.strands.extend(self.strands);
        inspection.tables.push(self.threads);
        inspection.legend.extend(self.legend);
    }
}

/// A path back from a user.
struct BackwardPath {
    /// Its blocks, in the direction of control.
    blocks: Vec<u32>,
    /// Its names, that at the end first.
    names: Vec<String>,
    /// The end, in words.
    end: String,
    /// Whether the value is available from there.
    is_available: bool,
}

impl BackwardPath {
    fn strand(&self) -> Strand {
        Strand {
            blocks: self.blocks.clone(), share: SHARE, label: format!("{}: {}", self.names.join(" → "), self.end)
        }
    }
}

/// The threads as rows, each the key of its strand, of so many paths.
fn threads(paths: &[BackwardPath], count: usize) -> Table {
    let row = |(place, path): (usize, &BackwardPath)| Row {
        key: format!("{place}"),
        cells: vec![
            Cell::text(format!("{}", place + 1)),
            Cell::text(path.names.join(" → ")),
            Cell::text(format!("{} {}", if path.is_available { "◆" } else { "✕" }, path.end)),
        ],
        is_choosable: true,
        strand: Some(place),
        look: if path.is_available { Look::Plain } else { Look::Faint },
        ..Row::default()
    };
    Table {
        name: "Threads".into(),
        columns: vec![
            column("#", "Each row, and each strand in the graph, is one path back from the computation"),
            column("Names", "The names of the value along the thread, in the direction of control"),
            column("From", "Where the value is computed or stored, or why the thread ends"),
        ],
        rows: paths.iter().enumerate().map(row).collect(),
        left_out: count - paths.len(),
        left_out_words: match count {
            MOST_COUNTED => "threads or more: choose one instruction of the value to see only its threads".into(),
            _ => "threads: choose one instruction of the value to see only its threads".into(),
        },
        empty: "the value has no thread".into(),
        choice: THREAD.into(),
    }
}

/// The place of an edge of the graph in the program.
pub fn flow_anchor(cfg: &Cfg, flow: Flow) -> Anchor {
    match flow {
        Flow::Edge(edge) => Anchor::Edge(cfg.source(edge).as_u32(), cfg.target(edge).as_u32()),
        Flow::Block(block, _) | Flow::Entry(block) => Anchor::Start(Block::as_u32(block)),
        Flow::Ended(block, _) => Anchor::End(Block::as_u32(block)),
    }
}

/// The meanings of the signs, with the number of marks of each.
fn legend(marks: &[Mark]) -> Vec<Key> {
    let keys = [
        ("must", "available on all paths"),
        ("may", "on some"),
        ("no", "on none"),
        ("generates", "generates the value"),
    ];
    let signs = keys.map(|(word, label)| (sign(word), label));
    let signs = signs.into_iter().chain([((Look::Closed, "✕"), "may change it")]);
    let keys = signs.map(|((look, sign), label)| Key {
        look,
        sign: sign.into(),
        label: label.into(),
        count: marks.iter().filter(|mark| mark.look == look).count(),
    });
    keys.filter(|key| key.count > 0).collect()
}

struct OverlayDrawing<'o, 'g, 'a> {
    list: &'o ValueList<'g, 'a>,
    graph: &'g ThreadGraph,
    /// The seed of each vertex that is one.
    seed_of: SecondaryMap<Vertex, Option<usize>>,
}

impl<'o, 'g, 'a> OverlayDrawing<'o, 'g, 'a> {
    fn new(list: &'o ValueList<'g, 'a>) -> OverlayDrawing<'o, 'g, 'a> {
        let graph = &list.names.graph.graph;
        let mut seed_of: SecondaryMap<Vertex, Option<usize>> = SecondaryMap::new();
        let seeds = graph.seeds.iter().enumerate();
        seeds.for_each(|(seed, vertex)| vertex.iter().for_each(|&vertex| seed_of[vertex] = Some(seed)));
        OverlayDrawing { list, graph, seed_of }
    }

    /// The users that are chosen; for a generator those of its value.
    fn users(&self, chosen: Chosen) -> Vec<Vertex> {
        let graph = self.list.names.graph;
        let is_user = |seed: &usize| graph.seeds[*seed].role == Role::User;
        match chosen.seed.filter(is_user) {
            Some(seed) => self.list.vertex(seed).into_iter().collect(),
            None => {
                let users = self.list.seeds[chosen.value].iter().copied().filter(is_user);
                let users = users.filter_map(|seed| self.list.vertex(seed));
                users.filter(|&user| self.list.components.of[user] == Some(chosen.value)).collect()
            }
        }
    }

    fn edges_into(&self, vertex: Vertex) -> impl DoubleEndedIterator<Item = &ThreadEdge> {
        self.graph.vertices[vertex].incoming.iter().map(|&edge| &self.graph.edges[edge as usize])
    }

    /// The users and the gaps above them, back to generators, kills and ends.
    fn gaps(&self, users: &[Vertex]) -> Vec<Vertex> {
        let mut is_found: SecondaryMap<Vertex, bool> = SecondaryMap::new();
        let mut found: Vec<Vertex> = users.to_vec();
        users.iter().for_each(|&user| is_found[user] = true);
        let mut next = 0;
        while let Some(&vertex) = found.get(next) {
            next += 1;
            for from in self.edges_into(vertex).filter_map(|edge| edge.from.ok()) {
                if is_gap(self.graph, from) && !core::mem::replace(&mut is_found[from], true) {
                    found.push(from);
                }
            }
        }
        found
    }

    /// The paths back from users, as many as are listed, and how many were counted.
    fn paths(&self, users: &[Vertex]) -> (Vec<BackwardPath>, usize) {
        let (mut paths, mut count) = (Vec::new(), 0);
        for &user in users {
            // Edges to go along, each with the number of those before it on its path.
            let mut work: Vec<(usize, ThreadEdge)> = self.edges_into(user).rev().map(|&edge| (0, edge)).collect();
            let mut path: Vec<ThreadEdge> = Vec::new();
            while let Some((before, edge)) = work.pop().filter(|_| count < MOST_COUNTED) {
                path.truncate(before);
                path.push(edge);
                let again = edge.from.ok().filter(|&from| path.iter().any(|edge| edge.to == from));
                if let Some(gap) = edge.from.ok().filter(|&from| is_gap(self.graph, from) && again.is_none()) {
                    work.extend(self.edges_into(gap).rev().map(|&edge| (path.len(), edge)));
                    continue;
                }
                count += 1;
                if paths.len() < MOST_PATHS {
                    paths.push(self.path(user, &path, again));
                }
            }
        }
        (paths, count)
    }

    /// The path along these edges, the last of them first.
    fn path(&self, user: Vertex, path: &[ThreadEdge], again: Option<Vertex>) -> BackwardPath {
        let cfg = self.list.names.foundation.cfg();
        let mut blocks = vec![self.graph.vertices[user].block.as_u32()];
        let mut names = vec![self.name(user)];
        for edge in path {
            if let Flow::Edge(edge) = edge.flow {
                blocks.push(cfg.source(edge).as_u32());
            }
            // The class of a seed may be named otherwise than the seed.
            let is_seed = |vertex: Vertex| self.seed_of[vertex].is_some();
            let may_change =
                |from: &Vertex| self.class(*from) != self.class(edge.to) || is_seed(*from) || is_seed(edge.to);
            let changes = edge.from.ok().filter(may_change);
            let name = changes.map(|from| self.name(from)).filter(|name| names.last() != Some(name));
            names.extend(name);
        }
        blocks.reverse();
        names.reverse();
        let from = path.last().map_or(Err(EndReason::Entry), |edge| edge.from);
        let is_available = from.is_ok_and(|from| !matches!(self.graph.vertices[from].kind, VertexKind::Kill(_)));
        let end = match again {
            Some(vertex) => format!("again at {}", self.list.names.label(self.graph.vertices[vertex].block)),
            None => self.end(from),
        };
        BackwardPath { blocks, names, end, is_available }
    }

    fn class(&self, vertex: Vertex) -> Class {
        self.graph.vertices[vertex].class
    }

    /// The name of the class at a vertex; of a user or generator its own.
    fn name(&self, vertex: Vertex) -> String {
        self.seed_of[vertex].map_or_else(|| self.list.names.of_vertex(vertex), |seed| self.list.seed_name(seed))
    }

    fn text(&self, inst: Inst) -> String {
        instruction_text(self.list.names.module, self.list.names.func, inst)
    }

    /// The origin of a value, or the reason why it has none.
    fn end(&self, from: Result<Vertex, EndReason>) -> String {
        let vertex = match from {
            Ok(vertex) => &self.graph.vertices[vertex],
            Err(reason) => return self.reason(reason),
        };
        let block = self.list.names.label(vertex.block);
        match vertex.kind {
            VertexKind::User(inst) => format!("computed in {block}: {}", self.text(inst)),
            VertexKind::Generator(inst) => format!("stored in {block}: {}", self.text(inst)),
            VertexKind::AtHand => format!("known in {block}"),
            VertexKind::Kill(inst) => format!("may change in {block}: {}", self.text(inst)),
            VertexKind::Pass => format!("passes {block}"),
        }
    }

    fn reason(&self, reason: EndReason) -> String {
        let func = self.list.names.func;
        match reason {
            EndReason::Entry => "the function begins".into(),
            EndReason::Definition(value) => {
                let reg = self.list.names.foundation.values().reg(value);
                format!("{} is defined", func.regs[reg].name)
            }
            EndReason::Overwritten(inst) => format!("a store may change its address: {}", self.text(inst)),
            EndReason::Language => "the name becomes too large".into(),
            EndReason::Window => "the window ends".into(),
            EndReason::Limit => "the limit of names is reached".into(),
        }
    }

    /// Marks on the seeds of a value, and on what kills it above the gaps.
    fn seeds(&self, chosen: Chosen, gaps: &[Vertex]) -> Vec<Mark> {
        let mark =
            |inst: Inst, look: Look, sign: &str| Mark { anchor: Anchor::Inst(inst.as_u32()), look, text: sign.into() };
        let seeds = &self.list.names.graph.seeds;
        let mut marks: Vec<Mark> = Vec::new();
        for &seed in self.list.seeds[chosen.value].iter() {
            let (look, sign) = sign(self.list.reuse(seed));
            marks.push(mark(seeds[seed].inst, look, sign));
        }
        for from in gaps.iter().flat_map(|&gap| self.edges_into(gap)).filter_map(|edge| edge.from.ok()) {
            if let VertexKind::Kill(inst) = self.graph.vertices[from].kind {
                let kill = mark(inst, Look::Closed, "✕");
                if !marks.iter().any(|mark| mark.anchor == kill.anchor) {
                    marks.push(kill);
                }
            }
        }
        marks
    }

    /// Gaps that are shaded: those of a region, or else by availability.
    fn shades(&self, gaps: &[Vertex], shading: &Shading) -> Vec<Mark> {
        let facts = &self.list.names.graph.facts;
        let is_shaded = gaps.iter().any(|&gap| shading.looks[gap].is_some());
        let look = |gap: Vertex| match (is_shaded, facts.available[gap].word()) {
            (true, _) => shading.looks[gap],
            (false, "must") => Some(Look::Plain),
            (false, "may") => Some(Look::Partial),
            (false, _) => None,
        };
        let shaded = gaps.iter().filter(|&&gap| is_gap(self.graph, gap)).filter_map(|&gap| Some((gap, look(gap)?)));
        shaded.map(|(gap, look)| Mark { anchor: self.range(gap), look, text: String::new() }).collect()
    }

    /// The part of a block that a gap is.
    fn range(&self, gap: Vertex) -> Anchor {
        let data = &self.graph.vertices[gap];
        let inst = |place: u32| {
            let inst = self.list.names.func.block_insts(data.block).nth(place as usize);
            inst.map(|inst| inst.as_u32())
        };
        let below = data.outgoing.iter().map(|&edge| self.graph.edges[edge as usize]);
        let below = below.filter(|edge| matches!(edge.flow, Flow::Block(..)));
        let to = below.map(|edge| self.graph.vertices[edge.to].place).min().and_then(inst);
        Anchor::Range { block: data.block.as_u32(), from: data.place.checked_sub(1).and_then(inst), to }
    }

    /// Texts of a region's border, names where they change, splits, and ends, at edges and starts of blocks.
    fn changes(&self, gaps: &[Vertex], labels: Vec<(Anchor, String)>) -> Vec<Mark> {
        let cfg = self.list.names.foundation.cfg();
        let mut texts: Vec<(Anchor, Vec<(Look, String)>)> = Vec::new();
        let mut add = |anchor: Anchor, look: Look, text: String| {
            let place = texts.iter().position(|(known, _)| *known == anchor).unwrap_or_else(|| {
                texts.push((anchor, Vec::new()));
                texts.len() - 1
            });
            let text = (look, text);
            if !texts[place].1.contains(&text) {
                texts[place].1.push(text);
            }
        };
        labels.into_iter().for_each(|(anchor, text)| add(anchor, Look::New, text));
        let anchor = |flow: Flow| flow_anchor(cfg, flow);
        for &gap in gaps {
            for edge in self.edges_into(gap) {
                match edge.from {
                    Err(reason) => add(anchor(edge.flow), Look::Closed, format!("✕ {}", self.reason(reason))),
                    Ok(from) if is_gap(self.graph, from) && self.class(from) != self.class(gap) => {
                        let (before, after) = (self.name(from), self.name(gap));
                        if before != after {
                            add(anchor(edge.flow), Look::New, format!("{before} → {after}"));
                        }
                    }
                    Ok(_) => {}
                }
            }
            for (flow, targets) in ways_out(cfg, self.graph, gap).into_iter().filter(|(_, targets)| targets.len() > 1) {
                let names: Vec<String> = targets.iter().map(|&target| self.name(target)).collect();
                add(anchor(flow), Look::New, format!("split {}", names.join(", ")));
            }
        }
        let marks = texts.into_iter().flat_map(|(anchor, texts)| {
            texts.into_iter().map(move |(look, text)| Mark { anchor: anchor.clone(), look, text })
        });
        marks.collect()
    }
}
