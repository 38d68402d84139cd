//! Kernels: loops over elements. They are independent of automatic differentiation.

mod attention;
mod elementwise;
mod foreign;
mod gather;
mod half_matmul;
mod int_matmul;
mod launch;
mod layer_norm;
mod matmul;
mod nll_loss;
mod parallel;
mod reduce;
mod strided_iter;
mod workspace;
mod zip_rows;

pub(crate) use attention::{AttentionHeads, AttentionResults, attention, attention_backward};
pub(crate) use elementwise::{add_strided, cast, map, map_as, update, zip};
pub(crate) use foreign::{ForeignLaunch, foreign_tensor};
pub(crate) use gather::{RowIndices, index_add, index_put, index_select};
pub(crate) use launch::{launch_nullary, result_placement};
pub(crate) use layer_norm::{NormResults, NormRows, layer_norm, layer_norm_backward};
pub(crate) use matmul::{Matrix, MatrixBatch, matmul};
pub(crate) use nll_loss::{ClassGrid, distribute_gradient, sample_weights, select_scores};
pub(crate) use reduce::{apply_along_last_dim, fold, sum};
pub(crate) use strided_iter::StridedIter;
pub(crate) use zip_rows::zip_rows;
