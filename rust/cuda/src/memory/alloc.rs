//! Memory of devices.

use interlock_driver::{Address, MemoryInfo, OutOfMemory, Result};

use crate::device::device::CudaDevice;
use crate::device::properties::total_memory;
use crate::sys::api;

/// The alignment of `cuMemAlloc`. Sizes are multiples of it, so that a size counts the same on every device.
const ALIGNMENT: usize = 512;

pub(crate) fn memory_info(device: &CudaDevice) -> Result<MemoryInfo> {
    let (mut free, mut total) = (0, 0);
    let op = device.begin("accelerator.get_memory_info")?;
    // SAFETY: the pointers are valid.
    op.check(unsafe { api::cuMemGetInfo_v2(&raw mut free, &raw mut total) })?;
    Ok(MemoryInfo { free: free as u64, total: total as u64 })
}

pub(crate) fn allocate(device: &CudaDevice, bytes: usize) -> Result<Address> {
    // For requests beyond the size of the device the driver has several codes.
    if bytes > total_memory(device)? {
        return Err(OutOfMemory::error(device.device_id(), bytes));
    }
    let rounded = bytes.next_multiple_of(ALIGNMENT);
    let op = device.begin("an allocation")?;
    // SAFETY: the pointer is valid.
    op.read_memory(bytes, 0, |address| unsafe { api::cuMemAlloc_v2(address, rounded) }).map(Address)
}

/// # Safety
/// As for [`DriverRuntime::free`](interlock_driver::DriverRuntime::free).
pub(crate) unsafe fn free(device: &CudaDevice, address: Address) -> Result<()> {
    let op = device.begin("giving memory back")?;
    // SAFETY: as the caller guarantees.
    op.check(unsafe { api::cuMemFree_v2(address.0) })
}
