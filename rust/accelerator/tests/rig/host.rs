//! Host drivers for tests of what only they do.

use interlock_host::{FaultInjector, HostDriver, HostOptions};

use super::Rig;

/// A driver that has been started, and what makes it misbehave.
pub fn with_faults(devices: u32, memory: u64) -> (Rig, FaultInjector) {
    let faults = FaultInjector::new();
    let driver = HostDriver::new(HostOptions { devices, memory, faults: faults.clone() }).unwrap();
    (Rig { driver: driver.start().unwrap() }, faults)
}

/// Two devices of 1 MiB each.
pub fn two_devices() -> (Rig, FaultInjector) {
    with_faults(2, 1 << 20)
}
