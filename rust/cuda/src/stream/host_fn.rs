//! Host functions, which run in stream order (`cuLaunchHostFunc`).
//!
//! The driver calls them on its own thread, often one thread for all streams, where driver calls are forbidden. A host
//! function of interlock may queue work, drop device memory and block, so a worker thread runs it while the stream
//! waits for a [semaphore](super::stream_semaphore). In graphs, and on devices without semaphores, the driver's thread
//! waits instead.

use std::ffi::c_void;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Weak};

use cudarc::driver::sys::{CUresult, CUstream};

use interlock_core::base::mutex::{Condvar, Mutex};
use interlock_core::device::Device;
use interlock_driver::{Error, HostFn};

use super::progress::{AsyncError, Progress};
use super::replay_tracker::ReplayTracker;
use super::stream_semaphore::Semaphore;
use super::workers::WORKERS;
use crate::sys::api;
use crate::sys::error::check;

/// A host function that is queued, or recorded in a graph.
pub(crate) struct HostFnCall {
    function: HostFn,
    device: Device,
    errors: ErrorSink,
    /// Signaled when the function has returned. Without it, the driver's thread waits for the function.
    semaphore: Option<Arc<Semaphore>>,
    decision: Mutex<Decision>,
    decided: Condvar,
}

/// Whether a host function runs, which is decided when the stream's wait for its semaphore is queued behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Pending,
    Run,
    /// The wait could not be queued: the launch has failed and has no effect.
    Cancelled,
}

/// The destination of the error of a host function.
pub(crate) enum ErrorSink {
    /// A stream and a point on its timeline.
    Stream(Weak<Progress>, u64),
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
        let decision = if semaphore.is_some() { Decision::Pending } else { Decision::Run };
        let (decision, decided) = (Mutex::new(decision), Condvar::new());
        HostFnCall { function, device, errors, semaphore, decision, decided }
    }

    /// Queues the function and, if it has a semaphore, the stream's wait for it. The caller holds the submit lock of the
    /// stream, and keeps `self` alive until the function has returned for the last time.
    ///
    /// If the result is an error, the function does not run.
    pub(crate) fn enqueue(self: &Arc<Self>, on: CUstream) -> CUresult {
        // SAFETY: the caller's stream is alive, and the caller keeps the call alive.
        let queued = unsafe { api::cuLaunchHostFunc(on, Some(call), self.data()) };
        let (Some(semaphore), Ok(())) = (&self.semaphore, check(queued)) else { return queued };
        let waits = semaphore.enqueue_wait(on);
        if check(waits).is_ok() {
            self.decide(Decision::Run);
        } else {
            // The queued `call` takes this reference.
            std::mem::forget(self.clone());
            self.decide(Decision::Cancelled);
        }
        waits
    }

    fn decide(&self, decision: Decision) {
        *self.decision.lock() = decision;
        self.decided.notify_all();
    }

    /// Waits for the decision. The thread that makes it makes one driver call before, which does not wait for host
    /// functions.
    fn decision(&self) -> Decision {
        let is_pending = |decision: &mut Decision| *decision == Decision::Pending;
        *self.decided.wait_while(self.decision.lock(), is_pending)
    }

    /// Returns the name of the function.
    pub(crate) fn name(&self) -> &str {
        &self.function.name
    }

    /// Returns the argument for [`call`].
    fn data(self: &Arc<Self>) -> *mut c_void {
        Arc::as_ptr(self).cast_mut().cast()
    }

    fn run(&self) {
        let Err(failure) = self.function.call() else { return };
        let reported_at = match &self.errors {
            ErrorSink::Stream(stream, point) => Some((stream.clone(), *point)),
            ErrorSink::Replay(tracker) => tracker.reported_at(),
        };
        let Some((stream, point)) = reported_at else { return };
        let error = Error::device(self.device, &*self.function.name, failure);
        if let Some(stream) = stream.upgrade() {
            stream.store_error(AsyncError::new(point, error));
        }
    }
}

/// The `CUhostFn` of a [`HostFnCall`], which the driver calls on its own thread.
///
/// # Safety
/// `data` came from [`HostFnCall::data`]. The `HostFnCall` lives until this function returns, or is cancelled and has a
/// reference for this call.
#[expect(clippy::disallowed_methods, reason = "a thread of the driver is not attached")]
pub(crate) unsafe extern "C" fn call(data: *mut c_void) {
    // SAFETY: the pointer came from an `Arc`, and the caller guarantees that one `Arc` is alive.
    let call = unsafe {
        let call: *const HostFnCall = data.cast();
        Arc::increment_strong_count(call);
        Arc::from_raw(call)
    };
    if call.decision() == Decision::Cancelled {
        // SAFETY: `enqueue` has left a reference for this call, the only one of a function with a semaphore.
        let last = unsafe { Arc::from_raw(data.cast_const().cast::<HostFnCall>()) };
        drop(call);
        return dispatch(Job { call: last, on_complete: OnComplete::Drop });
    }
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
    /// The function does not run: the thread only drops it.
    Drop,
}

impl Job {
    fn run(self) {
        if !matches!(self.on_complete, OnComplete::Drop) {
            self.call.run();
        }
        // Dropped before the stream resumes, so that this thread never drops the last reference.
        drop(self.call);
        match self.on_complete {
            OnComplete::Signal(semaphore) => semaphore.signal(),
            OnComplete::Send(sender) => drop(sender.send(())),
            OnComplete::Drop => {}
        }
    }
}

/// Runs a job on a thread that may call the driver.
fn dispatch(job: Job) {
    if let Err(job) = WORKERS.dispatch(Box::new(move || job.run())) {
        // The thread could not be created: the job runs here, where the function must not call the driver.
        job();
    }
}
