//! The operations, a folder for each family, and a file for each group of operations.

mod conversions;
mod creation;
mod elementwise;
mod indexing;
mod products;
mod random;
mod scans;
mod shape;

pub(super) use conversions::least_size;
pub(super) use creation::EXPLAINED as EMPTY_EXPLAINED;
pub(super) use random::register;
