//! The functions of the driver library, their result codes, and the context that they need.

pub(crate) mod api;
pub(crate) mod context_guard;
pub(crate) mod error;
