//! The tests of the interface in one program: each would otherwise be linked on its own.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod allocator;
mod allocator_failures;
mod allocator_model;
mod allocator_threads;
mod allocator_trace;
mod capture_owners;
mod device_memory;
mod driver_behaviour;
mod expandable_graphs;
mod expandable_threads;
mod external_streams;
mod graph_failures;
mod happens_before;
mod held_objects;
mod host_aimed_faults;
mod host_driver;
mod host_faults;
mod host_fork;
mod host_handles;
mod host_lifetimes;
mod host_sync_points;
mod host_unordered;
mod mem_pools;
mod memory_history;
mod memory_lifetimes;
mod memory_limits;
mod memory_lost_device;
mod memory_unreported;
mod pinned_memory;
mod pinned_model;
mod pool_races;
mod programs;
mod reentrant_driver;
mod registered_driver;
mod rig;
mod trace_failures;
