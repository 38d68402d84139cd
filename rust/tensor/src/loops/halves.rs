//! Conversions between 16-bit and 32-bit floats without branches and calls, so that the compiler vectorizes loops over them.
//! They have the results of the crate `half`, also for NaN. So have the conversion instructions of x86 CPUs (F16C, AVX-512),
//! which are used where the CPU has them.

use half::{bf16, f16};
use pulp::Arch;

use super::vectorized::arch;

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

/// Converts elements without gaps by instructions of the CPU, as many as fill vectors, and returns their number.
///
/// # Safety
/// The elements of the source are initialized, those of the target are writable, and they do not overlap. They need not be
/// aligned.
pub(super) unsafe fn load_vectors_f16(target: *mut f32, source: *const f16, count: usize) -> usize {
    match arch() {
        // SAFETY: guaranteed by the caller; the CPU has the instructions.
        #[cfg(target_arch = "x86_64")]
        Arch::V4(_) => unsafe { x86::load_512(target, source, count) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Arch::V3(_) if x86::has_f16c() => unsafe { x86::load_256(target, source, count) },
        _ => 0,
    }
}

/// Converts `f32` to `f16`, like [`load_vectors_f16`].
///
/// # Safety
/// As for [`load_vectors_f16`].
pub(super) unsafe fn store_vectors_f16(target: *mut f16, source: *const f32, count: usize) -> usize {
    match arch() {
        // SAFETY: guaranteed by the caller; the CPU has the instructions.
        #[cfg(target_arch = "x86_64")]
        Arch::V4(_) => unsafe { x86::store_512(target, source, count) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Arch::V3(_) if x86::has_f16c() => unsafe { x86::store_256(target, source, count) },
        _ => 0,
    }
}

/// Conversions by instructions of x86. They quieten NaN, as the functions above do, and obey no flag that flushes halves to 0.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use half::f16;

    pub(super) fn has_f16c() -> bool {
        std::arch::is_x86_feature_detected!("f16c")
    }

    /// Defines a conversion of as many elements as fill vectors of `$size` elements, whose number it returns.
    macro_rules! conversion {
        ($name:ident, $features:literal, $size:literal, $target:ident: $to:ty, $source:ident: $from:ty, $step:expr) => {
            #[target_feature(enable = $features)]
            pub(super) unsafe fn $name(target: *mut $to, source: *const $from, count: usize) -> usize {
                let whole = count - count % $size;
                for first in (0..whole).step_by($size) {
                    // SAFETY: guaranteed by the caller, for elements below the count.
                    unsafe {
                        let ($target, $source) = (target.add(first), source.add(first));
                        $step;
                    }
                }
                whole
            }
        };
    }

    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT;

    conversion!(
        load_512,
        "avx512f",
        16,
        to: f32,
        from: f16,
        _mm512_storeu_ps(to, _mm512_cvtph_ps(_mm256_loadu_si256(from.cast())))
    );
    conversion!(
        load_256,
        "avx,f16c",
        8,
        to: f32,
        from: f16,
        _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128(from.cast())))
    );
    conversion!(
        store_512,
        "avx512f",
        16,
        to: f16,
        from: f32,
        _mm256_storeu_si256(to.cast(), _mm512_cvtps_ph::<NEAREST>(_mm512_loadu_ps(from)))
    );
    conversion!(
        store_256,
        "avx,f16c",
        8,
        to: f16,
        from: f32,
        _mm_storeu_si128(to.cast(), _mm256_cvtps_ph::<NEAREST>(_mm256_loadu_ps(from)))
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::vectorized::{instruction_sets, with_instruction_set};

    /// Returns what the portable function and each of the instructions make of elements.
    fn all<T: Copy, U: Copy + Default>(
        elements: &[T],
        portable: fn(T) -> U,
        vectors: unsafe fn(*mut U, *const T, usize) -> usize,
    ) -> Vec<Vec<U>> {
        let mut all = vec![elements.iter().map(|&element| portable(element)).collect()];
        for arch in instruction_sets() {
            let mut converted = vec![U::default(); elements.len()];
            // SAFETY: as many elements are to be written.
            let count = with_instruction_set(arch, || unsafe {
                vectors(converted.as_mut_ptr(), elements.as_ptr(), elements.len())
            });
            if count > 0 {
                assert_eq!(count, elements.len(), "a multiple of each size");
                all.push(converted);
            }
        }
        all
    }

    #[test]
    fn every_half_has_the_value_that_the_crate_gives() {
        let halves: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
        for converted in all(&halves, load_f16, load_vectors_f16) {
            for (half, single) in halves.iter().zip(converted) {
                assert_eq!(single.to_bits(), half.to_f32_const().to_bits(), "{:#x}", half.to_bits());
            }
        }
        for bits in 0..=u16::MAX {
            let half = bf16::from_bits(bits);
            assert_eq!(load_bf16(half).to_bits(), half.to_f32_const().to_bits(), "{bits:#x}");
        }
    }

    #[test]
    fn singles_are_rounded_as_the_crate_does() {
        // Each of the bits that decide the rounding, and the neighbours of ties.
        for low in
            [0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x2fff, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff]
        {
            // Every sign and exponent, with the upper bits of the mantissa.
            let of_high = |high: u16| f32::from_bits(u32::from(high) << 16 | low);
            let singles: Vec<f32> = (0..=u16::MAX).map(of_high).collect();
            for converted in all(&singles, store_f16, store_vectors_f16) {
                for (single, half) in singles.iter().zip(converted) {
                    let expected = f16::from_f32_const(*single);
                    assert_eq!(half.to_bits(), expected.to_bits(), "{:#x}", single.to_bits());
                }
            }
            for single in singles {
                let (found, expected) = (store_bf16(single), bf16::from_f32_const(single));
                assert_eq!(found.to_bits(), expected.to_bits(), "{:#x}", single.to_bits());
            }
        }
    }
}
