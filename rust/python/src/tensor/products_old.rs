//! Functions that say what an object is.

use pyo3::prelude::*;

use super::Tensor;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(is_tensor, module)?)
}

/// Return whether an object is a `Tensor`.
///
/// Args:
///     obj: Any object.
#[pyfunction]
fn is_tensor(obj: &Bound<'_, PyAny>) -> bool {
    obj.is_instance_of::<Tensor>()
}
