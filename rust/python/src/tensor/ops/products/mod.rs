//! Products of matrices and vectors.

pub(super) mod einsum;
mod matrices;
mod vectors;
