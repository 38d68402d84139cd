//! The objects that a program has: devices, streams, events, captures and graphs.

pub(crate) mod capture;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod graph;
pub(crate) mod graph_exec;
pub(crate) mod stream;
