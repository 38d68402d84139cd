//! The bits of the mode word of a thread.

/// Operations record the autograd graph.
pub(crate) const GRAD: u8 = 1 << 0;
/// New tensors are inference tensors.
pub(crate) const INFERENCE: u8 = 1 << 1;
/// A backward pass may use several threads.
pub(crate) const MULTITHREADING: u8 = 1 << 2;
/// Views are tracked by replaying the operation that created them.
pub(crate) const VIEW_REPLAY: u8 = 1 << 3;
/// An accumulated gradient is converted to the layout of its tensor.
pub(crate) const LAYOUT_POLICY: u8 = 1 << 4;

/// All bits in use.
pub(crate) const ALL: u8 = GRAD | INFERENCE | MULTITHREADING | VIEW_REPLAY | LAYOUT_POLICY;

/// The word of a thread that has entered no scope and written no mode.
pub(crate) const BASE: u8 = GRAD | MULTITHREADING | LAYOUT_POLICY;
