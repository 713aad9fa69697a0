//! At which scale the graph is drawn while nobody has zoomed: whole, never magnified, and calm. It is fitted anew for
//! another program, other passes and another size of the pane; from step to step the scale stays, unless the graph has
//! outgrown it.

use std::rc::Rc;

use warpscope_engine::message::Look;

use super::SCALES;

/// The smallest scale at which a whole graph is worth looking at: below it blocks are hard to tell apart.
const SMALLEST_WHOLE: f64 = 0.3;
/// The scales at which the beginning of a larger one is shown, as wide as the pane if that lies between them.
const OF_A_LARGE_ONE: (f64, f64) = (0.5, 0.8);
/// The smallest scale at which the text can be read.
const SMALLEST_READABLE: f64 = 0.8;

type Size = (f64, f64);

/// The scale that fits, kept from step to step.
pub struct Fitted {
    of: Option<Rc<Look>>,
    pane: Size,
    scale: f64,
}

impl Default for Fitted {
    /// Nothing is fitted: the largest scale.
    fn default() -> Fitted {
        Fitted { of: None, pane: Size::default(), scale: 1.0 }
    }
}

impl Fitted {
    /// The scale for a drawing of this size in a pane of this size. `of` is the question that the drawing answers.
    pub fn scale(&mut self, of: Option<&Rc<Look>>, drawing: Size, pane: Size) -> f64 {
        let new = whole(drawing, pane);
        let is_kept = self.pane == pane && have_same_stops(self.of.as_ref(), of);
        self.scale = if is_kept { self.scale.min(new) } else { new };
        (self.of, self.pane) = (of.cloned(), pane);
        self.scale
    }
}

/// The scale for reading, as small as the pane asks for but no smaller than readable.
pub fn readable(drawing: Size, pane: Size) -> f64 {
    ratio(drawing, pane).clamp(SMALLEST_READABLE, 1.0)
}

fn whole(drawing: Size, pane: Size) -> f64 {
    let fit = ratio(drawing, pane).clamp(*SCALES.start(), 1.0);
    if fit >= SMALLEST_WHOLE { fit } else { (pane.0 / drawing.0).clamp(OF_A_LARGE_ONE.0, OF_A_LARGE_ONE.1) }
}

/// How often the drawing goes into the pane; 1 while the pane has no size.
fn ratio(drawing: Size, pane: Size) -> f64 {
    if pane.0 > 0.0 && pane.1 > 0.0 { (pane.0 / drawing.0).min(pane.1 / drawing.1) } else { 1.0 }
}

/// Whether both questions are about stops of one kernel under one pipeline.
fn have_same_stops(before: Option<&Rc<Look>>, now: Option<&Rc<Look>>) -> bool {
    let (Some(before), Some(now)) = (before, now) else { return before.is_none() && now.is_none() };
    Rc::ptr_eq(before, now) || before.bench == now.bench
}

#[cfg(test)]
mod tests {
    use super::*;

    const PANE: Size = (400.0, 500.0);

    #[test]
    fn scales_of_panes_without_a_size_are_full() {
        assert_eq!(Fitted::default().scale(None, (300.0, 400.0), (0.0, 0.0)), 1.0);
    }

    fn look(source: &str) -> Rc<Look> {
        let mut look = Look::default();
        look.bench.source = source.to_owned();
        Rc::new(look)
    }

    #[test]
    fn a_graph_is_whole_and_never_magnified() {
        let scale = |drawing| Fitted::default().scale(None, drawing, PANE);
        assert_eq!(scale((800.0, 600.0)), 0.5);
        assert_eq!(scale((300.0, 1_000.0)), 0.5);
        assert_eq!(scale((100.0, 100.0)), 1.0);
        // Of one that would be a thread, the beginning.
        assert_eq!(scale((640.0, 60_000.0)), 0.625);
    }

    #[test]
    fn a_step_changes_the_scale_only_if_the_graph_outgrows_it() {
        let mut fitted = Fitted::default();
        let program = look("a");
        assert_eq!(fitted.scale(Some(&program), (500.0, 500.0), PANE), 0.8);
        assert_eq!(fitted.scale(Some(&look("a")), (450.0, 500.0), PANE), 0.8);
        assert_eq!(fitted.scale(Some(&program), (800.0, 500.0), PANE), 0.5);
        assert_eq!(fitted.scale(Some(&program), (500.0, 500.0), PANE), 0.5);
        assert_eq!(fitted.scale(Some(&look("b")), (500.0, 500.0), PANE), 0.8);
        assert_eq!(fitted.scale(Some(&look("b")), (500.0, 500.0), (800.0, 400.0)), 0.8);
        assert_eq!(fitted.scale(Some(&look("b")), (500.0, 500.0), (250.0, 500.0)), 0.5);
    }

    #[test]
    fn other_passes_fit_the_graph_anew() {
        let mut fitted = Fitted::default();
        let few = look("a");
        let mut many = (*few).clone();
        many.bench.pipeline.push(Default::default());
        assert_eq!(fitted.scale(Some(&few), (500.0, 500.0), PANE), 0.8);
        assert_eq!(fitted.scale(Some(&Rc::new(many)), (800.0, 500.0), PANE), 0.5);
        assert_eq!(fitted.scale(Some(&few), (500.0, 500.0), PANE), 0.8);
    }

    #[test]
    fn reading_wants_large_letters() {
        assert_eq!(readable((800.0, 600.0), PANE), SMALLEST_READABLE);
        assert_eq!(readable((440.0, 100.0), PANE), 400.0 / 440.0);
    }
}
