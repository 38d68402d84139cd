//! What the environment says of the devices that there are.

use std::env;
use std::str::FromStr;

use crate::call::Code;
use crate::errors::{STUB_LIBRARY, SUCCESS};
use crate::visible;

/// The name of a variable, for each thing that it decides.
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

/// What `cuInit` found in the environment.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The number that each device has among those of the computer, of which a process may see only some.
    pub(crate) devices: Vec<u8>,
    /// Bytes that each has.
    pub(crate) memory: u64,
    /// Whether devices have virtual memory.
    pub(crate) virtual_memory: bool,
    /// Whether streams wait for numbers in memory.
    pub(crate) wait_value: bool,
    /// How many others a device reaches at most.
    pub(crate) peers: usize,
    /// Which allocation fails, 0 for none.
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
        // The host driver has one device more, whose memory all of them use.
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

/// What `cuInit` is to return.
pub(crate) fn outcome() -> Code {
    number(variables::INIT, SUCCESS)
}

/// Whether this is to be the library that comes with the compiler, of which every function fails.
pub(crate) fn is_stub() -> bool {
    outcome() == STUB_LIBRARY
}

/// The version of CUDA that the driver is for.
pub(crate) fn version() -> Code {
    number(variables::VERSION, 12_020)
}
