//! Detection of races: accesses of the same bytes by two streams, or by a stream and the program, that nothing orders.
//!
//! While a [`RaceDetector`] exists, a driver whose work runs on the CPU reports here what is queued on which
//! stream, which streams and threads wait for what, and which bytes work accesses when it runs. Each piece of work has
//! a vector clock with what it comes after, so a race is found even if the accesses happened one after the other this
//! time. The last accesses of each byte are kept as FastTrack keeps those of variables: C. Flanagan and S. N. Freund,
//! "FastTrack: Efficient and Precise Dynamic Race Detection", PLDI 2009.
//!
//! Only memory that a driver allocated is observed: of devices, and pinned memory. While there is no detector, each
//! function is one load.

mod access;
mod clock;
mod detector;
mod race;
mod running;
mod shadow;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use interlock_core::base::fork::rank;
use interlock_core::base::sync::{ForkLock, RelaxedU64};

pub use access::{AccessKind, Moment, Work};
use clock::VectorClock;
use detector::Detector;
pub use race::{Race, RacingAccess};
use running::PendingCount;
pub use running::{Running, RunningGuard, current};

use crate::stack::current_or_captured_stack;
use crate::{Address, ByteRange, DeviceIndex, StackUser, StreamHandle};

static LAST_SESSION: RelaxedU64 = RelaxedU64::new(0);

/// The detector of the session. A forked child has none: it cannot use the devices of its parent.
static DETECTOR: ForkLock<Option<Box<Detector>>> =
    ForkLock::with_child_hook(rank::RACES, None, || drop(end_session(&mut DETECTOR.lock())));

/// Ends the session and returns its detector.
fn end_session(detector: &mut Option<Box<Detector>>) -> Option<Box<Detector>> {
    StackUser::Races.set_active(false);
    detector.take()
}

/// Returns whether races are being detected.
#[inline]
pub fn is_on() -> bool {
    StackUser::Races.is_active()
}

/// Calls `function` with the detector, if there is one.
#[inline]
fn with<T>(function: impl FnOnce(&mut Detector) -> T) -> Option<T> {
    if is_on() { DETECTOR.lock().as_deref_mut().map(function) } else { None }
}

/// Detects races of the whole process until it is dropped. Several detectors share what they know of earlier work.
///
/// ```
/// use interlock_driver::races::RaceDetector;
///
/// let detector = RaceDetector::start();
/// // Work on streams of a driver that supports it.
/// assert!(detector.races().is_empty());
/// ```
#[derive(Debug)]
pub struct RaceDetector {
    session: u64,
    /// The number of races that were found before.
    first: usize,
    pending: PendingCount,
}

impl RaceDetector {
    /// Starts to detect races. What was queued before is not observed.
    pub fn start() -> Self {
        let mut detector = DETECTOR.lock();
        let detector = detector.get_or_insert_with(|| {
            StackUser::Races.set_active(true);
            Box::new(Detector::new(LAST_SESSION.add(1)))
        });
        let pending = detector.pending().clone();
        RaceDetector { session: detector.session(), first: detector.add_observer(), pending }
    }

    /// Returns the races that were found since the start, each pair of lines once; at most 1,000 pairs.
    pub fn races(&self) -> Vec<Race> {
        let of_session = |detector: &mut Detector| {
            (detector.session() == self.session).then(|| detector.races_since(self.first))
        };
        with(of_session).flatten().unwrap_or_default()
    }

    /// Returns the number of observed tasks of streams that have not run yet, so that their accesses are unknown.
    pub fn pending(&self) -> usize {
        // A forked child has none of the tasks.
        let is_running = with(|detector| detector.session() == self.session) == Some(true);
        if is_running { self.pending.get() } else { 0 }
    }
}

impl Drop for RaceDetector {
    fn drop(&mut self) {
        let mut detector = DETECTOR.lock();
        let own = detector.as_mut().filter(|detector| detector.session() == self.session);
        if own.is_some_and(|detector| detector.remove_observer()) {
            // Within the same lock, so that no detector that starts meanwhile loses its session.
            let ended = end_session(&mut detector);
            drop(detector);
            drop(ended);
        }
    }
}

/// A task in the queue of a stream, with its place in the order of everything else. A driver keeps it as long as the
/// task, and runs the task within [`run`](Queued::run).
///
/// ```
/// use interlock_driver::StreamHandle;
/// use interlock_driver::races::{self, RaceDetector};
///
/// let detector = RaceDetector::start();
/// let queued = races::queue(StreamHandle { device: 0, raw: 1 }, || "fill".into());
/// assert_eq!(detector.pending(), 1);
/// queued.run(|| ());
/// drop(queued);
/// assert_eq!(detector.pending(), 0);
/// ```
#[derive(Debug, Default)]
pub struct Queued(Option<running::Pending>);

