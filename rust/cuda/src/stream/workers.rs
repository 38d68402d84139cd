//! Threads that run jobs which may call the driver and block. An idle thread is reused.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use interlock_core::base::mutex::Mutex;

/// A function that runs on a worker thread.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// The idle worker threads. Not used in a forked child, where the driver calls no host function and nothing waits.
static IDLE: Mutex<Vec<SyncSender<Job>>> = Mutex::new(Vec::new());

/// Runs a job on a thread of its own.
///
/// # Errors
/// Returns the job if the thread could not be created.
pub(crate) fn dispatch(job: Job) -> Result<(), Job> {
    let idle = IDLE.lock().pop();
    match idle.or_else(start) {
        Some(worker) => worker.send(job).map_err(|unsent| unsent.0),
        None => Err(job),
    }
}

fn start() -> Option<SyncSender<Job>> {
    let (sender, jobs) = sync_channel(1);
    let own = sender.clone();
    let started = thread::Builder::new().name("cuda worker".into()).spawn(move || work(&own, &jobs));
    started.ok().map(|_| sender)
}

#[expect(clippy::disallowed_methods, reason = "the thread is not attached")]
fn work(own: &SyncSender<Job>, jobs: &Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        job();
        IDLE.lock().push(own.clone());
    }
}
