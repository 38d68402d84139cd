//! Gradient modes of a thread: read with one load, changed by guards and scopes.

mod guard;
mod manager;
pub(crate) mod mode;
mod write;

pub use guard::{enable_grad, inference_mode, no_grad, set_grad_enabled};
pub use manager::{Manager, ModeManager};
pub use mode::Mode;

use crate::state;

/// Whether operations of this thread record what a backward pass needs.
#[inline]
pub fn is_grad_enabled() -> bool {
    Mode::Grad.is_on()
}

/// Whether tensors made by this thread are inference tensors.
#[inline]
pub fn is_inference_mode_enabled() -> bool {
    Mode::Inference.is_on()
}

impl Mode {
    /// Whether this mode is on for this thread.
    #[inline]
    pub fn is_on(self) -> bool {
        state::mode_word() & self.bit() != 0
    }
}
