//! The choice of a kernel for a matrix product. The product itself is in `ops/products`.

use pyo3::exceptions::PyTypeError;
use pyo3::inventory;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::Tensor;
use crate::dispatch::Call;
use crate::dispatch::explain::Explained;
use crate::errors::{IntoPyResult, new_type_error, shown};

inventory::submit! { Explained { name: "matmul", function: |py| wrap_pyfunction!(explain, py) } }

#[pyfunction]
#[pyo3(name = "matmul", signature = (*tensors, **options))]
fn explain(tensors: &Bound<'_, PyTuple>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Call> {
    if let Some(name) = options.and_then(|options| options.keys().iter().next()) {
        let message = format!("explain: \"matmul\" has no option {}", shown(&name)?);
        return Err(PyTypeError::new_err(message));
    }
    let operands = tensors.iter().map(|tensor| {
        let error = || new_type_error("explain: each of the tensors", "a Tensor", &tensor);
        tensor.cast::<Tensor>().map(|tensor| tensor.get().0.clone()).map_err(|_| error())
    });
    let operands = operands.collect::<PyResult<Vec<_>>>()?;
    let [left, right] = operands.as_slice() else {
        let message = format!("explain: tensors must be 2 Tensors for \"matmul\", got {}", operands.len());
        return Err(PyTypeError::new_err(message));
    };
    left.explain_matmul(right).map(Call::new).into_py_result(tensors.py())
}
