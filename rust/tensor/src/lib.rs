//! A small reference tensor runtime: strided storage with a device, views, in-place operations with
//! version counters, inference tensors and reverse-mode differentiation.
//!
//! Names, results and refusals are PyTorch's. The gradient modes are those of [`interlock::autograd`];
//! memory comes from an [`interlock::accelerator::memory::Allocator`].

pub mod autograd;
mod drop_queue;
mod dtype;
mod element;
mod error;
mod fallible_alloc;
mod fork_rwlock;
mod kernel;
mod ops;
mod shape;
mod storage;
mod tensor;

#[cfg(test)]
mod testing;

pub use dtype::{DType, Scalar};
pub use element::Element;
pub use error::{Error, Result};
pub use fallible_alloc::check_memory;
pub use ops::{Index, Operand, Reduction, cat, manual_seed, stack};
pub use shape::MAX_DIMENSIONS;
pub use storage::{Placement, Storage, TensorOptions};
pub use tensor::Tensor;
