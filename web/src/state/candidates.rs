//! The candidates of `azp`, and which of them is painted.

use std::rc::Rc;

use warpscope_engine::message::{Candidates, Painting, Weigh};

use super::answers::Weighed;
use super::{Lab, Sheet};

impl Lab {
    /// Whether the candidates of `azp` are shown.
    pub fn shows_candidates(&self) -> bool {
        let is_at_hand = self.view.as_ref().is_some_and(|view| view.weighs);
        self.sheet == Sheet::Candidates && is_at_hand && !self.has_mistakes()
    }

    /// The candidates in the program that is shown, once the engine has told them.
    pub fn candidates(&self) -> Option<&Candidates> {
        self.weighed_here().map(|weighed| &weighed.candidates)
    }

    fn weighed_here(&self) -> Option<&Weighed> {
        let position = self.view.as_ref()?.position;
        let weighed = self.weighed.as_deref()?;
        (weighed.asked.bench == self.bench && weighed.asked.position == position).then_some(weighed)
    }

    /// The question for them; none if nobody looks, or they are known.
    pub fn weigh(&self) -> Option<Weigh> {
        let position = self.view.as_ref().filter(|_| self.shows_candidates() && !self.looking)?.position;
        let weigh = Weigh { bench: self.bench.clone(), position, painted: self.candidate };
        let is_known = self.weighed.as_ref().is_some_and(|weighed| weighed.asked == weigh);
        (!is_known).then_some(weigh)
    }

    /// What a candidate would change in the program that is shown, while candidates are looked at.
    pub fn painting(&self) -> Option<&Rc<Painting>> {
        let painting = self.weighed_here().filter(|_| self.shows_candidates())?.painting.as_ref()?;
        self.candidate.is_none_or(|candidate| candidate == painting.candidate).then_some(painting)
    }
}
