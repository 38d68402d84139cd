//! Virtual memory: reserved addresses to which memory is mapped (`cuMemMap`).

use std::collections::BTreeMap;
use std::sync::Arc;

use cudarc::driver::sys::{
    CUdevice, CUdevice_attribute, CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationGranularity_flags,
    CUmemAllocationHandleType, CUmemAllocationProp, CUmemAllocationProp_st__bindgen_ty_1,
    CUmemAllocationType, CUmemLocation, CUmemLocationType, CUresult,
};

use interlock_core::base::mutex::Mutex;
use interlock_driver::va_space::{self, MAPPING, RELEASING, RESERVING, UNMAPPING, VaSpace};
use interlock_driver::{Address, DeviceIndex, OutOfMemory, Result};

use crate::device::device::CudaDevice;
use crate::device::peer;
use crate::device::properties::total_memory;
use crate::sys::api;
use crate::sys::error::read;

/// The virtual memory of a device and its peers.
pub(crate) struct VirtualMemory {
    device: Arc<CudaDevice>,
    space: Mutex<VaSpace>,
    /// The devices that access this memory. Locked during `map` and `unmap`: a peer that is added meanwhile would miss
    /// a mapping.
    peers: Mutex<BTreeMap<DeviceIndex, CUdevice>>,
}

impl VirtualMemory {
    pub(crate) fn new(device: Arc<CudaDevice>) -> Self {
        VirtualMemory { device, space: Mutex::default(), peers: Mutex::default() }
    }

    fn properties(&self) -> CUmemAllocationProp {
        CUmemAllocationProp {
            type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            requestedHandleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: location(self.device.ordinal()),
            win32HandleMetaData: std::ptr::null_mut(),
            allocFlags: CUmemAllocationProp_st__bindgen_ty_1 {
                compressionType: 0,
                gpuDirectRDMACapable: 0,
                usage: 0,
                reserved: [0; 4],
            },
        }
    }

    /// Returns the mapping granularity in bytes, or 0 if the device does not support virtual memory. Uses no context.
    pub(crate) fn granularity(&self) -> Result<usize> {
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
        if self.device.attribute(attribute) == 0 {
            return Ok(0);
        }
        let properties = self.properties();
        let minimum = CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
        let bytes = read(0, |bytes| {
            // SAFETY: the pointers are valid.
            unsafe { api::cuMemGetAllocationGranularity(bytes, &raw const properties, minimum) }
        });
        bytes.map_err(|code| self.device.error(RESERVING, code))
    }

    pub(crate) fn reserve(&self, bytes: usize, granularity: usize) -> Result<Address> {
        if bytes == 0 || !bytes.is_multiple_of(granularity) {
            return Err(va_space::err_misaligned(bytes, granularity));
        }
        let op = self.device.begin(RESERVING)?;
        let address = op.read_memory(bytes, 0, |address| {
            // SAFETY: the pointer is valid.
            unsafe { api::cuMemAddressReserve(address, bytes, granularity, 0, 0) }
        })?;
        self.space.lock().reserve(Address(address), bytes, ());
        Ok(Address(address))
    }

    pub(crate) fn free(&self, address: Address, bytes: usize) -> Result<()> {
        if self.space.lock().free(address, bytes).is_none() {
            return Err(va_space::err_not_reserved(self.device.device_id(), address, bytes));
        }
        let freed = self.device.begin(RELEASING).and_then(|op| {
            // SAFETY: the addresses are reserved, and no memory is mapped to them.
            op.check(unsafe { api::cuMemAddressFree(address.0, bytes) })
        });
        if freed.is_err() {
            // The addresses remain reserved, and no other call can have reserved them meanwhile.
            self.space.lock().reserve(address, bytes, ());
        }
        freed
    }

