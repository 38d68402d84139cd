//! Host drivers for tests of their own features.

use interlock_host::{FaultInjector, HostDriver, HostOptions};

use super::Rig;

/// Starts a driver; returns it with its fault injection.
pub fn with_faults(devices: u32, memory: u64) -> (Rig, FaultInjector) {
    let faults = FaultInjector::new();
    let driver = HostDriver::new(HostOptions { devices, memory, faults: faults.clone() }).unwrap();
    (Rig::of(driver.start().unwrap()), faults)
}

/// Starts a driver with two devices of 1 MiB each.
pub fn two_devices() -> (Rig, FaultInjector) {
    with_faults(2, 1 << 20)
}
