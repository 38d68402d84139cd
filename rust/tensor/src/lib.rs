//! A reference tensor runtime: strided storage on CPU and devices, views, in-place operations with version counters,
//! inference tensors and reverse-mode automatic differentiation.
//!
//! Names, results and errors follow PyTorch. The gradient modes are those of [`interlock::autograd`], and memory
//! comes from [`interlock::accelerator::memory`].

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod autograd;
mod dtype;
mod error;
mod iterate;
mod layout;
mod loops;
mod ops;
mod products;
mod recording;
mod storage;
mod tensor;

#[cfg(test)]
mod testing;

/// Elementwise operations on two or three operands, each of which is a tensor or a number.
pub mod elementwise {
    pub use crate::ops::elementwise::arithmetic::{add_scaled, divide, multiply, sub_scaled};
    pub use crate::ops::elementwise::bitwise::{
        bitwise_and, bitwise_left_shift, bitwise_or, bitwise_right_shift, bitwise_xor, logical_and,
        logical_or, logical_xor,
    };
    pub use crate::ops::elementwise::comparison::{
        equal, greater, greater_equal, less, less_equal, not_equal,
    };
    pub use crate::ops::elementwise::pairs::{
        atan2, copysign, fmax, fmin, hypot, logaddexp, maximum, minimum,
    };
    pub use crate::ops::elementwise::pointwise::{addcdiv, addcmul, lerp};
    pub use crate::ops::elementwise::power::power;
    pub use crate::ops::elementwise::remainder::remainder;
    pub use crate::ops::elementwise::rounded_division::{RoundingMode, divide_with, floor_divide, fmod};
    pub use crate::ops::elementwise::selection::{clamp, where_cond};
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
    QUANTIZED_LINEAR.announce();
    ops::fft::kernels::FFT.announce();
    ops::linalg::kernels::announce();
}

pub use dtype::{DType, Element, Scalar};
pub use error::{Error, ErrorCause, ErrorKind, ForeignError, Result, WarningHandler, set_warning_handler};
pub use half::{bf16, f16};
pub use layout::{MAX_DIMENSIONS, MemoryFormat, contiguous_strides};
pub use ops::conversion::print_options::PrintOptions;
pub use ops::convolution::{CONV2D, Conv2d, ConvArgs, ConvCall, ConvOptions, ConvPadding};
pub use ops::creation::empty::{EMPTY, Empty, EmptyCall};
pub use ops::einsum::{
    EINSUM, Einsum, EinsumArgs, EinsumCall, PathOptimizer, PathRequest, einsum, explain_einsum,
};
pub use ops::elementwise::closeness::Tolerance;
pub use ops::elementwise::operand::{Operand, result_type};
pub use ops::fft::{FftFunction, FftNorm, FftOptions};
pub use ops::foreign::register_foreign_kernel;
pub use ops::indexing::gather_scatter::ScatterReduce;
pub use ops::indexing::index::Index;
pub use ops::indexing::indexed::WriteTo;
pub use ops::indexing::scatter_kernels::{
    INDEX_ADD, INDEX_PUT, IndexAdd, IndexPut, PUT, Put, SCATTER_ADD, ScatterAdd, ScatterArgs, ScatterCall,
};
pub use ops::linalg::qr::QrMode;
pub use ops::nn::activations::GeluApproximation;
pub use ops::nn::attention::AttentionOptions;
pub use ops::nn::attention::kernels::{ATTENTION, Attention, AttentionArgs, AttentionCall, AttentionOut};
pub use ops::nn::loss::Reduction;
pub use ops::nn::multi_head::{MULTI_HEAD_ATTENTION, MultiHeadArgs, MultiHeadAttention, MultiHeadCall};
pub use ops::nn::nll_loss::ClassLossOptions;
pub use ops::out::NewElements;
pub use ops::products::matmul_kernels::{MATMUL, Matmul, MatmulArgs, MatmulCall};
pub use ops::quantized::linear::{
    QUANTIZED_LINEAR, QuantizedLinear, QuantizedLinearArgs, QuantizedLinearCall,
};
pub use ops::quantized::{QuantizedDType, QuantizedTensor};
pub use ops::random::generator::{Generator, GeneratorState, GeneratorStates, manual_seed};
pub use ops::recurrent::{LSTM, Lstm, LstmArgs, LstmCall, LstmLayer, LstmOut, lstm};
pub use ops::shape::dims::broadcast_tensors;
pub use ops::shape::join::{cat, hstack, stack, vstack};
pub use ops::shape::parts::Rows;
pub use products::ConvPass;
pub use storage::fallible_alloc::check_memory;
pub use storage::{Placement, Storage, TensorOptions};
pub use tensor::Tensor;
