//! Bits that are drawn evenly and always the same, for operands that no shrinking is wanted of.

/// A sequence of draws (SplitMix64).
pub struct EvenBits(u64);

impl EvenBits {
    /// The sequence of a seed.
    pub const fn new(seed: u64) -> EvenBits {
        EvenBits(seed)
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.bits() % end
    }
}
