//! Loops over elements. Nothing here knows about differentiation.

mod elementwise;
mod integer_product;
mod launch;
mod matmul;
mod plan;
mod reduce;
mod rows;
mod workspace;

pub(crate) use elementwise::{cast, map, map_as, scatter_add, update, zip};
pub(crate) use launch::make;
pub(crate) use matmul::{Matrix, Pairs, product};
pub(crate) use plan::Plan;
pub(crate) use reduce::{fold, lanes, sum};
pub(crate) use rows::{Rows, pick, put, spread, take, unpick};
