//! Products of matrices and vectors.

mod matrices;
mod vectors;
