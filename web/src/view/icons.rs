//! The page's pictograms, drawn on a 16 × 16 grid in the current colour. They are decoration: the button's name is in
//! its label.

use yew::{Html, html};

/// A pictogram.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Icon {
    /// Bar and triangle to the left.
    First,
    /// Triangle to the left.
    Back,
    /// Triangle to the right.
    Play,
    /// Two bars.
    Pause,
    /// Triangle to the right, small.
    Forward,
    /// Triangle to the right and bar.
    Last,
    /// A square.
    Stop,
    /// Cross.
    Close,
    /// Plus.
    Add,
    /// Minus.
    Minus,
    /// A frame's corners.
    Fit,
    /// Six dots.
    Grip,
    /// Chain.
    Share,
    /// Half-filled circle.
    Theme,
    /// Question mark.
    Help,
    /// Sheets upon each other.
    Layers,
    /// Columns of different heights.
    Compare,
    /// Sliders.
    Knobs,
    /// Book.
    Examples,
}

impl Icon {
    /// The drawing.
    pub fn html(self) -> Html {
        let path = match self {
            Icon::First => "M3.5 3v10M13 3 6 8l7 5z",
            Icon::Back => "M11.5 3 5 8l6.5 5z",
            Icon::Play => "M4.5 2.5v11L13 8z",
            Icon::Pause => "M5 3v10M11 3v10",
            Icon::Forward => "M4.5 3 11 8l-6.5 5z",
            Icon::Last => "M3 3l7 5-7 5zM12.5 3v10",
            Icon::Stop => "M4 4h8v8H4z",
            Icon::Close => "M4 4l8 8M12 4l-8 8",
            Icon::Add => "M8 3v10M3 8h10",
            Icon::Minus => "M3 8h10",
            Icon::Fit => "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
            Icon::Grip => "M6 3.5v.01M6 8v.01M6 12.5v.01M10 3.5v.01M10 8v.01M10 12.5v.01",
            Icon::Share => {
                "M6.5 9.5l3-3M7 4.8 8.6 3.2a2.9 2.9 0 0 1 4.2 4.2L11.2 9M9 11.2l-1.6 1.6a2.9 2.9 0 0 1-4.2-4.2L4.8 7"
            }
            Icon::Theme => "M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12",
            Icon::Help => "M6 6a2 2 0 1 1 2.6 1.9c-.5.2-.6.6-.6 1.4M8 11.8v.01",
            Icon::Layers => {
                "M8 2 2 5.2l6 3.2 6-3.2zM2.500 8.300 8 11.200l5.500-2.900M2.500 11.200 8 14.100l5.500-2.900"
            }
            Icon::Compare => "M3 13.5V8.500M8 13.500v-11M13 13.500V6",
            Icon::Knobs => "M2.5 5h5M11.5 5h2M2.5 11h2M8.500 11h5M9.500 3.200v3.600M6.500 9.200v3.600",
            Icon::Examples => {
                "M8 4C6.500 3 4.500 2.800 2.500 3v9.500c2-.2 4 0 5.500 1 1.500-1 3.500-1.200 5.500-1V3c-2-.2-4 0-5.500 1zM8 4v9.500"
            }
        };
        let filled = matches!(self, Icon::First | Icon::Back | Icon::Play | Icon::Forward | Icon::Last | Icon::Stop);
        html! {
            <svg class={if filled { "icon filled" } else { "icon" }} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
                <path d={path} />
            </svg>
        }
    }
}
