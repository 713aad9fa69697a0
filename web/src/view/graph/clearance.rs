//! Places for tokens beside what they belong to, where they cover neither text nor each other.
//!
//! ```text
//!      │ A[i]?                beside the end of its edge, if that is free
//!   ┌──▼─────────┐ A[i + 1]?  otherwise the nearest place beside, above or below what is in the way
//!   │ n8  …      │
//! ```
//!
//! 1. What is in the way within reach gives the candidates: directly left or right, above or below of it.
//! 2. The nearest free candidate is taken. Without one the reach doubles, up to the whole drawing.
//!
//! Cost: O(k³) for the k rectangles in reach, of which there are few.

use crate::layout::{Point, Rect};

/// Longer texts of tokens are shortened.
pub const MOST_CHARACTERS: usize = 30;
/// Height of a token's line, its width for each character and besides, and between its text and the answer, in pixels; of
/// a token at full size. The styles say the same.
const LINE: f64 = 17.0;
const CHARACTER: f64 = 7.0;
const BESIDES: f64 = 16.0;
const BETWEEN: f64 = 5.0;
/// Border that is added to the width, and with the space inside of it to the height.
const BORDER: f64 = 3.0;
const FRAME: f64 = 5.0;
/// Between a token and its edge, in pixels.
const GAP: f64 = 4.0;
/// How far around its home a token looks for a place at first, in pixels.
const REACH: f64 = 120.0;
/// How often the reach doubles.
const MOST_REACHES: usize = 8;
/// A pixel to the side, and one downwards, where the next question comes, in pixels upwards.
const SIDEWAYS: f64 = 0.7;
const DOWNWARDS: f64 = 2.0;
/// Price of a place outside of the drawing, which may have to be scrolled to, in pixels.
const OUTSIDE: f64 = 1_000.0;

/// The distance from a point to the middle of a token's left border.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offset {
    /// To the right.
    pub x: f64,
    /// Downwards.
    pub y: f64,
}

impl Offset {
    /// The offset as the styles read it.
    pub fn style(self) -> String {
        format!("--x:{:.1}px;--y:{:.1}px", self.x, self.y)
    }
}

/// Taken places, in pixels.
pub struct Clearance {
    /// The size of tokens, as a share of the full one.
    size: f64,
    taken: Vec<Rect>,
    /// Width and height of the drawing.
    room: (f64, f64),
}

impl Clearance {
    /// A drawing with these texts, before the first token.
    pub fn new(size: f64, texts: Vec<Rect>, room: (f64, f64)) -> Clearance {
        Clearance { size, taken: texts, room }
    }

    /// Takes the nearest free place for something of these texts at a point.
    pub fn place(&mut self, at: Point, texts: &[&str]) -> Offset {
        let words = texts.iter().filter(|text| !text.is_empty());
        let width =
            words.map(|text| text.chars().count() as f64 * CHARACTER + BETWEEN).sum::<f64>() + BESIDES - BETWEEN;
        let (width, height) = (width * self.size + BORDER, LINE * self.size + FRAME);
        let home = Rect { x: at.x + GAP, y: at.y - height / 2.0, width, height };
        let found = (0..MOST_REACHES).find_map(|doubled| self.nearest(home, REACH * f64::from(1 << doubled)));
        let rect = found.unwrap_or(home);
        self.taken.push(rect);
        Offset { x: rect.x - at.x, y: rect.y + height / 2.0 - at.y }
    }

    /// The nearest free place within reach of the home.
    fn nearest(&self, home: Rect, reach: f64) -> Option<Rect> {
        let Rect { x, y, width, height } = home;
        let around = Rect {
            x: x - reach - width,
            y: y - reach - height,
            width: 2.0 * (reach + width),
            height: 2.0 * (reach + height),
        };
        let near: Vec<&Rect> = self.taken.iter().filter(|other| other.overlaps(&around)).collect();
        // To the left of its edge it is as near as to the right.
        let left = x - 2.0 * GAP - width;
        let beside = near.iter().flat_map(|other| [other.x - width - 1.0, other.x + other.width + 1.0]);
        let xs: Vec<f64> = [x, left].into_iter().chain(beside).filter(|to| (to - x).abs() <= reach + width).collect();
        let above = near.iter().flat_map(|other| [other.y - height - 1.0, other.y + other.height + 1.0]);
        let ys: Vec<f64> = std::iter::once(y).chain(above).filter(|to| (to - y).abs() <= reach).collect();
        let cost = |rect: &Rect| {
            let aside = (rect.x - x).abs().min((rect.x - left).abs() + 1.0);
            let down = if rect.y > y { DOWNWARDS * (rect.y - y) } else { y - rect.y };
            let is_inside =
                rect.x >= 0.0 && rect.y >= 0.0 && rect.x + width <= self.room.0 && rect.y + height <= self.room.1;
            SIDEWAYS * aside + down + if is_inside { 0.0 } else { OUTSIDE }
        };
        let is_free = |rect: &Rect| near.iter().all(|other| !other.overlaps(rect));
        let mut best: Option<(f64, Rect)> = None;
        for rect in xs.iter().flat_map(|&x| ys.iter().map(move |&y| Rect { x, y, width, height })) {
            let cost = cost(&rect);
            if best.is_none_or(|(least, _)| cost < least) && is_free(&rect) {
                best = Some((cost, rect));
            }
        }
        best.map(|(_, rect)| rect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: (f64, f64) = (600.0, 600.0);
    const HEIGHT: f64 = LINE + FRAME;

    #[test]
    fn places_tokens_at_one_point_above_each_other() {
        let mut clearance = Clearance::new(1.0, Vec::new(), ROOM);
        let at = Point { x: 250.0, y: 100.0 };
        assert_eq!(clearance.place(at, &["A[i]?", ""]), Offset { x: GAP, y: 0.0 });
        // The other side of the edge is nearer than a place above.
        let Offset { x, y } = clearance.place(at, &["A[i]?", ""]);
        assert!(x < -GAP && y == 0.0, "{x} {y}");
        assert_eq!(clearance.place(at, &["A[i]?", ""]), Offset { x: GAP, y: -HEIGHT - 1.0 });
        assert_eq!(clearance.place(Point { x: 50.0, y: 100.0 }, &["A[i]?", ""]), Offset { x: GAP, y: 0.0 });
    }

    #[test]
    fn keeps_tokens_off_every_text() {
        let texts: Vec<Rect> = (0..6)
            .flat_map(|row| (0..3).map(move |column| (row, column)))
            .map(|(row, column)| Rect {
                x: 20.0 + 130.0 * f64::from(column),
                y: 20.0 + 60.0 * f64::from(row),
                width: 100.0,
                height: 40.0,
            })
            .collect();
        let mut clearance = Clearance::new(1.0, texts.clone(), ROOM);
        for time in 0..30 {
            let at = Point { x: 60.0 + f64::from(time % 5), y: 140.0 };
            clearance.place(at, &["A[i + 1]?", "no"]);
        }
        let tokens = &clearance.taken[texts.len()..];
        for (index, token) in tokens.iter().enumerate() {
            let others = texts.iter().chain(&tokens[index + 1..]);
            assert!(others.into_iter().all(|other| !other.overlaps(token)), "{token:?}");
        }
    }

    #[test]
    fn stays_inside_the_drawing_if_it_can() {
        let mut clearance = Clearance::new(1.0, Vec::new(), ROOM);
        let at = Point { x: 590.0, y: 300.0 };
        let Offset { x, .. } = clearance.place(at, &["A[i]?"]);
        assert!(x < 0.0 && at.x + x > 500.0, "{x}");
    }
}
