//! f16: arithmetic is done in the arbitrary-precision library, one rounding an operation.

use rustc_apfloat::Float;
use rustc_apfloat::FloatConvert;
use rustc_apfloat::ieee::{Half, Single};

use super::float::{CANONICAL_F16, Real};

/// The bits of an f16.
#[derive(Clone, Copy, Debug)]
pub struct F16(pub u16);

impl F16 {
    /// Converts to f32, exactly.
    pub fn to_f32(self) -> f32 {
        let wide: Single = Half::from_bits(u128::from(self.0)).convert(&mut false).value;
        f32::from_soft(wide)
    }
}

impl PartialEq for F16 {
    fn eq(&self, other: &F16) -> bool {
        self.to_f32() == other.to_f32()
    }
}

impl Real for F16 {
    type Soft = Half;
    const ZERO: F16 = F16(0);
    const ONE: F16 = F16(0x3C00);

    fn to_soft(self) -> Half {
        Half::from_bits(u128::from(self.0))
    }

    fn from_soft(soft: Half) -> F16 {
        F16(soft.to_bits() as u16)
    }

    fn is_nan(self) -> bool {
        self.0 & 0x7FFF > 0x7C00
    }

    fn is_negative(self) -> bool {
        self.0 >> 15 == 1
    }

    fn canonical(self) -> F16 {
        if self.is_nan() { F16(CANONICAL_F16) } else { self }
    }

    fn flush(self) -> F16 {
        if self.0 & 0x7C00 == 0 { F16(self.0 & 0x8000) } else { self }
    }

    fn negate(self) -> F16 {
        F16(self.0 ^ 0x8000)
    }

    fn magnitude(self) -> F16 {
        F16(self.0 & 0x7FFF)
    }

    fn root(self) -> F16 {
        // The square root of 11 bits, rounded first to 24 and then to 11, is rounded correctly (Figueroa 1995).
        let root: Half = self.to_f32().root().to_soft().convert(&mut false).value;
        F16::from_soft(root)
    }
}
