//! The bars between the panes: dragged, or moved by the arrow keys, they give a pane the room of its neighbour, or make a
//! row of panes higher where the page scrolls. The sizes are a matter of the screen, so the browser keeps them and no
//! link holds them.

use gloo::utils::document;
use wasm_bindgen::JsCast;
use web_sys::{Element, PointerEvent};
use yew::{Callback, Html, KeyboardEvent, component, html, use_effect_with, use_mut_ref, use_state};

use crate::dom;

/// Step of a key press on a bar, the least that a pane keeps, and the most that a row gets, in pixels.
const STEP: f64 = 24.0;
const SMALLEST: f64 = 190.0;
const HIGHEST: f64 = 2_000.0;

/// One of the ways in which the styles lay the panes. Each has its own bars, and its own sizes: in pixels when they were
/// measured, and for `fr` proportions ever after.
struct Arrangement {
    /// Key under which the browser stores the sizes.
    key: &'static str,
    /// The styles' names of the sizes, with their units and what is measured.
    sizes: &'static [Size],
    bars: &'static [Bar],
}

struct Size {
    variable: &'static str,
    unit: &'static str,
    pane: &'static str,
    is_height: bool,
}

/// A bar behind one of the sizes.
struct Bar {
    class: &'static str,
    name: &'static str,
    before: usize,
    /// Whether the next size gives what this one takes; otherwise the page grows.
    is_shared: bool,
    is_row: bool,
}

const fn share(variable: &'static str, pane: &'static str, is_height: bool) -> Size {
    Size { variable, unit: "fr", pane, is_height }
}

const fn height(variable: &'static str, pane: &'static str) -> Size {
    Size { variable, unit: "px", pane, is_height: true }
}

const fn bar(class: &'static str, name: &'static str, before: usize, is_row: bool) -> Bar {
    Bar { class, name, before, is_shared: true, is_row }
}

const ARRANGEMENTS: [Arrangement; 2] = [
    // Four columns that fill the window, the simulator below some of them.
    Arrangement {
        key: "warpscope.panes",
        sizes: &[
            share("--size-0", ".pane.source", false),
            share("--size-1", ".pane.passes", false),
            share("--size-2", ".pane.change", false),
            share("--size-3", ".pane.graph", false),
            share("--size-4", ".pane.change", true),
            share("--size-5", ".pane.simulator", true),
        ],
        bars: &[
            bar("split wide one", "Between source and passes", 0, false),
            bar("split wide two", "Between passes and the rest", 1, false),
            bar("split wide three", "Between change and graph", 2, false),
            bar("split wide across", "Above the simulator", 4, true),
        ],
    },
    // Two columns, on a page that scrolls.
    Arrangement {
        key: "warpscope.panes-in-two-columns",
        sizes: &[
            share("--column-0", ".pane.source", false),
            share("--column-1", ".pane.passes", false),
            height("--row-0", ".pane.source"),
            height("--row-1", ".pane.change"),
        ],
        bars: &[
            bar("split narrow columns", "Between source and passes", 0, false),
            Bar { is_shared: false, ..bar("split narrow first", "Below source and passes", 2, true) },
            Bar { is_shared: false, ..bar("split narrow second", "Below the change", 3, true) },
        ],
    },
];

/// The sizes of an arrangement; none until somebody moves a bar.
type Sizes = Option<Vec<f64>>;

/// The bars. The styles show those of the arrangement that fits the window.
#[component]
pub fn Splits() -> Html {
    let all =
        use_state(|| ARRANGEMENTS.map(|kept| dom::remembered(kept.key).as_deref().and_then(|text| read(&kept, text))));
    let dragged = use_mut_ref(|| None::<(f64, Vec<f64>)>);
    use_effect_with((*all).clone(), |all| {
        apply(all);
        for (arrangement, sizes) in ARRANGEMENTS.iter().zip(all) {
            let text = sizes.iter().flatten().map(|size| format!("{size:.0}")).collect::<Vec<_>>().join(" ");
            dom::remember(arrangement.key, &text);
        }
    });
    let bar = |which: usize, bar: &'static Bar| {
        let set = {
            let all = all.clone();
            move |sizes: Sizes| {
                let mut new = (*all).clone();
                new[which] = sizes;
                // At once: the next key measures the panes.
                apply(&new);
                all.set(new);
            }
        };
        let place = move |event: &PointerEvent| f64::from(if bar.is_row { event.client_y() } else { event.client_x() });
        let onpointerdown = {
            let dragged = dragged.clone();
            Callback::from(move |event: PointerEvent| {
                event.prevent_default();
                if let Some(element) = event.target().and_then(|target| target.dyn_into::<Element>().ok()) {
                    // A pointer that cannot be captured still works while it stays over the bar.
                    let _ = element.set_pointer_capture(event.pointer_id());
                }
                *dragged.borrow_mut() = measure(&ARRANGEMENTS[which]).map(|sizes| (place(&event), sizes));
            })
        };
        let onpointermove = {
            let (dragged, set) = (dragged.clone(), set.clone());
            Callback::from(move |event: PointerEvent| {
                if let Some((from, start)) = &*dragged.borrow() {
                    set(Some(moved(start, bar, place(&event) - from)));
                }
            })
        };
        let onpointerup = {
            let dragged = dragged.clone();
            Callback::from(move |_: PointerEvent| *dragged.borrow_mut() = None)
        };
        let onkeydown = {
            let set = set.clone();
            Callback::from(move |event: KeyboardEvent| {
                let by = match (event.key().as_str(), bar.is_row) {
                    ("ArrowLeft", false) | ("ArrowUp", true) => -STEP,
                    ("ArrowRight", false) | ("ArrowDown", true) => STEP,
                    ("Enter", _) => {
                        event.prevent_default();
                        return set(None);
                    }
                    _ => return,
                };
                event.prevent_default();
                set(measure(&ARRANGEMENTS[which]).map(|now| moved(&now, bar, by)));
            })
        };
        let ondblclick = Callback::from(move |_| set(None));
        let sizes = all[which].as_ref();
        let share = match sizes {
            Some(sizes) if bar.is_shared => sizes[bar.before] / (sizes[bar.before] + sizes[bar.before + 1]) * 100.0,
            Some(sizes) => sizes[bar.before] / HIGHEST * 100.0,
            None => 50.0,
        };
        html! {
            <div class={bar.class} role="separator" tabindex="0" aria-label={bar.name}
                aria-orientation={if bar.is_row { "horizontal" } else { "vertical" }} aria-valuenow={format!("{share:.0}")}
                title="Drag, or use the arrow keys; Enter or a double click resets it"
                {onpointerdown} {onpointermove} onpointerup={onpointerup.clone()} onpointercancel={onpointerup} {onkeydown} {ondblclick} />
        }
    };
    let bars = ARRANGEMENTS
        .iter()
        .enumerate()
        .flat_map(|(which, arrangement)| arrangement.bars.iter().map(move |bar| (which, bar)));
    html! { <>{ for bars.map(|(which, of)| bar(which, of)) }</> }
}

