//! Functions of this program in the order of streams.
//!
//! The driver calls them on a thread of its own, on which none of its functions may be called, and often on one thread
//! for all streams. A host function may queue work, drop memory of devices, and block, so it runs on another thread: the
//! stream waits at a [semaphore](super::stream_semaphore) meanwhile. Where streams have no semaphores, and in graphs, the
//! driver's thread waits.

use std::ffi::c_void;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;

use interlock_core::base::mutex::Mutex;
use interlock_core::device::Device;
use interlock_driver::{Error, HostFn};

use super::replay_tracker::ReplayTracker;
use super::stream::{AsyncError, Stream};
use super::stream_semaphore::Semaphore;

/// A function that is queued, or recorded in a graph.
pub(crate) struct HostFnCall {
    function: HostFn,
    device: Device,
    errors: ErrorSink,
    /// The stream waits here until the function has returned, if the driver's thread does not.
    semaphore: Option<Arc<Semaphore>>,
}

/// Where the error of a function is stored.
pub(crate) enum ErrorSink {
    /// On a stream, at a point.
    Stream(Weak<Stream>, u64),
    /// On the stream of the replay that runs.
    Replay(Arc<ReplayTracker>),
}

impl HostFnCall {
    pub(crate) fn new(
        function: HostFn,
        device: Device,
        errors: ErrorSink,
        semaphore: Option<Arc<Semaphore>>,
    ) -> Self {
        HostFnCall { function, device, errors, semaphore }
    }

    /// Returns the name of the function.
    pub(crate) fn name(&self) -> &str {
        &self.function.name
    }

    /// Returns the argument of [`call`]. The caller that queues it keeps this alive.
    pub(crate) fn data(self: &Arc<Self>) -> *mut c_void {
        Arc::as_ptr(self).cast_mut().cast()
    }

    fn run(&self) {
        let Err(reason) = self.function.call() else { return };
        let reported_at = match &self.errors {
            ErrorSink::Stream(stream, point) => Some((stream.clone(), *point)),
            ErrorSink::Replay(tracker) => tracker.reported_at(),
        };
        let Some((stream, point)) = reported_at else { return };
        let error = Error::device(self.device, &*self.function.name, reason);
        if let Some(stream) = stream.upgrade() {
            stream.store_error(AsyncError::new(point, error));
        }
    }
}

/// Runs on the driver's thread when the stream has reached a function.
///
/// # Safety
/// `data` is that of a [`HostFnCall`] which stays until the work is over.
pub(crate) unsafe extern "C" fn call(data: *mut c_void) {
    // SAFETY: the pointer came from an `Arc`, one of which stays until the work is over.
    let call = unsafe {
        let call: *const HostFnCall = data.cast();
        Arc::increment_strong_count(call);
        Arc::from_raw(call)
    };
    match call.semaphore.clone() {
        Some(semaphore) => dispatch(Job { call, on_complete: OnComplete::Signal(semaphore) }),
        None => {
            let (done, is_done) = sync_channel(1);
            dispatch(Job { call, on_complete: OnComplete::Send(done) });
            // Only the end of the process ends a thread that runs a job.
            let _ = is_done.recv();
        }
    }
}

/// A function for a worker thread.
struct Job {
    call: Arc<HostFnCall>,
    on_complete: OnComplete,
}

/// Resumes the stream, or the driver's thread.
enum OnComplete {
    Signal(Arc<Semaphore>),
    Send(SyncSender<()>),
}

impl Job {
    fn run(self) {
        self.call.run();
        // Before the stream continues, so that the last owner is never this thread.
        drop(self.call);
        match self.on_complete {
            OnComplete::Signal(semaphore) => semaphore.signal(),
            OnComplete::Send(done) => drop(done.send(())),
        }
    }
}

/// The idle worker threads. Not touched in a forked child: there the driver calls no function.
static IDLE: Mutex<Vec<SyncSender<Job>>> = Mutex::new(Vec::new());

/// Runs a job on a thread that may call the driver.
fn dispatch(job: Job) {
    let idle = IDLE.lock().pop();
    match idle.or_else(start) {
        // A thread that is idle or new waits for a job.
        Some(worker) => drop(worker.send(job)),
        // The system has no more threads: then it runs here, where it must not call the driver.
        None => job.run(),
    }
}

fn start() -> Option<SyncSender<Job>> {
    let (sender, jobs) = sync_channel(1);
    let own = sender.clone();
    let started = thread::Builder::new().name("cuda function".into()).spawn(move || work(&own, &jobs));
    started.ok().map(|_| sender)
}

fn work(own: &SyncSender<Job>, jobs: &Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        job.run();
        IDLE.lock().push(own.clone());
    }
}
