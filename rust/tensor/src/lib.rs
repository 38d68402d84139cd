//! A reference tensor runtime: strided storage on CPU and devices, views, in-place operations with version counters,
//! inference tensors and reverse-mode automatic differentiation.
//!
//! Names, results and errors follow PyTorch. The gradient modes are those of [`interlock::autograd`], and memory
//! comes from [`interlock::accelerator::memory`].

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod append_vec;
pub mod autograd;
mod drop_queue;
mod dtype;
mod element;
mod error;
mod fallible_alloc;
mod fork_rwlock;
mod forward_stack;
mod generator;
mod iterate;
mod kernel;
mod loops;
mod ops;
mod real;
mod scaled;
mod shape;
mod storage;
mod tensor;
mod warning;

#[cfg(test)]
mod testing;

/// Elementwise operations on two or three operands, each of which is a tensor or a number.
pub mod elementwise {
    pub use crate::ops::{
        RoundingMode, add_scaled, addcdiv, addcmul, atan2, bitwise_and, bitwise_left_shift, bitwise_or,
        bitwise_right_shift, bitwise_xor, clamp, copysign, divide, divide_with, equal, floor_divide, fmax,
        fmin, fmod, greater, greater_equal, hypot, lerp, less, less_equal, logaddexp, logical_and,
        logical_or, logical_xor, maximum, minimum, multiply, not_equal, power, remainder, sub_scaled,
        where_cond,
    };
}

/// Adds the operations of this crate to those that `explain` lists for the flags that they obey. The first call of an
/// operation does so too.
pub fn announce_operations() {
    MATMUL.announce();
    CONV2D.announce();
    EINSUM.announce();
    ATTENTION.announce();
    MULTI_HEAD_ATTENTION.announce();
    LSTM.announce();
    INDEX_ADD.announce();
    INDEX_PUT.announce();
    PUT.announce();
    SCATTER_ADD.announce();
    EMPTY.announce();
}

pub use dtype::{DType, Scalar};
pub use element::Element;
pub use error::{Error, ForeignError, Result};
pub use fallible_alloc::check_memory;
pub use generator::{Generator, GeneratorState, GeneratorStates, manual_seed};
pub use half::{bf16, f16};
pub use kernel::ConvPass;
pub use ops::{
    ATTENTION, Attention, AttentionArgs, AttentionCall, AttentionOptions, AttentionOut, CONV2D,
    ClassLossOptions, Conv2d, ConvArgs, ConvCall, ConvOptions, ConvPadding, EINSUM, EMPTY, Einsum,
    EinsumArgs, EinsumCall, Empty, EmptyCall, GeluApproximation, INDEX_ADD, INDEX_PUT, Index, IndexAdd,
    IndexPut, LSTM, Lstm, LstmArgs, LstmCall, LstmLayer, LstmOut, MATMUL, MULTI_HEAD_ATTENTION, Matmul,
    MatmulArgs, MatmulCall, MultiHeadArgs, MultiHeadAttention, MultiHeadCall, Operand, PUT, PathOptimizer,
    PathRequest, PrintOptions, Put, Reduction, Rows, SCATTER_ADD, ScatterAdd, ScatterArgs, ScatterCall,
    ScatterReduce, Tolerance, WriteTo, broadcast_tensors, cat, einsum, explain_einsum, hstack, lstm,
    register_foreign_kernel, result_type, stack, vstack,
};
pub use shape::{MAX_DIMENSIONS, MemoryFormat};
pub use storage::{Placement, Storage, TensorOptions};
pub use tensor::Tensor;
pub use warning::{WarningHandler, set_warning_handler};
