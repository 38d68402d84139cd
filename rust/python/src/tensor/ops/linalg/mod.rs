//! Linear algebra: `interlock.linalg`. Names of arguments are PyTorch's, which are upper-case for matrices.

mod cholesky;
mod decompositions;
mod lu;
mod solve;
