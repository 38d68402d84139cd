//! The limits of reserved and cached memory on a device.

use crate::allocators::config::AllocatorConfig;

/// The limits of the process on a device, and the bytes that are being reserved.
#[derive(Debug, Default)]
pub(super) struct Quota {
    /// The largest number of bytes that may be reserved.
    pub(super) limit: Option<u64>,
    /// The largest number of bytes that may be cached.
    pub(super) cache_limit: Option<u64>,
    /// The memory of the device in bytes; 0 if it is not known.
    pub(super) total: u64,
    /// The `per_process_memory_fraction` of the configuration that was applied last.
    configured_fraction: Option<f64>,
    /// Bytes of allocations by the driver that are in progress.
    in_flight_bytes: u64,
}

impl Quota {
    /// Applies a configuration. A limit that the program has set remains unless the configured fraction has changed.
    pub(super) fn configure(&mut self, config: &AllocatorConfig) {
        let fraction = config.per_process_memory_fraction;
        if fraction != self.configured_fraction.unwrap_or(1.0) {
            self.limit = (fraction < 1.0).then_some((fraction * self.total as f64) as u64);
        }
        self.configured_fraction = Some(fraction);
    }

    /// Counts bytes as in flight if, with the reserved ones, they are within the limit and the memory of the device;
    /// returns whether they are. The total that the driver reports is a bound even if the driver would allocate more.
    pub(super) fn try_reserve(&mut self, bytes: u64, reserved: u64) -> bool {
        let wanted = reserved.saturating_add(self.in_flight_bytes).saturating_add(bytes);
        let exists = self.total == 0 || wanted <= self.total;
        let fits = exists && self.limit.is_none_or(|limit| wanted <= limit);
        if fits {
            self.in_flight_bytes += bytes;
        }
        fits
    }

    /// Ends a reservation after the call of the driver.
    pub(super) fn end_reservation(&mut self, bytes: u64) {
        self.in_flight_bytes -= bytes;
    }
}
