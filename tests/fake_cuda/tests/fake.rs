//! The tests of the fake library in one program: each would otherwise be linked on its own.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[macro_use]
mod common;
mod addresses;
mod captures;
mod contexts;
mod copies;
mod events;
mod faults;
mod graphs;
mod host_functions;
mod memory;
mod starting;
mod symbols;
