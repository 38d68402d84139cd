//! Traces: what ran on which stream, and when.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use interlock_core::base::mutex::Mutex;
use interlock_driver::activity::{self, Activity, ActivityKind, ActivityRecorder, Place};
use interlock_driver::{
    DeviceIndex, DriverRuntime, EventHandle, EventOptions, StreamHandle, WaitPolicy, WaitTarget,
};

use crate::{Error, Result, registry};

/// The longest wait for work that a trace has seen.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Records what streams and the program do, in the whole process, until it is finished.
///
/// Drivers whose work runs in this process record it exactly. For others, events with times are recorded around each
/// task, but none while a stream is captured.
///
/// ```
/// use interlock_accelerator::{HostFn, Stream, Trace};
///
/// interlock_accelerator::use_named("host")?;
/// let trace = Trace::start(1000)?;
/// let stream = Stream::new(None, 0)?;
/// stream.launch(HostFn::new("greet", || Ok(())))?;
/// stream.synchronize()?;
/// let recorded = trace.finish();
/// assert!(recorded.activities.iter().any(|activity| &*activity.name == "greet"));
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Debug)]
pub struct Trace(ActivityRecorder);

/// What a [`Trace`] has recorded.
#[derive(Debug)]
pub struct RecordedTrace {
    /// When it started.
    pub start: Instant,
    /// What was done, in the order of its end.
    pub activities: Vec<Activity>,
    /// The number of further activities.
    pub dropped: usize,
}

/// A task between two events.
struct Timed {
    name: String,
    stream: StreamHandle,
    link: u64,
    start: EventHandle,
    end: EventHandle,
}

/// The tasks of drivers that record no activities, and for each device an event whose time is known.
#[derive(Default)]
struct Events {
    tasks: Vec<Timed>,
    known: HashMap<DeviceIndex, (EventHandle, Instant)>,
}

static EVENTS: Mutex<Option<Events>> = Mutex::new(None);

impl Trace {
    /// Starts to record at most so many activities; later ones are counted.
    ///
    /// # Errors
    /// Returns [`Error::Argument`] if a trace is being recorded.
    pub fn start(most: usize) -> Result<Self> {
        let recorder = ActivityRecorder::start(most);
        recorder.map(Trace).ok_or_else(|| {
            Error::argument("accelerator.trace", "a second trace", "one at a time in a process")
        })
    }

    /// Ends the recording. Waits for the work of drivers that record no activities.
    pub fn finish(self) -> RecordedTrace {
        let events = EVENTS.lock().take();
        if let Some(events) = events
            && let Some(accelerator) = registry::try_accelerator()
        {
            events.record(&**accelerator.runtime());
        }
        let start = self.0.started_at();
        let (activities, dropped) = self.0.finish();
        RecordedTrace { start, activities, dropped }
    }
}

/// Calls `queue`, which queues a task on a stream, and records the task if the driver does not.
pub(crate) fn timed<T>(
    driver: &dyn DriverRuntime,
    stream: StreamHandle,
    name: impl FnOnce() -> String,
    queue: impl FnOnce() -> Result<T>,
) -> Result<T> {
    if !activity::is_on() || driver.records_activities() || driver.capture_id(stream)?.is_some() {
        return queue();
    }
    let name = name();
    let link = activity::new_link();
    let call = activity::begin(ActivityKind::Call, activity::this_thread, link, || format!("queue {name}"));
    let start = Events::begin(driver, stream)?;
    let queued = queue();
    let end = record_event(driver, stream)?;
    if let Some(call) = call {
        call.end();
    }
    EVENTS.lock().get_or_insert_default().tasks.push(Timed { name, stream, link, start, end });
    queued
}

impl Events {
    /// Records the event before a task.
    fn begin(driver: &dyn DriverRuntime, stream: StreamHandle) -> Result<EventHandle> {
        let is_known = EVENTS.lock().as_ref().is_some_and(|events| events.known.contains_key(&stream.device));
        if !is_known {
            let event = record_event(driver, driver.default_stream(stream.device)?)?;
            wait(driver, event)?;
            let known = (event, Instant::now());
            EVENTS.lock().get_or_insert_default().known.entry(stream.device).or_insert(known);
        }
        record_event(driver, stream)
    }

    /// Records the tasks, whose events are then destroyed.
    fn record(self, driver: &dyn DriverRuntime) {
        for task in self.tasks {
            // The program gets the error of a task when it waits for its stream.
            let _ = wait(driver, task.end);
            if let Some((known, at)) = self.known.get(&task.stream.device) {
                let time = |event| driver.elapsed(*known, event).map(|after| *at + milliseconds(after));
                if let (Ok(start), Ok(end)) = (time(task.start), time(task.end)) {
                    let (kind, place) = (ActivityKind::Task, Place::Stream(task.stream));
                    let (name, link) = (task.name.into(), task.link);
                    activity::record(Activity { kind, name, place, start, end, bytes: 0, link });
                }
            }
            driver.destroy_event(task.start);
            driver.destroy_event(task.end);
        }
        self.known.into_values().for_each(|(event, _)| driver.destroy_event(event));
    }
}

fn milliseconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value / 1e3).unwrap_or_default()
}

fn record_event(driver: &dyn DriverRuntime, stream: StreamHandle) -> Result<EventHandle> {
    let event =
        driver.create_event(stream.device, EventOptions { timing: true, ..EventOptions::default() })?;
    driver.record_event(event, stream).inspect_err(|_| driver.destroy_event(event))?;
    Ok(event)
}

fn wait(driver: &dyn DriverRuntime, event: EventHandle) -> Result<bool> {
    let policy = WaitPolicy { timeout: LONGEST_WAIT, blocking: true };
    driver.wait(&driver.sync_point(WaitTarget::Event(event))?, policy)
}