/// Gives the panes these sizes.
fn apply(all: &[Sizes]) {
    if let Ok(Some(main)) = document().query_selector("main") {
        let styles = ARRANGEMENTS.iter().zip(all).map(|(arrangement, sizes)| style(arrangement, sizes));
        // An attribute of this name can always be set.
        let _ = main.set_attribute("style", &styles.collect::<String>());
    }
}

/// Current measures of the panes.
fn measure(arrangement: &Arrangement) -> Option<Vec<f64>> {
    let measure = |size: &Size| {
        let rect = document().query_selector(size.pane).ok()??.get_bounding_client_rect();
        Some(if size.is_height { rect.height() } else { rect.width() })
    };
    arrangement.sizes.iter().map(measure).collect()
}

/// The sizes after `bar` moved by `by` pixels.
fn moved(sizes: &[f64], bar: &Bar, by: f64) -> Vec<f64> {
    let mut sizes = sizes.to_vec();
    let most = if bar.is_shared { sizes[bar.before + 1] - SMALLEST } else { HIGHEST - sizes[bar.before] };
    let by = by.min(most).max(SMALLEST - sizes[bar.before]);
    sizes[bar.before] += by;
    if bar.is_shared {
        sizes[bar.before + 1] -= by;
    }
    sizes
}

fn style(arrangement: &Arrangement, sizes: &Sizes) -> String {
    let named = arrangement.sizes.iter().zip(sizes.iter().flatten());
    named.map(|(Size { variable, unit, .. }, size)| format!("{variable}:{size:.0}{unit};")).collect()
}

fn read(arrangement: &Arrangement, text: &str) -> Sizes {
    let sizes: Vec<f64> = text.split(' ').map(|size| size.parse().ok()).collect::<Option<_>>()?;
    let fits = sizes.len() == arrangement.sizes.len();
    (fits && sizes.iter().all(|size| (SMALLEST / 2.0..20_000.0).contains(size))).then_some(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [f64; 6] = [300.0, 230.0, 400.0, 400.0, 500.0, 300.0];

    #[test]
    fn a_bar_gives_one_pane_what_it_takes_from_the_other() {
        let [wide, narrow] = &ARRANGEMENTS;
        assert_eq!(moved(&SIZES, &wide.bars[0], 20.0)[..2], [320.0, 210.0]);
        assert_eq!(moved(&SIZES, &wide.bars[0], 1_000.0)[..2], [340.0, 190.0]);
        assert_eq!(moved(&SIZES, &wide.bars[3], -1_000.0)[4..], [190.0, 610.0]);
        assert_eq!(moved(&[500.0, 400.0, 420.0, 520.0], &narrow.bars[1], 80.0), [500.0, 400.0, 500.0, 520.0]);
    }

    #[test]
    fn what_the_browser_kept_is_read_or_left_alone() {
        let [wide, narrow] = &ARRANGEMENTS;
        assert_eq!(read(wide, "300 230 400 400 500 300"), Some(SIZES.to_vec()));
        assert_eq!(read(narrow, "300 230 400 400 500 300"), None);
        assert_eq!((read(wide, ""), read(wide, "1 2"), read(wide, "300 230 400 400 500 NaN")), (None, None, None));
    }

    #[test]
    fn sizes_are_written_with_their_units() {
        let sizes = Some(vec![500.0, 400.0, 420.0, 520.0]);
        assert_eq!(style(&ARRANGEMENTS[1], &sizes), "--column-0:500fr;--column-1:400fr;--row-0:420px;--row-1:520px;");
        assert_eq!(style(&ARRANGEMENTS[1], &None), "");
    }
}
