//! How many devices there are, without starting the driver.

use cudarc::driver::result;

use super::probe::{self, DriverStatus};

/// How many devices a start of the driver would show to this process, or why it can't be used.
pub(super) fn count() -> Result<u32, DriverStatus> {
    match probe::start() {
        // Counting is what every driver can; an error after a good start is a device that is gone.
        DriverStatus::Ready { .. } => {
            let count = result::device::get_count().ok().and_then(|count| u32::try_from(count).ok());
            count.filter(|count| *count > 0).ok_or(DriverStatus::NoDevice)
        }
        status => Err(status.clone()),
    }
}
