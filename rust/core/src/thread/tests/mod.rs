//! Tests of thread and context state through its interface.

mod carrier;
mod contexts;
mod devices;
mod failing_stores;
mod mode_hooks;
#[cfg(not(loom))]
mod model;
mod trace;
