//! Waits for all work of a device, including that of other libraries.

use std::sync::{Arc, Condvar, PoisonError};
use std::thread;

use interlock_core::base::mutex::Mutex;
use interlock_driver::WaitPolicy;

use crate::sys::api;
use crate::sys::context_guard::{Context, ContextGuard, RelaxedCapture};
use crate::sys::error::{Code, check};

/// Waits for one device. `cuCtxSynchronize` has no timeout, so a thread of its own calls it, and waiting threads can give
/// up.
#[derive(Default)]
pub(crate) struct DeviceSync(Arc<(Mutex<Tickets>, Condvar)>);

#[derive(Default)]
struct Tickets {
    /// The number of waits that were requested.
    requested: u64,
    /// How many of these have ended.
    ended: u64,
    has_thread: bool,
    failed: Option<Failed>,
}

/// The error of the waits whose tickets are greater than `after` and at most `up_to`.
struct Failed {
    after: u64,
    up_to: u64,
    code: Code,
}

impl Tickets {
    /// Ends all waits up to a ticket.
    fn end(&mut self, up_to: u64, waited: Result<(), Code>) {
        if let Err(code) = waited {
            // Waits that failed before may not have been checked yet.
            let before = self.failed.as_ref().filter(|failed| failed.up_to == self.ended);
            let after = before.map_or(self.ended, |failed| failed.after);
            self.failed = Some(Failed { after, up_to, code });
        }
        // Where there is no thread, waits may end in another order than they began.
        self.ended = self.ended.max(up_to);
    }
}

impl DeviceSync {
    /// Begins to wait for what is queued now. Returns the ticket of the wait.
    pub(crate) fn begin(&self, context: Context) -> u64 {
        let (tickets, woken) = &*self.0;
        let mut tickets = tickets.lock();
        tickets.requested += 1;
        if !tickets.has_thread {
            let shared = self.0.clone();
            let run = move || run(&shared, context);
            tickets.has_thread = thread::Builder::new().name("cuda waits".into()).spawn(run).is_ok();
        }
        let number = tickets.requested;
        if !tickets.has_thread {
            // The system has no more threads, so this one waits.
            drop(tickets);
            let waited = synchronize(context);
            self.0.0.lock().end(number, waited);
        }
        woken.notify_all();
        number
    }

    /// Waits for a ticket; returns false on timeout.
    ///
    /// # Errors
    /// Returns the driver's code if its wait failed.
    pub(crate) fn wait(&self, number: u64, policy: WaitPolicy) -> Result<bool, Code> {
        let (tickets, woken) = &*self.0;
        let is_waiting = |tickets: &mut Tickets| tickets.ended < number;
        let tickets = woken.wait_timeout_while(tickets.lock(), policy.timeout, is_waiting);
        let (tickets, _) = tickets.unwrap_or_else(PoisonError::into_inner);
        match &tickets.failed {
            Some(failed) if (failed.after + 1..=failed.up_to).contains(&number) => Err(failed.code),
            _ => Ok(tickets.ended >= number),
        }
    }
}

/// Runs one wait of the driver for all that were requested before it began.
fn run(shared: &(Mutex<Tickets>, Condvar), context: Context) {
    let (tickets, woken) = shared;
    loop {
        let requested = {
            let is_idle = |tickets: &mut Tickets| tickets.ended >= tickets.requested;
            woken.wait_while(tickets.lock(), is_idle).unwrap_or_else(PoisonError::into_inner).requested
        };
        let waited = synchronize(context);
        tickets.lock().end(requested, waited);
        woken.notify_all();
    }
}

fn synchronize(context: Context) -> Result<(), Code> {
    let _context = ContextGuard::enter(context)?;
    let _relaxed = RelaxedCapture::enter();
    // SAFETY: a context is current.
    check(unsafe { api::cuCtxSynchronize() })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_wait_that_failed_is_told_to_who_looks_after_a_later_one_has_failed_as_well() {
        let sync = DeviceSync::default();
        let at_once = WaitPolicy { timeout: Duration::ZERO, blocking: false };
        let wait = |number| sync.wait(number, at_once);
        for (up_to, waited) in [(1, Ok(())), (2, Err(Code::NOT_READY)), (3, Err(Code::NOT_READY))] {
            sync.0.0.lock().end(up_to, waited);
        }
        assert_eq!([1, 2, 3, 4].map(wait), [Ok(true), Err(Code::NOT_READY), Err(Code::NOT_READY), Ok(false)]);
    }

    #[test]
    fn who_asked_later_is_served_once_and_for_all() {
        let sync = DeviceSync::default();
        for number in [2, 1] {
            sync.0.0.lock().end(number, Ok(()));
        }
        assert_eq!(sync.wait(2, WaitPolicy { timeout: Duration::ZERO, blocking: false }), Ok(true));
    }
}
