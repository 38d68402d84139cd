//! Reading and writing of some elements: indices, coordinates and masks.

pub(crate) mod advanced_index;
pub(crate) mod along;
pub(crate) mod coordinates;
pub(crate) mod expanded_index_put;
pub(crate) mod gather_scatter;
pub(crate) mod index;
pub(crate) mod indexed;
pub(crate) mod masked;
pub(crate) mod nonzero;
pub(crate) mod positions;
pub(crate) mod scatter_kernels;
pub(crate) mod take;
