//! Random tensors and the generators of their numbers.

pub(crate) mod generator;
pub(crate) mod inplace;
pub(crate) mod new;
pub(crate) mod samples;
