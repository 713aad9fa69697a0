//! The part of the address after `#`: a link that the engine reads, and readable keys.
//!
//! ```text
//! #view=lab                 the first example, in the shape for engineers
//! #v2.eJyr…&view=learn      a person's own program, in the shape for readers
//! ```

use crate::state::Shape;

/// Content of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// Link of a bench; empty if there is none.
    pub link: String,
    /// Shape of the page; none is the usual one, for readers without a link and for engineers with one.
    pub view: Option<Shape>,
    /// Parts that are no known key, or have an unknown value.
    pub unknown: Vec<String>,
}

impl Address {
    /// Reads the part of an address after `#`.
    pub fn parse(hash: &str) -> Address {
        let mut address = Address::default();
        for (place, part) in hash.trim_start_matches('#').split('&').filter(|part| !part.is_empty()).enumerate() {
            match part.split_once('=') {
                Some(("view", "learn")) => address.view = Some(Shape::Learn),
                Some(("view", "lab")) => address.view = Some(Shape::Lab),
                Some((key, _)) if key.chars().all(|letter| letter.is_ascii_lowercase()) => {
                    address.unknown.push(part.to_owned());
                }
                _ if place == 0 => part.clone_into(&mut address.link),
                _ => address.unknown.push(part.to_owned()),
            }
        }
        address
    }

    /// The shape in which the page opens.
    pub fn shape(&self) -> Shape {
        self.view.unwrap_or(if self.link.is_empty() { Shape::Learn } else { Shape::Lab })
    }

    /// The address in this shape, without what is usual, as the part after `#`.
    pub fn in_shape(&self, shape: Shape) -> String {
        let usual = Address { view: None, ..self.clone() }.shape();
        let view = match shape {
            _ if shape == usual => None,
            Shape::Learn => Some("view=learn"),
            Shape::Lab => Some("view=lab"),
        };
        let link = Some(self.link.as_str()).filter(|link| !link.is_empty());
        link.into_iter().chain(view).collect::<Vec<_>>().join("&")
    }

    /// A sentence about the parts that are not known; none if all are.
    pub fn complaint(&self) -> Option<String> {
        let unknown = self.unknown.iter().map(|part| format!("`{part}`")).collect::<Vec<_>>().join(", ");
        (!unknown.is_empty())
            .then(|| format!("The address has an unknown part: {unknown}. Known: `view=learn` and `view=lab`."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_keys_are_told_apart() {
        let parsed = |hash: &str| {
            let address = Address::parse(hash);
            (address.link.clone(), address.shape(), address.unknown)
        };
        let none = Vec::new;
        assert_eq!(parsed(""), (String::new(), Shape::Learn, none()));
        assert_eq!(parsed("#view=lab"), (String::new(), Shape::Lab, none()));
        assert_eq!(parsed("#v1.d:abc"), ("v1.d:abc".to_owned(), Shape::Lab, none()));
        assert_eq!(parsed("#v2.abc&view=learn"), ("v2.abc".to_owned(), Shape::Learn, none()));
        // A broken link is for the engine to explain, a wrong key is named.
        assert_eq!(parsed("#nonsense"), ("nonsense".to_owned(), Shape::Lab, none()));
        assert_eq!(parsed("#view=lap"), (String::new(), Shape::Learn, vec!["view=lap".to_owned()]));
        assert_eq!(parsed("#vieuw=lab&x"), (String::new(), Shape::Learn, vec!["vieuw=lab".to_owned(), "x".to_owned()]));
    }

    #[test]
    fn addresses_name_only_unusual_shapes() {
        let written = |hash: &str, shape| Address::parse(hash).in_shape(shape);
        assert_eq!(written("", Shape::Learn), "");
        assert_eq!(written("#view=learn", Shape::Lab), "view=lab");
        assert_eq!(written("#v2.abc", Shape::Lab), "v2.abc");
        assert_eq!(written("#v2.abc&view=lab", Shape::Learn), "v2.abc&view=learn");
    }
}
