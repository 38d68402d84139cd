//! The devices on which programs run, of any driver.

use interlock_accelerator::{Device, current_accelerator, use_driver};
use interlock_host::{FaultInjector, HostDriver, HostOptions};

/// Controls and counters of the driver in use.
pub struct Devices {
    /// Makes the n-th later allocation fail; 0 cancels that.
    pub fail_allocation: Box<dyn Fn(u64) + Send + Sync>,
    /// Returns the bytes that all devices have allocated.
    pub live_bytes: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl Devices {
    /// Selects the host driver with a number of devices and bytes of memory for each.
    pub fn of_host(devices: usize, memory: usize) -> Self {
        let faults = FaultInjector::new();
        let options = HostOptions { devices: devices as u32, memory: memory as u64, faults: faults.clone() };
        use_driver(HostDriver::new(options).unwrap()).unwrap();
        let failing = faults.clone();
        Devices {
            fail_allocation: Box::new(move |number| {
                // One fault at a time.
                failing.clear().unwrap();
                if number > 0 {
                    failing.fail_allocation(number).unwrap();
                }
            }),
            live_bytes: Box::new(move || faults.live_objects().unwrap().bytes),
        }
    }
}

/// Returns a device of the driver in use.
pub fn device(index: usize) -> Option<Device> {
    let kind = current_accelerator().unwrap().kind();
    Some(Device::new(kind, Some(index as i64)).unwrap())
}
