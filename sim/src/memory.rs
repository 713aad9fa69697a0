//! Memory: one address space of separate regions.
//!
//! ```text
//! 0x0000_0000_0100_0000   shared window   the block's own
//! 0x0000_0000_0200_0000   local window    the thread's own
//! 0x0000_0000_0300_0000   param window    arrays by value
//! 0x0000_0k00_0000_0000   region k        const arrays, globals, then buffers and textures in parameter order
//! ```
//!
//! Addresses of windows fit in 32 bits, and a generic address is the address in the window, so
//! `cvta` copies. Regions lie 1 TiB apart: a 32-bit index of elements up to 128 bytes that leaves
//! one lands in nothing, on either side, and is found. Lookup is a shift.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::cache::{LINE_BYTES, SECTOR_BYTES};
use crate::ir::{Global, GlobalData, Module, Space, Type};

/// First address of the shared window.
pub const SHARED_WINDOW: u64 = 0x0100_0000;
/// First address of the local window.
pub const LOCAL_WINDOW: u64 = 0x0200_0000;
/// First address of the param window.
pub const PARAM_WINDOW: u64 = 0x0300_0000;
/// Bytes of a window, as a power of two.
pub const WINDOW_SHIFT: u32 = 24;
/// Bytes from one region to the next, as a power of two.
pub const REGION_SHIFT: u32 = 40;

/// Kind of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegionKind {
    /// A `global` array of the module or a parameter's buffer.
    Global,
    /// A `const` array of the module.
    Const,
    /// The texture of a parameter or of a `texref`, with its size in texels.
    Texture {
        /// Texels a row.
        width: u32,
        /// Rows.
        height: u32,
    },
}

/// A piece of device memory.
pub struct Region {
    /// The parameter's or global's name.
    pub name: String,
    /// Kind of the region.
    pub kind: RegionKind,
    /// Its element type, for showing it.
    pub ty: Type,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The number of its first line, for the caches.
    first_line: u32,
}

/// All memory of a launch.
pub struct Memory {
    /// Device memory; see [`region_address`].
    pub regions: Vec<Region>,
    /// The param window.
    pub params: Vec<u8>,
    /// The shared window of each resident block.
    pub shared: Vec<Vec<u8>>,
    /// The local window of each resident warp: lane by lane.
    pub local: Vec<Vec<u8>>,
    /// Bytes of local memory a thread.
    pub local_bytes: u32,
    lines: u32,
}

/// The piece of memory that some lanes of an access fall into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A region of device memory.
    Region(u32),
    /// The block's shared memory.
    Shared,
    /// The threads' local memory.
    Local,
    /// Arrays by value.
    Param,
    /// Nothing.
    Nowhere,
}

/// Why an access fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// No memory there.
    OutOfBounds,
    /// The address is no multiple of the size.
    Misaligned,
    /// A store where none is allowed.
    ReadOnly,
}

/// The address of a region.
pub fn region_address(region: usize) -> u64 {
    (region as u64 + 1) << REGION_SHIFT
}

/// The globals of a module in the order of their regions, which are the first ones: constants before others, so that a
/// comparison tells whether an address is in constant memory.
pub fn ordered_globals(module: &Module) -> impl Iterator<Item = (Global, &GlobalData)> {
    let of = |is_const: bool| module.globals.iter().filter(move |(_, data)| (data.space == Space::Const) == is_const);
    of(true).chain(of(false))
}

/// The region that an address outside all regions is nearest to, and how many bytes it lies behind that one's start.
pub fn nearest_region(address: u64) -> Option<(usize, i64)> {
    let number = address.checked_add(1 << (REGION_SHIFT - 1))? >> REGION_SHIFT;
    let region = usize::try_from(number).ok()?.checked_sub(1)?;
    Some((region, address.wrapping_sub(region_address(region)) as i64))
}

/// Which piece of memory an address names.
#[inline]
pub fn target_of(address: u64) -> Target {
    match address >> 32 {
        0 => match address >> WINDOW_SHIFT {
            1 => Target::Shared,
            2 => Target::Local,
            3 => Target::Param,
            _ => Target::Nowhere,
        },
        // What lies behind the first 4 GiB of a region is nobody's.
        high if high & ((1 << (REGION_SHIFT - 32)) - 1) == 0 => Target::Region((address >> REGION_SHIFT) as u32 - 1),
        _ => Target::Nowhere,
    }
}

/// An address's place in its piece of memory.
#[inline]
pub fn offset_of(address: u64) -> u32 {
    if address >> 32 == 0 { address as u32 & ((1 << WINDOW_SHIFT) - 1) } else { address as u32 }
}

impl Memory {
    /// No regions yet; windows as given.
    pub fn new(params: Vec<u8>, local_bytes: u32) -> Memory {
        Memory { regions: Vec::new(), params, shared: Vec::new(), local: Vec::new(), local_bytes, lines: 0 }
    }

