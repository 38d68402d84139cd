//! Waits for all that a device does, whoever queued it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::api;
use super::context::{Bound, Context};
use super::errors::{Code, check};
use crate::driver::WaitPolicy;

/// Who waits for a device. The driver can only wait to the end, which a thread does that nobody else waits for, so that
/// those who asked can give up.
#[derive(Default)]
pub(super) struct WholeDevice(Arc<(Mutex<Turns>, Condvar)>);

#[derive(Default)]
struct Turns {
    /// How often somebody asked.
    asked: u64,
    /// How many of these have been served.
    served: u64,
    has_thread: bool,
    failed: Option<Failed>,
}

/// What the driver said instead of waiting, to those whose numbers are behind `after` and up to `up_to`.
struct Failed {
    after: u64,
    up_to: u64,
    code: Code,
}

impl Turns {
    /// All who asked up to a number have been served.
    fn serve(&mut self, up_to: u64, waited: Result<(), Code>) {
        if let Err(code) = waited {
            // Who asked before and failed as well may not have looked yet.
            let before = self.failed.as_ref().filter(|failed| failed.up_to == self.served);
            let after = before.map_or(self.served, |failed| failed.after);
            self.failed = Some(Failed { after, up_to, code });
        }
        // Where there is no thread, who asked first may be served last.
        self.served = self.served.max(up_to);
    }
}

fn locked(turns: &Mutex<Turns>) -> MutexGuard<'_, Turns> {
    turns.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WholeDevice {
    /// Begins to wait for what is queued now. Returns the number of the wait.
    pub(super) fn begin(&self, context: Context) -> u64 {
        let (turns, woken) = &*self.0;
        let mut turns = locked(turns);
        turns.asked += 1;
        if !turns.has_thread {
            let shared = self.0.clone();
            let serve = move || serve(&shared, context);
            turns.has_thread = thread::Builder::new().name("cuda waits".into()).spawn(serve).is_ok();
        }
        let number = turns.asked;
        if !turns.has_thread {
            // The system has no more threads, so this one waits.
            drop(turns);
            let waited = synchronize(context);
            locked(&self.0.0).serve(number, waited);
        }
        woken.notify_all();
        number
    }

    /// Whether a wait is over; false where the timeout came first. Fails with what the driver said.
    pub(super) fn wait(&self, number: u64, policy: WaitPolicy) -> Result<bool, Code> {
        let (turns, woken) = &*self.0;
        let is_waiting = |turns: &mut Turns| turns.served < number;
        let turns = woken.wait_timeout_while(locked(turns), policy.timeout, is_waiting);
        let (turns, _) = turns.unwrap_or_else(PoisonError::into_inner);
        match &turns.failed {
            Some(failed) if (failed.after + 1..=failed.up_to).contains(&number) => Err(failed.code),
            _ => Ok(turns.served >= number),
        }
    }
}

/// One wait of the driver serves all who asked before it began.
fn serve(shared: &(Mutex<Turns>, Condvar), context: Context) {
    let (turns, woken) = shared;
    loop {
        let asked = {
            let is_idle = |turns: &mut Turns| turns.served >= turns.asked;
            woken.wait_while(locked(turns), is_idle).unwrap_or_else(PoisonError::into_inner).asked
        };
        let waited = synchronize(context);
        locked(turns).serve(asked, waited);
        woken.notify_all();
    }
}

fn synchronize(context: Context) -> Result<(), Code> {
    let _bound = Bound::to(context)?;
    // SAFETY: a context is current.
    check(unsafe { api::cuCtxSynchronize() })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_wait_that_failed_is_told_to_who_looks_after_a_later_one_has_failed_as_well() {
        let whole = WholeDevice::default();
        let at_once = WaitPolicy { timeout: Duration::ZERO, blocking: false };
        let wait = |number| whole.wait(number, at_once);
        for (up_to, waited) in [(1, Ok(())), (2, Err(Code::NOT_READY)), (3, Err(Code::NOT_READY))] {
            locked(&whole.0.0).serve(up_to, waited);
        }
        assert_eq!([1, 2, 3, 4].map(wait), [Ok(true), Err(Code::NOT_READY), Err(Code::NOT_READY), Ok(false)]);
    }

    #[test]
    fn who_asked_later_is_served_once_and_for_all() {
        let whole = WholeDevice::default();
        for number in [2, 1] {
            locked(&whole.0.0).serve(number, Ok(()));
        }
        assert_eq!(whole.wait(2, WaitPolicy { timeout: Duration::ZERO, blocking: false }), Ok(true));
    }
}
