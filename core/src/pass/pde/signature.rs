//! Some registers, in one word, and the order in which a node's registers stand so that the word says where each of them is.
//!
//! ```text
//! r1 r65 r3     bits 1, 1, 3; they stand in the order of their bits: r1 r65 r3
//! where is r3?  one bit below its own is set, so not in front of place 1; there is r65, and then r3
//! ```
//!
//! A bit stands for all registers whose numbers leave the same remainder. Those of a node have numbers near each other as a rule,
//! so that few share a bit: then the place of a register is the number of bits below its own, or soon behind. That takes no
//! branch that is as good as random, and reads little more than what it finds.
//!
//! Bounds: the registers of a node, of which few are looked at; where there are many, a logarithm of them.

use crate::ir::Reg;

/// Registers of a node of which one is looked for by its bit. Where there are more, many share one. Fewer where debugging, so that
/// tests of small programs see both.
const FEW: usize = if cfg!(debug_assertions) { 6 } else { u64::BITS as usize };

/// A bit for each of some registers, which others may share.
#[derive(Clone, Copy, PartialEq, Default)]
pub(super) struct Signature(u64);

impl Signature {
    /// Signature of a register.
    pub fn of(reg: Reg) -> Signature {
        Signature(1 << (reg.as_u32() % u64::BITS))
    }

    /// Signature of these registers and others.
    pub fn and(self, other: Signature) -> Signature {
        Signature(self.0 | other.0)
    }

    /// Signature of these registers without some that have no bit in common with the others.
    pub fn without(self, other: Signature) -> Signature {
        Signature(self.0 & !other.0)
    }

    pub fn meets(self, other: Signature) -> bool {
        self.0 & other.0 != 0
    }

    /// Place of a register among all registers with this signature, which is in the order of their
    /// [ranks](rank), one for each; or where it would be.
    #[inline]
    pub fn find<T>(self, all: &[T], reg: Reg, of: impl Fn(&T) -> Reg) -> Result<usize, usize> {
        let wanted = rank(reg);
        if all.len() > FEW {
            return all.binary_search_by_key(&wanted, |one| rank(of(one)));
        }
        // Each bit below its own is that of one in front of it, at least.
        let below = self.0 & (Signature::of(reg).0 - 1);
        let mut place = below.count_ones() as usize;
        while let Some(one) = all.get(place) {
            let found = rank(of(one));
            if found >= wanted {
                return if found == wanted { Ok(place) } else { Err(place) };
            }
            place += 1;
        }
        Err(place)
    }
}

/// Registers with the same bit have ranks beside each other, in the order of the bits; each has its own.
pub(super) fn rank(reg: Reg) -> u32 {
    reg.as_u32().rotate_right(u64::BITS.ilog2())
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use cranelift_entity::EntityRef;

    use super::*;

    #[test]
    fn all_are_found_and_nothing_else() {
        // Some share bits, and some of those stand alone for one.
        for numbers in [&[][..], &[5], &[1, 65, 3], &[0, 64, 128, 192, 63, 127], &[2, 3, 4, 5, 66, 130, 7, 8, 9]] {
            let mut regs: Vec<Reg> = numbers.iter().map(|&number| Reg::new(number)).collect();
            regs.sort_unstable_by_key(|&reg| rank(reg));
            let all = regs.iter().fold(Signature::default(), |all, &reg| all.and(Signature::of(reg)));
            for reg in (0..260).map(Reg::new) {
                let expected = regs.binary_search_by_key(&rank(reg), |&reg| rank(reg));
                assert_eq!(all.find(&regs, reg, |&reg| reg), expected, "{reg} in {regs:?}");
            }
        }
    }
}
