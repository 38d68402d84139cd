//! Traces of streams.

use std::time::Instant;

use interlock::accelerator::driver::activity::{Activity, Place};
use interlock::accelerator::{DeviceIndex, Trace as CoreTrace};
use interlock_core::base::mutex::Mutex;
use pyo3::prelude::*;

use super::stream_names::name_of;
use crate::args::extract_int;
use crate::detach::detach;
use crate::errors::IntoPyResult;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<TraceRecorder>()?;
    module.add_function(wrap_pyfunction!(checked_max_events, module)?)
}

/// Return the argument `max_events` of a trace as an int, or raise.
#[pyfunction]
fn checked_max_events(max_events: &Bound<'_, PyAny>) -> PyResult<usize> {
    extract_int(max_events, "accelerator.trace: max_events", "0 or more")
}

/// A trace that is being recorded, for `interlock.accelerator.trace`.
///
/// Args:
///     most: The most activities that are recorded.
#[pyclass(frozen, module = "interlock._core.accelerator")]
struct TraceRecorder(Mutex<Option<CoreTrace>>);

/// The kind, the name, the index of the device or None, the number and the name of the track on it, the start and the
/// duration in microseconds, the bytes and the link of an activity.
type Row = (&'static str, String, Option<DeviceIndex>, u64, String, f64, f64, u64, u64);

#[pymethods]
impl TraceRecorder {
    #[new]
    fn new(py: Python<'_>, most: usize) -> PyResult<Self> {
        detach(py, || CoreTrace::start(most))
            .into_py_result(py)
            .map(|trace| TraceRecorder(Mutex::new(Some(trace))))
    }

    /// Stop and return the activities, and the number of further ones. An activity is its kind, its name, the index of its
    /// device or None, the number and the name of its track, its start and its duration in microseconds, the bytes that are
    /// allocated, and a number that a call shares with its task, or 0.
    fn finish(&self, py: Python<'_>) -> (Vec<Row>, usize) {
        let Some(trace) = self.0.lock().take() else { return Default::default() };
        detach(py, || {
            let trace = trace.finish();
            let since = |time: Instant| time.saturating_duration_since(trace.start).as_secs_f64() * 1e6;
            let row = |activity: &Activity| {
                let (device, track, name) = match &activity.place {
                    Place::Stream(stream) => (Some(stream.device), stream.raw, name_of(*stream)),
                    Place::Device(device) => (Some(*device), 0, String::new()),
                    Place::Thread(number, name) => (None, *number, name.to_string()),
                };
                let (start, end) = (since(activity.start), since(activity.end));
                let operation = match activity.awaited {
                    Some(awaited) => format!("wait for {}", name_of(awaited)),
                    None => activity.name.to_string(),
                };
                let (kind, bytes, link) = (activity.kind.name(), activity.bytes, activity.link);
                (kind, operation, device, track, name, start, end - start, bytes, link)
            };
            (trace.activities.iter().map(row).collect(), trace.dropped)
        })
    }
}