impl Queued {
    /// Runs the task, whose accesses of memory are then attributed to it.
    pub fn run<T>(&self, task: impl FnOnce() -> T) -> T {
        let _running = Running::of(self.0.as_ref().map(running::Pending::moment)).enter();
        task()
    }
}

/// A point in the order of everything: an event, or the end of a stream or a device.
///
/// ```
/// use interlock_driver::StreamHandle;
/// use interlock_driver::races::{self, RaceDetector};
///
/// let _detector = RaceDetector::start();
/// let [writer, reader] = [1, 2].map(|raw| StreamHandle { device: 0, raw });
/// let recorded = races::end_of(writer);
/// // Work of the reader comes after what was queued on the writer.
/// races::order_after(reader, &recorded);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Point(Option<Arc<(u64, VectorClock)>>);

/// Adds a task at the end of a stream, after what this thread knows of. `operation` is its name.
#[inline]
pub fn queue(stream: StreamHandle, operation: impl FnOnce() -> String) -> Queued {
    if !is_on() {
        return Queued::default();
    }
    let work = Work::new(&operation(), Some(stream));
    Queued(with(|detector| running::Pending::new(detector.queue(stream, work), detector.pending().clone())))
}

/// Returns the point after all work of a stream that is queued now.
#[inline]
pub fn end_of(stream: StreamHandle) -> Point {
    Point(with(|detector| Arc::new((detector.session(), detector.end_of(stream)))))
}

/// Returns the point after all work of a device that is queued now.
#[inline]
pub fn end_of_device(device: DeviceIndex) -> Point {
    Point(with(|detector| Arc::new((detector.session(), detector.end_of_device(device)))))
}

/// Ends a stream that is destroyed and whose work has completed.
pub fn end_stream(stream: StreamHandle) {
    with(|detector| detector.end_stream(stream));
}

/// Makes work that is queued on a stream from now on come after a point.
#[inline]
pub fn order_after(stream: StreamHandle, point: &Point) {
    with(|detector| detector.order_after(stream, point));
}

/// Makes what the program does from now on come after a point: a wait for it, or a query that found it reached.
#[inline]
pub fn wait_for(point: &Point) {
    with(|detector| detector.wait_for(point));
}

/// Adds accesses of the task that this thread runs, or else of the program.
#[inline]
pub fn access(ranges: &[ByteRange]) {
    if is_on() {
        add_accesses(ranges);
    }
}

#[cold]
fn add_accesses(ranges: &[ByteRange]) {
    let running = current();
    let observed: Vec<_> = {
        let memory = MEMORY.lock();
        ranges.iter().filter(|range| memory.contains(&range.bytes())).collect()
    };
    if observed.is_empty() {
        return;
    }
    let work = running.is_program().then(|| Work::new("an access", None));
    with(|detector| {
        let Some(moment) = running.moment().or_else(|| Some(detector.program(work?))) else { return };
        for range in observed {
            let kind = if range.is_written() { AccessKind::Write } else { AccessKind::Read };
            detector.access(&moment, kind, range.bytes());
        }
    });
}

/// Adds an allocation of memory for later work of a stream, or of pinned memory for the program.
#[inline]
pub fn allocate(address: Address, bytes: usize, stream: Option<StreamHandle>) {
    if !is_on() {
        return;
    }
    let work = Work::new("an allocation", stream);
    with(|detector| detector.allocate(stream, work, range_of(address, bytes)));
}

/// Adds a release of memory to a cache. Work that is queued now may still use it.
#[inline]
pub fn release(address: Address, bytes: usize) {
    if !is_on() {
        return;
    }
    let stack = current_or_captured_stack();
    let work = Work { stack, ..Work::new("a release of memory", None) };
    with(|detector| detector.release(work, range_of(address, bytes)));
}

/// Makes memory that a driver allocated observable, also by later sessions.
pub fn add_memory(address: Address, bytes: usize) {
    MEMORY.lock().0.insert(address.0 as usize, bytes);
}

/// Removes memory that a driver returns to the system.
pub fn remove_memory(address: Address, bytes: usize) {
    MEMORY.lock().0.remove(&(address.0 as usize));
    with(|detector| detector.forget(&range_of(address, bytes)));
}

/// The memory of all drivers: the sizes of allocations by address.
struct Memory(BTreeMap<usize, usize>);

impl Memory {
    /// Returns whether any of the bytes belong to an allocation.
    fn contains(&self, bytes: &Range<usize>) -> bool {
        let last = self.0.range(..bytes.end).next_back();
        last.is_some_and(|(start, length)| start + length > bytes.start)
    }
}

static MEMORY: ForkLock<Memory> = ForkLock::new(rank::OBSERVED_MEMORY, Memory(BTreeMap::new()));

fn range_of(address: Address, bytes: usize) -> Range<usize> {
    let start = address.0 as usize;
    start..start.saturating_add(bytes)
}
