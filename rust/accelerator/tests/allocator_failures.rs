//! Tests that the allocator is consistent after errors of the driver.
//!
//! One program runs repeatedly, while every call of the driver fails, every second call, every third and so on. Each
//! failure must be returned as an error. Afterwards the statistics match the memory, new allocations succeed, and all
//! memory can be released.

use crate::allocator::careless;
use crate::allocator::devices::Devices;
use crate::rig::failing::Failing;
use interlock_accelerator::use_driver;
use interlock_host::{FaultInjector, HostDriver, HostOptions};

#[test]
fn allocator_is_consistent_after_driver_errors() {
    let faults = FaultInjector::new();
    let (devices, memory) = (careless::DEVICES as u32, careless::MEMORY as u64);
    let driver = HostDriver::new(HostOptions { devices, memory, faults: faults.clone() }).unwrap();
    let driver = Failing::over(driver);
    use_driver(driver.clone()).unwrap();
    let devices = Devices {
        fail_allocation: Box::new(|_| {}),
        live_bytes: Box::new(move || faults.live_objects().unwrap().bytes),
    };
    for every in (1..=40).rev() {
        let streams = careless::streams();
        driver.fail_every(every);
        let (live, failures) = careless::program(&streams);
        driver.fail_every(0);
        assert!(failures > 0, "nothing failed, every {every} calls");
        careless::end(streams, live, &devices);
    }
}
