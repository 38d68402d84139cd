//! The arithmetic that flags request from a kernel.

use crate::flags::flags::{
    CUDA_MATMUL_BF16_REDUCTION, CUDA_MATMUL_FP16_ACCUMULATION, CUDA_MATMUL_FP16_REDUCTION,
};
use crate::flags::{FlagWord, Node, Precision};
use crate::named_enum;

named_enum! {
    /// The numbers by which a kernel replaces its float32 inputs before it multiplies them.
    ///
    /// ```
    /// use interlock_core::dispatch::Rounding;
    ///
    /// assert_eq!(Rounding::Tf32.round(1.0 + f32::EPSILON), 1.0);
    /// assert_eq!(Rounding::None.round(1.0 + f32::EPSILON), 1.0 + f32::EPSILON);
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Rounding {
        /// The inputs are used as they are.
        #[default]
        None => "float32",
        /// TensorFloat-32: 10 explicit bits of mantissa, ties away from zero.
        Tf32 => "tf32",
        /// bfloat16: 7 explicit bits of mantissa, ties to even.
        Bf16 => "bf16",
        /// Three bfloat16 numbers that add up to the input: a product of two inputs is the sum of nine. Together they
        /// have the 24 bits of a float32, so that only numbers below 2 ** -110 lose bits.
        Bfx9 => "bfx9",
    }
}

impl Rounding {
    /// Rounds a number. Infinities, NaN and zeros are unchanged; a number beyond the largest of the type becomes an
    /// infinity.
    ///
    /// Sources: `cvt.rna.tf32.f32` and `cvt.rn.bf16.f32` of NVIDIA's PTX instruction set.
    #[inline]
    pub fn round(self, number: f32) -> f32 {
        /// The bits of the mantissa that TensorFloat-32 lacks.
        const TF32: u32 = (1 << 13) - 1;
        /// The bits of the mantissa that bfloat16 lacks.
        const BF16: u32 = (1 << 16) - 1;
        let bits = number.to_bits();
        let rounded = match self {
            Rounding::None => return number,
            // The parts of -0 add up to 0.
            _ if !number.is_finite() || number == 0.0 => return number,
            Rounding::Bfx9 => {
                let [high, middle, low] = Self::bfx9_parts(number);
                return high + (middle + low);
            }
            // The sign is a separate bit, so an addition to the magnitude rounds away from zero.
            Rounding::Tf32 => bits.wrapping_add(TF32 / 2 + 1) & !TF32,
            Rounding::Bf16 => bits.wrapping_add(BF16 / 2 + (bits >> 16 & 1)) & !BF16,
        };
        f32::from_bits(rounded)
    }

    /// Returns the three bfloat16 parts of a number, the largest first. Each is cut off, not rounded, so that no part
    /// overflows. The first part of an infinity or NaN is the number, and the others are 0.
    #[inline]
    pub fn bfx9_parts(number: f32) -> [f32; 3] {
        /// The bits that a bfloat16 number has.
        const KEPT: u32 = !((1 << 16) - 1);
        let cut = |number: f32| f32::from_bits(number.to_bits() & KEPT);
        if !number.is_finite() {
            return [number, 0.0, 0.0];
        }
        let high = cut(number);
        let rest = number - high;
        let middle = cut(rest);
        [high, middle, cut(rest - middle)]
    }
}

named_enum! {
    /// How a kernel accumulates float16 and bfloat16 inputs. The result is rounded once more.
    ///
    /// ```
    /// use interlock_core::dispatch::{Accumulation, Sums};
    ///
    /// assert_eq!(Sums::from_cuda(Accumulation::Float16 { is_split: true }), Sums::SplitF16);
    /// assert_eq!(Sums::from_cuda(Accumulation::Float16 { is_split: false }), Sums::F32);
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Sums {
        /// In float32 throughout.
        #[default]
        F32 => "float32",
        /// In float16 throughout: each partial sum is rounded.
        F16 => "float16",
        /// Two partial sums in float32, each rounded to float16.
        SplitF16 => "float16 halves",
        /// Two partial sums in float32, each rounded to bfloat16.
        SplitBf16 => "bfloat16 halves",
    }
}

impl Sums {
    /// The flags that [`from_cuda`](Sums::from_cuda) reads.
    pub(super) const CUDA_FLAGS: [&'static FlagWord; 3] = [
        CUDA_MATMUL_FP16_REDUCTION.word(),
        CUDA_MATMUL_BF16_REDUCTION.word(),
        CUDA_MATMUL_FP16_ACCUMULATION.word(),
    ];

    /// Returns how the flags of `cuda.matmul` request a sum on this thread.
    pub fn from_cuda(sum: Accumulation) -> Self {
        match sum {
            Accumulation::Float16 { .. } if CUDA_MATMUL_FP16_ACCUMULATION.get() => Sums::F16,
            Accumulation::Float16 { is_split: true } if CUDA_MATMUL_FP16_REDUCTION.get().allowed => {
                Sums::SplitF16
            }
            Accumulation::Bfloat16 { is_split: true } if CUDA_MATMUL_BF16_REDUCTION.get().allowed => {
                Sums::SplitBf16
            }
            _ => Sums::F32,
        }
    }
}

