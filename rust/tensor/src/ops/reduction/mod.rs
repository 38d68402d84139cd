//! Reductions, cumulative operations, softmax and sorting.

pub(crate) mod along_dim;
pub(crate) mod extremes;
pub(crate) mod logsumexp;
pub(crate) mod median;
pub(crate) mod norms;
pub(crate) mod order;
pub(crate) mod product;
mod product_gradients;
pub(crate) mod scans;
pub(crate) mod softmax;
pub(crate) mod sorting;
pub(crate) mod statistics;
pub(crate) mod sums;
pub(crate) mod truth;
