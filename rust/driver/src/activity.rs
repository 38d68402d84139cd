//! A recording of what devices and the program do, for traces.
//!
//! The driver records what runs on its streams, if its work runs in this process; for other drivers the layer above
//! records events around it. While nothing is recorded, each function is one load.

use std::sync::Arc;
use std::time::Instant;

use interlock_core::base::fork::rank;
use interlock_core::base::sync::{ForkLock, RelaxedBool, RelaxedU64};
use interlock_core::named_enum;

use crate::{DeviceIndex, StreamHandle};

named_enum! {
    /// What an [`Activity`] is.
    ///
    /// ```
    /// use interlock_driver::activity::ActivityKind;
    ///
    /// assert_eq!(ActivityKind::Synchronize.to_string(), "synchronize");
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ActivityKind {
        /// Work of a stream.
        Task => "task",
        /// A stream waits for another one.
        Wait => "wait",
        /// The program queues work.
        Call => "call",
        /// The program waits.
        Synchronize => "synchronize",
        /// Memory was allocated or freed.
        Memory => "memory",
        /// Work of a stream failed.
        Error => "error",
    }
}

/// Where an [`Activity`] happens.
///
/// ```
/// use interlock_driver::activity::{Place, this_thread};
///
/// assert!(matches!(this_thread(), Place::Thread(..)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// On a stream.
    Stream(StreamHandle),
    /// On a device.
    Device(DeviceIndex),
    /// On a thread of the program, with its number and name.
    Thread(u64, Arc<str>),
}

/// Something that a device or the program did.
///
/// ```
/// use interlock_driver::activity::{Activity, ActivityKind};
///
/// fn seconds_of_tasks(activities: &[Activity]) -> f64 {
///     let tasks = activities.iter().filter(|activity| activity.kind == ActivityKind::Task);
///     tasks.map(|task| (task.end - task.start).as_secs_f64()).sum()
/// }
/// # assert_eq!(seconds_of_tasks(&[]), 0.0);
/// ```
#[derive(Clone, Debug)]
pub struct Activity {
    /// What it is.
    pub kind: ActivityKind,
    /// The name of the operation, or the reason of an error.
    pub name: Arc<str>,
    /// Where it happens.
    pub place: Place,
    /// When it began.
    pub start: Instant,
    /// When it ended.
    pub end: Instant,
    /// The bytes that are allocated on the device, for [`ActivityKind::Memory`].
    pub bytes: u64,
    /// A number that a call shares with the task that it queued; 0 for none.
    pub link: u64,
    /// The stream that a [`ActivityKind::Wait`] waits for, if it is known.
    pub awaited: Option<StreamHandle>,
}

struct Recording {
    activities: Vec<Activity>,
    most: usize,
    /// The number of activities beyond `most`.
    dropped: usize,
}

static IS_ON: RelaxedBool = RelaxedBool::new(false);
static LAST_LINK: RelaxedU64 = RelaxedU64::new(0);

/// A forked child has none of the work of its parent.
static RECORDING: ForkLock<Option<Recording>> = ForkLock::with_child_hook(rank::ACTIVITIES, None, || {
    IS_ON.set(false);
});

/// Returns whether activities are recorded.
#[inline]
pub fn is_on() -> bool {
    IS_ON.get()
}

/// Records activities until it is finished or dropped. A process has one at a time.
///
/// ```
/// use interlock_driver::activity::ActivityRecorder;
///
/// let recorder = ActivityRecorder::start(1000).unwrap();
/// assert!(ActivityRecorder::start(1000).is_none());
/// let (activities, dropped) = recorder.finish();
/// assert_eq!((activities.len(), dropped), (0, 0));
/// ```
#[derive(Debug)]
pub struct ActivityRecorder {
    start: Instant,
}

impl ActivityRecorder {
    /// Starts to record at most so many activities; later ones are counted. Returns `None` if a recorder exists.
    pub fn start(most: usize) -> Option<Self> {
        let mut recording = RECORDING.lock();
        if recording.is_some() {
            return None;
        }
        *recording = Some(Recording { activities: Vec::new(), most, dropped: 0 });
        IS_ON.set(true);
        Some(ActivityRecorder { start: Instant::now() })
    }

    /// Returns the time at which the recording started.
    pub fn started_at(&self) -> Instant {
        self.start
    }

    /// Ends the recording; returns the activities and the number of those that were dropped.
    pub fn finish(self) -> (Vec<Activity>, usize) {
        let recording = take();
        // Dropping this recorder would end the recording of a recorder that starts next.
        std::mem::forget(self);
        recording.map_or_else(Default::default, |recording| (recording.activities, recording.dropped))
    }
}

