//! Iteration over the first dimension of a tensor.

use std::sync::atomic::{AtomicUsize, Ordering};

use interlock_tensor::Rows;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;

use super::call::{maybe_detach, run_op, work_size, work_size_of};
use super::operation::{ArgumentName, FromArgument, Held, HeldOperand};
use super::{ReadTensor, Tensor};
use crate::errors::{IntoPyResult, type_name};

/// An iterator over a tensor along its first dimension.
#[pyclass(frozen, module = "interlock")]
pub(super) struct TensorIterator {
    rows: Rows,
    next: AtomicUsize,
}

#[pymethods]
impl TensorIterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Tensor>> {
        /// Items between two checks for signals: `list(tensor)` does not return to the interpreter's evaluation loop,
        /// where signals are handled.
        const SIGNAL_CHECK_INTERVAL: usize = 4096;
        let step = |next: usize| (next < self.rows.count()).then(|| next + 1);
        let Ok(index) = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step) else {
            return Ok(None);
        };
        if index % SIGNAL_CHECK_INTERVAL == SIGNAL_CHECK_INTERVAL - 1 {
            py.check_signals()?;
        }
        Ok(self.rows.get(index).into_py_result(py)?.map(Tensor::from))
    }

    fn __length_hint__(&self) -> usize {
        self.rows.count().saturating_sub(self.next.load(Ordering::Relaxed))
    }
}

#[pymethods]
impl Tensor {
    fn __iter__(&self, py: Python<'_>) -> PyResult<TensorIterator> {
        let tensor = &*self.core(py);
        if tensor.ndim() == 0 {
            return Err(PyTypeError::new_err("cannot iterate over a 0-d tensor"));
        }
        let rows = maybe_detach(py, "__iter__", 0, || tensor.rows())?;
        Ok(TensorIterator { rows, next: AtomicUsize::new(0) })
    }

    /// Return whether an element equals a number, or an element of a tensor that is broadcast to this one.
    fn __contains__(&self, py: Python<'_>, element: &Bound<'_, PyAny>) -> PyResult<bool> {
        let name = ArgumentName::new("__contains__", "element");
        let Some(held) = HeldOperand::try_from_argument(name, element)? else {
            let message = format!("{name} must be a Tensor or a number, got {}", type_name(element));
            return Err(PyRuntimeError::new_err(message));
        };
        let (tensor, element) = (&*self.core(py), held.view());
        maybe_detach(py, "__contains__", work_size_of(held.tensors().iter().chain([tensor])), || {
            tensor.equal(element)?.any()
        })
    }

    /// Return a copy with the first dimension in reverse order. A 0-d tensor is returned itself.
    fn __reversed__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Tensor>> {
        let (py, tensor) = (slf.py(), &*slf.core());
        if tensor.ndim() == 0 {
            return Ok(slf.clone());
        }
        Bound::new(py, run_op(py, "__reversed__", work_size(tensor), || tensor.flip(&[0]))?)
    }
}
