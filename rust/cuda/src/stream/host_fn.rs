//! Host functions, which run in stream order (`cuLaunchHostFunc`).
//!
//! The driver calls them on its own thread, often one thread for all streams, where driver calls are forbidden. A host
//! function of interlock may queue work, drop device memory and block, so a worker thread runs it while the stream
//! waits for a [semaphore](super::stream_semaphore). In graphs, and on devices without semaphores, the driver's thread
//! waits instead.

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

/// A host function that is queued, or recorded in a graph.
pub(crate) struct HostFnCall {
    function: HostFn,
    device: Device,
    errors: ErrorSink,
    /// Signaled when the function has returned. Without it, the driver's thread waits for the function.
    semaphore: Option<Arc<Semaphore>>,
}

/// The destination of the error of a host function.
pub(crate) enum ErrorSink {
    /// A stream and a point on its timeline.
    Stream(Weak<Stream>, u64),
    /// The stream of the replay that is running.
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

    /// Returns the argument for [`call`]. The caller keeps `self` alive while the call is queued.
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

/// The `CUhostFn` of a [`HostFnCall`], which the driver calls on its own thread.
///
/// # Safety
/// `data` came from [`HostFnCall::data`], and the `HostFnCall` lives until this function returns.
pub(crate) unsafe extern "C" fn call(data: *mut c_void) {
    // SAFETY: the pointer came from an `Arc`, and the caller guarantees that one `Arc` is alive.
    let call = unsafe {
        let call: *const HostFnCall = data.cast();
        Arc::increment_strong_count(call);
        Arc::from_raw(call)
    };
    match call.semaphore.clone() {
        Some(semaphore) => dispatch(Job { call, on_complete: OnComplete::Signal(semaphore) }),
        None => {
            let (sender, completion) = sync_channel(1);
            dispatch(Job { call, on_complete: OnComplete::Send(sender) });
            // An error is impossible: a worker sends before it drops the sender.
            let _ = completion.recv();
        }
    }
}

/// A host function for a worker thread.
struct Job {
    call: Arc<HostFnCall>,
    on_complete: OnComplete,
}

/// The action that resumes the stream or the driver's thread.
enum OnComplete {
    Signal(Arc<Semaphore>),
    Send(SyncSender<()>),
}

impl Job {
    fn run(self) {
        self.call.run();
        // Dropped before the stream resumes, so that this thread never drops the last reference.
        drop(self.call);
        match self.on_complete {
            OnComplete::Signal(semaphore) => semaphore.signal(),
            OnComplete::Send(sender) => drop(sender.send(())),
        }
    }
}

/// The idle worker threads. Not used in a forked child, where the driver calls no host function.
static IDLE: Mutex<Vec<SyncSender<Job>>> = Mutex::new(Vec::new());

/// Runs a job on a thread that may call the driver.
fn dispatch(job: Job) {
    let idle = IDLE.lock().pop();
    match idle.or_else(start) {
        Some(worker) => drop(worker.send(job)),
        // The thread could not be created: the job runs here, where the function must not call the driver.
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
