//! Kernels: loops over elements. They are independent of automatic differentiation.

mod attention;
mod conv;
mod elementwise;
mod foreign;
mod gather;
mod half_matmul;
mod int_matmul;
mod launch;
mod matmul;
mod parallel;
mod reduce;
mod strided_iter;
mod workspace;

pub(crate) use attention::{AttentionHeads, AttentionResults, attention, attention_backward};
pub use conv::ConvPass;
pub(crate) use conv::{ConvAlgorithm, ConvGeometry, add_columns, columns, convolve};
pub(crate) use elementwise::{add_strided, cast, map, map_as, update, zip};
pub(crate) use foreign::{ForeignLaunch, foreign_tensor};
pub(crate) use gather::{RowIndices, gather, index_add, index_put, index_select, scatter_add};
pub(crate) use launch::{launch_nullary, result_placement};
pub(crate) use matmul::{MatmulElement, Matrix, MatrixBatch, matmul};
pub(crate) use reduce::{apply_along_last_dim, fold, sum};
pub(crate) use strided_iter::StridedIter;
