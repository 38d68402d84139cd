//! The detection of races between streams.

use interlock::accelerator::driver::races::{self, Race, RacingAccess};
use interlock::accelerator::driver::{Stack, StreamHandle};
use interlock::accelerator::memory::Poisoning;
use interlock::accelerator::started_device_type;
use interlock::accelerator::{Device, DeviceType, Error};
use interlock_core::base::mutex::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::stream_names::name_of;
use crate::detach::detach;
use crate::errors::exception;
use crate::switches::extract_bool;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<RaceDetector>()
}

/// A running detection of races. `interlock.testing.detect_races` starts and stops it.
///
/// Args:
///     poison: Whether new and freed memory is poisoned.
#[pyclass(frozen, module = "interlock._core.accelerator")]
struct RaceDetector(Mutex<Option<Running>>);

struct Running {
    detector: races::RaceDetector,
    _poisoning: Option<Poisoning>,
}

#[pymethods]
impl RaceDetector {
    #[new]
    fn new(py: Python<'_>, poison: &Bound<'_, PyAny>) -> PyResult<Self> {
        let poison: bool = extract_bool("testing.detect_races", "poison", poison)?;
        if let Some(device) = started_device_type().filter(|kind| *kind != DeviceType::Host) {
            let operation = "testing.detect_races";
            return Err(exception(py, &Error::Unsupported { operation, device: Device::of(device) }));
        }
        let (detector, _poisoning) = (races::RaceDetector::start(), poison.then(Poisoning::start));
        Ok(RaceDetector(Mutex::new(Some(Running { detector, _poisoning }))))
    }

    /// Return the number of tasks that have not run yet.
    fn pending(&self) -> usize {
        self.0.lock().as_ref().map_or(0, |running| running.detector.pending())
    }

    /// Return the races that were found: for each the two accesses, the allocation or None, the missing order, the count
    /// and the report. An access is its operation, its kind, its line or None, its stream or thread, whether that is a
    /// stream, its first address, the address after it, and its stack.
    fn races<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let found =
            detach(py, || self.0.lock().as_ref().map_or_else(Vec::new, |running| running.detector.races()));
        found.iter().map(|race| to_tuple(py, race, &name_of)).collect()
    }

    /// Stop the detection.
    fn stop(&self, py: Python<'_>) {
        let running = self.0.lock().take();
        detach(py, || drop(running));
    }
}

fn to_tuple<'py>(
    py: Python<'py>,
    race: &Race,
    name: &dyn Fn(StreamHandle) -> String,
) -> PyResult<Bound<'py, PyTuple>> {
    let access = |access: &RacingAccess| {
        let line = access.work.frame().map(|frame| format!("{}:{}", frame.file, frame.line));
        (
            access.work.operation.to_string(),
            access.kind.name(),
            line,
            access.owner(name),
            access.work.stream.is_some(),
            access.bytes.start,
            access.bytes.end,
            lines_of(access.work.stack.as_ref()),
        )
    };
    let allocation = race.allocation.as_ref().map(access);
    let race = (
        access(&race.first),
        access(&race.second),
        allocation,
        race.missing(name),
        race.count,
        race.report(name),
    );
    race.into_pyobject(py)
}

fn lines_of(stack: Option<&Stack>) -> Vec<String> {
    let frames = stack.into_iter().flat_map(|stack| stack.iter());
    frames.map(|frame| format!("{}:{} in {}", frame.file, frame.line, frame.name)).collect()
}
