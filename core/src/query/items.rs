//! Items that questions read in blocks: accesses to memory, and occurrences of expressions, each at its place.
//!
//! ```text
//! n8: ld A[i]; st B[j]; ld A[i + 1]; br n9        at first, families side by side     A: place 1, place 3    B: place 2
//!     + ld A[i + 2] at the end                    inserted                            A: ld A[i + 2]
//! ```
//!
//! What was there at first stands in one array, a block's families next to one another, in the order of places. What is
//! inserted later goes to the end of its block; each family that has something inserted there has a chain, the latest
//! first, and a block has a chain of those.
//!
//! Bounds: one of a family is found in a time that is logarithmic in the block's items and linear in the families that have
//! something inserted there.

use alloc::vec::Vec;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap, entity_impl};

use super::forms::{Family, Forms, Likeness};
use crate::ir::{Block, filled};

/// A computation of an expression that questions may find.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Occurrence(u32);
entity_impl!(Occurrence, "occurrence");

/// An address in terms of values, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(u32);
entity_impl!(Address);

/// Behind all instructions of a block but its terminator: where something has been inserted.
pub const INSERTED: u32 = u32::MAX - 1;
/// Behind the terminator.
pub const END: u32 = u32::MAX;

/// Item that a question reads in a block. There are more of these than caches hold, so they are small.
#[derive(Clone, Copy)]
pub struct Item {
    /// Its place in the block.
    pub place: u32,
    /// The occurrence, or an index into the clobbers.
    pub number: u32,
    /// Likeness that separates an occurrence from most others; [`CLOBBER`] for other items.
    pub likeness: Likeness,
    /// Address that an occurrence loads from, if it is known.
    pub address: PackedOption<Address>,
}

/// The likeness of what is no occurrence.
const CLOBBER: Likeness = Forms::UNLIKE - 1;

impl Item {
    /// An access that may change what others load, by its index.
    pub fn clobber(place: u32, index: usize) -> Item {
        Item { place, number: index as u32, likeness: CLOBBER, address: None.into() }
    }

    /// The occurrence that it is, if it is one.
    pub fn occurrence(self) -> Option<Occurrence> {
        (self.likeness != CLOBBER).then_some(Occurrence(self.number))
    }
}

/// See the file's head.
#[derive(Default)]
pub struct Items {
    items: Vec<(Family, Item)>,
    /// Begin and end of each block's items among all.
    ranges: SecondaryMap<Block, (u32, u32)>,
    /// The blocks that have some, in the order of the text.
    blocks: Vec<Block>,
    /// First chain of each block.
    chains_of: SecondaryMap<Block, PackedOption<Chain>>,
    chains: PrimaryMap<Chain, ChainData>,
    links: PrimaryMap<Link, LinkData>,
}

/// Chain of inserted items of one family in one block.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Chain(u32);
entity_impl!(Chain);

struct ChainData {
    family: Family,
    latest: PackedOption<Link>,
    /// Chain of another family in the same block.
    next: PackedOption<Chain>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Link(u32);
entity_impl!(Link);

struct LinkData {
    item: Item,
    earlier: PackedOption<Link>,
}

/// Those of a family that are still to come on a way through a block: of those that were there at first a part of the
/// array, which others may follow, and of those that were inserted the rest of the chain.
#[derive(Clone, Copy)]
pub struct Coming {
    family: Family,
    begin: u32,
    end: u32,
    /// Those before this place are not wanted.
    floor: u32,
    inserted: PackedOption<Link>,
}

impl Coming {
    /// None.
    pub fn none() -> Coming {
        Coming { family: Family::new(0), begin: 0, end: 0, floor: 0, inserted: None.into() }
    }
}

impl Items {
    /// None yet, with room for so many in a function of so many blocks.
    pub fn with_room(blocks: usize, items: usize) -> Items {
        Items {
            items: Vec::with_capacity(items),
            ranges: filled(blocks),
            chains_of: filled(blocks),
            ..Items::default()
        }
    }

