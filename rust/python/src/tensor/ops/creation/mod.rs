//! Operations that create tensors.

mod data;
mod dlpack;
mod filled;
mod like;
mod spaced;
