//! Products of matrices and vectors.

pub(crate) mod matmul_kernels;
pub(crate) mod matrices;
pub(crate) mod vectors;
