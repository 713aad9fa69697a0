//! Blocks, edges and loops as SVG. Of a large graph only what is in sight is in the document, and while it is too small
//! to be read, only the outlines of the blocks with their names.

use std::collections::BTreeMap;

use warpscope_engine::message::inspect::{Inspection, Look};
use warpscope_engine::message::{self, GraphBlock, Run};
use yew::{Callback, Html, component, html};

use super::super::change::without_marks;
use super::super::inspection::LineMarks;
use super::super::source::{heat_level, short_number};
use super::super::{Shared, count, shortened};
use crate::layout::{self, EdgeKind, Placement, Rect};
use crate::state::{Action, Pane, Selection};

/// Width of a character and height of a line in a block, in units of the drawing.
const CHARACTER: f64 = 7.25;
pub const LINE: f64 = 17.0;
/// Height of a block's head, where its name begins, and the width of its characters.
const HEAD: f64 = 24.0;
pub const NAME: (f64, f64) = (11.0, 16.5);
const NAME_CHARACTER: f64 = 7.6;
/// Lines that a block shows, and characters of a line.
const MOST_LINES: usize = 14;
const MOST_CHARACTERS: usize = 44;
/// Blocks of a graph that is drawn as a whole, with every line.
pub const MOST_BLOCKS: usize = 80;

/// How much of a block is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Its name and its lines.
    Text,
    /// Its name.
    Outline,
}

/// Properties of the drawing.
#[derive(PartialEq, yew::Properties)]
pub struct Props {
    /// Whose graph it is.
    pub view: Shared<message::View>,
    /// Placement of all parts.
    pub placement: Shared<Placement>,
    /// The part of the drawing that is drawn; none is all of it.
    pub part: Option<Rect>,
    /// How much of each block.
    pub detail: Detail,
    /// The block or line that is selected everywhere.
    pub selected: Option<Selection>,
    /// The runs whose heat is shown.
    pub runs: Option<Shared<message::Simulated>>,
    /// The inspection whose marks are drawn.
    pub marked: Option<Shared<Inspection>>,
    /// Callback for actions.
    pub act: Callback<Action>,
}

/// Blocks, edges and loops.
#[component]
pub fn Drawing(Props { view, placement, part, detail, selected, runs, marked, act }: &Props) -> Html {
    let marks = marked.as_ref().map(|marked| LineMarks::of(&marked.0)).unwrap_or_default();
    let (graph, placement) = (&view.0.graph, &placement.0);
    let run = runs.as_ref().and_then(|runs| runs.0.after.as_ref().ok());
    let hottest = run.map_or(0, |run| run.lines.iter().map(|line| line.issues).max().unwrap_or(0));
    let is_selected = |block: &GraphBlock| selected.as_ref().is_some_and(|selection| selection.block == block.name);
    let focusable = graph.blocks.iter().position(is_selected).unwrap_or(0);
    // What the keyboard reaches and what is brought into sight is there wherever it stands.
    let current = graph.blocks.iter().position(|block| block.is_current);
    let is_needed = |index: usize| index == focusable || Some(index) == current;
    let is_drawn = |rect: &Rect| part.is_none_or(|part| part.overlaps(rect));
    html! {
        <>
            { patterns() }
            { for placement.loops.iter().filter(|inner| is_drawn(&inner.rect)).map(|inner| html! {
                <rect class="loop" key={format!("loop-{}", inner.head)} rx="10"
                    style={format!("x:{:.1}px;y:{:.1}px;width:{:.1}px;height:{:.1}px", inner.rect.x, inner.rect.y, inner.rect.width, inner.rect.height)} />
            }) }
            { for placement.routes.iter().filter(|route| is_drawn(&route.bounds())).map(|route| edge_line(graph, route, selected.as_ref())) }
            { for graph.blocks.iter().enumerate().filter_map(|(index, block)| {
                let rect = placement.blocks[&block.id];
                if !is_drawn(&rect) && !is_needed(index) {
                    return None;
                }
                let heat = run.map(|run| (run, hottest));
                let act = act.clone();
                let name = block.name.clone();
                let select = Callback::from(move |inst: Option<u32>| {
                    act.emit(Action::Select(Some(Selection { block: name.clone(), inst, by: Pane::Graph })));
                });
                let exact = selected.as_ref().and_then(|selection| selection.inst);
                Some(block_box(graph, index, block, rect, (is_selected(block), exact), index == focusable, *detail, heat, &marks, select))
            }) }
        </>
    }
}

