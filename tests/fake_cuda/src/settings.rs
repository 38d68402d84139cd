//! Settings of the fake devices, from environment variables.

use std::env;
use std::str::FromStr;

use crate::call::Code;
use crate::errors::{STUB_LIBRARY, SUCCESS};
use crate::visible;

/// The names of the variables.
mod variables {
    pub(super) const DEVICES: &str = "FAKE_CUDA_DEVICES";
    pub(super) const MEMORY: &str = "FAKE_CUDA_MEMORY";
    pub(super) const VERSION: &str = "FAKE_CUDA_VERSION";
    pub(super) const INIT: &str = "FAKE_CUDA_INIT";
    pub(super) const NO_VIRTUAL_MEMORY: &str = "FAKE_CUDA_NO_VIRTUAL_MEMORY";
    pub(super) const NO_WAIT_VALUE: &str = "FAKE_CUDA_NO_WAIT_VALUE";
    pub(super) const PEERS: &str = "FAKE_CUDA_PEERS";
    pub(super) const FAIL_ALLOCATION: &str = "FAKE_CUDA_FAIL_ALLOCATION";
    pub(super) const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";
}

/// The settings that `cuInit` reads.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The visible devices, by their indices among all devices of the machine.
    pub(crate) devices: Vec<u8>,
    /// Bytes of memory of each device.
    pub(crate) memory: u64,
    /// Whether devices support virtual memory.
    pub(crate) virtual_memory: bool,
    /// Whether devices support `cuStreamWaitValue32`.
    pub(crate) wait_value: bool,
    /// The maximum number of peers of a device.
    pub(crate) peers: usize,
    /// The number of the allocation that fails; 0 for none.
    pub(crate) fail_allocation: u64,
}

fn number<T: FromStr>(variable: &str, otherwise: T) -> T {
    env::var(variable).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(otherwise)
}

fn is_set(variable: &str) -> bool {
    number(variable, 0_u8) == 1
}

impl Settings {
    pub(crate) fn read() -> Self {
        // The host driver has one device more for memory.
        let installed = number(variables::DEVICES, 2_u8).min(120);
        Settings {
            devices: visible::devices(installed, env::var(variables::VISIBLE).ok().as_deref()),
            memory: number(variables::MEMORY, 64 << 20),
            virtual_memory: !is_set(variables::NO_VIRTUAL_MEMORY),
            wait_value: !is_set(variables::NO_WAIT_VALUE),
            peers: number(variables::PEERS, usize::MAX),
            fail_allocation: number(variables::FAIL_ALLOCATION, 0),
        }
    }
}

/// Returns the code that `cuInit` returns.
pub(crate) fn outcome() -> Code {
    number(variables::INIT, SUCCESS)
}

/// Returns whether the library acts as the toolkit's stub, of which every function fails.
pub(crate) fn is_stub() -> bool {
    outcome() == STUB_LIBRARY
}

/// Returns the CUDA version of the driver.
pub(crate) fn version() -> Code {
    number(variables::VERSION, 12_020)
}
