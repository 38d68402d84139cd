//! Injection of errors into the host driver, for tests.

use interlock::accelerator::held_objects;
use interlock::accelerator::host;
use interlock_core::base::mutex::Mutex;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyTuple};

use super::fault;
use crate::args::{extract_int, extract_list, extract_str};
use crate::detach::detach;
use crate::device;
use crate::errors::{IntoPyResult, exception};
use crate::registration_observer::observed;
use crate::switches::{self, extract_as};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<FaultInjector>()?;
    module.add_class::<PausedCopies>()
}

/// Defines a function that extracts an argument that is a number from 1 on.
macro_rules! extract_count {
    ($($function:ident: $name:literal;)+) => {$(
        fn $function(given: &Bound<'_, PyAny>) -> PyResult<u64> {
            extract_int(given, concat!("FaultInjector.", $name), "from 1 to 2**64 - 1")
        }
    )+};
}

extract_count! {
    allocation_number: "fail_allocation: number";
    allocation_times: "fail_allocation: times";
    pinned_allocation_number: "fail_pinned_allocation: number";
    pinned_allocation_times: "fail_pinned_allocation: times";
}

/// Extracts `reason` of a method.
macro_rules! reason {
    ($method:literal, $given:expr) => {
        &*extract_str($given, concat!("FaultInjector.", $method, ": reason"))?
    };
}

/// Injects errors into the devices of a host driver, to test error handling: `accelerator.use("host", faults=faults)`.
/// Each driver needs its own object.
///
/// Methods raise `NoAcceleratorError` if no host driver was started with this object in this process. A forked child
/// starts its own driver when it uses a device, which begins without faults.
///
/// Example:
///     >>> import interlock
///     >>> from interlock import accelerator, testing
///     >>> faults = testing.FaultInjector()
///     >>> accelerator.use("host", faults=faults)
///     >>> stream = interlock.Stream()
///     >>> faults.fail_next_launch("injected")
///     >>> accelerator.launch(stream, print, "not printed")
///     >>> try:
///     ...     stream.synchronize()
///     ... except accelerator.AcceleratorError as error:
///     ...     str(error).endswith("injected")
///     True
#[pyclass(frozen, subclass, module = "interlock.testing", name = "FaultInjector")]
pub(super) struct FaultInjector(pub(super) host::FaultInjector);

#[pymethods]
impl FaultInjector {
    #[new]
    fn new() -> Self {
        FaultInjector(host::FaultInjector::new())
    }

