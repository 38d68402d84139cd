//! Memory pools of the program, and the scope whose allocations use one.

use interlock::accelerator::{MemPool as CoreMemPool, MemPoolOptions, MemPoolScope, PoolId};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use super::snapshot;
use crate::autograd::decorated;
use crate::context::traverse_scope;
use crate::detach::detach;
use crate::device::{self, Device};
use crate::errors::{IntoPyResult, new_type_error};
use crate::scope_debug;
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<MemPool>()?;
    module.add_class::<UseMemPool>()
}

/// A private pool of the caching allocator, like `torch.cuda.MemPool`. The name is proposed for PyTorch.
///
/// Its memory serves only the allocations of `with accelerator.use_mem_pool(pool):` blocks, and of graphs that capture
/// with it (`accelerator.Graph(pool=pool)`). The pool is released with the last object, open block and graph that uses
/// it: its memory then returns to the driver as soon as its blocks are freed and the queued work is done. Until then
/// its free blocks remain cached: `empty_cache` does not release them, and neither does a lack of memory elsewhere.
///
/// The replay of a graph overwrites the memory that the graph allocated and freed during its capture. Later allocations
/// from the same pool may have that memory, so a program that does both must not need their contents after a replay.
///
/// Args:
///     allocator: None. PyTorch accepts allocators of its own for CUDA, which interlock does not have.
///     use_on_oom: Whether an allocation outside of pools uses a free block of this pool before it raises
///         `OutOfMemoryError`.
///     no_split: Whether each block is a segment of its own, which the driver allocates, instead of a part of one.
///     device: The only device that may use the pool. None means that each device may use it, with memory of its own.
///
/// Raises:
///     NoAcceleratorError: No accelerator is available.
///     DeviceError: The accelerator does not have the device.
///     TypeError: `allocator` is not None, or another argument has the wrong type.
///
/// Example:
///     >>> from interlock import accelerator
///     >>> accelerator.use("host")
///     >>> pool = accelerator.MemPool()
///     >>> with accelerator.use_mem_pool(pool):
///     ...     buffer = accelerator.memory.Buffer(1000)
///     >>> [segment["segment_pool_id"] == pool.id for segment in pool.snapshot()]
///     [True]
///     >>> buffer.close()
///     >>> del pool
///     >>> accelerator.empty_cache()
///     >>> accelerator.memory_reserved()
///     0
#[pyclass(frozen, subclass, weakref, module = "interlock.accelerator", name = "MemPool")]
pub(super) struct MemPool(CoreMemPool);

impl MemPool {
    pub(super) fn core_id(&self) -> PoolId {
        self.0.id()
    }
}

#[pymethods]
impl MemPool {
    #[new]
    #[pyo3(signature = (allocator=None, use_on_oom=false, no_split=false, *, device=None))]
    fn new(
        py: Python<'_>,
        allocator: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = switches::mem_pool::use_on_oom)] use_on_oom: bool,
        #[pyo3(from_py_with = switches::mem_pool::no_split)] no_split: bool,
        device: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if let Some(given) = allocator {
            let allowed = "None, because the driver in use allocates the memory of every pool";
            return Err(new_type_error("MemPool: allocator", allowed, given));
        }
        let device = device::optional(device, "MemPool")?;
        let options = MemPoolOptions { use_on_oom, no_split };
        detach(py, || CoreMemPool::new(device, options)).into_py_result(py).map(MemPool)
    }

    /// The id, as it is in snapshots and in statistics, and as graphs accept it as their `pool`.
    #[getter]
    fn id(&self) -> PoolId {
        self.0.id()
    }

    /// The only device that may use the pool, or None.
    #[getter]
    fn device(&self) -> Option<Device> {
        self.0.device().map(Device::of)
    }

    /// Return the number of users: 1 for this object, and 1 for each open `use_mem_pool` block, for each graph whose
    /// capture allocated from the pool, and for each allocation of such a capture that is underway.
    fn use_count(&self, py: Python<'_>) -> PyResult<usize> {
        self.0.use_count().into_py_result(py)
    }

    /// Return the segments of the pool, in the format of `accelerator.memory.snapshot()["segments"]`.
    ///
    /// Args:
    ///     include_traces: Has no effect: the result has no recorded events. PyTorch has this argument, too.
    #[pyo3(signature = (include_traces=true))]
    fn snapshot<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = switches::mem_pool_snapshot::include_traces)] include_traces: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let _ = include_traces;
        let segments = detach(py, || self.0.snapshot()).into_py_result(py)?;
        snapshot::list_of(py, &segments)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a MemPool cannot be pickled or copied"))
    }

    fn __repr__(&self) -> String {
        let device = self.0.device().map(|device| format!(", device={device}"));
        format!("interlock.accelerator.MemPool(id={:?}{})", self.0.id(), device.unwrap_or_default())
    }
}

