//! Iteration over the elements of operands, and launches: one for all operations and element types.

mod copy;
mod elements;
mod elementwise;
mod joined_rows;
mod launch;
pub(crate) mod parallel;
pub(crate) mod parts;
mod plan;
mod reduction;
mod rows;
mod run;
mod slices;
mod sums;
#[cfg(test)]
mod tests;

pub(crate) use copy::{bits, copy_as, copy_into, reinterpret};
pub(crate) use elements::{into_target, new_of_parts, new_result};
pub(crate) use elementwise::{add_strided, cast, filled, map, map_with, update, zip, zip_with, zip3};
pub(crate) use launch::{on_device_of, result_placement, threads_on};
pub(crate) use parallel::{THREADED_ELEMENTS, for_each, for_each_tile};
pub(crate) use plan::{Plan, PlanOperand};
pub(crate) use reduction::reduce;
pub(crate) use rows::{apply_along_last_dim, map_columns, map_rows, rows_with_statistics, zip_rows};
pub(crate) use slices::{
    ChunkedKernel, NoInput, PartedKernel, TensorPart, check_count, launch_binary, launch_chunked,
    launch_inplace_from, launch_nullary, launch_several, launch_unary, launch_with_layout, launch_zeros,
};
pub(crate) use sums::{mean, sum};
