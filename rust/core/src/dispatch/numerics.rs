//! The arithmetic that flags request from a kernel.

use crate::base::named_enum;
use crate::flags::{Node, Precision};

named_enum! {
    /// The type to which a kernel rounds its float32 inputs before it multiplies them.
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
            _ if !number.is_finite() => return number,
            // The sign is a separate bit, so an addition to the magnitude rounds away from zero.
            Rounding::Tf32 => bits.wrapping_add(TF32 / 2 + 1) & !TF32,
            Rounding::Bf16 => bits.wrapping_add(BF16 / 2 + (bits >> 16 & 1)) & !BF16,
        };
        f32::from_bits(rounded)
    }
}

/// The arithmetic that a kernel uses, resolved once for each call.
///
/// ```
/// use interlock_core::dispatch::{Numerics, Rounding};
/// use interlock_core::flags::{Node, Precision};
///
/// let guard = Node::CudaMatmul.scope(Precision::Tf32)?.guard();
/// assert_eq!(Numerics::of_node(Node::CudaMatmul).inputs, Rounding::Tf32);
/// # drop(guard);
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Numerics {
    /// The rounding of float32 inputs.
    pub inputs: Rounding,
}

impl Numerics {
    /// Returns the arithmetic that a node of the precision tree requests on this thread.
    pub fn of_node(node: Node) -> Self {
        let inputs = match node.effective() {
            Precision::Tf32 => Rounding::Tf32,
            Precision::Bf16 => Rounding::Bf16,
            Precision::None | Precision::Ieee => Rounding::None,
        };
        Numerics { inputs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
