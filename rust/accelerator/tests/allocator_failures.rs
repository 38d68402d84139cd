//! A driver that fails every so many calls leaves the allocator whole.
//!
//! One program is run again and again: every call of the driver fails, every second, every third and so on. Whatever
//! fails, it is an error and no more. Afterwards what is counted is what is there, memory is handed out again, and
//! all of it can be given back.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod allocator;
mod rig;

use allocator::careless;
use allocator::devices::Devices;
use interlock_accelerator::use_driver;
use interlock_host::{FaultInjector, HostDriver, HostOptions};
use rig::failing::Failing;

#[test]
fn a_driver_that_fails_every_so_often_leaves_the_allocator_whole() {
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