/// A sum of products of float16 or bfloat16 numbers. It is split if it is long and its result small, so that a device
/// with many processors computes the parts of one element at the same time.
///
/// ```
/// use interlock_core::dispatch::{Accumulation, Sums};
/// use interlock_core::flags::flags::CUDA_MATMUL_FP16_ACCUMULATION;
///
/// let _guard = CUDA_MATMUL_FP16_ACCUMULATION.scope(true)?.guard();
/// assert_eq!(Sums::from_cuda(Accumulation::Float16 { is_split: false }), Sums::F16);
/// assert_eq!(Sums::from_cuda(Accumulation::Bfloat16 { is_split: false }), Sums::F32);
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Accumulation {
    /// Of float16 numbers.
    Float16 {
        /// Whether it is split into two parts.
        is_split: bool,
    },
    /// Of bfloat16 numbers.
    Bfloat16 {
        /// Whether it is split into two parts.
        is_split: bool,
    },
}

/// The arithmetic that a kernel uses, resolved once for each call.
///
/// ```
/// use interlock_core::dispatch::{Numerics, Rounding};
/// use interlock_core::flags::{Node, Precision};
///
/// let guard = Node::CudaMatmul.scope(Precision::Tf32)?.guard();
/// assert_eq!(Numerics::from_node(Node::CudaMatmul).inputs, Rounding::Tf32);
/// # drop(guard);
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Numerics {
    /// The rounding of float32 inputs.
    pub inputs: Rounding,
    /// The accumulation of float16 and bfloat16 inputs.
    pub sums: Sums,
}

impl Numerics {
    /// Returns the arithmetic that a node of the precision tree requests on this thread.
    pub fn from_node(node: Node) -> Self {
        let inputs = match node.effective() {
            Precision::Tf32 => Rounding::Tf32,
            Precision::Bf16 => Rounding::Bf16,
            Precision::Bfx9 => Rounding::Bfx9,
            Precision::None | Precision::Ieee => Rounding::None,
        };
        Numerics { inputs, sums: Sums::F32 }
    }

    /// Returns the arithmetic of sums of float16 or bfloat16, as the flags of `cuda.matmul` request it on this thread.
    pub fn from_cuda_sum(sum: Accumulation) -> Self {
        Numerics { inputs: Rounding::None, sums: Sums::from_cuda(sum) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::Reduction;

    #[test]
    fn round_to_tf32_leaves_10_bits_of_mantissa() {
        let step = 2f32.powi(-10);
        assert_eq!(Rounding::Tf32.round(1.0 + step), 1.0 + step);
        assert_eq!(Rounding::Tf32.round(1.0 + step * 0.75), 1.0 + step);
        assert_eq!(Rounding::Tf32.round(-(1.0 + step * 0.25)), -1.0);
        assert_eq!(Rounding::Tf32.round(1.0 + step / 2.0), 1.0 + step, "ties away from zero");
    }

    #[test]
    fn round_to_bf16_leaves_7_bits_of_mantissa() {
        let step = 2f32.powi(-7);
        assert_eq!(Rounding::Bf16.round(1.0 + step), 1.0 + step);
        assert_eq!(Rounding::Bf16.round(1.0 + step * 0.75), 1.0 + step);
        assert_eq!(Rounding::Bf16.round(1.0 + step / 2.0), 1.0, "ties to even");
        assert_eq!(Rounding::Bf16.round(1.0 + step * 1.5), 1.0 + step * 2.0, "ties to even");
    }

    #[test]
    fn bfx9_parts_are_bfloat16_numbers_that_add_up_to_the_number() {
        let numbers =
            [1.0, -1.0 - f32::EPSILON, f32::MAX, f32::MIN, 1.2345678e-20, 2f32.powi(-110), 0.0, -0.0];
        for number in numbers {
            let parts = Rounding::bfx9_parts(number);
            assert!(parts.iter().all(|part| part.to_bits() & 0xffff == 0), "{parts:?}");
            assert_eq!(Rounding::Bfx9.round(number).to_bits(), number.to_bits(), "{number}");
        }
        let tiny = f32::from_bits(1);
        assert_eq!(Rounding::Bfx9.round(tiny), 0.0, "below the smallest bfloat16 number");
        assert_eq!(Rounding::bfx9_parts(f32::INFINITY), [f32::INFINITY, 0.0, 0.0]);
    }

    #[test]
    fn sums_of_halves_obey_the_flag_of_their_type() {
        let (half, brain) =
            (Accumulation::Float16 { is_split: true }, Accumulation::Bfloat16 { is_split: true });
        let sums = || [half, brain].map(|sum| Numerics::from_cuda_sum(sum).sums);
        assert_eq!(sums(), [Sums::SplitF16, Sums::SplitBf16]);
        let exact = Reduction { allowed: false, split: true };
        let _half = CUDA_MATMUL_FP16_REDUCTION.scope(exact).unwrap().guard();
        assert_eq!(sums(), [Sums::F32, Sums::SplitBf16]);
        let _brain = CUDA_MATMUL_BF16_REDUCTION.scope(exact).unwrap().guard();
        assert_eq!(sums(), [Sums::F32; 2]);
        let _accumulation = CUDA_MATMUL_FP16_ACCUMULATION.scope(true).unwrap().guard();
        assert_eq!(sums(), [Sums::F16, Sums::F32]);
    }

    #[test]
    fn round_is_idempotent_and_leaves_special_numbers_unchanged() {
        for rounding in Rounding::ALL {
            for number in [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, 1.5, -3.0e-39, 1.0e-45] {
                let rounded = rounding.round(number);
                assert_eq!(rounding.round(rounded).to_bits(), rounded.to_bits(), "{rounding:?} of {number}");
            }
            for number in [0.0f32, -0.0, f32::INFINITY, f32::NEG_INFINITY, 1.5] {
                assert_eq!(rounding.round(number).to_bits(), number.to_bits());
            }
            assert!(rounding.round(f32::NAN).is_nan());
        }
        assert_eq!(Rounding::Bf16.round(f32::MAX), f32::INFINITY);
    }
}
