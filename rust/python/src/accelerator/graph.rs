//! The native base class of `interlock.accelerator.Graph`.

use interlock::accelerator::{CaptureMode, Error, Graph as CoreGraph, PoolId, new_pool};
use interlock_core::base::quote::quoted;
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::mem_pool::MemPool;
use crate::args::{extract_int_pair, extract_str};
use crate::detach::detach;
use crate::errors::{IntoPyResult, exception};
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Graph>()?;
    module.add_function(wrap_pyfunction!(generate_graph_pool_handle, module)?)
}

/// Return the id of a new memory pool, which graphs share that get it as their `pool`.
///
/// The name is proposed for PyTorch, whose function for CUDA is `graph_pool_handle`.
///
/// Example:
///     >>> from interlock import accelerator
///     >>> accelerator.use("host")
///     >>> pool = accelerator.generate_graph_pool_handle()
///     >>> graphs = [accelerator.Graph(pool=pool) for _ in range(2)]
///     >>> pool == accelerator.generate_graph_pool_handle()
///     False
#[pyfunction]
fn generate_graph_pool_handle() -> PoolId {
    new_pool()
}

/// Native base class of `interlock.accelerator.Graph`.
#[pyclass(frozen, subclass, weakref, module = "interlock._core.accelerator", name = "Graph")]
struct Graph(CoreGraph);

/// Parses `capture_error_mode`.
fn mode_of(name: &'static str, given: &Bound<'_, PyAny>) -> PyResult<CaptureMode> {
    match &*extract_str(given, name)? {
        "default" | "global" => Ok(CaptureMode::Global),
        "thread_local" => Ok(CaptureMode::ThreadLocal),
        "relaxed" => Ok(CaptureMode::Relaxed),
        mode => {
            let allowed = "\"default\", \"global\", \"thread_local\" or \"relaxed\"";
            let error = Error::argument(name, quoted(mode), allowed);
            Err(exception(given.py(), &error))
        }
    }
}

/// Extracts a memory pool, which is named as the argument of the constructor or as the attribute that holds it.
fn extract_pool(name: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<PoolId>> {
    let extract = |given: &Bound<'_, PyAny>| match given.cast::<MemPool>() {
        Ok(pool) => Ok(pool.get().core_id()),
        Err(_) => extract_int_pair(given, name, "a MemPool, the id of a memory pool, or None"),
    };
    given.map(extract).transpose()
}

#[pymethods]
impl Graph {
    #[new]
    #[pyo3(signature = (keep_graph, pool, capture_error_mode))]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = switches::graph::keep_graph)] keep_graph: bool,
        pool: Option<&Bound<'_, PyAny>>,
        capture_error_mode: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        // Stored by the subclass for the next capture; only validated here.
        let (_, _) =
            (extract_pool("Graph: pool", pool)?, mode_of("Graph: capture_error_mode", capture_error_mode)?);
        detach(py, || CoreGraph::new(keep_graph)).into_py_result(py).map(Graph)
    }

    /// Begin the capture.
    fn _capture_begin(
        &self,
        pool: Option<&Bound<'_, PyAny>>,
        capture_error_mode: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let py = capture_error_mode.py();
        let pool = extract_pool("Graph.capture_begin: graph_pool", pool)?;
        let mode = mode_of("Graph.capture_begin: capture_error_mode", capture_error_mode)?;
        detach(py, || self.0.capture_begin(pool, mode)).into_py_result(py)
    }

    /// End the capture. Return whether the graph is empty.
    fn _capture_end(&self, py: Python<'_>) -> PyResult<bool> {
        let end = || {
            self.0.capture_end()?;
            self.0.is_empty()
        };
        detach(py, end).into_py_result(py)
    }

    /// Abort a capture that is underway, and destroy the captured work.
    fn _abort_capture(&self, py: Python<'_>) -> PyResult<()> {
        detach(py, || self.0.abort_capture()).into_py_result(py)
    }

    /// Return whether a capture of this graph has begun and not ended.
    fn _is_capturing(&self, py: Python<'_>) -> PyResult<bool> {
        detach(py, || self.0.is_capturing()).into_py_result(py)
    }

    /// End the capture with the method `_leave` of the subclass. After an exception or an interrupt, discard it.
    ///
    /// A function in Python could not do this: CPython runs signal handlers before its first instruction.
    #[pyo3(signature = (*exc_info))]
    fn __exit__(slf: &Bound<'_, Self>, exc_info: &Bound<'_, PyTuple>) -> PyResult<()> {
        let py = slf.py();
        let abort = || slf.get()._abort_capture(py);
        let pending = py.check_signals();
        let ended = match pending.is_err() || exc_info.get_item(0).is_ok_and(|error| !error.is_none()) {
            true => abort(),
            false => slf.call_method0("_leave").map(drop),
        };
        if ended.as_ref().is_err_and(|error| !error.is_instance_of::<PyException>(py)) {
            // The interrupt is reported, and not what it may have caused.
            let _ = abort();
        }
        pending.and(ended)
    }

    /// Instantiate the captured graph for replays.
    fn instantiate(&self, py: Python<'_>) -> PyResult<()> {
        detach(py, || self.0.instantiate()).into_py_result(py)
    }

    /// Queue the captured work on the current stream.
    fn replay(&self, py: Python<'_>) -> PyResult<()> {
        detach(py, || self.0.replay()).into_py_result(py)
    }

    /// Destroy the captured work, so that the graph can be captured again.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        detach(py, || self.0.reset()).into_py_result(py)
    }

    /// Return the id of the memory pool; before a capture, the pool of one that is passed `next`.
    fn _pool(&self, py: Python<'_>, next: Option<&Bound<'_, PyAny>>) -> PyResult<PoolId> {
        let next = extract_pool("Graph.pool: graph_pool", next)?;
        self.0.pool(next).into_py_result(py)
    }

    /// Store nodes and edges of later captures for `debug_dump`.
    fn enable_debug_mode(&self, py: Python<'_>) -> PyResult<()> {
        self.0.enable_debug_mode().into_py_result(py)
    }

    /// Return the captured graph in the DOT language of Graphviz.
    fn _dot(&self, py: Python<'_>) -> PyResult<String> {
        detach(py, || self.0.dot()).into_py_result(py)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a Graph cannot be pickled or copied"))
    }
}