    /// Inject a fault: a rule that says which operations it matches, which of the matches it affects, and what happens.
    ///
    /// Operations are counted when they are queued, also if they are queued by interlock itself, and those of a graph when
    /// it is replayed. Each fault counts for itself. At most one fault fails an operation: another one whose turn it is
    /// fails the next match. Without `delay` and `never`, the operation fails.
    ///
    /// Args:
    ///     operation: The kind of operation: "launch" (a function, also a kernel of a tensor), "copy", "fill", "event" (a
    ///         record), "allocation" or "pinned allocation" (by the driver). None matches functions, copies and fills.
    ///     error: The text at the end of the `AcceleratorError` that the next wait raises; "injected" by default. An
    ///         allocation raises `OutOfMemoryError` instead, after the driver was called again.
    ///     sticky: Whether the failure breaks the device for the rest of the process, as a sticky error of CUDA does:
    ///         every later call that uses it raises `DeviceLostError`, like `lose_device`.
    ///     delay: The seconds by which the operation runs later than it could. With `times=None` a device is slow.
    ///     never: Whether the operation, and the work behind it on its stream, does not complete before `clear`.
    ///     name: The name of a function or a kernel, in which `*` stands for any text and `?` for one character. A
    ///         function has its `__qualname__`.
    ///     device: The device that does the work, or whose memory is allocated.
    ///     stream: The stream, or its `native_handle`.
    ///     number: The first match that is affected; 1 is the next.
    ///     times: How many matches are affected, from that one on; None for all.
    ///     probability: The probability, from 0 to 1, that each of them is affected. They are all affected by default.
    ///     seed: The seed of these choices: the same seed gives the same choices in the order of the matches.
    ///
    /// Raises:
    ///     ArgumentError: A value is not accepted, or no operation could match.
    ///     DeviceError: The driver does not have the device.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> from interlock import accelerator, testing
    ///     >>> faults = testing.FaultInjector()
    ///     >>> accelerator.use("host", faults=faults)
    ///     >>> stream, seen = interlock.Stream(), []
    ///     >>> faults.inject("launch", name="*append", number=2, error="a cable came loose")
    ///     >>> for value in range(3):
    ///     ...     accelerator.launch(stream, seen.append, value)
    ///     >>> try:
    ///     ...     stream.synchronize()
    ///     ... except accelerator.AcceleratorError as error:
    ///     ...     print(error)
    ///     list.append failed on host:0: a cable came loose
    ///     >>> seen
    ///     [0, 2]
    #[pyo3(
        signature = (operation = None, **options),
        text_signature = "($self, operation=None, *, error=None, sticky=False, delay=None, never=False, name=None, \
                          device=None, stream=None, number=1, times=1, probability=None, seed=0)"
    )]
    fn inject(
        &self,
        py: Python<'_>,
        operation: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let options = options.map_or_else(|| Ok(PyDict::new(py)), |options| options.copy())?;
        options.set_item("operation", operation)?;
        self.0.inject(fault::from_dict(&options)?).into_py_result(py)
    }

    /// Inject all of several faults, which are dicts of the arguments of `inject`, or none. An error has the index of its
    /// fault as a note.
    fn _inject_all(&self, py: Python<'_>, faults: &Bound<'_, PyAny>) -> PyResult<()> {
        let with_index = |index: usize, error: PyErr| {
            let note = format!("This is the fault with the index {index} of a scenario.");
            error.value(py).call_method1("add_note", (note,)).map_or_else(|other| other, |_| error)
        };
        let parse = |(index, fault): (usize, Bound<'_, PyAny>)| {
            let dict = extract_as("FaultInjector._inject_all: each of faults", "a dict", &fault)?;
            fault::from_dict(&dict).map_err(|error| with_index(index, error))
        };
        let faults = extract_list(faults, "FaultInjector._inject_all: faults")?;
        let faults = faults.iter().enumerate().map(parse).collect::<PyResult<_>>()?;
        self.0.inject_all(faults).map_err(|(index, error)| {
            let error = exception(py, &error);
            if let Some(index) = index { with_index(index, error) } else { error }
        })
    }

    /// Return the faults that are still to occur, or may occur again, in the order in which they were injected.
    ///
    /// Returns:
    ///     For each a dict of the arguments of `inject` that differ from their defaults, with `matched` and `fired`: how
    ///     many operations it has matched and affected. Devices are names, and streams their `native_handle`.
    ///
    /// Example:
    ///     >>> from interlock import accelerator, testing
    ///     >>> faults = testing.FaultInjector()
    ///     >>> accelerator.use("host", faults=faults)
    ///     >>> faults.inject("fill", error="bad cell", device=0, number=2)
    ///     >>> _ = accelerator.memory.Buffer(8).fill_(0)
    ///     >>> for fault in faults.pending():
    ///     ...     print(fault)
    ///     {'operation': 'fill', 'error': 'bad cell', 'device': 'host:0', 'number': 2, 'matched': 1, 'fired': 0}
    fn pending<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let to_dict = |pending: &host::PendingFault| {
            let dict = fault::to_dict(py, &pending.fault)?;
            dict.set_item("matched", pending.matched)?;
            dict.set_item("fired", pending.fired)?;
            Ok(dict)
        };
        self.0.pending().into_py_result(py)?.iter().map(to_dict).collect()
    }

    /// Return all faults that were injected since the last `clear`, in their order, also those that have occurred.
    ///
    /// Returns:
    ///     For each a dict of the arguments of `inject` that differ from their defaults: `testing.Scenario` repeats them.
    ///
    /// Example:
    ///     >>> from interlock import accelerator, testing
    ///     >>> faults = testing.FaultInjector()
    ///     >>> accelerator.use("host", faults=faults)
    ///     >>> faults.fail_next_copy("bus error")
    ///     >>> faults.injected()
    ///     [{'operation': 'copy', 'error': 'bus error'}]
    fn injected<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let injected = self.0.injected().into_py_result(py)?;
        injected.iter().map(|fault| fault::to_dict(py, fault)).collect()
    }

    /// Remove all faults. Work that they delay runs, and work that they keep from completing completes. Lost devices
    /// remain lost, and paused copies paused.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        detach(py, || self.0.clear()).into_py_result(py)
    }

    /// Make later allocations of device memory by the driver fail. Each call adds a fault.
    ///
    /// A request that no cached block serves calls the driver, and calls it again after the allocator has released its
    /// cache. So `times=1` only tests the release. With `times=2` the request fails: the callbacks of
    /// `accelerator.memory.on_oom` run, and `OutOfMemoryError` is raised unless one of them requests a retry.
    ///
    /// Args:
    ///     number: The first allocation that fails; 1 is the next one.
    ///     times: How many consecutive allocations fail.
    ///
    /// Raises:
    ///     ArgumentError: `number` or `times` is less than 1.
    ///
    /// Example:
    ///     >>> from interlock import accelerator, testing
    ///     >>> faults = testing.FaultInjector()
    ///     >>> accelerator.use("host", faults=faults)
    ///     >>> faults.fail_allocation(1, times=2)
    ///     >>> with accelerator.memory.on_oom(lambda error: True):
    ///     ...     accelerator.memory.Buffer(8)
    ///     interlock.accelerator.memory.Buffer(8, device='host:0')
    #[pyo3(signature = (number, times = 1))]
    fn fail_allocation(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = allocation_number)] number: u64,
        #[pyo3(from_py_with = allocation_times)] times: u64,
    ) -> PyResult<()> {
        self.0.fail_allocations(number, times).into_py_result(py)
    }

    /// Make later allocations of pinned memory by the driver fail, like `fail_allocation`. The cache of pinned memory is
    /// released and the driver called again before an error is raised.
    ///
    /// Args:
    ///     number: The first allocation that fails; 1 is the next one.
    ///     times: How many consecutive allocations fail.
    ///
    /// Raises:
    ///     ArgumentError: `number` or `times` is less than 1.
    #[pyo3(signature = (number, times = 1))]
    fn fail_pinned_allocation(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = pinned_allocation_number)] number: u64,
        #[pyo3(from_py_with = pinned_allocation_times)] times: u64,
    ) -> PyResult<()> {
        self.0.fail_pinned_allocations(number, times).into_py_result(py)
    }

    /// Make the next function that `accelerator.launch` queues fail instead of running. The error is reported
    /// asynchronously. Each call adds one failure. A kernel of a tensor on a device counts as a function, and functions
    /// in a graph count when the graph is replayed.
    ///
    /// Args:
    ///     reason: The text at the end of the `AcceleratorError`.
    #[pyo3(signature = (reason))]
    fn fail_next_launch(&self, reason: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.fail_next_launch(reason!("fail_next_launch", reason)).into_py_result(reason.py())
    }

    /// Make the next copy fail, like `fail_next_launch`.
    ///
    /// Args:
    ///     reason: The text at the end of the `AcceleratorError`.
    #[pyo3(signature = (reason))]
    fn fail_next_copy(&self, reason: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.fail_next_copy(reason!("fail_next_copy", reason)).into_py_result(reason.py())
    }

    /// Make the next fill fail, like `fail_next_launch`.
    ///
    /// Args:
    ///     reason: The text at the end of the `AcceleratorError`.
    #[pyo3(signature = (reason))]
    fn fail_next_fill(&self, reason: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.fail_next_fill(reason!("fail_next_fill", reason)).into_py_result(reason.py())
    }

    /// Lose a device: every later call that uses it, and every wait for its queued work, raises `DeviceLostError`. That
    /// includes allocations that the cache could serve. An `Event` uses its device when it is recorded first.
    ///
    /// Args:
    ///     device: An index, a device or its name, with an index.
    ///     reason: The text at the end of the `DeviceLostError`.
    ///
    /// Raises:
    ///     DeviceError: The driver does not have the device.
    #[pyo3(signature = (device, reason))]
    fn lose_device(&self, device: &Bound<'_, PyAny>, reason: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, reason) = (device.py(), reason!("lose_device", reason));
        let index = device::with_index(device, "FaultInjector.lose_device")?.index().unwrap_or(0);
        detach(py, || self.0.lose_device(index, reason)).into_py_result(py)
    }

    /// Pause copies on all devices of the driver: none begins until the returned object is released.
    ///
    /// Returns:
    ///     A context manager that ends the pause. While several of them exist, copies remain paused.
    fn pause_copies<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PausedCopies>> {
        let hold = self.0.pause_copies().into_py_result(py)?;
        observed(
            "interlock.testing.FaultInjector.pause_copies",
            Bound::new(py, PausedCopies(Mutex::new(Some(hold))))?,
        )
    }

    /// Return the number of objects that the program holds on the devices, for tests of leaks.
    ///
    /// Collect garbage and synchronize the devices first: unreachable objects are alive until the garbage collector runs,
    /// and queued work holds its memory.
    ///
    /// Args:
    ///     internal: Whether to count all objects of the driver, also what interlock owns: pooled streams, events of
    ///         the allocators, cached memory, streams of graphs and worker threads. None of these is a leak of the
    ///         program.
    ///
    /// Returns:
    ///     A dict with `streams` (dedicated ones), `events` (recorded ones), `graphs`, `executables` (instantiated
    ///     graphs), `captures`, `commands` (queued work), `bytes` of the devices and `pinned_bytes`, both as the
    ///     allocator rounds them. With `internal` also `replay_streams` (internal streams of graphs) and `threads`.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> from interlock import accelerator, testing
    ///     >>> faults = testing.FaultInjector()
    ///     >>> accelerator.use("host", faults=faults)
    ///     >>> pooled, dedicated = interlock.Stream(), interlock.Stream(dedicated=True)
    ///     >>> [faults.live_objects(internal=internal)["streams"] for internal in (False, True)]
    ///     [1, 2]
    #[pyo3(signature = (*, internal = false))]
    fn live_objects<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = switches::live_objects::internal)] internal: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let counts = if internal {
            let live = self.0.live_objects().into_py_result(py)?;
            vec![
                ("streams", live.streams as u64),
                ("events", live.events as u64),
                ("graphs", live.graphs as u64),
                ("executables", live.executables as u64),
                ("replay_streams", live.replay_streams as u64),
                ("captures", live.captures as u64),
                ("threads", live.threads as u64),
                ("commands", live.commands),
                ("bytes", live.bytes),
                ("pinned_bytes", live.pinned_bytes),
            ]
        } else {
            let held = held_objects(&self.0).into_py_result(py)?;
            vec![
                ("streams", held.streams as u64),
                ("events", held.events as u64),
                ("graphs", held.graphs as u64),
                ("executables", held.executables as u64),
                ("captures", held.captures as u64),
                ("commands", held.commands),
                ("bytes", held.bytes),
                ("pinned_bytes", held.pinned_bytes),
            ]
        };
        counts.into_py_dict(py)
    }
}

