//! Whether shared libraries were loaded: the C library counts it.

use interlock_core::binding::libraries::loader_counts;
use pyo3::prelude::*;

/// Return numbers that change when a shared library is loaded or unloaded; None if the C library does not count that.
///
/// In Rust, because the C library calls a function while it holds a lock that `dlopen` needs. A function in Python would wait
/// there for the GIL, whose holder may be in `dlopen`. This thread holds the GIL meanwhile, so no other one can fork from Python
/// and leave the lock acquired in the child.
#[pyfunction]
pub(crate) fn number_of_loads(_py: Python<'_>) -> Option<(u64, u64)> {
    loader_counts()
}
