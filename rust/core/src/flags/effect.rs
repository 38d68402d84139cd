//! What obeys a flag, and whether any of it is in this process.

use crate::libraries::{Library, Presence};

/// The operations and libraries that a flag affects.
///
/// ```
/// use interlock_core::flags::find;
///
/// let effect = find("cudnn.benchmark")?.effect();
/// assert!(!effect.what().is_empty());
/// println!("{}; here: {}", effect.what(), effect.in_this_process());
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Effect {
    /// The operations.
    pub(super) what: &'static str,
    /// The libraries that run them; one of them must be there for the flag to matter.
    pub(super) libraries: &'static [&'static Library],
    /// Whether a library that is not interlock's has registered the flag, and so is in the process.
    pub(super) is_registered: bool,
}

impl Effect {
    /// Obeyed by the library that registered the flag.
    pub(super) const fn of_another_library(what: &'static str) -> Self {
        Effect { what, libraries: &[], is_registered: true }
    }

    const fn through(what: &'static str, libraries: &'static [&'static Library]) -> Self {
        Effect { what, libraries, is_registered: false }
    }

    /// The operations that obey the flag.
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// What obeys the flag in this process, in words.
    pub fn in_this_process(&self) -> String {
        if self.is_registered {
            return self.what.to_owned();
        }
        if self.libraries.is_empty() {
            return format!("{}: no effect here", self.what);
        }
        let present: Vec<_> = self.libraries.iter().map(|library| (library, library.presence())).collect();
        let titles_of = |wanted: Presence| {
            let titles = present.iter().filter(|(_, presence)| *presence == wanted);
            titles.map(|(library, _)| library.title()).collect::<Vec<_>>().join(", ")
        };
        let (loaded, found) = (titles_of(Presence::Loaded), titles_of(Presence::Found));
        if !loaded.is_empty() {
            format!("{} through {loaded}", self.what)
        } else if !found.is_empty() {
            // One that can be found may be loaded later.
            format!("{}: no effect here, {found} not loaded", self.what)
        } else {
            format!("{}: no effect here, {} not found", self.what, titles_of(Presence::Absent))
        }
    }
}

/// What there is to obey flags, in PyTorch or here.
pub(super) mod consumers {
    use super::Effect;
    use crate::libraries::{CUBLAS, CUDNN, CUSOLVER, ONEDNN};

    pub(in super::super) static CUDNN_OPERATIONS: Effect =
        Effect::through("convolutions, recurrent layers and batch normalisation on cuda", &[&CUDNN]);
    pub(in super::super) static CUDNN_CONVOLUTIONS: Effect =
        Effect::through("convolutions on cuda", &[&CUDNN]);
    pub(in super::super) static CUDNN_RECURRENT: Effect =
        Effect::through("recurrent layers on cuda", &[&CUDNN]);
    pub(in super::super) static CUBLAS_PRODUCTS: Effect =
        Effect::through("matrix products on cuda", &[&CUBLAS]);
    pub(in super::super) static ONEDNN_OPERATIONS: Effect =
        Effect::through("matrix products, convolutions and recurrent layers on cpu", &[&ONEDNN]);
    pub(in super::super) static FLOAT32_OF_CUDA: Effect =
        Effect::through("float32 operations on cuda", &[&CUBLAS, &CUDNN]);
    pub(in super::super) static FLOAT32_OF_ALL: Effect =
        Effect::through("float32 operations of every backend", &[&CUBLAS, &CUDNN, &ONEDNN]);
    pub(in super::super) static CUDNN_ATTENTION: Effect =
        Effect::through("scaled-dot-product attention on cuda", &[&CUDNN]);
    pub(in super::super) static CUDA_ATTENTION: Effect = unknown("scaled-dot-product attention on cuda");
    pub(in super::super) static ROCM_ATTENTION: Effect = unknown("scaled-dot-product attention on ROCm");
    pub(in super::super) static CUDA_LINEAR_ALGEBRA: Effect =
        Effect::through("decompositions and solvers on cuda", &[&CUSOLVER]);
    pub(in super::super) static MIOPEN_CONVOLUTIONS: Effect = unknown("convolutions on ROCm");
    pub(in super::super) static ATTENTION_LAYERS: Effect = unknown("layers of multi-head attention");
    pub(in super::super) static CPU_CONVOLUTIONS: Effect = unknown("convolutions on cpu");
    pub(in super::super) static CPU_OPERATIONS: Effect = unknown("operations on cpu");
    pub(in super::super) static EINSUM: Effect = unknown("einsum");
    pub(in super::super) static QUANTIZED_OPERATIONS: Effect = unknown("quantized operations");
    pub(in super::super) static ALL_OPERATIONS: Effect =
        unknown("operations that have no fixed order of sums");

    /// Nothing of it is here yet.
    const fn unknown(what: &'static str) -> Effect {
        Effect::through(what, &[])
    }
}
