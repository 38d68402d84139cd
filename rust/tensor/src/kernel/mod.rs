//! Loops over elements. Nothing here knows about differentiation.

mod elementwise;
mod matmul;
mod plan;
mod reduce;

pub(crate) use elementwise::{cast, gather, map, scatter_add, update, zip};
pub(crate) use matmul::{Matrix, product};
pub(crate) use plan::Plan;
pub(crate) use reduce::{fold, lanes, sum};
