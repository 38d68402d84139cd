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

/// The number of multiplications between two checks for interrupts.
const CHUNK_WORK: usize = 1 << 28;

/// Returns the number of parts of `work` multiplications each between two checks for interrupts.
fn chunk_of_parts(work: usize, threads: usize) -> usize {
    (CHUNK_WORK / work.max(1)).max(1).saturating_mul(threads)
}