    /// Adds an item. Initial items are added in the order of the text, and lined up; later ones have been inserted.
    pub fn add(&mut self, block: Block, family: Family, item: Item) {
        if item.place == INSERTED {
            let chain = self.chain(block, family).unwrap_or_else(|| {
                let next = self.chains_of[block];
                let chain = self.chains.push(ChainData { family, latest: None.into(), next });
                self.chains_of[block] = chain.into();
                chain
            });
            let earlier = self.chains[chain].latest;
            self.chains[chain].latest = self.links.push(LinkData { item, earlier }).into();
        } else {
            let end = self.items.len() as u32;
            if self.blocks.last() != Some(&block) {
                self.blocks.push(block);
                self.ranges[block].0 = end;
            }
            self.ranges[block].1 = end + 1;
            self.items.push((family, item));
        }
    }

    /// Puts a block's families next to one another.
    pub fn line_up(&mut self) {
        for &block in &self.blocks {
            let (begin, end) = self.ranges[block];
            // Stable: items of a family stay in order.
            self.items[begin as usize..end as usize].sort_by_key(|&(family, _)| family);
        }
    }

    /// Has anything been inserted in a block?
    pub fn has_inserted(&self, block: Block) -> bool {
        self.chains_of[block].is_some()
    }

    /// Those of a family, for [`Items::next_below`].
    pub fn below(&self, block: Block, family: Family) -> Coming {
        let (begin, end) = self.ranges[block];
        let of_block = &self.items[begin as usize..end as usize];
        let first = of_block.partition_point(|&(other, _)| other < family);
        Coming { family, begin: begin + first as u32, end, floor: 0, inserted: self.latest(block, family) }
    }

    /// The next one down.
    pub fn next_below(&self, coming: &mut Coming) -> Option<Item> {
        if coming.begin < coming.end {
            let (family, item) = self.items[coming.begin as usize];
            if family == coming.family {
                coming.begin += 1;
                return Some(item);
            }
            coming.end = coming.begin;
        }
        self.next_inserted(coming)
    }

    /// Those of a family before a place and not before another one, for [`Items::next_above`].
    pub fn above(&self, block: Block, family: Family, (floor, place): (u32, u32)) -> Coming {
        let (begin, end) = self.ranges[block];
        let of_block = &self.items[begin as usize..end as usize];
        let count = of_block.partition_point(|&(other, item)| (other, item.place) < (family, place));
        let inserted = if place > INSERTED { self.latest(block, family) } else { None.into() };
        Coming { family, begin, end: begin + count as u32, floor, inserted }
    }

    /// The next one up.
    pub fn next_above(&self, coming: &mut Coming) -> Option<Item> {
        if coming.inserted.is_some() {
            return self.next_inserted(coming);
        }
        let next = coming.end.checked_sub(1).filter(|&next| next >= coming.begin)?;
        let (family, item) = self.items[next as usize];
        coming.end = next;
        (family == coming.family && item.place >= coming.floor).then_some(item)
    }

    /// Removes an inserted item.
    pub fn withdraw(&mut self, block: Block, family: Family, occurrence: Occurrence) {
        let Some(chain) = self.chain(block, family) else { return };
        let mut later: Option<Link> = None;
        let mut at = self.chains[chain].latest;
        while let Some(link) = at.expand() {
            let LinkData { item, earlier } = self.links[link];
            if item.occurrence() == Some(occurrence) {
                match later {
                    Some(later) => self.links[later].earlier = earlier,
                    None => self.chains[chain].latest = earlier,
                }
            } else {
                later = Some(link);
            }
            at = earlier;
        }
    }

    fn next_inserted(&self, coming: &mut Coming) -> Option<Item> {
        let LinkData { item, earlier } = self.links[coming.inserted.expand()?];
        coming.inserted = earlier;
        Some(item)
    }

    fn latest(&self, block: Block, family: Family) -> PackedOption<Link> {
        self.chain(block, family).map_or(None.into(), |chain| self.chains[chain].latest)
    }

    fn chain(&self, block: Block, family: Family) -> Option<Chain> {
        let mut at = self.chains_of[block];
        while let Some(chain) = at.expand() {
            if self.chains[chain].family == family {
                return Some(chain);
            }
            at = self.chains[chain].next;
        }
        None
    }
}
