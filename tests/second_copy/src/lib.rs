//! An extension module that links interlock instead of `interlock-capi`.

use pyo3::prelude::*;

/// An extension module with a second copy of interlock's state.
#[pymodule]
mod second_copy {
    use super::*;

    /// Write a flag of the second copy.
    #[pyfunction]
    fn write_flag() -> bool {
        interlock::backends::flags::CUDNN_BENCHMARK.set(true).is_ok()
    }
}