/// Sizes for the layout.
pub fn boxes(graph: &message::Graph, room: f64) -> layout::Graph {
    let nodes = graph.blocks.iter().map(|block| {
        let longest = block.lines.iter().map(|line| line.text.chars().count().min(MOST_CHARACTERS)).max().unwrap_or(0);
        let head = block.name.chars().count() + 8;
        layout::Node {
            id: block.id,
            width: (longest.max(head) as f64 * CHARACTER + 26.0).max(110.0),
            height: HEAD + shown_lines(block) as f64 * LINE + 8.0,
        }
    });
    let edges = graph.edges.iter().map(|edge| layout::Edge {
        from: edge.from,
        to: edge.to,
        kind: match edge.kind {
            message::EdgeKind::Jump => EdgeKind::Jump,
            message::EdgeKind::True => EdgeKind::True,
            message::EdgeKind::False => EdgeKind::False,
            message::EdgeKind::Case(case) => EdgeKind::Case(case),
        },
    });
    layout::Graph { nodes: nodes.collect(), edges: edges.collect(), room }
}

/// Place of a block's name, from the block's corner.
pub fn name_in_block(name: &str) -> Rect {
    Rect { x: NAME.0, y: NAME.1 - 12.5, width: name.chars().count() as f64 * NAME_CHARACTER, height: 16.0 }
}

/// Rectangle of a block's name and lines, from the block's corner.
pub fn text_in_block(block: &GraphBlock, width: f64) -> Rect {
    let name = name_in_block(&block.name);
    let bottom = (name.y + name.height).max(row_in_block(block, usize::MAX));
    Rect { width: width - 2.0 * NAME.0 + 2.0, height: bottom - name.y, ..name }
}

/// The upper border of a line of a block, from the block's; what is not shown is at the end.
pub fn row_in_block(block: &GraphBlock, row: usize) -> f64 {
    HEAD + row.min(shown_lines(block)) as f64 * LINE
}

/// Lines that a block shows, the line that counts the others included.
fn shown_lines(block: &GraphBlock) -> usize {
    block.lines.len().min(MOST_LINES)
}

/// The hatch that says divergent without colour, and the arrow heads.
fn patterns() -> Html {
    let arrow = |id: &'static str, class: &'static str| {
        html! {
            <marker {id} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
                <path d="M0 0.5 8 4 0 7.5z" {class} />
            </marker>
        }
    };
    html! {
        <defs>
            <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                <rect width="6" height="6" class="hatch-ground" /><rect width="2.4" height="6" class="hatch-line" />
            </pattern>
            { arrow("arrow", "arrow") }
            { arrow("arrow-true", "arrow true") }
            { arrow("arrow-false", "arrow false") }
        </defs>
    }
}

fn edge_line(graph: &message::Graph, route: &layout::Route, selected: Option<&Selection>) -> Html {
    let edge = graph.edges[route.edge];
    let (kind, marker, label) = match edge.kind {
        message::EdgeKind::Jump => ("", "arrow", String::new()),
        message::EdgeKind::True => (" true", "arrow-true", "T".to_owned()),
        message::EdgeKind::False => (" false", "arrow-false", "F".to_owned()),
        message::EdgeKind::Case(case) => ("", "arrow", case.to_string()),
    };
    let touches = selected
        .is_some_and(|selection| [edge.from, edge.to].iter().any(|&block| graph.blocks[block].name == selection.block));
    let class = format!("edge{kind}{}{}", if route.back { " back" } else { "" }, if touches { " near" } else { "" });
    let data = Placement::path_data(&route.points, 7.0);
    let start = route.points[0];
    let key = format!("{}-{}-{:?}", graph.blocks[edge.from].id, graph.blocks[edge.to].id, edge.kind);
    html! {
        <g {key} {class}>
            <path d={data.clone()} style={format!("d:path('{data}')")} marker-end={format!("url(#{marker})")} />
            if !label.is_empty() {
                <text aria-hidden="true" style={format!("transform:translate({:.1}px,{:.1}px)", start.x + 4.0, start.y + 11.0)}>{ label }</text>
            }
        </g>
    }
}

