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
    /// The libraries that run them. The flag has an effect only if at least one is loaded.
    pub(super) libraries: &'static [&'static Library],
    /// Whether another library has registered the flag, and so is in the process.
    pub(super) is_registered: bool,
}

impl Effect {
    /// Creates the effect of a flag that another library registers.
    pub(super) const fn of_registered_flag(operations: &'static str) -> Self {
        Effect { operations, libraries: &[], is_registered: true }
    }

    /// Returns the operations that the flag affects.
    pub fn operations(&self) -> &'static str {
        self.operations
    }

    /// Returns the operations and libraries that the flag affects in this process, as `explain` describes them.
    pub fn in_this_process(&self) -> String {
        if self.is_registered {
            return self.operations.to_owned();
        }
        if self.libraries.is_empty() {
            return format!("{}: no effect here", self.operations);
        }
        let present: Vec<_> = self.libraries.iter().map(|library| (library, library.presence())).collect();
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

/// Declares effects: the operations, and the libraries that run them. Without a library, the flag has no effect in
/// interlock itself.
macro_rules! effects {
    ($($name:ident = $operations:literal, [$($library:ident),*];)+) => {
        pub(super) mod effects {
            use super::Effect;

            $(pub(in super::super) static $name: Effect =
                Effect { operations: $operations, libraries: &[$(&crate::libraries::$library),*], is_registered: false };)+
        }
    };
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
    ROCM_ATTENTION = "scaled-dot-product attention on ROCm", [];
    CUDA_LINEAR_ALGEBRA = "decompositions and solvers on cuda", [CUSOLVER];
    MIOPEN_CONVOLUTIONS = "convolutions on ROCm", [];
    ATTENTION_LAYERS = "layers of multi-head attention", [];
    CPU_CONVOLUTIONS = "convolutions on cpu", [];
    CPU_OPERATIONS = "operations on cpu", [];
    EINSUM = "einsum", [];
    QUANTIZED_OPERATIONS = "quantized operations", [];
    ALL_OPERATIONS = "operations that have no fixed order of sums", [];
}