impl Drop for ActivityRecorder {
    fn drop(&mut self) {
        drop(take());
    }
}

fn take() -> Option<Recording> {
    let mut recording = RECORDING.lock();
    IS_ON.set(false);
    recording.take()
}

/// Adds an activity.
pub fn record(activity: Activity) {
    if let Some(recording) = RECORDING.lock().as_mut() {
        match recording.activities.len() < recording.most {
            true => recording.activities.push(activity),
            false => recording.dropped = recording.dropped.saturating_add(1),
        }
    }
}

/// Returns a new link between a call and the task that it queues; 0 while nothing is recorded.
#[inline]
pub fn new_link() -> u64 {
    if is_on() { LAST_LINK.add(1) } else { 0 }
}

/// An activity that has begun; nothing if none was recorded then.
///
/// ```
/// use interlock_driver::activity::{self, ActivityKind, ActivityRecorder};
///
/// let recorder = ActivityRecorder::start(10).unwrap();
/// let begun = activity::begin(ActivityKind::Call, activity::this_thread, 0, || "queue a copy".into());
/// begun.end();
/// assert_eq!(recorder.finish().0.len(), 1);
/// ```
#[derive(Debug, Default)]
pub struct Begun(Option<Beginning>);

#[derive(Debug)]
struct Beginning {
    kind: ActivityKind,
    name: Arc<str>,
    place: Place,
    start: Instant,
    link: u64,
    awaited: Option<StreamHandle>,
}

/// Begins an activity, which [`Begun::end`] records.
#[inline]
pub fn begin(
    kind: ActivityKind,
    place: impl FnOnce() -> Place,
    link: u64,
    name: impl FnOnce() -> String,
) -> Begun {
    let begin = || Beginning {
        kind,
        name: name().into(),
        place: place(),
        start: Instant::now(),
        link,
        awaited: None,
    };
    Begun(is_on().then(begin))
}

/// Begins a wait of a stream for another one.
#[inline]
pub fn begin_wait(stream: StreamHandle, awaited: StreamHandle) -> Begun {
    let name = || WAIT.to_owned();
    let Begun(begun) = begin(ActivityKind::Wait, || Place::Stream(stream), 0, name);
    Begun(begun.map(|begun| Beginning { awaited: Some(awaited), ..begun }))
}

/// The name of the waits of streams for each other.
pub const WAIT: &str = "wait for another stream";

impl Begun {
    /// Records the activity, which ends now.
    pub fn end(self) {
        if let Some(Beginning { kind, name, place, start, link, awaited }) = self.0 {
            record(Activity { kind, name, place, start, end: Instant::now(), bytes: 0, link, awaited });
        }
    }
}

/// Records that work of a stream failed.
#[inline]
pub fn error(stream: StreamHandle, reason: impl FnOnce() -> String) {
    if is_on() {
        let (kind, place, now) = (ActivityKind::Error, Place::Stream(stream), Instant::now());
        let name = reason().into();
        record(Activity { kind, name, place, start: now, end: now, bytes: 0, link: 0, awaited: None });
    }
}

/// Records the bytes that are allocated on a device.
#[inline]
pub fn memory(device: DeviceIndex, bytes: impl FnOnce() -> u64) {
    if is_on() {
        let (kind, place, now) = (ActivityKind::Memory, Place::Device(device), Instant::now());
        let (name, bytes) = ("allocated bytes".into(), bytes());
        record(Activity { kind, name, place, start: now, end: now, bytes, link: 0, awaited: None });
    }
}

/// Returns this thread, as the place of what the program does.
pub fn this_thread() -> Place {
    static LAST: RelaxedU64 = RelaxedU64::new(0);
    thread_local! {
        static NUMBER: u64 = LAST.add(1);
    }
    // Not accessible while the thread ends.
    let number = NUMBER.try_with(|number| *number).unwrap_or(0);
    let thread = std::thread::current();
    Place::Thread(number, thread.name().unwrap_or("thread of the program").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recording_keeps_the_first_activities_and_counts_the_others() {
        let recorder = ActivityRecorder::start(2).unwrap();
        assert_ne!(new_link(), new_link());
        for _ in 0..3 {
            begin(ActivityKind::Call, this_thread, 0, || "work".into()).end();
        }
        let (activities, dropped) = recorder.finish();
        assert_eq!((activities.len(), dropped), (2, 1));
        assert!(activities.iter().all(|activity| activity.start <= activity.end));
        assert!(!is_on() && begin(ActivityKind::Call, this_thread, 0, || "work".into()).0.is_none());
        assert_eq!(new_link(), 0);
    }
}
