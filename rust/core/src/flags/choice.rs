//! The flags that hold one of a few names, each as an enum.

use super::kind::FlagValue;
use crate::base::named_enum;

macro_rules! choices {
    ($($(#[doc = $doc:literal])+ $enum:ident {
        $($(#[doc = $variant_doc:literal])+ $variant:ident = $name:literal,)+
    })+) => {$(
        named_enum! {
            $(#[doc = $doc])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $enum {
                $($(#[doc = $variant_doc])+ $variant => $name,)+
            }
        }

        impl $enum {
            /// In the order of the payloads.
            pub(super) const NAMES: &[&str] = &[$($name),+];
        }

        impl FlagValue for $enum {
            fn payload(self) -> u64 {
                self as u64
            }

            #[inline]
            fn decode(payload: u64) -> Self {
                Self::ALL.get(payload as usize).copied().unwrap_or(Self::ALL[0])
            }
        }
    )+};
}

choices! {
    /// Which kernel serves a depthwise convolution.
    DepthwiseKernel {
        /// Whichever is thought faster.
        Auto = "auto",
        /// cuDNN's.
        Cudnn = "cudnn",
        /// The runtime's own.
        Native = "native",
    }

    /// Which library serves linear algebra on cuda.
    LinalgLibrary {
        /// Whichever is thought faster.
        Default = "default",
        /// NVIDIA's.
        Cusolver = "cusolver",
        /// The University of Tennessee's.
        Magma = "magma",
    }

    /// Which library serves matrix products on cuda.
    BlasLibrary {
        /// cuBLAS, as things are.
        Default = "default",
        /// cuBLAS; on ROCm hipBLAS.
        Cublas = "cublas",
        /// cuBLASLt; on ROCm hipBLASLt.
        Cublaslt = "cublaslt",
        /// Composable Kernel, on ROCm.
        Ck = "ck",
    }

    /// Which library serves flash attention on ROCm.
    RocmFaLibrary {
        /// Whichever is thought faster.
        Default = "default",
        /// AOTriton.
        AOTriton = "aotriton",
        /// Composable Kernel.
        Ck = "ck",
    }

    /// How the order of an einsum's products is looked for.
    EinsumStrategy {
        /// Thoroughly for few operands, quickly for many.
        Auto = "auto",
        /// Always the next best pair.
        Greedy = "greedy",
        /// All orders.
        Optimal = "optimal",
    }

    /// Which engine runs quantized operations.
    QuantizedEngine {
        /// None: no operation is quantized yet.
        None = "none",
    }
}
