//! Operations that create tensors.

mod filled;
mod like;
mod spaced;
