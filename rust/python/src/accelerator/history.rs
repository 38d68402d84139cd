//! Recordings of the memory history, and their replay.

use interlock::accelerator::Error;
use interlock::accelerator::memory::{self, HistoryConfig, HistoryRecorder, TraceAction, TraceEntry};
use interlock_core::base::quote::quoted;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyMapping, PySequence, PyString, PyTuple};

use crate::args::{extract_int, extract_str};
use crate::detach::detach;
use crate::device;
use crate::errors::{IntoPyResult, exception, new_type_error, type_name};
use crate::py_int;
use crate::switches::extract_bool;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Recording>()?;
    // Not in `__all__`: private.
    module.setattr("_active_recording", wrap_pyfunction!(_active_recording, module)?)?;
    module.setattr("_stop_recording", wrap_pyfunction!(_stop_recording, module)?)?;
    module.add_function(wrap_pyfunction!(replay, module)?)
}

/// A recording of the memory history, as `history` returns it. `with recording:` stops it at the end of the block.
///
/// Args:
///     max_entries: The number of events for each device, as for `history`.
///     stacks: Whether to record Python stacks, as for `history`.
///     device: The device. None means all devices.
///     pinned: Whether pinned memory is recorded, as for `history`.
#[pyclass(frozen, module = "interlock.accelerator.memory", name = "Recording")]
struct Recording(HistoryRecorder);

#[pymethods]
impl Recording {
    #[new]
    fn new(
        py: Python<'_>,
        max_entries: &Bound<'_, PyAny>,
        stacks: &Bound<'_, PyAny>,
        device: Option<&Bound<'_, PyAny>>,
        pinned: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        /// The function that calls this in Python.
        const OPERATION: &str = "accelerator.memory.history";
        let max_entries = match max_entries.is_none() {
            true => None,
            false => Some(extract_int(
                max_entries,
                "accelerator.memory.history: max_entries",
                "0 or more, or None",
            )?),
        };
        let pinned = extract_bool(OPERATION, "pinned", pinned)?;
        let options = HistoryConfig { max_entries, stacks: extract_stacks(stacks)?, pinned };
        let device = device::optional(device, OPERATION)?;
        let recorded = detach(py, || HistoryRecorder::record(options, device));
        recorded.map_err(|error| error.during(OPERATION)).into_py_result(py).map(Recording)
    }

    /// Stop recording, unless another recording has begun. Snapshots still contain the recorded entries.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        detach(py, || self.0.stop()).into_py_result(py)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.stop(py)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a Recording cannot be pickled or copied; take a snapshot"))
    }
}

/// Return a number for the recording of the process, which no other one has; None if nothing is recorded.
#[pyfunction]
fn _active_recording(py: Python<'_>) -> Option<u64> {
    detach(py, || HistoryRecorder::active().map(|recorder| recorder.number()))
}

/// Stop the recording of the process, whichever code has begun it.
#[pyfunction]
fn _stop_recording(py: Python<'_>) -> PyResult<()> {
    detach(py, || HistoryRecorder::active().map_or(Ok(()), |recorder| recorder.stop())).into_py_result(py)
}

/// Extracts `stacks`. Only Python frames are recorded, so "all" equals "python".
fn extract_stacks(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    if given.is_none() {
        return Ok(false);
    }
    let Ok(word) = given.cast::<PyString>() else {
        return Err(new_type_error("accelerator.memory.history: stacks", "a str or None", given));
    };
    match &*word.to_string_lossy() {
        "python" | "all" => Ok(true),
        other => {
            let name = "accelerator.memory.history: stacks";
            let error = Error::argument(name, quoted(other), "\"python\", \"all\" or None");
            Err(exception(word.py(), &error))
        }
    }
}

