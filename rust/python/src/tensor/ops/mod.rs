//! The operations, a folder for each family, and a file for each group of operations.

mod conversions;
mod creation;
mod elementwise;
mod fft;
mod indexing;
mod linalg;
mod nn;
mod products;
mod quantized;
mod queries;
mod random;
mod reduction;
mod shape;
mod types;

pub(super) use conversions::least_size;

use pyo3::prelude::*;

/// Adds the functions that are no operations of tensors.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    shape::broadcasting::register(module)?;
    products::einsum::register(module)?;
    nn::multi_head_attention::register(module)?;
    queries::register(module)?;
    types::register(module)?;
    random::register(module)
}