#[expect(clippy::too_many_arguments, reason = "one call, and a struct would only repeat the names")]
fn block_box(
    graph: &message::Graph,
    index: usize,
    block: &GraphBlock,
    rect: layout::Rect,
    (selected, exact): (bool, Option<u32>),
    focusable: bool,
    detail: Detail,
    heat: Option<(&Run, u64)>,
    marks: &LineMarks<'_>,
    select: Callback<Option<u32>>,
) -> Html {
    let onclick = select.reform(|_: yew::MouseEvent| None);
    let divergent = block.divergent.is_some();
    let mut class = "block".to_owned();
    let states = [
        ("selected", selected),
        ("divergent", divergent),
        ("unreachable", !block.reachable),
        ("changed", block.lines.iter().any(|line| line.changed)),
        ("current", block.is_current),
    ];
    for (name, _) in states.into_iter().filter(|(_, holds)| *holds) {
        class.push(' ');
        class.push_str(name);
    }
    let leads: Vec<&str> =
        graph.edges.iter().filter(|edge| edge.from == index).map(|edge| graph.blocks[edge.to].name.as_str()).collect();
    let mut name = format!("{}, {}", block.name, count(block.lines.len(), "instruction"));
    if let Some(cause) = &block.divergent {
        name.push_str(&format!(", divergent: {}", without_marks(cause)));
    }
    if !block.reachable {
        name.push_str(", unreachable");
    }
    if !leads.is_empty() {
        name.push_str(&format!(", leads to {}", leads.join(" and ")));
    }
    let of_block = heat.and_then(|(run, _)| run.blocks.iter().find(|found| found.name == block.name));
    let level = of_block.zip(heat).map_or(0.0, |(of_block, (_, hottest))| {
        heat_level(of_block.counts.issues / (block.lines.len().max(1) as u64), hottest)
    });
    let hidden = block.lines.len() - shown_lines(block);
    let shown = match detail {
        Detail::Outline => 0,
        Detail::Text if hidden > 0 => MOST_LINES - 1,
        Detail::Text => block.lines.len(),
    };
    html! {
        <g {class} key={block.id} id={format!("block-{}", block.id)} role="group" aria-current={selected.then_some("true")}
            aria-label={name} tabindex={if focusable { "0" } else { "-1" }} {onclick} data-testid={format!("block-{}", block.name)}
            style={format!("transform:translate({:.1}px,{:.1}px);--heat:{level}", rect.x, rect.y)}>
            if let Some(cause) = &block.divergent { <title>{ format!("Divergent: {}", without_marks(cause)) }</title> }
            <rect class="face" width={rect.width.to_string()} height={rect.height.to_string()} rx="7" />
            <rect class="warmth" width={rect.width.to_string()} height={HEAD.to_string()} rx="7" />
            <text class="label" x={NAME.0.to_string()} y={NAME.1.to_string()}>{ &block.name }</text>
            if let Some(of_block) = of_block.filter(|of_block| of_block.counts.issues > 0) {
                <text class="issues" x={(rect.width - 10.0).to_string()} y="16">{ short_number(of_block.counts.issues) }</text>
            }
            { for block.lines.iter().take(shown).enumerate().map(|(row, line)| {
                let y = HEAD + row as f64 * LINE;
                let ran = heat.and_then(|(run, hottest)| {
                    let at = run.lines.binary_search_by_key(&line.line, |found| found.line).ok()?;
                    Some((run.lines[at].issues, hottest))
                });
                let level = ran.map_or(0.0, |(issues, hottest)| heat_level(issues, hottest));
                let inst = line.inst;
                let onclick = select.reform(move |event: yew::MouseEvent| {
                    event.stop_propagation();
                    Some(inst)
                });
                html! {
                    <g key={row} {onclick}>
                        if level > 0.0 {
                            <rect class="line-heat" x="1" y={format!("{y:.1}")} width={format!("{:.1}", rect.width - 2.0)} height={LINE.to_string()} style={format!("--heat:{level}")} />
                        }
                        if line.changed { <rect class="line-changed" x="1" y={format!("{y:.1}")} width={format!("{:.1}", rect.width - 2.0)} height={LINE.to_string()} /> }
                        { marked_line(marks, inst, rect.width, y) }
                        if exact == Some(line.inst) { <rect class="line-selected" x="1" y={format!("{y:.1}")} width={format!("{:.1}", rect.width - 2.0)} height={LINE.to_string()} /> }
                        if let Some(cause) = &line.divergent {
                            <rect class="line-divergent" x="3" y={format!("{:.1}", y + 2.0)} width="4" height={format!("{:.1}", LINE - 4.0)}><title>{ without_marks(cause) }</title></rect>
                        }
                        if line.is_current { { current_arrow(y + LINE / 2.0) } }
                        <text x="11" y={format!("{:.1}", y + 12.5)} class={is_removed(marks, inst).then_some("removed")}>{ shortened(&line.text, MOST_CHARACTERS) }</text>
                    </g>
                }
            }) }
            // Of a removed line, and of one that is not drawn, the block is what is left.
            if block.is_current && !block.lines.iter().take(shown).any(|line| line.is_current) {
                { current_arrow(HEAD / 2.0) }
            }
            if hidden > 0 && detail == Detail::Text {
                <text class="more" x="11" y={format!("{:.1}", HEAD + shown as f64 * LINE + 12.5)}>
                    { format!("… {} more{}", block.lines.len() - shown, marked_below(marks, &block.lines[shown..])) }
                </text>
            }
            if divergent {
                <rect class="divergence" x="1" y={format!("{:.1}", rect.height - 6.0)} width={format!("{:.1}", rect.width - 2.0)} height="5" rx="2" />
            }
        </g>
    }
}

