//! The functions of the driver library, their result codes and the current context.

pub(crate) mod api;
pub(crate) mod context_guard;
pub(crate) mod error;
