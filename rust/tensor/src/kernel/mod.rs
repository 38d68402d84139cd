//! Kernels: loops over elements. They are independent of automatic differentiation.

mod attention;
mod conv;
mod cumulative;
mod flip;
mod foreign;
mod half_matmul;
mod indexed;
mod int_matmul;
mod layer_norm;
mod matmul;
mod nll_loss;
mod parts;
mod reduce;
mod sample;
mod scan;
mod sort;
#[cfg(test)]
mod tests;
mod workspace;

pub(crate) use crate::iterate::{
    Plan, PlanOperand, add_strided, bits, cast, copy_as, copy_into, filled, launch_nullary, launch_zeros,
    map, map_rows, map_with, reinterpret, result_placement, try_along_last_dim, update, zip, zip_rows, zip3,
};
pub(crate) use attention::{AttentionHeads, AttentionResults, attention, attention_backward};
pub use conv::ConvPass;
pub(crate) use conv::{ConvAlgorithm, ConvGeometry, add_columns, columns, convolve};
pub(crate) use cumulative::{cumulative_products, cumulative_products_backward};
pub(crate) use flip::flip;
pub(crate) use foreign::{ForeignLaunch, foreign_tensor};
pub(crate) use indexed::{
    Combine, IndexBounds, IndexedLayout, check_index, gather_at, index_on_device, scatter_in_any_order,
    scatter_in_order,
};
pub(crate) use layer_norm::{NormResults, NormRows, layer_norm, layer_norm_backward};
pub(crate) use matmul::{MatmulElement, Matrix, MatrixBatch, matmul};
pub(crate) use nll_loss::{ClassGrid, distribute_gradient, sample_weights, select_scores};
pub(crate) use reduce::{mean, sum, sum_of};
pub(crate) use sample::{bernoulli, multinomial};
pub(crate) use scan::scan;
pub(crate) use sort::{middle, numbered, position_of, sort};
