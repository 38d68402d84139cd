//! The mode word: its bits, and which of them a mode decides.

use crate::state::Masked;

/// One bit of the mode word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Mode {
    /// Operations record what a backward pass needs.
    Grad,
    /// New tensors are inference tensors.
    Inference,
    /// A backward pass may use other threads than the one that started it.
    Multithreading,
    /// Views are tracked by replaying the operation that made them.
    ViewReplay,
    /// A gradient is brought into the layout of its tensor when it is accumulated.
    LayoutPolicy,
}

const EVERY_BIT: u8 = 0b1_1111;

/// The mode word of a thread on which nothing was entered or written.
pub(crate) const BASE: u8 = Mode::Grad.bit() | Mode::Multithreading.bit() | Mode::LayoutPolicy.bit();

impl Mode {
    /// Every mode.
    pub const ALL: [Mode; 5] =
        [Mode::Grad, Mode::Inference, Mode::Multithreading, Mode::ViewReplay, Mode::LayoutPolicy];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Grad => "grad",
            Mode::Inference => "inference",
            Mode::Multithreading => "multithreading",
            Mode::ViewReplay => "view_replay",
            Mode::LayoutPolicy => "layout_policy",
        }
    }

    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// One mode, on or off.
#[inline]
pub(crate) fn single(mode: Mode, on: bool) -> Masked<u8> {
    Masked::new(mode.bit(), if on { mode.bit() } else { 0 })
}

/// Every mode, as inference mode or its opposite decides them.
#[inline]
pub(crate) fn inference(on: bool) -> Masked<u8> {
    let decided = if on { Mode::Inference.bit() } else { Mode::Grad.bit() | Mode::Multithreading.bit() };
    Masked::new(EVERY_BIT, decided | Mode::LayoutPolicy.bit())
}
