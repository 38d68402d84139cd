//! A fake of NVIDIA's driver library, for tests without a GPU.
//!
//! It exports the functions of `symbols.txt` and no others of NVIDIA's, with the semantics of the CUDA driver API's
//! documentation; where that allows several, with the strictest. Streams, events and memory are those of the host
//! driver. Handles look like pointers and are never reused, so the use of a destroyed object is always detected.
//!
//! Environment variables configure the devices that `cuInit` finds (`settings.rs`). Functions with the prefix
//! `fake_cuda_` inject faults and count calls and live objects (`controls.rs`).
#![cfg(not(loom))]

// The host driver and its state are parts of the fake, not of the process that loads it.
interlock_core::separate_copy!();

mod addresses;
mod call;
mod captures;
mod capturing;
mod contexts;
mod controls;
mod copies;
mod counts;
mod devices;
pub mod errors;
mod events;
mod executables;
mod fake;
mod faults;
mod graphs;
mod hooks;
mod host_functions;
mod init;
mod memory;
mod operations;
mod pinned;
mod regions;
mod settings;
mod state;
mod stream_memory;
mod streams;
mod visible;
mod waiting;

pub use addresses::*;
pub use call::{Code, Handle, In, InOut, Out};
pub use capturing::*;
pub use contexts::*;
pub use controls::*;
pub use copies::*;
pub use devices::*;
pub use errors::{cuGetErrorName, cuGetErrorString};
pub use events::*;
pub use executables::*;
pub use graphs::*;
pub use host_functions::*;
pub use init::*;
pub use memory::*;
pub use pinned::*;
pub use streams::*;
