//! Waits, which run without the lock.

use std::time::Duration;

use interlock_driver::{WaitPolicy, WaitTarget};

use crate::call::Answer;
use crate::fake::Fake;

/// Waits for all work of a target that is queued now.
pub(crate) fn wait(fake: &Fake, target: WaitTarget) -> Answer {
    let device = target.device();
    let (driver, sync_point) = {
        let state = fake.state();
        (state.driver.clone(), state.driver.sync_point(target).map_err(|_| state.code(device))?)
    };
    let policy = WaitPolicy { timeout: Duration::MAX, blocking: true };
    driver.wait(&sync_point, policy).map(drop).map_err(|_| fake.state().code(device))
}

/// Waits for all work of every device that is not broken.
pub(crate) fn wait_for_all(fake: &Fake) {
    let devices = fake.state().devices();
    for device in devices {
        // An error means that the device is broken and has no work.
        let _ = wait(fake, WaitTarget::Device(device));
    }
}
