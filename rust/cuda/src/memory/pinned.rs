//! Pinned (page-locked) host memory, which every device accesses directly.

use std::collections::BTreeMap;
use std::ptr;

use cudarc::driver::sys::CU_MEMHOSTALLOC_PORTABLE;

use interlock_core::base::mutex::Mutex;
use interlock_core::device::Device;
use interlock_driver::{Address, OutOfMemory, Result};

use crate::device::device::CudaDevice;
use crate::sys::api;
use crate::sys::error::read;

pub(crate) fn allocate_pinned(device: &CudaDevice, bytes: usize) -> Result<Address> {
    let op = device.begin("an allocation of pinned memory")?;
    // SAFETY: the pointer is valid.
    let allocate = |pointer| unsafe { api::cuMemHostAlloc(pointer, bytes, CU_MEMHOSTALLOC_PORTABLE) };
    match read(ptr::null_mut(), allocate) {
        Ok(pointer) => Ok(Address(pointer.expose_provenance() as u64)),
        // The driver returns `CUDA_ERROR_INVALID_VALUE` for sizes beyond the address space.
        Err(code) if code.is_out_of_memory() || bytes > isize::MAX as usize / 2 => {
            Err(OutOfMemory::error(Device::CPU, bytes))
        }
        Err(code) => Err(op.error(code)),
    }
}

/// The pinned memory that this driver has allocated, by address. Copies of other host memory may block.
#[derive(Default)]
pub(crate) struct PinnedRanges(Mutex<BTreeMap<u64, u64>>);

impl PinnedRanges {
    pub(crate) fn add(&self, address: Address, bytes: usize) {
        self.0.lock().insert(address.0, bytes as u64);
    }

    pub(crate) fn remove(&self, address: Address) {
        self.0.lock().remove(&address.0);
    }

    /// Returns whether an address is in the memory.
    pub(crate) fn contains(&self, address: Address) -> bool {
        let ranges = self.0.lock();
        let found = ranges.range(..=address.0).next_back();
        found.is_some_and(|(first, bytes)| address.0 - first < *bytes)
    }
}

/// # Safety
/// The contract of [`DriverRuntime::free_pinned`](interlock_driver::DriverRuntime::free_pinned).
pub(crate) unsafe fn free_pinned(device: &CudaDevice, address: Address) -> Result<()> {
    let pointer = ptr::with_exposed_provenance_mut(address.0 as usize);
    let op = device.begin("a release of pinned memory")?;
    // SAFETY: the caller guarantees that the address was allocated and is unused.
    op.check(unsafe { api::cuMemFreeHost(pointer) })
}
