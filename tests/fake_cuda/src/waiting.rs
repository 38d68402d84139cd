//! Threads that wait for devices, without the lock.

use std::time::Duration;

use interlock_accelerator::driver::{Awaited, WaitPolicy};

use crate::call::Answer;
use crate::fake::Fake;

/// Waits for what is queued now.
pub(crate) fn wait(fake: &Fake, awaited: Awaited) -> Answer {
    let device = match awaited {
        Awaited::Stream(stream) => stream.device,
        Awaited::Event(event) => event.device,
        Awaited::Device(device) => device,
    };
    let (driver, goal) = {
        let state = fake.state();
        (state.driver.clone(), state.driver.goal(awaited).map_err(|_| state.code(device))?)
    };
    let policy = WaitPolicy { timeout: Duration::MAX, blocking: true };
    driver.wait(&goal, policy).map(drop).map_err(|_| fake.state().code(device))
}

/// Waits for everything that is queued on any device that is not broken.
pub(crate) fn wait_for_all(fake: &Fake) {
    let devices = fake.state().devices();
    for device in devices {
        // A broken device does nothing that could be waited for.
        let _ = wait(fake, Awaited::Device(device));
    }
}
