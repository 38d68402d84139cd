//! Registration of kernels.

mod kernel;

use crate::sys::*;

pub use kernel::{AttentionOptions, DType, Kernel, KernelCall, KernelError, Sums, Tensor, register_kernel};

/// The type to which a kernel rounds its float32 inputs.
///
/// ```
/// use interlock_capi::dispatch::Rounding;
///
/// assert_eq!(Rounding::default(), Rounding::None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rounding {
    /// The inputs are used as they are.
    #[default]
    None,
    /// TensorFloat-32.
    Tf32,
    /// bfloat16.
    Bf16,
    /// Three bfloat16 parts, whose nine products emulate float32.
    Bfx9,
}

impl Rounding {
    fn from_raw(raw: u32) -> Self {
        match raw {
            INTERLOCK_ROUNDING_TF32 => Rounding::Tf32,
            INTERLOCK_ROUNDING_BF16 => Rounding::Bf16,
            INTERLOCK_ROUNDING_BFX9 => Rounding::Bfx9,
            _ => Rounding::None,
        }
    }
}
