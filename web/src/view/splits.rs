//! The bars between the panes of a wide page: dragged, or moved by the arrow keys, they give one pane the room of its
//! neighbour. The sizes are a matter of the screen, so the browser keeps them and no link holds them.

use gloo::utils::document;
use wasm_bindgen::JsCast;
use web_sys::{Element, PointerEvent};
use yew::{Callback, Html, KeyboardEvent, component, html, use_effect_with, use_mut_ref, use_state};

use crate::dom;

/// Where the browser keeps the sizes.
const KEY: &str = "warpscope.panes";
/// What one key press moves a bar by, and the least that a pane keeps, in pixels.
const STEP: f64 = 24.0;
const SMALLEST: f64 = 190.0;

/// Widths of the four columns, then heights of the two rows: in pixels when they were measured, and proportions ever
/// after.
type Sizes = [f64; 6];

/// A bar between two of the sizes.
struct Bar {
    class: &'static str,
    name: &'static str,
    before: usize,
    is_row: bool,
}

const BARS: [Bar; 4] = [
    Bar { class: "split one", name: "Between source and passes", before: 0, is_row: false },
    Bar { class: "split two", name: "Between passes and the rest", before: 1, is_row: false },
    Bar { class: "split three", name: "Between change and graph", before: 2, is_row: false },
    Bar { class: "split across", name: "Above the simulator", before: 4, is_row: true },
];

/// The bars. Where the panes lie otherwise, the styles hide them.
#[component]
pub fn Splits() -> Html {
    let sizes = use_state(|| dom::remembered(KEY).as_deref().and_then(read));
    let dragged = use_mut_ref(|| None::<(f64, Sizes)>);
    use_effect_with(*sizes, |sizes| {
        if let Ok(Some(main)) = document().query_selector("main") {
            // An attribute of this name can always be set.
            let _ = main.set_attribute("style", &sizes.map(|sizes| style(&sizes)).unwrap_or_default());
        }
        dom::remember(KEY, &sizes.map(|sizes| sizes.map(|size| format!("{size:.0}")).join(" ")).unwrap_or_default());
    });
    let bar = |bar: &'static Bar| {
        let place = move |event: &PointerEvent| f64::from(if bar.is_row { event.client_y() } else { event.client_x() });
        let onpointerdown = {
            let dragged = dragged.clone();
            Callback::from(move |event: PointerEvent| {
                event.prevent_default();
                if let Some(element) = event.target().and_then(|target| target.dyn_into::<Element>().ok()) {
                    // A pointer that cannot be captured still works while it stays over the bar.
                    let _ = element.set_pointer_capture(event.pointer_id());
                }
                *dragged.borrow_mut() = measure().map(|sizes| (place(&event), sizes));
            })
        };
        let onpointermove = {
            let (dragged, sizes) = (dragged.clone(), sizes.clone());
            Callback::from(move |event: PointerEvent| {
                if let Some((from, start)) = &*dragged.borrow() {
                    sizes.set(Some(moved(start, bar.before, place(&event) - from)));
                }
            })
        };
        let onpointerup = {
            let dragged = dragged.clone();
            Callback::from(move |_: PointerEvent| *dragged.borrow_mut() = None)
        };
        let onkeydown = {
            let sizes = sizes.clone();
            Callback::from(move |event: KeyboardEvent| {
                let by = match (event.key().as_str(), bar.is_row) {
                    ("ArrowLeft", false) | ("ArrowUp", true) => -STEP,
                    ("ArrowRight", false) | ("ArrowDown", true) => STEP,
                    ("Enter", _) => {
                        event.prevent_default();
                        return sizes.set(None);
                    }
                    _ => return,
                };
                event.prevent_default();
                sizes.set(measure().map(|now| moved(&now, bar.before, by)));
            })
        };
        let ondblclick = {
            let sizes = sizes.clone();
            Callback::from(move |_| sizes.set(None))
        };
        let share = sizes.map_or(50.0, |sizes| sizes[bar.before] / (sizes[bar.before] + sizes[bar.before + 1]) * 100.0);
        html! {
            <div class={bar.class} role="separator" tabindex="0" aria-label={bar.name}
                aria-orientation={if bar.is_row { "horizontal" } else { "vertical" }} aria-valuenow={format!("{share:.0}")}
                title="Drag, or use the arrow keys; Enter or a double click takes it back"
                {onpointerdown} {onpointermove} onpointerup={onpointerup.clone()} onpointercancel={onpointerup} {onkeydown} {ondblclick} />
        }
    };
    html! { <>{ for BARS.iter().map(bar) }</> }
}

/// What the panes measure now; none where they do not lie in four columns.
fn measure() -> Option<Sizes> {
    let rect = |selector: &str| Some(document().query_selector(selector).ok()??.get_bounding_client_rect());
    let (change, below) = (rect(".pane.change")?, rect(".pane.simulator")?);
    Some([
        rect(".pane.source")?.width(),
        rect(".pane.passes")?.width(),
        change.width(),
        rect(".pane.graph")?.width(),
        change.height(),
        below.height(),
    ])
}

/// The sizes after the bar behind `before` moved by `by` pixels.
fn moved(sizes: &Sizes, before: usize, by: f64) -> Sizes {
    let mut sizes = *sizes;
    let by = by.min(sizes[before + 1] - SMALLEST).max(SMALLEST - sizes[before]);
    sizes[before] += by;
    sizes[before + 1] -= by;
    sizes
}

fn style(sizes: &Sizes) -> String {
    sizes.iter().enumerate().map(|(index, size)| format!("--size-{index}:{size:.0}fr;")).collect()
}

fn read(text: &str) -> Option<Sizes> {
    let sizes: Vec<f64> = text.split(' ').map(|size| size.parse().ok()).collect::<Option<_>>()?;
    let sizes: Sizes = sizes.try_into().ok()?;
    sizes.iter().all(|size| (SMALLEST / 2.0..20_000.0).contains(size)).then_some(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = [300.0, 230.0, 400.0, 400.0, 500.0, 300.0];

    #[test]
    fn a_bar_gives_one_pane_what_it_takes_from_the_other() {
        assert_eq!(moved(&SIZES, 0, 20.0)[..2], [320.0, 210.0]);
        assert_eq!(moved(&SIZES, 0, 1_000.0)[..2], [340.0, 190.0]);
        assert_eq!(moved(&SIZES, 4, -1_000.0)[4..], [190.0, 610.0]);
    }

    #[test]
    fn what_the_browser_kept_is_read_or_left_alone() {
        assert_eq!(read("300 230 400 400 500 300"), Some(SIZES));
        assert_eq!((read(""), read("1 2"), read("300 230 400 400 500 NaN")), (None, None, None));
    }
}