/// Context manager and decorator that routes allocations to a pool, like `torch.cuda.use_mem_pool`. The name is proposed
/// for PyTorch.
///
/// It belongs to the context that enters it, as a `with stream:` block does: an asyncio task and `asyncio.to_thread` have
/// a copy, while a new `threading.Thread` allocates from the default pool. PyTorch's belongs to the thread. It holds for
/// every stream of the device. Of nested blocks the innermost one holds, and the order of exits does not matter. Copies
/// and captured states do not use the pool: once it is released, they allocate from the default pool.
///
/// On a stream that is captured, the pool of the capture or the block holds, whichever began last. In the second case the
/// graph uses the pool as well, and keeps the memory that its work uses, until it is reset.
///
/// Args:
///     pool: The pool, which remains in use until the block ends.
///     device: The device whose allocations are routed. None means the device of the pool, or else the device that is
///         current when the block begins.
///
/// Raises:
///     NoAcceleratorError: No accelerator is available.
///     DeviceError: The accelerator does not have the device, or it is not the device of the pool.
///     TypeError: `pool` is not a `MemPool`.
///
/// Example:
///     >>> from interlock import accelerator
///     >>> accelerator.use("host")
///     >>> pool = accelerator.MemPool()
///     >>> with accelerator.use_mem_pool(pool):
///     ...     pool.use_count()
///     2
#[pyclass(frozen, subclass, module = "interlock.accelerator", name = "use_mem_pool")]
struct UseMemPool(MemPoolScope);

/// Names the class in messages.
const OPERATION: &str = "accelerator.use_mem_pool";

#[pymethods]
impl UseMemPool {
    #[new]
    #[pyo3(signature = (pool, device=None))]
    fn new(pool: &Bound<'_, PyAny>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let py = pool.py();
        let Ok(pool) = pool.cast::<MemPool>() else {
            return Err(new_type_error("accelerator.use_mem_pool: pool", "a MemPool", pool));
        };
        let device = device::optional(device, OPERATION)?;
        let pool = &pool.get().0;
        detach(py, || MemPoolScope::new(pool, device)).into_py_result(py).map(UseMemPool)
    }

    fn __repr__(&self) -> String {
        format!("interlock.accelerator.use_mem_pool({})", MemPool(self.0.pool().clone()).__repr__())
    }

    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        let mut is_used = false;
        let enter = || self.0.try_enter().inspect(|()| is_used = true);
        scope_debug::enter(py, self.0.scope(), || OPERATION.into(), enter).inspect_err(|_| {
            if is_used {
                self.0.end_use();
            }
        })
    }

    /// Decorate a function, so that each call enters the scope; each resume of a generator or coroutine.
    #[pyo3(signature = (function, /))]
    fn __call__<'py>(slf: &Bound<'py, Self>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        decorated(slf.as_any(), function)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        traverse_scope(self.0.scope(), &visit)
    }

    #[pyo3(signature = (*exc_info))]
    fn __exit__(&self, py: Python<'_>, exc_info: &Bound<'_, PyTuple>) -> PyResult<()> {
        let _ = exc_info;
        let exited = scope_debug::exit(py, self.0.scope(), || OPERATION.into());
        self.0.end_use();
        exited
    }
}
