//! The level of the transport below changes: buttons and a slider that go through the moments of what a pass shows.

use yew::{Callback, Html, InputEvent, html};

use super::icons::Icon;
use super::{Snapshot, icon_button, on};
use crate::dom;
use crate::state::Action;

/// The row; nothing where the position has no moments.
pub fn moments(lab: &Snapshot, act: &Callback<Action>) -> Html {
    let timeline = lab.inspection().and_then(|told| told.timeline.as_ref());
    let Some(((at, last), timeline)) = lab.moment().zip(timeline) else { return Html::default() };
    let asking = lab.asking;
    let (icon, button) = if asking { (Icon::Pause, "Pause the moments") } else { (Icon::Play, "Play the moments") };
    let go = |by: isize| on(act, move || Action::WalkBy(by));
    let inquiry = |is_forward: bool, icon: Icon, name: &str| {
        let ends = lab.inquiry(is_forward).is_none();
        icon_button(icon, name, ends, on(act, move || Action::WalkToInquiry { is_forward }))
    };
    let has_inquiries = lab.inquiry(true).or(lab.inquiry(false)).is_some();
    let slide = {
        let act = act.clone();
        Callback::from(move |event: InputEvent| {
            if let Some(to) = dom::value(&event).and_then(|value| value.parse().ok()) {
                act.emit(Action::WalkTo(to));
            }
        })
    };
    let filled = at as f64 / last.max(1) as f64 * 100.0;
    html! {
        <div class="moments" role="group" aria-label={timeline.name.clone()}>
            if has_inquiries { { inquiry(false, Icon::First, "To where an inquiry ended or began") } }
            { icon_button(Icon::Back, "One moment back", at == 0, go(-1)) }
            <button type="button" class="icon-button play small" aria-label={button} title={button}
                onclick={on(act, move || Action::Ask(!asking))} data-testid="ask">{ icon.html() }</button>
            { icon_button(Icon::Forward, "One moment forward", at >= last, go(1)) }
            if has_inquiries { { inquiry(true, Icon::Last, "To where an inquiry ends or begins") } }
            <input type="range" min="0" max={last.to_string()} step="1" value={at.to_string()} oninput={slide}
                aria-label="Moment" aria-valuetext={format!("moment {at} of {last}")}
                style={format!("--at:{filled:.2}%")} data-testid="walk" />
            <span class="note">{ "moment " }<b data-testid="walk-place">{ format!("{at} / {last}") }</b></span>
        </div>
    }
}
