//! The table of functions through which other extension modules reach the state of interlock.
//!
//! `interlock-capi` declares the table; this crate implements its entries with the facade. An entry converts its
//! arguments, calls the facade, converts the result, and catches panics (`entry.rs`). `interlock-python` puts the table
//! into the capsule `interlock._core._C_API` and installs the [`Hooks`] for the interpreter.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod accelerator;
mod arguments;
mod entry;
mod flags;
mod hooks;
mod kernels;
mod modes;
mod registrations;
mod scopes;
mod state;
mod table;
mod values;

pub use hooks::{Hooks, RegisterKernel, set_hooks};
pub use table::table;
