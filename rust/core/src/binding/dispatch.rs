//! Names of operations and kernels of another language.

pub use crate::dispatch::record::intern_name;
