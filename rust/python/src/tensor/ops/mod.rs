//! The operations, a folder for each family, and a file for each group of operations.

mod conversions;
mod creation;
mod elementwise;
mod indexing;
mod nn;
mod products;
mod random;
mod reduction;
mod shape;

pub(super) use conversions::least_size;
pub(super) use creation::EXPLAINED as EMPTY_EXPLAINED;
pub(super) use random::register;
