//! A stand-in for NVIDIA's driver library, so that what calls it can be tested without a GPU.
//!
//! It exports the functions of `symbols.txt`, and no other of NVIDIA's, with the semantics that the documentation of
//! the CUDA driver interface gives them: where that leaves a choice, with the stricter one. Behind them are the
//! streams, events and memory of the host driver. What is created is named by numbers that look like pointers and are
//! never given out twice, so a handle that is gone is always noticed.
//!
//! The environment says what `cuInit` finds (`settings.rs`); functions whose names begin with `fake_cuda_` make things go
//! wrong and tell what was called and what is still there (`controls.rs`).
#![cfg(not(loom))]

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
