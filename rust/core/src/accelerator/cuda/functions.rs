//! Functions of this program in the order of streams.
//!
//! The driver calls them on a thread of its own, on which no other of its functions may be called. A function of ours
//! may queue more, and drop what owns memory of devices, so it runs on another thread while that one waits for it.

use std::ffi::c_void;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

use super::runs::Runs;
use super::stream::{Failure, Stream};
use crate::Error;
use crate::accelerator::Device;
use crate::accelerator::driver::Work;

/// A function that is queued, or recorded in a graph.
pub(super) struct Function {
    pub(super) work: Work,
    pub(super) device: Device,
    pub(super) told_by: ToldBy,
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
    serve(function);
}

/// Something for a thread to do, and whom to tell that it is done.
struct Job {
    function: Arc<Function>,
    done: SyncSender<()>,
}

/// The threads that have nothing to do. Not touched in a forked child: there no driver calls.
static IDLE: Mutex<Vec<SyncSender<Job>>> = Mutex::new(Vec::new());

/// Runs a function on a thread that may call the driver, and waits for it.
fn serve(function: Arc<Function>) {
    let (done, is_done) = sync_channel(1);
    let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let Some(worker) = idle.or_else(start) else {
        // The system has no more threads: then it runs here, and may at least do what needs no driver.
        return function.run();
    };
    // A thread that waits for a job is there, and so is one that has taken it until it says that it is done. What
    // ends a thread in between is the end of the process.
    let _ = worker.send(Job { function, done });
    let _ = is_done.recv();
}

fn start() -> Option<SyncSender<Job>> {
    let (sender, jobs) = sync_channel(1);
    let own = sender.clone();
    let started = thread::Builder::new().name("cuda function".into()).spawn(move || work(&own, &jobs));
    started.ok().map(|_| sender)
}

fn work(own: &SyncSender<Job>, jobs: &Receiver<Job>) {
    while let Ok(Job { function, done }) = jobs.recv() {
        function.run();
        drop(function);
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(own.clone());
        let _ = done.send(());
    }
}
