//! Iteration over the first dimension of a tensor.

use std::sync::atomic::{AtomicUsize, Ordering};

use interlock_tensor::Rows;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::{Tensor, maybe_detach};
use crate::errors::IntoPyResult;

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
        Ok(self.rows.get(index).into_py_result(py)?.map(Tensor))
    }

    fn __length_hint__(&self) -> usize {
        self.rows.count().saturating_sub(self.next.load(Ordering::Relaxed))
    }
}

#[pymethods]
impl Tensor {
    fn __iter__(&self, py: Python<'_>) -> PyResult<TensorIterator> {
        if self.0.ndim() == 0 {
            return Err(PyTypeError::new_err("cannot iterate over a tensor without dimensions"));
        }
        let rows = maybe_detach(py, 0, || self.0.rows())?;
        Ok(TensorIterator { rows, next: AtomicUsize::new(0) })
    }
}
