//! Tasks with their times, for traces of drivers that do not record their work: events around each task.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use interlock_core::base::fork::rank;
use interlock_core::base::sync::ForkLock;
use interlock_driver::activity::{self, Activity, ActivityKind, Begun, Place};
use interlock_driver::{DeviceIndex, DriverRuntime, EventHandle, EventOptions, StreamHandle, WaitPolicy};

use crate::Result;

/// The longest wait for all work that a trace has seen, and for the event whose time is known.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The tasks after which those that have completed are recorded, so that their events are destroyed.
const MAX_HELD: usize = 4096;

/// What a stream does between two events.
pub(crate) struct Timed {
    kind: ActivityKind,
    name: String,
    stream: StreamHandle,
    awaited: Option<StreamHandle>,
}

impl Timed {
    /// Describes a task.
    pub(crate) fn task(stream: StreamHandle, name: impl Into<String>) -> Self {
        Timed { kind: ActivityKind::Task, name: name.into(), stream, awaited: None }
    }

    /// Describes a wait for another stream, which may be unknown.
    pub(crate) fn wait(stream: StreamHandle, awaited: Option<StreamHandle>) -> Self {
        Timed { kind: ActivityKind::Wait, name: activity::WAIT.to_owned(), stream, awaited }
    }

    /// Begins the call that queues a task, and returns its link. A wait has none.
    fn begin_call(&self) -> (Begun, u64) {
        if self.kind != ActivityKind::Task {
            return Default::default();
        }
        let (link, name) = (activity::new_link(), || format!("queue {}", self.name));
        (activity::begin(ActivityKind::Call, activity::this_thread, link, name), link)
    }
}

/// What is between two recorded events.
struct Held {
    timed: Timed,
    link: u64,
    start: EventHandle,
    end: EventHandle,
}

/// The tasks of drivers that record no activities, and for each device an event whose time is known.
#[derive(Default)]
struct Events {
    tasks: Vec<Held>,
    /// The number of tasks at which completed ones are recorded.
    full_at: usize,
    known: HashMap<DeviceIndex, (EventHandle, Instant)>,
}

/// A forked child cannot use the events of its parent.
static EVENTS: ForkLock<Option<Events>> =
    ForkLock::with_child_hook(rank::TIMED_TASKS, None, || drop(EVENTS.lock().take()));

/// Records the tasks that were queued since the last call, after waiting for them; without a driver it forgets them.
pub(crate) fn record_all(driver: Option<&dyn DriverRuntime>) {
    let events = EVENTS.lock().take();
    let Some((mut events, driver)) = events.zip(driver) else { return };
    let deadline = Instant::now().checked_add(LONGEST_WAIT);
    for task in std::mem::take(&mut events.tasks) {
        let timeout = deadline.map_or(LONGEST_WAIT, |end| end.saturating_duration_since(Instant::now()));
        if wait(driver, task.end, timeout) {
            events.record(driver, &task);
        }
        task.destroy(driver);
    }
    events.known.into_values().for_each(|(event, _)| driver.destroy_event(event));
}

/// Destroys the events of a trace that is not finished.
pub(crate) fn discard_all(driver: Option<&dyn DriverRuntime>) {
    let events = EVENTS.lock().take();
    let Some((events, driver)) = events.zip(driver) else { return };
    events.tasks.into_iter().for_each(|task| task.destroy(driver));
    events.known.into_values().for_each(|(event, _)| driver.destroy_event(event));
}

/// Calls `queue`, which queues work on a stream, and records the work if the driver does not. What prevents the record
/// of a time is not an error of the work.
#[inline]
pub(crate) fn timed<T>(
    driver: &dyn DriverRuntime,
    work: impl FnOnce() -> Timed,
    queue: impl FnOnce() -> Result<T>,
) -> Result<T> {
    match activity::is_on() && !driver.records_activities() {
        true => queue_timed(driver, work(), queue),
        false => queue(),
    }
}

#[cold]
fn queue_timed<T>(driver: &dyn DriverRuntime, timed: Timed, queue: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(start) = Events::begin(driver, timed.stream) else { return queue() };
    let (call, link) = timed.begin_call();
    let queued = queue();
    let end = queued.as_ref().ok().and_then(|_| record_event(driver, timed.stream));
    match end {
        Some(end) => {
            call.end();
            Events::hold(driver, Held { timed, link, start, end });
        }
        None => driver.destroy_event(start),
    }
    queued
}

