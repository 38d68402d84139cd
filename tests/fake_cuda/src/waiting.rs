//! Threads that wait for devices, without the lock.

use std::time::Duration;

use interlock_driver::{WaitPolicy, WaitTarget};

use crate::call::Answer;
use crate::fake::Fake;

/// Waits for what is queued now.
pub(crate) fn wait(fake: &Fake, awaited: WaitTarget) -> Answer {
    let device = match awaited {
        WaitTarget::Stream(stream) => stream.device,
        WaitTarget::Event(event) => event.device,
        WaitTarget::Device(device) => device,
    };
    let (driver, goal) = {
        let state = fake.state();
        (state.driver.clone(), state.driver.sync_point(awaited).map_err(|_| state.code(device))?)
    };
    let policy = WaitPolicy { timeout: Duration::MAX, blocking: true };
    driver.wait(&goal, policy).map(drop).map_err(|_| fake.state().code(device))
}

/// Waits for everything that is queued on any device that is not broken.
pub(crate) fn wait_for_all(fake: &Fake) {
    let devices = fake.state().devices();
    for device in devices {
        // A broken device does nothing that could be waited for.
        let _ = wait(fake, WaitTarget::Device(device));
    }
}