    /// Adds a region.
    pub fn add(&mut self, name: String, kind: RegionKind, ty: Type, bytes: Vec<u8>) {
        let first_line = self.lines;
        self.lines += (bytes.len() as u64).div_ceil(LINE_BYTES) as u32;
        self.regions.push(Region { name, kind, ty, bytes, first_line });
    }

    /// Lines of all device memory, and of the local memory of so many resident warps behind it.
    pub fn lines(&self, warps: u32) -> u32 {
        self.lines + warps * self.local_lines()
    }

    /// Lines of one warp's local memory.
    fn local_lines(&self) -> u32 {
        (u64::from(self.local_bytes) * 32).div_ceil(LINE_BYTES) as u32
    }

    /// The space that a target belongs to.
    pub fn space_of(&self, target: Target) -> Option<Space> {
        Some(match target {
            Target::Region(region) => match self.regions.get(region as usize)?.kind {
                RegionKind::Global | RegionKind::Texture { .. } => Space::Global,
                RegionKind::Const => Space::Const,
            },
            Target::Shared => Space::Shared,
            Target::Local => Space::Local,
            Target::Param => Space::Param,
            Target::Nowhere => return None,
        })
    }

    /// The bytes of a target. For local memory, those of the whole warp: lane `k` begins at `k · local_bytes`.
    pub fn bytes(&self, target: Target, block: usize, warp: usize) -> &[u8] {
        match target {
            Target::Region(region) => self.regions.get(region as usize).map_or(&[], |region| &region.bytes),
            Target::Shared => &self.shared[block],
            Target::Local => &self.local[warp],
            Target::Param => &self.params,
            Target::Nowhere => &[],
        }
    }

    /// Returns the bytes for writing.
    pub fn bytes_mut(&mut self, target: Target, block: usize, warp: usize) -> &mut [u8] {
        match target {
            Target::Region(region) => self.regions.get_mut(region as usize).map_or(&mut [], |region| &mut region.bytes),
            Target::Shared => &mut self.shared[block],
            Target::Local => &mut self.local[warp],
            Target::Param => &mut self.params,
            Target::Nowhere => &mut [],
        }
    }

    /// Bytes that one thread sees of a target.
    pub fn len(&self, target: Target, block: usize) -> u32 {
        match target {
            Target::Region(region) => self.regions.get(region as usize).map_or(0, |region| region.bytes.len() as u32),
            Target::Shared => self.shared[block].len() as u32,
            Target::Local => self.local_bytes,
            Target::Param => self.params.len() as u32,
            Target::Nowhere => 0,
        }
    }

    /// May nobody store there?
    pub fn is_read_only(&self, target: Target) -> bool {
        match target {
            Target::Region(region) => {
                self.regions.get(region as usize).is_none_or(|region| region.kind != RegionKind::Global)
            }
            Target::Param => true,
            Target::Shared | Target::Local | Target::Nowhere => false,
        }
    }

    /// The sector that a lane's access falls into, numbered over all memory that caches see. Local memory interleaves
    /// the lanes word by word, as hardware does, so that equal offsets of neighbours lie side by side.
    #[inline]
    pub fn sector(&self, target: Target, offset: u32, lane: usize, warp: usize) -> u32 {
        const SECTORS_A_LINE: u32 = (LINE_BYTES / SECTOR_BYTES) as u32;
        match target {
            Target::Region(region) => {
                let first = self.regions.get(region as usize).map_or(0, |region| region.first_line);
                first * SECTORS_A_LINE + offset / SECTOR_BYTES as u32
            }
            Target::Local => {
                let first = self.lines + warp as u32 * self.local_lines();
                let word = offset / 4;
                first * SECTORS_A_LINE + word * SECTORS_A_LINE + lane as u32 * 4 / SECTOR_BYTES as u32
            }
            Target::Shared | Target::Param | Target::Nowhere => 0,
        }
    }

    /// Makes room for one more resident warp's local memory, zeroed, or zeroes that of a slot used again.
    pub fn reset_local(&mut self, warp: usize) {
        let bytes = self.local_bytes as usize * 32;
        if self.local.len() <= warp {
            self.local.resize_with(warp + 1, Vec::new);
        }
        self.local[warp].clear();
        self.local[warp].resize(bytes, 0);
    }

    /// Resets a resident block's shared memory.
    pub fn reset_shared(&mut self, block: usize, bytes: u32) {
        if self.shared.len() <= block {
            self.shared.resize_with(block + 1, Vec::new);
        }
        self.shared[block] = vec![0; bytes as usize];
    }
}

/// Reads a little-endian number of 1, 2, 4 or 8 bytes. The place must be inside.
#[inline(always)]
pub fn read_number(bytes: &[u8], offset: usize, size: usize) -> u64 {
    let mut word = [0; 8];
    word[..size].copy_from_slice(&bytes[offset..offset + size]);
    u64::from_le_bytes(word)
}

/// Writes one.
#[inline(always)]
pub fn write_number(bytes: &mut [u8], offset: usize, size: usize, value: u64) {
    bytes[offset..offset + size].copy_from_slice(&value.to_le_bytes()[..size]);
}
