//! NVIDIA devices, through cudarc: its driver module only, loaded while the program runs, with the
//! oldest bindings that have what we need. Newer functions are looked up by ourselves.

mod probe;

use cudarc::driver::result;
use once_cell::race::OnceBox;

pub use probe::{DriverStatus, Version};

/// Whether the driver can be used; asked once, which starts the driver.
pub(super) fn status() -> &'static DriverStatus {
    // Not a blocking cell: a fork while another thread probes would leave the child waiting. Starting
    // the driver twice is harmless.
    static STATUS: OnceBox<DriverStatus> = OnceBox::new();
    STATUS.get_or_init(|| Box::new(probe::probe()))
}

/// How many devices the driver shows to this process; 0 where it can't be used.
pub(super) fn device_count() -> u32 {
    match status() {
        // Counting is what every driver can; an error after a good start is a device that is gone.
        DriverStatus::Ready { .. } => {
            result::device::get_count().ok().and_then(|count| u32::try_from(count).ok()).unwrap_or(0)
        }
        _ => 0,
    }
}

/// Why NVIDIA's devices can't be used, in one sentence; `None` where there are some.
pub(super) fn why_unavailable() -> Option<String> {
    (device_count() == 0).then(|| match status() {
        // The driver started and then counted none.
        DriverStatus::Ready { .. } => DriverStatus::NoDevice.to_string(),
        status => status.to_string(),
    })
}