/// The mark on a line: its colour and sign, the bar of what is marked, and what is inserted before it.
fn marked_line(marks: &LineMarks<'_>, inst: u32, width: f64, y: f64) -> Html {
    let Some((look, sign)) = marks.at(inst) else { return Html::default() };
    html! {
        <g class={format!("marked look-{}", look.name())}>
            <rect class="ground" x="1" y={format!("{y:.1}")} width={format!("{:.1}", width - 2.0)} height={LINE.to_string()} />
            if look != Look::Cause { <rect class="bar" x={width.to_string()} y={format!("{y:.1}")} width="4" height={LINE.to_string()} /> }
            <text class="sign" x={format!("{:.1}", width - 5.0)} y={format!("{:.1}", y + 12.5)}>{ sign }</text>
            if let Some(name) = marks.before(inst) {
                <line class="insertion" x1="-8" x2={format!("{:.1}", width + 9.0)} y1={format!("{y:.1}")} y2={format!("{y:.1}")} />
                <text class="insertion-name" x={format!("{:.1}", width + 13.0)} y={format!("{:.1}", y + 4.0)}>{ name }</text>
            }
        </g>
    }
}

fn is_removed(marks: &LineMarks<'_>, inst: u32) -> bool {
    marks.at(inst).is_some_and(|(look, _)| look == Look::Removed)
}

/// Numbers of lines that are not drawn, by their sign.
fn marked_below(marks: &LineMarks<'_>, lines: &[message::GraphLine]) -> String {
    let mut signs: BTreeMap<(Look, &str), usize> = BTreeMap::new();
    for mark in lines.iter().filter_map(|line| marks.at(line.inst)).filter(|(_, sign)| !sign.is_empty()) {
        *signs.entry(mark).or_default() += 1;
    }
    signs.iter().map(|((_, sign), count)| format!(", {count} {sign}")).collect()
}
/// The arrow at the line that the last change made, altered or removed, to the left of its block.
fn current_arrow(y: f64) -> Html {
    html! { <path class="current-arrow" d={format!("M-11 {:.1}l9 5l-9 5z", y - 5.0)} /> }
}
