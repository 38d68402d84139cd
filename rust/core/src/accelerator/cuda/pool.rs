//! Memory in stream order: taken and given back without a wait for the whole device.

use std::ptr;

use cudarc::driver::sys::{
    CUdevice_attribute, CUmemAllocationHandleType, CUmemAllocationType, CUmemPoolProps, CUmemoryPool,
    CUresult, CUstream, CUstream_flags,
};

use super::api;
use super::device::CudaDevice;
use super::errors::check;
use super::memory::{access, location};
use crate::Result;
use crate::accelerator::driver::Address;

/// A memory pool of our own, so that nobody else's limits or statistics are changed, and a stream on which nothing but
/// its memory is queued. Both last as long as the process.
pub(super) struct Pool {
    pool: u64,
    stream: u64,
}

impl Pool {
    /// That of a device; none where the device has no memory pools.
    pub(super) fn of(device: &CudaDevice, operation: &'static str) -> Result<Option<Self>> {
        if device.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == 0 {
            return Ok(None);
        }
        let properties = CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: location(device),
            win32SecurityAttributes: ptr::null_mut(),
            reserved: [0; 64],
        };
        let (mut pool, mut stream) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the pointers are valid, and what they point to is filled in.
        device.call(operation, || unsafe { api::cuMemPoolCreate(&raw mut pool, &raw const properties) })?;
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the pointer is valid.
        device.call(operation, || unsafe { api::cuStreamCreateWithPriority(&raw mut stream, flags, 0) })?;
        Ok(Some(Pool { pool: pool.expose_provenance() as u64, stream: stream.expose_provenance() as u64 }))
    }

    fn pool(&self) -> CUmemoryPool {
        ptr::with_exposed_provenance_mut(self.pool as usize)
    }

    fn stream(&self) -> CUstream {
        ptr::with_exposed_provenance_mut(self.stream as usize)
    }

    /// Takes memory that every stream may use at once. The context of the device is current.
    pub(super) fn allocate(&self, address: &mut u64, bytes: usize) -> CUresult {
        // SAFETY: the pointer is valid; the pool and the stream are of this device.
        let allocated =
            unsafe { api::cuMemAllocFromPoolAsync(&raw mut *address, bytes, self.pool(), self.stream()) };
        if check(allocated).is_err() {
            return allocated;
        }
        // SAFETY: the stream lasts as long as the process.
        unsafe { api::cuStreamSynchronize(self.stream()) }
    }

    /// Gives memory back, to the system and not only to the pool. The context of the device is current.
    ///
    /// # Safety
    /// [`allocate`](Pool::allocate) gave it, and nothing uses it.
    pub(super) unsafe fn release(&self, address: Address) -> CUresult {
        // SAFETY: as the caller vouches; the stream and the pool last as long as the process.
        unsafe {
            let results = [
                api::cuMemFreeAsync(address.0, self.stream()),
                api::cuStreamSynchronize(self.stream()),
                api::cuMemPoolTrimTo(self.pool(), 0),
            ];
            results.into_iter().find(|result| check(*result).is_err()).unwrap_or(CUresult::CUDA_SUCCESS)
        }
    }

    /// Lets another device reach the memory of this pool.
    pub(super) fn let_reach(&self, peer: &CudaDevice) -> CUresult {
        let access = access(peer);
        // SAFETY: the pointer is valid for one description.
        unsafe { api::cuMemPoolSetAccess(self.pool(), &raw const access, 1) }
    }
}
