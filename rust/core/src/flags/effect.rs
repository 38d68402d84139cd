//! The operations and libraries that a flag affects.

use crate::libraries::{Library, Presence};

/// The operations and libraries that a flag affects.
///
/// ```
/// use interlock_core::flags::find;
///
/// let effect = find("cudnn.benchmark")?.effect();
/// assert!(!effect.operations().is_empty());
/// println!("{}; here: {}", effect.operations(), effect.in_this_process());
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Effect {
    /// The operations.
    pub(super) operations: &'static str,
    pub(super) implementation: Implementation,
}

/// The code that obeys a flag, besides the operations that [`FlagSpec::obeyed_by`](super::FlagSpec::obeyed_by) names.
#[derive(Debug)]
pub(super) enum Implementation {
    /// Vendor libraries. The flag has an effect only if at least one is loaded; without any, it has none.
    Libraries(&'static [&'static Library]),
    /// Kernels that programs register. The flag is a gate, and interlock has no kernel that it could refuse.
    RegisteredKernels,
    /// The library that has registered the flag, and so is in the process.
    Registrant,
}

impl Effect {
    /// Creates the effect of a flag that another library registers.
    pub(super) const fn of_registered_flag(operations: &'static str) -> Self {
        Effect { operations, implementation: Implementation::Registrant }
    }

    /// Returns the operations that the flag affects.
    pub fn operations(&self) -> &'static str {
        self.operations
    }

    /// Returns whether only kernels that programs register obey the flag.
    pub fn needs_registered_kernel(&self) -> bool {
        matches!(self.implementation, Implementation::RegisteredKernels)
    }

    /// Returns the operations and libraries that the flag affects in this process, as `explain` describes them.
    pub fn in_this_process(&self) -> String {
        let libraries = match self.implementation {
            Implementation::Registrant => return self.operations.to_owned(),
            Implementation::RegisteredKernels => {
                return format!("{}: no effect here, no kernel that obeys it is registered", self.operations);
            }
            Implementation::Libraries([]) => return format!("{}: no effect here", self.operations),
            Implementation::Libraries(libraries) => libraries,
        };
        let present: Vec<_> = libraries.iter().map(|library| (library, library.presence())).collect();
        let titles_of = |wanted: Presence| {
            let titles = present.iter().filter(|(_, presence)| *presence == wanted);
            titles.map(|(library, _)| library.title()).collect::<Vec<_>>().join(", ")
        };
        let (loaded, found) = (titles_of(Presence::Loaded), titles_of(Presence::Found));
        if !loaded.is_empty() {
            format!("{} through {loaded}", self.operations)
        } else if !found.is_empty() {
            // A library that is found may be loaded later.
            format!("{}: no effect here, {found} not loaded", self.operations)
        } else {
            format!("{}: no effect here, {} not found", self.operations, titles_of(Presence::Absent))
        }
    }
}

/// Declares effects: the operations, and the libraries that run them or `registered_kernels`. Without either, the flag
/// has no effect in interlock itself.
macro_rules! effects {
    ($($name:ident = $operations:literal, $implementation:tt;)+) => {
        pub(super) mod effects {
            use super::{Effect, Implementation};

            $(pub(in super::super) static $name: Effect =
                Effect { operations: $operations, implementation: effects!(@ $implementation) };)+
        }
    };
    (@ registered_kernels) => { Implementation::RegisteredKernels };
    (@ [$($library:ident),*]) => { Implementation::Libraries(&[$(&crate::libraries::$library),*]) };
}

effects! {
    CUDNN_OPERATIONS = "convolutions, recurrent layers and batch normalisation on cuda", [CUDNN];
    CUDNN_CONVOLUTIONS = "convolutions on cuda", [CUDNN];
    CUDNN_RECURRENT = "recurrent layers on cuda", [CUDNN];
    CUBLAS_PRODUCTS = "matrix products on cuda", [CUBLAS];
    ONEDNN_OPERATIONS = "matrix products, convolutions and recurrent layers on cpu", [ONEDNN];
    FLOAT32_OF_CUDA = "float32 operations on cuda", [CUBLAS, CUDNN];
    FLOAT32_OF_ALL = "float32 operations of every backend", [CUBLAS, CUDNN, ONEDNN];
    CUDNN_ATTENTION = "scaled-dot-product attention on cuda", [CUDNN];
    CUDA_ATTENTION = "scaled-dot-product attention on cuda", [];
    ROCM_ATTENTION = "scaled-dot-product attention on ROCm", registered_kernels;
    CUDA_LINEAR_ALGEBRA = "decompositions and solvers on cuda", [CUSOLVER];
    MIOPEN_CONVOLUTIONS = "convolutions on ROCm", registered_kernels;
    ATTENTION_LAYERS = "layers of multi-head attention", [];
    GROUPED_PRODUCTS = "grouped matrix products on cuda", registered_kernels;
    PYTHON_KERNELS = "operations with kernels that are registered from Python", registered_kernels;
    NNPACK_CONVOLUTIONS = "convolutions on cpu", registered_kernels;
    ONEDNN_ON_XPU = "matrix products and convolutions on xpu", registered_kernels;
    CPU_OPERATIONS = "operations on cpu", [];
    EINSUM = "einsum", [];
    QUANTIZED_OPERATIONS = "quantized operations", [];
    UNINITIALIZED = "new tensors that are not initialized", [];
    ALL_OPERATIONS = "operations that have no fixed order of sums", [];
}
