//! Inner loops: the part of an operation that depends on its element types and on what it computes.
//!
//! A loop computes a run of elements, of which each operand is a pointer and a step in bytes. Everything else exists once:
//! which runs there are ([`crate::iterate`]), locks, threads and queueing on devices. NumPy's ufuncs are made in this way.

mod cache_aligned;
mod columns;
mod convert;
mod element_loop;
mod elementwise;
mod extremes;
mod fill;
mod halves;
mod indexed;
mod lanes;
mod moments;
pub(crate) mod real;
mod reduction;
mod rows;
mod sums;
mod vectorized;

pub(crate) use cache_aligned::CacheAligned;
pub(crate) use columns::{COLUMNS, Columns, softmax_of_columns, softmax_of_columns_backward};
pub(crate) use convert::{Conversion, conversion, convert};
pub(crate) use element_loop::{ElementLoop, MAX_OPERANDS, Run};
pub(crate) use elementwise::{
    exchange, map, map_within, update, zip, zip_commutative, zip_or_exact, zip_or_number,
    zip_or_right_number, zip3,
};
pub(crate) use extremes::{largest_of, smallest_of};
pub(crate) use fill::{element_bytes, fill, repeat_each, scalar_of};
pub(crate) use indexed::IndexedRun;
pub(crate) use moments::squared_deviations;
pub(crate) use reduction::{ROWS, ReduceLoop, fold};
pub(crate) use rows::{
    Softmax, exponentials, index_of_extreme, largest_in, log_softmax_backward, normalize, normalize_backward,
    softmax, softmax_backward,
};
pub(crate) use sums::sum_of_singles;
pub(crate) use vectorized::vectorized;
