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
/// Nodes store the stack of the operation that created them, and failing nodes report it.
pub(crate) const ANOMALY: u8 = 1 << 5;
/// Anomaly mode checks gradients for NaN.
pub(crate) const ANOMALY_CHECK_NAN: u8 = 1 << 6;

/// The bits that `inference_mode` sets. Anomaly mode is independent of it.
pub(crate) const SET_BY_INFERENCE: u8 = GRAD | INFERENCE | MULTITHREADING | VIEW_REPLAY | LAYOUT_POLICY;

/// All bits in use.
pub(crate) const ALL: u8 = SET_BY_INFERENCE | ANOMALY | ANOMALY_CHECK_NAN;

/// The word of a thread that has entered no scope and written no mode.
pub(crate) const BASE: u8 = GRAD | MULTITHREADING | LAYOUT_POLICY | ANOMALY_CHECK_NAN;
