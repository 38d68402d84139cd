//! Iteration over the elements of operands: one for all operations and element types.

mod elements;
mod plan;
mod run;

pub(crate) use elements::{into_target, new_result};
