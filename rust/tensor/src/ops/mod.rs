//! Tensor operations and their backward functions.

mod advanced_index;
mod as_strided;
mod attention;
mod attention_kernels;
mod attention_math;
mod attention_tiled;
mod binary;
mod cast;
mod compare;
mod creation;
mod display;
mod einsum;
mod expanded_index_put;
mod foreign;
mod index;
mod inplace;
mod item;
mod join;
mod loss;
mod masked;
mod matmul;
mod matmul_kernels;
mod multi_head;
mod operand;
mod power;
mod random;
mod reduce;
mod remainder;
mod transfer;
mod unary;
mod view;

pub(crate) use as_strided::{as_strided, as_strided_node};
pub use attention::AttentionOptions;
pub use attention_kernels::{ATTENTION, Attention, AttentionArgs, AttentionCall, AttentionOut};
pub(crate) use cast::copy_with_layout;
pub use einsum::{
    EINSUM, Einsum, EinsumArgs, EinsumCall, PathOptimizer, PathRequest, einsum, explain_einsum,
};
pub use foreign::{ForeignAttentionOptions, register_foreign_kernel};
pub use index::Index;
pub(crate) use inplace::add_unrecorded;
pub use join::{cat, stack};
pub use loss::Reduction;
pub use matmul_kernels::{MATMUL, Matmul, MatmulArgs, MatmulCall};
pub use multi_head::{MULTI_HEAD_ATTENTION, MultiHeadArgs, MultiHeadAttention, MultiHeadCall};
pub use operand::Operand;
pub use random::manual_seed;
pub(crate) use reduce::sum_to;
pub(crate) use transfer::to_device;
