//! The enums of flags whose value is one of several names.

use super::kind::FlagValue;
use crate::base::invariant::UnwrapOrAssert;
use crate::named_enum;

macro_rules! choices {
    ($($(#[doc = $doc:literal])+ $enum:ident {
        $($(#[doc = $variant_doc:literal])+ $variant:ident = $name:literal,)+
    })+) => {$(
        named_enum! {
            $(#[doc = $doc])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            pub enum $enum {
                $($(#[doc = $variant_doc])+ $variant => $name,)+
            }
        }

        impl $enum {
            /// The names in the order of the payloads.
            pub(super) const NAMES: &[&str] = &[$($name),+];
        }

        impl FlagValue for $enum {
            fn payload(self) -> u64 {
                self as u64
            }

            #[inline]
            fn decode(payload: u64) -> Self {
                let variant = Self::ALL.get(payload as usize).copied();
                variant.unwrap_or_assert(Self::ALL[0], "the payload of a choice is the position of a variant")
            }
        }
    )+};
}

choices! {
    /// The kernel of depthwise convolutions.
    ///
    /// ```
    /// use interlock_core::flags::DepthwiseKernel;
    /// use interlock_core::flags::flags::CUDNN_DEPTHWISE_KERNEL;
    ///
    /// let _guard = CUDNN_DEPTHWISE_KERNEL.scope(DepthwiseKernel::Native)?.guard();
    /// assert_eq!(CUDNN_DEPTHWISE_KERNEL.get(), DepthwiseKernel::Native);
    /// # Ok::<(), interlock_core::Error>(())
    /// ```
    DepthwiseKernel {
        /// The kernel that is expected to be faster.
        Auto = "auto",
        /// The kernel of cuDNN.
        Cudnn = "cudnn",
        /// The runtime's own kernel.
        Native = "native",
    }

    /// The library of linear algebra on cuda.
    ///
    /// ```
    /// use interlock_core::flags::LinalgLibrary;
    /// use interlock_core::flags::flags::CUDA_LINALG_LIBRARY;
    ///
    /// CUDA_LINALG_LIBRARY.set(LinalgLibrary::Cusolver)?;
    /// assert_eq!(CUDA_LINALG_LIBRARY.get(), LinalgLibrary::Cusolver);
    /// # Ok::<(), interlock_core::Error>(())
    /// ```
    LinalgLibrary {
        /// The library that is expected to be faster.
        Default = "default",
        /// cuSOLVER.
        Cusolver = "cusolver",
        /// MAGMA.
        Magma = "magma",
    }

    /// The library of matrix products on cuda.
    ///
    /// ```
    /// use interlock_core::flags::BlasLibrary;
    /// use interlock_core::flags::flags::CUDA_BLAS_LIBRARY;
    ///
    /// CUDA_BLAS_LIBRARY.set(BlasLibrary::Cublaslt)?;
    /// assert_eq!(CUDA_BLAS_LIBRARY.get(), BlasLibrary::Cublaslt);
    /// # Ok::<(), interlock_core::Error>(())
    /// ```
    BlasLibrary {
        /// The default, which is cuBLAS.
        Default = "default",
        /// cuBLAS; on ROCm hipBLAS.
        Cublas = "cublas",
        /// cuBLASLt; on ROCm hipBLASLt.
        Cublaslt = "cublaslt",
        /// Composable Kernel, on ROCm.
        Ck = "ck",
    }

    /// The library of flash attention on ROCm.
    ///
    /// ```
    /// use interlock_core::flags::RocmFaLibrary;
    /// use interlock_core::flags::flags::CUDA_ROCM_FA_LIBRARY;
    ///
    /// CUDA_ROCM_FA_LIBRARY.set(RocmFaLibrary::AOTriton)?;
    /// assert_eq!(CUDA_ROCM_FA_LIBRARY.get(), RocmFaLibrary::AOTriton);
    /// # Ok::<(), interlock_core::Error>(())
    /// ```
    RocmFaLibrary {
        /// The library that is expected to be faster.
        Default = "default",
        /// AOTriton.
        AOTriton = "aotriton",
        /// Composable Kernel.
        Ck = "ck",
    }

    /// The strategy that searches the contraction order of an einsum.
    ///
    /// ```
    /// use interlock_core::flags::EinsumStrategy;
    /// use interlock_core::flags::flags::OPT_EINSUM_STRATEGY;
    ///
    /// let _guard = OPT_EINSUM_STRATEGY.scope(EinsumStrategy::Optimal)?.guard();
    /// assert_eq!(OPT_EINSUM_STRATEGY.get(), EinsumStrategy::Optimal);
    /// # Ok::<(), interlock_core::Error>(())
    /// ```
    EinsumStrategy {
        /// Chooses the strategy by the number of operands.
        Auto = "auto",
        /// Contracts the best pair in each step.
        Greedy = "greedy",
        /// Searches all orders.
        Optimal = "optimal",
    }

    /// The arithmetic of float32 operations on the CPU whose precision node requests less than float32.
    ///
    /// ```
    /// use interlock_core::flags::MkldnnNumerics;
    /// use interlock_core::flags::flags::MKLDNN_NUMERICS;
    ///
    /// assert_eq!(MKLDNN_NUMERICS.get(), MkldnnNumerics::Hardware);
    /// ```
    MkldnnNumerics {
        /// The arithmetic of the kernels that this machine has.
        Hardware = "hardware",
        /// The inputs are rounded to the requested precision.
        Model = "model",
    }

    /// The engine of quantized operations.
    ///
    /// ```
    /// use interlock_core::flags::QuantizedEngine;
    /// use interlock_core::flags::flags::QUANTIZED_ENGINE;
    ///
    /// assert_eq!(QUANTIZED_ENGINE.get(), QuantizedEngine::Native);
    /// ```
    QuantizedEngine {
        /// The runtime's own loops, whose sums are exact.
        Native = "native",
        /// oneDNN, where it is found. Its sums are exact on CPUs with VNNI; it is refused on others.
        Onednn = "onednn",
        /// No engine: quantized operations are refused.
        None = "none",
    }
}
