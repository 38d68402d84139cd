//! Tasks with their times, for traces of drivers that do not record their work: events around each task.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use interlock_core::base::mutex::Mutex;
use interlock_driver::activity::{self, Activity, ActivityKind, Place};
use interlock_driver::{
    DeviceIndex, DriverRuntime, EventHandle, EventOptions, StreamHandle, WaitPolicy, WaitTarget,
};

use crate::Result;

/// The longest wait for work that a trace has seen.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

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

/// Records the tasks that were queued since the last call, after waiting for them; without a driver it forgets them.
pub(crate) fn record_all(driver: Option<&dyn DriverRuntime>) {
    let events = EVENTS.lock().take();
    if let Some((events, driver)) = events.zip(driver) {
        events.record(driver);
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
    call.end();
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