impl Events {
    /// Records the event before a task, unless the stream is captured.
    fn begin(driver: &dyn DriverRuntime, stream: StreamHandle) -> Option<EventHandle> {
        if driver.capture_id(stream).ok()?.is_some() {
            return None;
        }
        let is_known = EVENTS.lock().as_ref().is_some_and(|events| events.known.contains_key(&stream.device));
        if !is_known {
            Events::add_known(driver, stream.device)?;
        }
        record_event(driver, stream)
    }

    /// Adds an event whose time is known, on a stream without other work.
    fn add_known(driver: &dyn DriverRuntime, device: DeviceIndex) -> Option<()> {
        let idle = driver.create_stream(device, 0).ok()?;
        let recorded = record_event(driver, idle);
        let completed = recorded.filter(|event| wait(driver, *event, LONGEST_WAIT));
        let known = completed.map(|event| (event, Instant::now()));
        driver.destroy_stream(idle);
        let unused = match known {
            // Another thread may have added one meanwhile.
            Some(known) => {
                EVENTS.lock().get_or_insert_default().known.insert(device, known).map(|(event, _)| event)
            }
            None => recorded,
        };
        unused.into_iter().for_each(|event| driver.destroy_event(event));
        known.map(drop)
    }

    /// Keeps a task until its work has completed.
    fn hold(driver: &dyn DriverRuntime, task: Held) {
        let mut lock = EVENTS.lock();
        let events = lock.get_or_insert_default();
        events.tasks.push(task);
        if events.tasks.len() < events.full_at.max(MAX_HELD) {
            return;
        }
        let tasks = std::mem::take(&mut events.tasks);
        let known = Events { known: events.known.clone(), ..Events::default() };
        drop(lock);
        let is_done = |task: &Held| driver.has_completed(task.end).unwrap_or(true);
        let (done, mut remaining): (Vec<_>, Vec<_>) = tasks.into_iter().partition(is_done);
        for task in done {
            known.record(driver, &task);
            task.destroy(driver);
        }
        let mut lock = EVENTS.lock();
        let events = lock.get_or_insert_default();
        remaining.append(&mut events.tasks);
        events.full_at = remaining.len() + MAX_HELD;
        events.tasks = remaining;
    }

    /// Records a task that has completed, unless its times are unknown.
    fn record(&self, driver: &dyn DriverRuntime, task: &Held) {
        let Held { timed, link, .. } = task;
        let Some((known, at)) = self.known.get(&timed.stream.device) else { return };
        let time = |from, to| driver.elapsed(from, to).map(milliseconds);
        // Drivers return a float, which is exact for a short time only.
        if let (Ok(after), Ok(duration)) = (time(*known, task.start), time(task.start, task.end)) {
            let start = *at + after;
            activity::record(Activity {
                kind: timed.kind,
                name: timed.name.as_str().into(),
                place: Place::Stream(timed.stream),
                start,
                end: start + duration,
                bytes: 0,
                link: *link,
                awaited: timed.awaited,
            });
        }
    }
}

impl Held {
    fn destroy(self, driver: &dyn DriverRuntime) {
        driver.destroy_event(self.start);
        driver.destroy_event(self.end);
    }
}

fn milliseconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value / 1e3).unwrap_or_default()
}

/// Creates and records an event with a time, if the driver can.
fn record_event(driver: &dyn DriverRuntime, stream: StreamHandle) -> Option<EventHandle> {
    let options = EventOptions { timing: true, ..EventOptions::default() };
    let event = driver.create_event(stream.device, options).ok()?;
    driver.record_event(event, stream).inspect_err(|_| driver.destroy_event(event)).ok()?;
    Some(event)
}

/// Returns whether an event has completed in time. The program gets the error of its work when it waits itself.
fn wait(driver: &dyn DriverRuntime, event: EventHandle, timeout: Duration) -> bool {
    WaitPolicy { timeout, blocking: true }.poll_until(|| driver.has_completed(event)).unwrap_or(false)
}
