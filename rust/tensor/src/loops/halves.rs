//! Conversions between 16-bit and 32-bit floats without branches and calls, so that the compiler vectorizes loops over them.
//! They have the results of the crate `half`, also for NaN.

use half::{bf16, f16};

/// The exponent of `f32` that infinity and NaN have.
const NOT_FINITE: u32 = 0x7f80_0000;

/// Returns the exact value of a number of IEEE half precision.
#[inline(always)]
pub(super) fn load_f16(half: f16) -> f32 {
    /// 2 to the difference of both biases, with which also numbers without a leading 1 get their value.
    const REBIAS: f32 = f32::from_bits((127 + 112) << 23);
    let bits = u32::from(half.to_bits());
    let size = bits & 0x7fff;
    let finite = (f32::from_bits(size << 13) * REBIAS).to_bits();
    let nan_bit = if size > 0x7c00 { 0x0040_0000 } else { 0 };
    let size = if size >= 0x7c00 { NOT_FINITE | size << 13 | nan_bit } else { finite };
    f32::from_bits(size | (bits & 0x8000) << 16)
}

/// Rounds to the nearest number of IEEE half precision, ties to even.
#[inline(always)]
pub(super) fn store_f16(single: f32) -> f16 {
    /// The smallest size that is rounded to infinity or beyond, as if the exponent had no limit.
    const TOO_LARGE: u32 = (127 + 16) << 23;
    /// The smallest number with a leading 1.
    const NORMAL: u32 = (127 - 14) << 23;
    /// A number in whose binary representation the last digit has the value of the smallest half: a sum with it is rounded
    /// to that digit.
    const SMALLEST: f32 = f32::from_bits((127 - 15 + 13 + 1) << 23);
    let bits = single.to_bits();
    let size = bits & 0x7fff_ffff;
    let is_odd = size >> 13 & 1;
    let normal = size.wrapping_sub((127 - 15) << 23).wrapping_add(0xfff + is_odd) >> 13;
    let small = (f32::from_bits(size) + SMALLEST).to_bits().wrapping_sub(SMALLEST.to_bits());
    let nan = 0x7e00 | size >> 13 & 0x3ff;
    let rounded = if size < NORMAL { small } else { normal };
    let rounded = if size >= TOO_LARGE { 0x7c00 } else { rounded };
    let rounded = if size > NOT_FINITE { nan } else { rounded };
    f16::from_bits((rounded | bits >> 16 & 0x8000) as u16)
}

/// Returns the exact value of a number of the upper half of an `f32`.
#[inline(always)]
pub(super) fn load_bf16(half: bf16) -> f32 {
    let bits = u32::from(half.to_bits()) << 16;
    let nan_bit = if bits & 0x7fff_ffff > NOT_FINITE { 0x0040_0000 } else { 0 };
    f32::from_bits(bits | nan_bit)
}

/// Rounds to the nearest number of the upper half of an `f32`, ties to even.
#[inline(always)]
pub(super) fn store_bf16(single: f32) -> bf16 {
    let bits = single.to_bits();
    let is_odd = bits >> 16 & 1;
    let rounded = bits.wrapping_add(0x7fff + is_odd) >> 16;
    let is_nan = bits & 0x7fff_ffff > NOT_FINITE;
    bf16::from_bits((if is_nan { bits >> 16 | 0x40 } else { rounded }) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_has_the_value_that_the_crate_gives() {
        for bits in 0..=u16::MAX {
            let half = f16::from_bits(bits);
            assert_eq!(load_f16(half).to_bits(), half.to_f32_const().to_bits(), "{bits:#x}");
            let half = bf16::from_bits(bits);
            assert_eq!(load_bf16(half).to_bits(), half.to_f32_const().to_bits(), "{bits:#x}");
        }
    }

    #[test]
    fn singles_are_rounded_as_the_crate_does() {
        // Every exponent with each of the bits that decide the rounding, and the neighbours of ties.
        for high in 0..=u16::MAX {
            for low in
                [0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x2fff, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff]
            {
                let bits = u32::from(high) << 16 | low;
                let single = f32::from_bits(bits);
                assert_eq!(store_f16(single).to_bits(), f16::from_f32_const(single).to_bits(), "{bits:#x}");
                assert_eq!(store_bf16(single).to_bits(), bf16::from_f32_const(single).to_bits(), "{bits:#x}");
            }
        }
    }
}
