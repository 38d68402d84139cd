//! Operations that create tensors.

mod filled;
mod like;
mod spaced;

pub(in crate::tensor) use filled::EXPLAINED;