/// Repeat on a device the allocations and frees of its trace in a snapshot; return the statistics.
#[pyfunction]
#[pyo3(signature = (snapshot, device))]
fn replay<'py>(
    snapshot: &Bound<'py, PyAny>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = snapshot.py();
    let device = device::optional(device, "accelerator.memory.replay")?;
    if snapshot.cast::<PyMapping>().is_err() {
        return Err(new_type_error("accelerator.memory.replay: snapshot", "a dict", snapshot));
    }
    let traces = key(snapshot, "device_traces")?;
    let mut core = memory::Snapshot::default();
    for trace in list("device_traces", &traces)? {
        let entries =
            list("a trace", &trace?)?.map(|entry| extract_entry(&entry?)).collect::<PyResult<_>>()?;
        core.traces.push(entries);
    }
    let statistics = detach(py, || memory::replay(&core, device)).into_py_result(py)?;
    let dict = PyDict::new(py);
    for (name, number) in statistics.named() {
        dict.set_item(name, number)?;
    }
    Ok(dict)
}

/// Returns an iterator over a list within the snapshot.
fn list<'py>(what: &str, given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyIterator>> {
    match given.cast::<PySequence>() {
        Ok(_) => given.try_iter(),
        Err(_) => Err(new_type_error(&format!("accelerator.memory.replay: {what}"), "a list", given)),
    }
}

fn extract_entry(entry: &Bound<'_, PyAny>) -> PyResult<TraceEntry> {
    if entry.cast::<PyMapping>().is_err() {
        return Err(new_type_error("accelerator.memory.replay: an entry of a trace", "a dict", entry));
    }
    let word = key(entry, "action")?;
    let word: String =
        word.extract().map_err(|_| malformed(entry.py(), "an action of type", &type_name(&word)))?;
    let action: TraceAction = word.parse().map_err(|_| malformed(entry.py(), "an action", &word))?;
    let address = match action {
        TraceAction::OutOfMemory | TraceAction::Snapshot => 0,
        _ => number(entry, "addr")?,
    };
    let pool: Option<(u64, u64)> = match optional_key(entry, "pool_id")? {
        Some(pool) => {
            let pair = pool.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>();
            let numbers = match pair {
                Ok((first, second)) => (pool_number(&first)?, pool_number(&second)?),
                Err(_) => (None, None),
            };
            let (Some(first), Some(second)) = numbers else {
                return Err(malformed(entry.py(), "a pool_id", &pool.str()?.to_string()));
            };
            Some((first, second))
        }
        None => None,
    };
    let cause = optional_key(entry, "cause")?;
    let cause =
        cause.as_ref().map(|cause| extract_str(cause, "accelerator.memory.replay: a cause of the trace"));
    Ok(TraceEntry {
        action,
        address,
        size: number(entry, "size")?,
        stream: number::<i64>(entry, "stream")?,
        time: 0,
        pool: pool.filter(|pool| *pool != (0, 0)),
        cause: cause.transpose()?.and_then(|name| name.parse().ok()),
        capturing: optional_key(entry, "capturing")?.map_or(Ok(false), |found| found.is_truthy())?,
        stack: None,
        annotation: None,
    })
}

/// Extracts one of the two numbers of a pool id.
fn pool_number(given: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    Ok(py_int::index(given)?.and_then(|number| py_int::uint64(&number)))
}

fn number<T: TryFrom<i128>>(entry: &Bound<'_, PyAny>, name: &'static str) -> PyResult<T> {
    let given = key(entry, name)?;
    extract_int(
        &given,
        "accelerator.memory.replay: a number of the trace",
        "an int of 64 bits, and not negative unless it is a stream",
    )
}

/// Returns the value of a required key of a dict.
fn key<'py>(dict: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    optional_key(dict, name)?.ok_or_else(|| malformed(dict.py(), "no key", name))
}

fn optional_key<'py>(dict: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    match dict.get_item(name) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_instance_of::<PyKeyError>(dict.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

fn malformed(py: Python<'_>, what: &str, word: &str) -> PyErr {
    let given = format!("a dict with {what} {}", quoted(word));
    let allowed = "a snapshot in PyTorch's format";
    exception(py, &Error::argument("accelerator.memory.replay: snapshot", given, allowed))
}
