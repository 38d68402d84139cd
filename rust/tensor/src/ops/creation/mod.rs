//! Creation of tensors.

pub(crate) mod empty;
pub(crate) mod filled;
pub(crate) mod spaced;
