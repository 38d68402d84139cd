//! Functions of this program in the order of streams.
//!
//! The driver calls them on a thread of its own, on which none of its functions may be called, and often on one thread
//! for all streams. A function of ours may queue more, drop what owns memory of devices, and take its time, so it runs
//! on another thread: the stream waits at a [gate](super::gates) meanwhile. Where streams have no gates, and in graphs,
//! the driver's thread waits.

use std::ffi::c_void;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

use super::gates::Gate;
use super::runs::Runs;
use super::stream::{Failure, Stream};
use crate::Error;
use crate::accelerator::Device;
use crate::accelerator::driver::HostFn;

/// A function that is queued, or recorded in a graph.
pub(super) struct Function {
    pub(super) work: HostFn,
    pub(super) device: Device,
    pub(super) told_by: ToldBy,
    /// Where the stream waits until it has returned, if the driver's thread does not.
    pub(super) gate: Option<Arc<Gate>>,
}

/// Who is told that a function failed.
pub(super) enum ToldBy {
    /// Whoever asks for a place of a stream, or a later one.
    Stream(Weak<Stream>, u64),
    /// Whoever asks for the replay that runs.
    Replay(Arc<Runs>),
}

impl Function {
    /// What is handed to the driver together with [`call`]. Whoever queues it sees to it that the function stays.
    pub(super) fn data(self: &Arc<Self>) -> *mut c_void {
        Arc::as_ptr(self).cast_mut().cast()
    }

    fn run(&self) {
        let Err(reason) = self.work.call() else { return };
        let told_by = match &self.told_by {
            ToldBy::Stream(stream, place) => Some((stream.clone(), *place)),
            ToldBy::Replay(runs) => runs.told_by(),
        };
        let Some((stream, place)) = told_by else { return };
        let error =
            Error::Device { device: self.device, operation: self.work.name.to_string(), reason, code: None };
        if let Some(stream) = stream.upgrade() {
            stream.fail(Failure::new(place, error));
        }
    }
}

/// Called by the driver when it is a function's turn.
///
/// # Safety
/// `data` is that of a [`Function`] which stays until the work is over.
pub(super) unsafe extern "C" fn call(data: *mut c_void) {
    // SAFETY: the pointer came from an `Arc`, one of which stays until the work is over.
    let function = unsafe {
        let function: *const Function = data.cast();
        Arc::increment_strong_count(function);
        Arc::from_raw(function)
    };
    match function.gate.clone() {
        Some(gate) => hand_over(Job { function, then: Then::Open(gate) }),
        None => {
            let (done, is_done) = sync_channel(1);
            hand_over(Job { function, then: Then::Tell(done) });
            // What ends a thread that runs a job is the end of the process.
            let _ = is_done.recv();
        }
    }
}

/// Something for a thread to do.
struct Job {
    function: Arc<Function>,
    then: Then,
}

/// Who goes on when it is done.
enum Then {
    /// The stream.
    Open(Arc<Gate>),
    /// The driver's thread.
    Tell(SyncSender<()>),
}

impl Job {
    fn run(self) {
        self.function.run();
        // Before the stream goes on, so that the last owner is never this thread.
        drop(self.function);
        match self.then {
            Then::Open(gate) => gate.open(),
            Then::Tell(done) => drop(done.send(())),
        }
    }
}

/// The threads that have nothing to do. Not touched in a forked child: there no driver calls.
static IDLE: Mutex<Vec<SyncSender<Job>>> = Mutex::new(Vec::new());

/// Has a thread run a function that may call the driver.
fn hand_over(job: Job) {
    let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    match idle.or_else(start) {
        // A thread that is idle or new waits for a job.
        Some(worker) => drop(worker.send(job)),
        // The system has no more threads: then it runs here, and may at least do what needs no driver.
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
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(own.clone());
    }
}
