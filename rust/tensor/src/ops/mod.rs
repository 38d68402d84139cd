//! Tensor operations and their backward functions: a folder a family, and beside them the forms of all operations.

pub(crate) mod conditions;
pub(crate) mod conversion;
pub(crate) mod convolution;
pub(crate) mod creation;
pub(crate) mod einsum;
pub(crate) mod elementwise;
pub(crate) mod fft;
pub(crate) mod foreign;
pub(crate) mod indexing;
pub(crate) mod linalg;
pub(crate) mod nn;
pub(crate) mod out;
pub(crate) mod products;
pub(crate) mod quantized;
pub(crate) mod random;
pub(crate) mod recurrent;
pub(crate) mod reduction;
pub(crate) mod replacement;
pub(crate) mod shape;
#[cfg(test)]
mod tests;
