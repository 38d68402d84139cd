//! Products on slices: matrices, attention and convolutions. They know no operation and record nothing.

mod attention;
mod conv;
mod half_matmul;
mod int_matmul;
mod matmul;
mod workspace;

pub(crate) use attention::{AttentionHeads, AttentionResults, attention, attention_backward};
pub use conv::ConvPass;
pub(crate) use conv::{ConvAlgorithm, ConvGeometry, add_columns, columns, convolve};
pub(crate) use matmul::{MatmulElement, Matrix, MatrixBatch, matmul};
