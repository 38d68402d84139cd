//! Device memory.

use interlock_driver::{Address, MemoryInfo, OutOfMemory, Result};

use crate::device::device::CudaDevice;
use crate::device::properties::total_memory;
use crate::sys::api;

/// The alignment of `cuMemAlloc` in bytes. Sizes are rounded up to it, so that an allocation uses as many bytes on
/// every device.
const ALIGNMENT: usize = 512;

pub(crate) fn memory_info(device: &CudaDevice) -> Result<MemoryInfo> {
    let (mut free, mut total) = (0, 0);
    let op = device.begin("accelerator.get_memory_info")?;
    // SAFETY: the pointers are valid.
    op.check(unsafe { api::cuMemGetInfo_v2(&raw mut free, &raw mut total) })?;
    Ok(MemoryInfo { free: free as u64, total: total as u64 })
}

pub(crate) fn allocate(device: &CudaDevice, bytes: usize) -> Result<Address> {
    // The driver returns several codes for requests larger than the memory of the device.
    if bytes > total_memory(device)? {
        return Err(OutOfMemory::error(device.device_id(), bytes));
    }
    let rounded = bytes.next_multiple_of(ALIGNMENT);
    let op = device.begin("an allocation")?;
    // SAFETY: the pointer is valid.
    op.read_memory(bytes, 0, |address| unsafe { api::cuMemAlloc_v2(address, rounded) }).map(Address)
}

/// # Safety
/// The contract of [`DriverRuntime::free`](interlock_driver::DriverRuntime::free).
pub(crate) unsafe fn free(device: &CudaDevice, address: Address) -> Result<()> {
    let op = device.begin("a release of memory")?;
    // SAFETY: the caller guarantees that the address was allocated and is unused.
    op.check(unsafe { api::cuMemFree_v2(address.0) })
}
