//! The devices on which programs run, which may be of any driver.

use interlock_accelerator::{Device, current_accelerator, use_driver};
use interlock_host::{FaultInjector, HostDriver, HostOptions};

/// What a test does to the driver in use, and asks of it.
pub struct Devices {
    /// The allocation that is so many from now on fails; none where it is 0.
    pub fail_allocation: Box<dyn Fn(u64) + Send + Sync>,
    /// The bytes of all devices that were given out and not taken back.
    pub live_bytes: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl Devices {
    /// Uses the host driver, with so many devices and bytes of each.
    pub fn of_host(devices: usize, memory: usize) -> Self {
        let faults = FaultInjector::new();
        let options = HostOptions { devices: devices as u32, memory: memory as u64, faults: faults.clone() };
        use_driver(HostDriver::new(options).unwrap()).unwrap();
        let failing = faults.clone();
        Devices {
            fail_allocation: Box::new(move |number| {
                failing.fail_allocation((number > 0).then_some(number)).unwrap();
            }),
            live_bytes: Box::new(move || faults.live_objects().unwrap().bytes),
        }
    }
}

/// A device of the driver in use.
pub fn device(index: usize) -> Option<Device> {
    let kind = current_accelerator().unwrap().kind();
    Some(Device::new(kind, Some(index as i64)).unwrap())
}
