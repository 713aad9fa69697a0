//! Accesses of nodes to a register, in short, as a list for the register.
//!
//! ```text
//! n: x = mul.f32 a, b      x: n, written, once          a: n, read first
//!    y = add.f32 x, 1.0    y: n, written, once          b: n, read first
//! ```
//!
//! Who asks many nodes about one register, as liveness does and the search for who writes a predicate, looks at one list, and
//! not into each node. Mostly a register is touched in a few nodes, and its list is small enough to be looked through.
//!
//! The list says of each node what [`Accesses`](super::accesses) know of it; that tells it what changes. Of what a node touches no
//! more it says that nothing happens there, as the same statement may come back. Where debugging, all lists are held against the
//! nodes after each round.
//!
//! A list has an entry for each node that touches its register or has touched it; a question takes a logarithm of them.

use smallvec::SmallVec;

use super::signature::Signature;
use crate::pass::path_guided::nodes::Node;

/// Access of a node to a register: the node, and bits of which none is set if it no longer touches it. A touched register is
/// written, or read first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Touching(u32);

impl Touching {
    pub const READ_FIRST: u8 = 1;
    pub const OVERWRITTEN: u8 = 2;
    pub const WRITTEN: u8 = 4;
    pub const WRITTEN_ONCE: u8 = 8;
    /// How many bits there are. No function that fits into memory has so many nodes that these are in the way.
    const BITS: u32 = 4;

    /// Creates the entry of a node, with those bits of its access.
    pub fn new(node: Node, bits: u8) -> Touching {
        Touching((node as u32) << Touching::BITS | u32::from(bits))
    }

    /// The node.
    pub fn node(self) -> Node {
        (self.0 >> Touching::BITS) as Node
    }

    /// Does the node no longer touch it?
    pub fn is_nothing(self) -> bool {
        self == Touching::new(self.node(), 0)
    }

    /// Is it read before it is written without a guard?
    pub fn is_read_first(self) -> bool {
        self.has(Touching::READ_FIRST)
    }

    /// Is it written without a guard?
    pub fn is_overwritten(self) -> bool {
        self.has(Touching::OVERWRITTEN)
    }

    /// Is it written at all?
    pub fn is_written(self) -> bool {
        self.has(Touching::WRITTEN)
    }

    /// Is it written once?
    pub fn is_written_once(self) -> bool {
        self.has(Touching::WRITTEN_ONCE)
    }

    fn has(self, bit: u8) -> bool {
        self.0 & u32::from(bit) != 0
    }
}

/// The nodes that touch a register, in order.
pub(super) type AllTouching = SmallVec<[Touching; FEW]>;

/// So many are looked through as soon as something else is asked.
const FEW: usize = 4;

/// From now on a node does that to the register of such a list.
pub(super) fn tell(all: &mut AllTouching, node: Node, bits: u8) {
    let now = Touching::new(node, bits);
    if all.last().is_none_or(|last| last.node() < node) {
        all.push(now);
        return;
    }
    let place = all.partition_point(|touching| touching.node() < node);
    match &mut all[place] {
        known if known.node() == node => *known = now,
        _ => all.insert(place, now),
    }
}

/// Does such a list say at first sight that a node does not touch its register?
#[inline]
pub(super) fn touches_not(all: &AllTouching, node: Node) -> bool {
    all.len() <= FEW && all.iter().all(|touching| touching.node() != node)
}

/// Accesses of a register, for queries about many nodes.
#[derive(Clone, Copy)]
pub(super) struct Touched<'a> {
    all: &'a [Touching],
    /// Signatures of all that each node touches.
    signatures: &'a [Signature],
    /// Signature of the register.
    signature: Signature,
}

impl<'a> Touched<'a> {
    /// As the list of a register says that has that signature; `signatures` are those of all that nodes touch.
    pub fn new(all: &'a [Touching], signatures: &'a [Signature], signature: Signature) -> Touched<'a> {
        Touched { all, signatures, signature }
    }

    /// Access of a node to it.
    #[inline]
    pub fn at(&self, node: Node) -> Touching {
        let found = if self.all.len() <= FEW {
            self.all.iter().find(|touching| touching.node() == node)
        } else if self.signatures[node].meets(self.signature) {
            self.all.binary_search_by_key(&node, |touching| touching.node()).ok().map(|place| &self.all[place])
        } else {
            None
        };
        found.copied().unwrap_or(Touching::new(node, 0))
    }
}
