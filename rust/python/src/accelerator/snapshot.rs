//! Snapshots of memory, in PyTorch's format.

use std::collections::HashMap;

use interlock::accelerator::PoolId;
use interlock::accelerator::memory::{
    self, BlockState, BlockUsage, Frame, SegmentState, Stack, TraceAction, TraceEntry,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::detach::detach;
use crate::device;
use crate::errors::IntoPyResult;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(snapshot, module)?)?;
    module.add_function(wrap_pyfunction!(snapshot_to_dump, module)?)
}

/// The lists of a snapshot: segments and traces of devices, blocks and trace of pinned memory.
type Lists<'py> = (Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyList>);

/// Return the segments and the traces of all devices, or of one device, and the blocks and the trace of pinned memory.
#[pyfunction]
#[pyo3(signature = (device))]
fn snapshot<'py>(py: Python<'py>, device: Option<&Bound<'py, PyAny>>) -> PyResult<Lists<'py>> {
    lists(py, device, "accelerator.memory.snapshot")
}

/// Return the lists of `dump_snapshot`, as `snapshot` does.
#[pyfunction]
#[pyo3(signature = (device))]
fn snapshot_to_dump<'py>(py: Python<'py>, device: Option<&Bound<'py, PyAny>>) -> PyResult<Lists<'py>> {
    lists(py, device, "accelerator.memory.dump_snapshot")
}

fn lists<'py>(
    py: Python<'py>,
    device: Option<&Bound<'py, PyAny>>,
    operation: &'static str,
) -> PyResult<Lists<'py>> {
    let device = device::optional(device, operation)?;
    let snapshot = detach(py, || memory::snapshot(device));
    let snapshot = snapshot.map_err(|error| error.during(operation)).into_py_result(py)?;
    let mut converter = Converter { py, stacks: HashMap::new() };
    let segments = snapshot.segments.iter().map(|segment| converter.segment(segment));
    let segments = PyList::new(py, segments.collect::<PyResult<Vec<_>>>()?)?;
    let traces = PyList::empty(py);
    for trace in &snapshot.traces {
        traces.append(converter.trace(trace)?)?;
    }
    let pinned = snapshot.pinned.iter().map(|block| converter.pinned_block(block));
    let pinned = PyList::new(py, pinned.collect::<PyResult<Vec<_>>>()?)?;
    Ok((segments, traces, pinned, converter.trace(&snapshot.pinned_trace)?))
}

/// Returns the dicts of segments.
pub(super) fn list_of<'py>(py: Python<'py>, segments: &[SegmentState]) -> PyResult<Bound<'py, PyList>> {
    let mut converter = Converter { py, stacks: HashMap::new() };
    let segments = segments.iter().map(|segment| converter.segment(segment));
    PyList::new(py, segments.collect::<PyResult<Vec<_>>>()?)
}

/// Converts snapshots to dicts. Entries with one stack share its list of frames, which keeps pickled snapshots small.
struct Converter<'py> {
    py: Python<'py>,
    stacks: HashMap<*const Frame, Bound<'py, PyList>>,
}

impl<'py> Converter<'py> {
    fn segment(&mut self, segment: &SegmentState) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(self.py);
        dict.set_item("device", segment.device)?;
        dict.set_item("address", segment.address)?;
        dict.set_item("total_size", segment.total_size)?;
        dict.set_item("allocated_size", segment.allocated_size)?;
        dict.set_item("active_size", segment.active_size)?;
        dict.set_item("requested_size", segment.requested_size)?;
        dict.set_item("stream", segment.stream)?;
        dict.set_item("segment_type", if segment.small { "small" } else { "large" })?;
        dict.set_item("segment_pool_id", pool_id(segment.pool))?;
        dict.set_item("is_expandable", segment.expandable)?;
        dict.set_item("frames", self.frames(segment.stack.as_ref())?)?;
        let blocks = segment.blocks.iter().map(|block| self.block(block)).collect::<PyResult<Vec<_>>>()?;
        dict.set_item("blocks", blocks)?;
        Ok(dict)
    }

    fn block(&mut self, block: &BlockState) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(self.py);
        dict.set_item("address", block.address)?;
        dict.set_item("size", block.size)?;
        dict.set_item("requested_size", block.requested_size)?;
        dict.set_item("state", block.usage.name())?;
        dict.set_item("frames", self.frames(block.stack.as_ref())?)?;
        Ok(dict)
    }

    /// PyTorch's format of a block of pinned memory, which has no parts.
    fn pinned_block(&mut self, block: &BlockState) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(self.py);
        dict.set_item("address", block.address)?;
        dict.set_item("size", block.size)?;
        dict.set_item("allocated", block.usage == BlockUsage::Allocated)?;
        dict.set_item("active", block.usage != BlockUsage::Inactive)?;
        dict.set_item("segment_pool_id", pool_id(None))?;
        dict.set_item("frames", self.frames(block.stack.as_ref())?)?;
        Ok(dict)
    }

    fn trace(&mut self, trace: &[TraceEntry]) -> PyResult<Bound<'py, PyList>> {
        let entries = trace.iter().map(|entry| self.entry(entry)).collect::<PyResult<Vec<_>>>()?;
        PyList::new(self.py, entries)
    }

    fn entry(&mut self, entry: &TraceEntry) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(self.py);
        dict.set_item("action", entry.action.name())?;
        let address = if entry.action == TraceAction::OutOfMemory { "device_free" } else { "addr" };
        dict.set_item(address, entry.address)?;
        dict.set_item("size", entry.size)?;
        dict.set_item("stream", entry.stream)?;
        dict.set_item("time_us", entry.time)?;
        dict.set_item("pool_id", pool_id(entry.pool))?;
        if let Some(cause) = entry.cause {
            dict.set_item("cause", cause.name())?;
        }
        if entry.capturing {
            dict.set_item("capturing", true)?;
        }
        if let Some(annotation) = &entry.annotation {
            dict.set_item("user_metadata", &**annotation)?;
        }
        dict.set_item("frames", self.frames(entry.stack.as_ref())?)?;
        Ok(dict)
    }

    fn frames(&mut self, stack: Option<&Stack>) -> PyResult<Bound<'py, PyList>> {
        let Some(stack) = stack else { return Ok(PyList::empty(self.py)) };
        if let Some(frames) = self.stacks.get(&stack.as_ptr()) {
            return Ok(frames.clone());
        }
        let frames = PyList::empty(self.py);
        for frame in stack.iter() {
            let dict = PyDict::new(self.py);
            dict.set_item("filename", &*frame.file)?;
            dict.set_item("line", frame.line)?;
            dict.set_item("name", &*frame.name)?;
            frames.append(dict)?;
        }
        self.stacks.insert(stack.as_ptr(), frames.clone());
        Ok(frames)
    }
}

/// Returns the pool id in PyTorch's format, which is (0, 0) for the default pool.
fn pool_id(pool: Option<PoolId>) -> PoolId {
    pool.unwrap_or((0, 0))
}
