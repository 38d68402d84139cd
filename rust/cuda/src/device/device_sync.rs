//! Waits for all work of a device, including the work of other libraries.

use std::sync::Arc;
use std::thread;

use interlock_core::base::background_thread;
use interlock_core::base::mutex::{Condvar, Mutex};
use interlock_driver::WaitPolicy;

use crate::sys::api;
use crate::sys::context_guard::{Context, ContextGuard, RelaxedCapture};
use crate::sys::error::{Code, check};

/// Runs `cuCtxSynchronize` for one device on a dedicated thread. The function has no timeout; waiting threads do.
#[derive(Default)]
pub(crate) struct DeviceSync(Arc<(Mutex<Tickets>, Condvar)>);

#[derive(Default)]
struct Tickets {
    /// The last ticket that was issued.
    requested: u64,
    /// The last ticket whose wait has completed.
    completed: u64,
    has_thread: bool,
    failure: Option<Failure>,
}

/// The error of the waits whose tickets are greater than `after` and at most `up_to`.
struct Failure {
    after: u64,
    up_to: u64,
    code: Code,
}

impl Tickets {
    /// Completes all waits up to a ticket.
    fn complete(&mut self, up_to: u64, result: Result<(), Code>) {
        if let Err(code) = result {
            // Joins a failure directly before: its waits may not have been checked yet.
            let previous = self.failure.as_ref().filter(|failure| failure.up_to == self.completed);
            let after = previous.map_or(self.completed, |failure| failure.after);
            self.failure = Some(Failure { after, up_to, code });
        }
        // Without a thread, waits may complete out of order.
        self.completed = self.completed.max(up_to);
    }
}

impl DeviceSync {
    /// Begins a wait for all work that is queued now and returns its ticket.
    pub(crate) fn begin(&self, context: Context) -> u64 {
        let (tickets, woken) = &*self.0;
        let mut tickets = tickets.lock();
        tickets.requested += 1;
        if !tickets.has_thread {
            let shared = self.0.clone();
            let run = move || run(&shared, context);
            let builder = thread::Builder::new().name("cuda waits".into());
            tickets.has_thread = background_thread::spawn(builder, run).is_ok();
        }
        let ticket = tickets.requested;
        if !tickets.has_thread {
            // The thread could not be created, so the calling thread waits.
            drop(tickets);
            let result = synchronize(context);
            self.0.0.lock().complete(ticket, result);
        }
        woken.notify_all();
        ticket
    }

    /// Waits for a ticket; returns false on timeout.
    ///
    /// # Errors
    /// Returns the driver's code if `cuCtxSynchronize` failed.
    pub(crate) fn wait(&self, ticket: u64, policy: WaitPolicy) -> Result<bool, Code> {
        let (tickets, woken) = &*self.0;
        let is_waiting = |tickets: &mut Tickets| tickets.completed < ticket;
        let tickets = woken.wait_timeout_while(tickets.lock(), policy.timeout, is_waiting);
        match &tickets.failure {
            Some(failure) if (failure.after + 1..=failure.up_to).contains(&ticket) => Err(failure.code),
            _ => Ok(tickets.completed >= ticket),
        }
    }
}

/// Calls `cuCtxSynchronize` once for all tickets that were issued before the call.
fn run(shared: &(Mutex<Tickets>, Condvar), context: Context) {
    let (tickets, woken) = shared;
    loop {
        let requested = {
            let is_idle = |tickets: &mut Tickets| tickets.completed >= tickets.requested;
            woken.wait_while(tickets.lock(), is_idle).requested
        };
        let result = synchronize(context);
        tickets.lock().complete(requested, result);
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
    fn device_sync_reports_a_failed_wait_after_a_later_one_failed_too() {
        let sync = DeviceSync::default();
        let policy = WaitPolicy { timeout: Duration::ZERO, blocking: false };
        let wait = |ticket| sync.wait(ticket, policy);
        for (up_to, result) in [(1, Ok(())), (2, Err(Code::NOT_READY)), (3, Err(Code::NOT_READY))] {
            sync.0.0.lock().complete(up_to, result);
        }
        assert_eq!([1, 2, 3, 4].map(wait), [Ok(true), Err(Code::NOT_READY), Err(Code::NOT_READY), Ok(false)]);
    }

    #[test]
    fn device_sync_keeps_a_ticket_completed_when_waits_complete_out_of_order() {
        let sync = DeviceSync::default();
        for ticket in [2, 1] {
            sync.0.0.lock().complete(ticket, Ok(()));
        }
        assert_eq!(sync.wait(2, WaitPolicy { timeout: Duration::ZERO, blocking: false }), Ok(true));
    }
}
