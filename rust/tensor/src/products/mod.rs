//! Products on slices: matrices and their factors, attention and convolutions. They know no operation and record nothing.

mod attention;
mod conv;
mod half_matmul;
mod int_matmul;
pub(crate) mod linalg;
mod matmul;
pub(crate) mod mkl;
mod multiplier;
mod one_thread;
pub(crate) mod onednn;
mod workspace;

pub(crate) use attention::{AttentionHeads, AttentionResults, attention, attention_backward};
pub use conv::ConvPass;
pub(crate) use conv::{ConvAlgorithm, ConvGeometry, add_columns, columns, convolve};
pub(crate) use matmul::{MatmulElement, Matrix, MatrixBatch, matmul, matmul_by};
pub(crate) use multiplier::MultiplyBy;
