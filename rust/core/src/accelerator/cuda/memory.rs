//! Memory of the devices, and of the processor where devices reach it.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys::{
    CU_MEMHOSTALLOC_PORTABLE, CUmemAccess_flags, CUmemAccessDesc, CUmemLocation, CUmemLocationType, CUresult,
};

use super::api;
use super::device::CudaDevice;
use super::errors::check;
use crate::Result;
use crate::accelerator::Device;
use crate::accelerator::driver::{Address, MemoryInfo};
use crate::accelerator::memory::OutOfMemory;

const ALLOCATING: &str = "an allocation";
const RELEASING: &str = "giving memory back";
const PINNING: &str = "an allocation of pinned memory";

/// The alignment of `cuMemAlloc`. Sizes are multiples of it, so that a size counts the same on every device.
const ALIGNMENT: usize = 512;

impl CudaDevice {
    pub(super) fn memory_info(&self) -> Result<MemoryInfo> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the pointers are valid.
        let ask = || unsafe { api::cuMemGetInfo_v2(&raw mut free, &raw mut total) };
        self.call("accelerator.get_memory_info", ask)?;
        Ok(MemoryInfo { free: free as u64, total: total as u64 })
    }

    /// How many bytes it has.
    pub(super) fn total_memory(&self) -> Result<usize> {
        let mut bytes = 0;
        // SAFETY: the pointer is valid, and the device is one of the driver's.
        let asked = unsafe { api::cuDeviceTotalMem_v2(&raw mut bytes, self.ordinal) };
        self.check("accelerator.device_properties", asked).map(|()| bytes)
    }

    pub(super) fn allocate(&self, bytes: usize) -> Result<Address> {
        let out_of_memory = || OutOfMemory::error(self.named(), bytes);
        // For what no device can have the driver has several codes.
        if bytes > self.total_memory()? {
            return Err(out_of_memory());
        }
        let rounded = bytes.next_multiple_of(ALIGNMENT);
        let _bound = self.bind(ALLOCATING)?;
        let mut address = 0;
        // SAFETY: the pointer is valid.
        let allocated = unsafe { api::cuMemAlloc_v2(&raw mut address, rounded) };
        self.memory(ALLOCATING, bytes, allocated).map(|()| Address(address))
    }

    /// Success, or why there is no memory.
    pub(super) fn memory(&self, operation: &'static str, bytes: usize, result: CUresult) -> Result<()> {
        check(result).map_err(|code| {
            if code.is_out_of_memory() {
                OutOfMemory::error(self.named(), bytes)
            } else {
                self.error(operation, code)
            }
        })
    }

    /// # Safety
    /// As for [`Driver::release`](crate::accelerator::driver::Driver::release).
    pub(super) unsafe fn release(&self, address: Address) -> Result<()> {
        // SAFETY: the caller vouches for the memory.
        self.call(RELEASING, || unsafe { api::cuMemFree_v2(address.0) })
    }

    /// Memory of the processor that every device reaches.
    pub(super) fn allocate_pinned(&self, bytes: usize) -> Result<Address> {
        let mut pointer: *mut c_void = ptr::null_mut();
        let _bound = self.bind(PINNING)?;
        // SAFETY: the pointer is valid.
        let allocated = unsafe { api::cuMemHostAlloc(&raw mut pointer, bytes, CU_MEMHOSTALLOC_PORTABLE) };
        match check(allocated) {
            Ok(()) => Ok(Address(pointer.expose_provenance() as u64)),
            // More than the addresses of a process are an invalid value to the driver.
            Err(code) if code.is_out_of_memory() || bytes > isize::MAX as usize / 2 => {
                Err(OutOfMemory::error(Device::CPU, bytes))
            }
            Err(code) => Err(self.error(PINNING, code)),
        }
    }

    /// # Safety
    /// As for [`Driver::free_pinned`](crate::accelerator::driver::Driver::free_pinned).
    pub(super) unsafe fn free_pinned(&self, address: Address) -> Result<()> {
        let pointer = ptr::with_exposed_provenance_mut(address.0 as usize);
        // SAFETY: the caller vouches for the memory.
        self.call("giving pinned memory back", || unsafe { api::cuMemFreeHost(pointer) })
    }
}

/// The memory of a device.
pub(super) fn location(device: &CudaDevice) -> CUmemLocation {
    CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: device.ordinal }
}

/// That a device reads and writes.
pub(super) fn access(device: &CudaDevice) -> CUmemAccessDesc {
    CUmemAccessDesc {
        location: location(device),
        flags: CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    }
}
