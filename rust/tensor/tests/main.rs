//! The tests of the interface in one program: each would otherwise be linked on its own.

// Clippy does not treat test helpers as tests; a panic is their intended way to fail.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod attention;
mod autograd;
mod device_only_memory;
mod devices;
mod foreign_kernels;

use std::sync::Once;

use interlock::accelerator::{self, Device, host};

/// Returns one of two devices of 64 MiB, which the whole process shares.
fn device(index: u8) -> Device {
    static USED: Once = Once::new();
    USED.call_once(|| {
        let options = host::HostOptions { devices: 2, memory: 64 << 20, ..Default::default() };
        accelerator::use_driver(host::HostDriver::new(options).unwrap()).unwrap();
    });
    format!("host:{index}").parse().unwrap()
}
