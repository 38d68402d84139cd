//! A small reference tensor runtime: strided storage with a device, views, in-place operations with
//! version counters, inference tensors and reverse-mode differentiation.
//!
//! Names, results and refusals are PyTorch's. The gradient modes are those of [`interlock::autograd`];
//! memory comes from [`interlock::accelerator::memory`].

mod access;
pub mod autograd;
mod dtype;
mod element;
mod error;
mod kernel;
mod ops;
mod room;
mod shape;
mod storage;
mod tensor;
mod waste;

#[cfg(test)]
mod testing;

pub use dtype::{DType, Scalar};
pub use element::Element;
pub use error::{Error, Result};
pub use ops::{Index, Operand, Reduction, cat, manual_seed, stack};
pub use room::check_memory;
pub use shape::MAX_DIMENSIONS;
pub use storage::{Options, Place, Storage};
pub use tensor::Tensor;
