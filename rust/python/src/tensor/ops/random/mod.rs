//! Random numbers.

mod new;
mod samples;
mod seed;

pub(in crate::tensor) use seed::register;
