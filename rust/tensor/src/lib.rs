//! A reference tensor runtime: strided storage on CPU and devices, views, in-place operations with version counters,
//! inference tensors and reverse-mode automatic differentiation.
//!
//! Names, results and errors follow PyTorch. The gradient modes are those of [`interlock::autograd`], and memory
//! comes from [`interlock::accelerator::memory`].

pub mod autograd;
mod drop_queue;
mod dtype;
mod element;
mod error;
mod fallible_alloc;
mod fork_rwlock;
mod forward_stack;
mod kernel;
mod ops;
mod shape;
mod storage;
mod tensor;

#[cfg(test)]
mod testing;

/// Adds the operations of this crate to those that `explain` lists for the flags that they obey. The first call of an
/// operation does so too.
pub fn announce_operations() {
    MATMUL.announce();
    CONV2D.announce();
    EINSUM.announce();
    ATTENTION.announce();
    MULTI_HEAD_ATTENTION.announce();
}

pub use dtype::{DType, Scalar};
pub use element::Element;
pub use error::{Error, ForeignError, Result};
pub use fallible_alloc::check_memory;
pub use half::{bf16, f16};
pub use kernel::ConvPass;
pub use ops::{
    ATTENTION, Attention, AttentionArgs, AttentionCall, AttentionOptions, AttentionOut, CONV2D, Conv2d,
    ConvArgs, ConvCall, ConvOptions, ConvPadding, EINSUM, Einsum, EinsumArgs, EinsumCall,
    ForeignAttentionOptions, Index, MATMUL, MULTI_HEAD_ATTENTION, Matmul, MatmulArgs, MatmulCall,
    MultiHeadArgs, MultiHeadAttention, MultiHeadCall, Operand, PathOptimizer, PathRequest, Reduction, cat,
    einsum, manual_seed, register_foreign_kernel, stack,
};
pub use shape::MAX_DIMENSIONS;
pub use storage::{Placement, Storage, TensorOptions};
pub use tensor::Tensor;
