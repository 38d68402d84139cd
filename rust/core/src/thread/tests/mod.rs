//! Tests of thread and context state through its interface.

mod carrier;
mod contexts;
mod devices;
mod failing_stores;
#[cfg(not(loom))]
mod mode_hooks;
mod model;
mod trace;