/// A pause of copies, as `FaultInjector.pause_copies` returns it. `with paused:` releases it at the end of the block.
#[pyclass(frozen, weakref, module = "interlock.testing", name = "PausedCopies")]
struct PausedCopies(Mutex<Option<host::PausedCopies>>);

impl PausedCopies {
    /// Calls `action` with the locked pause. It must not block or wait for Python.
    fn with<R>(&self, action: impl FnOnce(&mut Option<host::PausedCopies>) -> R) -> R {
        action(&mut self.0.lock())
    }
}

#[pymethods]
impl PausedCopies {
    /// Let one copy begin that waits only for the pause. To be sure that a copy waits only for the pause, first
    /// synchronize an event that was recorded before it.
    ///
    /// Returns:
    ///     Whether a copy began; False if none waits only for the pause, or the pause was released.
    fn step(&self, py: Python<'_>) -> bool {
        detach(py, || self.with(|hold| hold.as_ref().is_some_and(host::PausedCopies::step)))
    }

    /// Whether the pause was not released.
    #[getter]
    fn is_active(&self) -> bool {
        self.with(|hold| hold.is_some())
    }

    /// Release the pause. Copies begin again unless another pause exists.
    fn release(&self, py: Python<'_>) {
        detach(py, || drop(self.with(Option::take)));
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) {
        self.release(py);
    }
}
