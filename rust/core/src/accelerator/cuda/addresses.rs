//! Virtual memory: addresses that are given memory piece by piece.
//!
//! The books are our own, so that what the driver would take silently, or answer with "invalid value", is an error that
//! says what was wrong.

use std::sync::{MutexGuard, PoisonError};

use cudarc::driver::sys::{
    CUdevice_attribute, CUmemAccessDesc, CUmemAllocationGranularity_flags, CUmemAllocationHandleType,
    CUmemAllocationProp, CUmemAllocationProp_st__bindgen_ty_1, CUmemAllocationType, CUresult,
};

use super::api;
use super::device::CudaDevice;
use super::errors::check;
use super::memory::{access, location};
use crate::Result;
use crate::accelerator::driver::Address;
use crate::accelerator::driver::va_space::{self, MAPPING, RELEASING, RESERVING, UNMAPPING, VaSpace};
use crate::accelerator::memory::OutOfMemory;

impl CudaDevice {
    fn books(&self) -> MutexGuard<'_, VaSpace> {
        self.reservations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What memory of this device is.
    fn kind_of_memory(&self) -> CUmemAllocationProp {
        CUmemAllocationProp {
            type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            requestedHandleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: location(self),
            win32HandleMetaData: std::ptr::null_mut(),
            allocFlags: CUmemAllocationProp_st__bindgen_ty_1 {
                compressionType: 0,
                gpuDirectRDMACapable: 0,
                usage: 0,
                reserved: [0; 4],
            },
        }
    }

    /// 0 where the device has no virtual memory. Uses no context.
    pub(super) fn mapping_granularity(&self) -> Result<usize> {
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
        if self.attribute(attribute) == 0 {
            return Ok(0);
        }
        let kind = self.kind_of_memory();
        let least = CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
        let mut bytes = 0;
        // SAFETY: the pointers are valid.
        let asked = unsafe { api::cuMemGetAllocationGranularity(&raw mut bytes, &raw const kind, least) };
        self.check(RESERVING, asked).map(|()| bytes)
    }

    pub(super) fn reserve_addresses(&self, bytes: usize, granularity: usize) -> Result<Address> {
        if bytes == 0 || !bytes.is_multiple_of(granularity) {
            return Err(va_space::err_misaligned(bytes, granularity));
        }
        let mut address = 0;
        let _bound = self.bind(RESERVING)?;
        // SAFETY: the pointer is valid.
        let reserved = unsafe { api::cuMemAddressReserve(&raw mut address, bytes, granularity, 0, 0) };
        self.memory(RESERVING, bytes, reserved)?;
        self.books().reserve(Address(address), bytes, ());
        Ok(Address(address))
    }

    pub(super) fn free_addresses(&self, address: Address, bytes: usize) -> Result<()> {
        if self.books().free(address, bytes).is_none() {
            return Err(va_space::err_not_reserved(self.named(), address, bytes));
        }
        // SAFETY: the addresses were reserved, and none of them has memory.
        self.call(RELEASING, || unsafe { api::cuMemAddressFree(address.0, bytes) })
    }

    /// `peers` are the devices that reach the memory besides this one.
    pub(super) fn map(
        &self,
        address: Address,
        bytes: usize,
        granularity: usize,
        peers: &[&CudaDevice],
    ) -> Result<()> {
        let is_whole =
            bytes > 0 && bytes.is_multiple_of(granularity) && address.0.is_multiple_of(granularity as u64);
        // The addresses are on the books before they have memory, so that no other call takes them meanwhile.
        let is_taken = {
            let mut books = self.books();
            let is_free = is_whole && books.is_unmapped(address, bytes);
            is_free.then(|| books.map(address, bytes)).is_some()
        };
        if !is_taken {
            return Err(va_space::err_not_unmapped(self.named(), address, bytes, granularity));
        }
        let given = self.give_memory(address, bytes, peers);
        if given.is_err() {
            self.books().unmap(address, bytes);
        }
        given
    }

    fn give_memory(&self, address: Address, bytes: usize, peers: &[&CudaDevice]) -> Result<()> {
        if bytes > self.total_memory()? {
            return Err(OutOfMemory::error(self.named(), bytes));
        }
        let _bound = self.bind(MAPPING)?;
        let (mut memory, kind) = (0, self.kind_of_memory());
        // SAFETY: the pointers are valid.
        let made = unsafe { api::cuMemCreate(&raw mut memory, bytes, &raw const kind, 0) };
        self.memory(MAPPING, bytes, made)?;
        // SAFETY: the addresses are reserved, have no memory, and are as many as the memory has bytes.
        let mapped = unsafe { api::cuMemMap(address.0, bytes, 0, memory, 0) };
        // What is mapped stays until it is unmapped; the handle is not needed for that.
        // SAFETY: the handle was made above, and nobody else has it.
        let released = unsafe { api::cuMemRelease(memory) };
        self.memory(MAPPING, bytes, mapped)?;
        let allowed: Vec<_> = std::iter::once(self).chain(peers.iter().copied()).map(access).collect();
        let usable = self
            .check(MAPPING, released)
            .and_then(|()| self.memory(MAPPING, bytes, set_access(address, bytes, &allowed)));
        if usable.is_err() {
            // SAFETY: the addresses were mapped above, and nobody has used them.
            unsafe { api::cuMemUnmap(address.0, bytes) };
        }
        usable
    }

    /// # Safety
    /// As for [`Driver::unmap`](crate::accelerator::driver::Driver::unmap).
    pub(super) unsafe fn unmap(&self, address: Address, bytes: usize) -> Result<()> {
        if !self.books().is_mapping(address, bytes) {
            return Err(va_space::err_not_mapped(self.named(), address, bytes));
        }
        // SAFETY: the addresses have memory, and the caller vouches that nobody uses it.
        self.call(UNMAPPING, || unsafe { api::cuMemUnmap(address.0, bytes) })?;
        self.books().unmap(address, bytes);
        Ok(())
    }

    /// Lets another device reach all that has memory now.
    pub(super) fn let_reach_addresses(&self, peer: &CudaDevice) -> CUresult {
        let pieces: Vec<_> = self.books().mappings().collect();
        let set = |(address, bytes)| set_access(address, bytes, &[access(peer)]);
        let mut results = pieces.into_iter().map(set);
        results.find(|result| check(*result).is_err()).unwrap_or(CUresult::CUDA_SUCCESS)
    }
}

fn set_access(address: Address, bytes: usize, allowed: &[CUmemAccessDesc]) -> CUresult {
    // SAFETY: the pointer is valid for so many descriptions.
    unsafe { api::cuMemSetAccess(address.0, bytes, allowed.as_ptr(), allowed.len()) }
}
