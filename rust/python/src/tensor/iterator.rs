//! Iteration over the first dimension of a tensor.

use std::sync::atomic::{AtomicUsize, Ordering};

use interlock_tensor::Tensor as CoreTensor;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::Tensor;
use crate::errors::IntoPyResult;

/// An iterator over a tensor along its first dimension. Each item is a view that is created when it is requested.
#[pyclass(frozen, module = "interlock")]
pub(super) struct TensorIterator {
    tensor: CoreTensor,
    next: AtomicUsize,
    size: usize,
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
        let step = |next: usize| (next < self.size).then(|| next + 1);
        let Ok(index) = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step) else {
            return Ok(None);
        };
        if index % SIGNAL_CHECK_INTERVAL == SIGNAL_CHECK_INTERVAL - 1 {
            py.check_signals()?;
        }
        self.tensor
            .select(0, i64::try_from(index).unwrap_or(i64::MAX))
            .map(Tensor)
            .into_py_result(py)
            .map(Some)
    }

    fn __length_hint__(&self) -> usize {
        self.size.saturating_sub(self.next.load(Ordering::Relaxed))
    }
}

#[pymethods]
impl Tensor {
    fn __iter__(&self) -> PyResult<TensorIterator> {
        let Some(&size) = self.0.shape().first() else {
            return Err(PyTypeError::new_err("cannot iterate over a tensor without dimensions"));
        };
        Ok(TensorIterator { tensor: self.0.clone(), next: AtomicUsize::new(0), size })
    }
}
