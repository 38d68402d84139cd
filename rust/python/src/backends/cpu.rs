//! Bindings of `backends.cpu`.

use std::ffi::CString;

use interlock::backends::{CpuCapability, cpu_capability_problem};
use pyo3::prelude::*;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(get_cpu_capability, module)?)
}

/// Return the widest vector instructions of this CPU that kernels may use: `DEFAULT`, `VSX`, `Z VECTOR`, `AVX2`,
/// `AVX512` or `SVE256`.
///
/// The environment variable `ATEN_CPU_CAPABILITY` (`default`, `vsx`, `zvector`, `avx2`, `avx512`, `sve256`) lowers it.
/// A value that this CPU does not support, or that is unknown, is ignored with one `FlagEnvironmentWarning`.
#[pyfunction]
fn get_cpu_capability(py: Python<'_>) -> PyResult<&'static str> {
    let name = CpuCapability::get().name();
    if let Some(problem) = cpu_capability_problem() {
        let category = py.import("interlock.errors")?.getattr("FlagEnvironmentWarning")?;
        PyErr::warn(py, &category, &CString::new(problem)?, 1)?;
    }
    Ok(name)
}
