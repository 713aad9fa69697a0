//! The memory that an address outside of it was probably meant for.

use super::bind::Argument;
use super::memory::{Target, nearest_region, offset_of, target_of};
use super::run::Simulation;

/// A piece of memory, and a place relative to its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nearest {
    /// The buffer or texture of the parameter with that index, and bytes from its start.
    Param(usize, i64),
    /// The memory behind a pointer: which line of the launch with a path it belongs to, and bytes from its start.
    Pointee(usize, i64),
    /// The block's shared memory, and bytes from its start.
    Shared(u64),
}

impl Simulation {
    /// The memory that an address is nearest to, unless that belongs to the module or to a thread.
    pub fn nearest(&self, address: u64) -> Option<Nearest> {
        match target_of(address) {
            Target::Shared => Some(Nearest::Shared(u64::from(offset_of(address)))),
            Target::Region(_) | Target::Nowhere => {
                let (region, at) = nearest_region(address)?;
                // Globals come first, then what parameters point to, in their order, then what lies behind pointers.
                let bound = self.bound();
                let (of_params, of_pointers) = bound.memory_counts();
                let number = region.checked_sub(self.memory().regions.len() - of_params - of_pointers)?;
                let is_memory = |param: &Argument| matches!(param, Argument::Buffer(..) | Argument::Texture(..));
                if number < of_params {
                    let mut params = bound.params.iter().enumerate().filter(|(_, param)| is_memory(param));
                    return params.nth(number).map(|(index, _)| Nearest::Param(index, at));
                }
                let mut rest = number - of_params;
                let line = bound.pointees.iter().position(|pointee| {
                    let is_here = rest < pointee.contents.len();
                    rest = rest.saturating_sub(pointee.contents.len());
                    is_here
                });
                line.map(|line| Nearest::Pointee(line, at))
            }
            Target::Local | Target::Param => None,
        }
    }
}
