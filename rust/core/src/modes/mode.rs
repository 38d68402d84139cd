//! The modes, as bits of the mode word.

use crate::named_enum;
use crate::thread::{Masked, ThreadState, mode_bits, mode_word};

named_enum! {
    /// A mode of a thread: one bit of its mode word.
    ///
    /// ```
    /// use interlock_core::modes::{Mode, no_grad};
    ///
    /// assert!(Mode::Grad.is_on());
    /// let _guard = no_grad();
    /// assert!(!Mode::Grad.is_on());
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(u8)]
    pub enum Mode {
        /// Operations record the autograd graph.
        Grad = mode_bits::GRAD => "grad",
        /// New tensors are inference tensors.
        Inference = mode_bits::INFERENCE => "inference",
        /// A backward pass may use other threads than the one that started it.
        Multithreading = mode_bits::MULTITHREADING => "multithreading",
        /// Views are tracked by replaying the operation that created them.
        ViewReplay = mode_bits::VIEW_REPLAY => "view_replay",
        /// An accumulated gradient is converted to the layout of its tensor.
        LayoutPolicy = mode_bits::LAYOUT_POLICY => "layout_policy",
        /// Nodes store the stack of the operation that created them, and failing nodes report it.
        Anomaly = mode_bits::ANOMALY => "anomaly",
        /// Anomaly mode checks gradients for NaN.
        AnomalyCheckNan = mode_bits::ANOMALY_CHECK_NAN => "anomaly_check_nan",
    }
}

impl Mode {
    const fn bit(self) -> u8 {
        self as u8
    }

    /// Returns whether these bits set this mode on or off; `None` if they do not set it.
    pub(super) fn set_in(self, modes: Masked<u8>) -> Option<bool> {
        (modes.mask & self.bit() != 0).then_some(modes.value & self.bit() != 0)
    }

    /// Returns whether this mode is on in a mode word.
    #[inline]
    pub(super) fn is_on_in(self, word: u8) -> bool {
        word & self.bit() != 0
    }

    /// Returns whether this mode is on for this thread.
    #[inline]
    pub fn is_on(self) -> bool {
        mode_word() & self.bit() != 0
    }
}

/// Returns the bit of one mode, on or off.
#[inline]
pub(crate) fn single(mode: Mode, on: bool) -> Masked<u8> {
    Masked::new(mode.bit(), if on { mode.bit() } else { 0 })
}

/// Returns the bits of the modes that `inference_mode(on)` sets.
#[inline]
pub(crate) fn inference(on: bool) -> Masked<u8> {
    let value = if on { mode_bits::INFERENCE } else { mode_bits::GRAD | mode_bits::MULTITHREADING };
    Masked::new(mode_bits::SET_BY_INFERENCE, value | mode_bits::LAYOUT_POLICY)
}

impl ThreadState {
    /// Returns whether a mode is on in this state.
    pub fn is_on(&self, mode: Mode) -> bool {
        self.mode_word() & mode.bit() != 0
    }

    /// Returns this state with a mode on or off.
    pub fn with_mode(self, mode: Mode, on: bool) -> Self {
        self.with_modes(single(mode, on))
    }
}