    pub(crate) fn map(&self, address: Address, bytes: usize, granularity: usize) -> Result<()> {
        let peers = self.peers.lock();
        let is_aligned =
            bytes > 0 && bytes.is_multiple_of(granularity) && address.0.is_multiple_of(granularity as u64);
        // Recorded before the memory is mapped, so that no other call maps the addresses meanwhile.
        let mut space = self.space.lock();
        if !is_aligned || !space.is_unmapped(address, bytes) {
            return Err(va_space::err_not_unmapped(self.device.device_id(), address, bytes, granularity));
        }
        space.map(address, bytes);
        drop(space);
        let ordinals = std::iter::once(self.device.ordinal()).chain(peers.values().copied());
        let mapped = self.create_mapping(address, bytes, &ordinals.map(access).collect::<Vec<_>>());
        if mapped.is_err() {
            self.space.lock().unmap(address, bytes);
        }
        mapped
    }

    fn create_mapping(&self, address: Address, bytes: usize, allowed: &[CUmemAccessDesc]) -> Result<()> {
        if bytes > total_memory(&self.device)? {
            return Err(OutOfMemory::error(self.device.device_id(), bytes));
        }
        let op = self.device.begin(MAPPING)?;
        let properties = self.properties();
        // SAFETY: the pointers are valid.
        let create = |memory| unsafe { api::cuMemCreate(memory, bytes, &raw const properties, 0) };
        let memory = op.read_memory(bytes, 0, create)?;
        // SAFETY: the addresses are reserved and unmapped, and the memory has `bytes` bytes.
        let mapped = unsafe { api::cuMemMap(address.0, bytes, 0, memory, 0) };
        // The mapping keeps the memory allocated without the handle.
        // SAFETY: the handle was created above and is used nowhere else.
        let released = unsafe { api::cuMemRelease(memory) };
        op.check_memory(bytes, mapped)?;
        let accessible =
            op.check(released).and_then(|()| op.check_memory(bytes, set_access(address, bytes, allowed)));
        if accessible.is_err() {
            // SAFETY: the addresses were mapped above and are not used yet.
            unsafe { api::cuMemUnmap(address.0, bytes) };
        }
        accessible
    }

    /// # Safety
    /// The contract of [`DriverRuntime::unmap`](interlock_driver::DriverRuntime::unmap).
    pub(crate) unsafe fn unmap(&self, address: Address, bytes: usize) -> Result<()> {
        let _peers = self.peers.lock();
        if !self.space.lock().is_mapping(address, bytes) {
            return Err(va_space::err_not_mapped(self.device.device_id(), address, bytes));
        }
        let op = self.device.begin(UNMAPPING)?;
        // SAFETY: memory is mapped to the addresses, and the caller guarantees that it is not used.
        op.check(unsafe { api::cuMemUnmap(address.0, bytes) })?;
        self.space.lock().unmap(address, bytes);
        Ok(())
    }

    /// Enables access of a peer to all present and future memory of the device, if the hardware supports it.
    pub(crate) fn enable_peer(&self, peer: &CudaDevice, operation: &'static str) -> Result<()> {
        let mut peers = self.peers.lock();
        if peers.contains_key(&peer.index()) || !peer::can_access_peer(peer, &self.device) {
            return Ok(());
        }
        if !peer::enable_peer_access(&self.device, peer, operation)? {
            return Ok(());
        }
        let op = self.device.begin(operation)?;
        let mappings: Vec<_> = self.space.lock().mappings().collect();
        for (address, bytes) in mappings {
            op.check(set_access(address, bytes, &[access(peer.ordinal())]))?;
        }
        peers.insert(peer.index(), peer.ordinal());
        Ok(())
    }
}

fn location(ordinal: CUdevice) -> CUmemLocation {
    CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: ordinal }
}

/// Returns the description of read and write access by a device.
fn access(ordinal: CUdevice) -> CUmemAccessDesc {
    CUmemAccessDesc {
        location: location(ordinal),
        flags: CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    }
}

fn set_access(address: Address, bytes: usize, allowed: &[CUmemAccessDesc]) -> CUresult {
    // SAFETY: the pointer is valid for `allowed.len()` descriptions.
    unsafe { api::cuMemSetAccess(address.0, bytes, allowed.as_ptr(), allowed.len()) }
}
