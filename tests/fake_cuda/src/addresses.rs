//! Virtual memory: reserved addresses, physical memory, and mappings.
//!
//! Two features that the tests do not need are left out: memory loses its content when it is unmapped, and it can't be
//! mapped twice at a time.

use std::collections::BTreeSet;
use std::ffi::{c_uint, c_ulonglong};
use std::sync::Arc;

use cudarc::driver::sys::{
    CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationProp, CUmemAllocationType, CUmemLocation,
    CUmemLocationType,
};
use interlock_driver::{Address, DeviceIndex};

use crate::call::{Answer, Handle, In, Out, exported};
use crate::errors::{INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY};
use crate::regions::{BlockKind, Kind, Region, count_allocation};
use crate::state::State;
use crate::waiting;

/// The granularity of addresses and memory in bytes.
const GRANULARITY: usize = 2 << 20;

/// Physical memory.
pub(crate) struct Physical {
    device: DeviceIndex,
    pub(crate) bytes: u64,
    /// The address of its mapping.
    address: Option<u64>,
    /// Whether its handle was released; the memory is freed when it is unmapped.
    is_released: bool,
}

/// Reserved addresses.
pub(crate) struct Reservation {
    bytes: usize,
}

fn is_multiple(bytes: usize) -> bool {
    bytes > 0 && bytes.is_multiple_of(GRANULARITY)
}

impl State {
    /// Fails if devices have no virtual memory, or if a capture forbids changing it.
    fn check_addresses(&mut self) -> Answer {
        if !self.settings.virtual_memory {
            return Err(NOT_SUPPORTED);
        }
        self.refuse_while_captured()
    }

    fn created_on(&self, properties: &In<CUmemAllocationProp>) -> Answer<DeviceIndex> {
        let properties = properties.get()?;
        if properties.type_ != CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED {
            return Err(INVALID_VALUE);
        }
        self.located(properties.location)
    }

    /// Returns the device of a location.
    fn located(&self, location: CUmemLocation) -> Answer<DeviceIndex> {
        if location.type_ != CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE {
            return Err(INVALID_VALUE);
        }
        self.device(location.id)
    }

    /// Returns whether one reservation contains a range.
    fn is_reserved(&self, address: u64, bytes: usize) -> bool {
        let below = self.reservations.range(..=address).next_back();
        below.is_some_and(|(start, reservation)| {
            let from = address - start;
            from.checked_add(bytes as u64).is_some_and(|end| end <= reservation.bytes as u64)
        })
    }

    /// Returns the addresses of the mappings that form exactly a range.
    fn mappings(&self, address: u64, bytes: usize) -> Answer<Vec<u64>> {
        let end = address.checked_add(bytes as u64).ok_or(INVALID_VALUE)?;
        let mut found = Vec::new();
        let mut from = address;
        while from < end {
            let region = self.regions.get(&from).ok_or(INVALID_VALUE)?;
            if !matches!(region.kind, Kind::Mapped { .. }) {
                return Err(INVALID_VALUE);
            }
            self.check(region.device)?;
            found.push(from);
            from += region.bytes;
        }
        if from == end && !found.is_empty() { Ok(found) } else { Err(INVALID_VALUE) }
    }

    /// Frees memory that has neither a mapping nor a handle.
    fn drop_if_unused(&mut self, handle: Handle) {
        let unused = |physical: &Physical| physical.is_released && physical.address.is_none();
        if self.physical.get(&handle).is_some_and(unused)
            && let Some(Physical { device, bytes, .. }) = self.physical.remove(&handle)
        {
            self.unreserve_bytes(device, bytes);
        }
    }
}

exported! {
    /// Returns the granularity of addresses and memory.
    fn cuMemGetAllocationGranularity(granularity: Out<usize>, properties: In<CUmemAllocationProp>, option: c_uint) |fake| {
        let state = fake.state();
        if !state.settings.virtual_memory {
            return Err(NOT_SUPPORTED);
        }
        state.created_on(&properties)?;
        if option > 1 {
            return Err(INVALID_VALUE);
        }
        granularity.put(GRANULARITY)
    }

    /// Reserves addresses.
    fn cuMemAddressReserve(address: Out<u64>, bytes: usize, alignment: usize, wanted: u64, flags: c_ulonglong) |fake| {
        let mut state = fake.state();
        state.check_addresses()?;
        address.check()?;
        // The driver may ignore the requested address.
        let _ = wanted;
        let is_aligned = alignment == 0 || (alignment.is_power_of_two() && alignment <= GRANULARITY);
        if !is_multiple(bytes) || !is_aligned || flags != 0 {
            return Err(INVALID_VALUE);
        }
        let reserved = state.driver.reserve_addresses(state.memory_device(), bytes);
        let Address(found) = reserved.map_err(|_| OUT_OF_MEMORY)?;
        state.reservations.insert(found, Reservation { bytes });
        address.put(found)
    }

    /// Frees reserved addresses without memory.
    fn cuMemAddressFree(address: u64, bytes: usize) |fake| {
        let mut state = fake.state();
        state.check_addresses()?;
        let fits = state.reservations.get(&address).is_some_and(|reservation| reservation.bytes == bytes);
        if !fits || state.regions.range(address..address + bytes as u64).next().is_some() {
            return Err(INVALID_VALUE);
        }
        state.reservations.remove(&address);
        let memory_device = state.memory_device();
        // SAFETY: the driver reserved the addresses for this size, and nothing is mapped. If queued work still owns a
        // former mapping, the driver returns an error and keeps the addresses.
        let _ = unsafe { state.driver.free_addresses(memory_device, Address(address), bytes) };
        Ok(())
    }

    /// Allocates physical memory of a device.
    fn cuMemCreate(handle: Out<u64>, bytes: usize, properties: In<CUmemAllocationProp>, flags: c_ulonglong) |fake| {
        let mut state = fake.state();
        state.check_addresses()?;
        handle.check()?;
        let device = state.created_on(&properties)?;
        if !is_multiple(bytes) || flags != 0 {
            return Err(INVALID_VALUE);
        }
        count_allocation()?;
        let bytes = state.reserve_bytes(device, bytes as u64)?;
        let name = state.new_handle();
        state.physical.insert(name, Physical { device, bytes, address: None, is_released: false });
        handle.put(name as u64)
    }

    /// Releases the handle of physical memory, which is freed once it is unmapped.
    fn cuMemRelease(handle: u64) |fake| {
        let mut state = fake.state();
        state.check_addresses()?;
        let handle = handle as Handle;
        let physical = state.physical.get(&handle).filter(|physical| !physical.is_released);
        state.check(physical.ok_or(INVALID_VALUE)?.device)?;
        if let Some(physical) = state.physical.get_mut(&handle) {
            physical.is_released = true;
        }
        state.drop_if_unused(handle);
        Ok(())
    }

    /// Maps physical memory to reserved addresses. Devices can't access it before `cuMemSetAccess`.
    fn cuMemMap(address: u64, bytes: usize, offset: usize, handle: u64, flags: c_ulonglong) |fake| {
        let mut state = fake.state();
        state.check_addresses()?;
        let handle = handle as Handle;
        let physical = state.physical.get(&handle).filter(|physical| !physical.is_released).ok_or(INVALID_VALUE)?;
        let device = physical.device;
        state.check(device)?;
        let fits = physical.bytes == bytes as u64 && offset == 0 && flags == 0;
        if !fits || !address.is_multiple_of(GRANULARITY as u64) || !state.is_reserved(address, bytes) {
            return Err(INVALID_VALUE);
        }
        if physical.address.is_some() {
            return Err(NOT_SUPPORTED);
        }
        let block = state.block(BlockKind::Mapping, bytes as u64, address).map_err(|_| INVALID_VALUE)?;
        let kind = Kind::Mapped { physical: handle, usable: false };
        state.regions.insert(address, Region { device, bytes: bytes as u64, kind, block });
        if let Some(physical) = state.physical.get_mut(&handle) {
            physical.address = Some(address);
        }
        Ok(())
    }

    /// Unmaps a range that consists of whole mappings.
    fn cuMemUnmap(address: u64, bytes: usize) |fake| {
        let unmapped = {
            let mut state = fake.state();
            state.check_addresses()?;
            let mappings = state.mappings(address, bytes)?;
            let unmapped: Vec<_> = mappings.iter().filter_map(|start| state.regions.remove(start)).collect();
            for region in &unmapped {
                if let Kind::Mapped { physical, .. } = region.kind {
                    if let Some(physical) = state.physical.get_mut(&physical) {
                        physical.address = None;
                    }
                    state.drop_if_unused(physical);
                }
            }
            unmapped
        };
        // Unmapping memory that queued work uses is an error of the program; the fake waits instead of crashing.
        if unmapped.iter().any(|region| Arc::strong_count(&region.block) > 1) {
            waiting::wait_for_all(fake);
        }
        Ok(())
    }

    /// Sets the devices that may access mapped memory.
    fn cuMemSetAccess(address: u64, bytes: usize, descriptions: In<CUmemAccessDesc>, count: usize) |fake| {
        let mut state = fake.state();
        state.check_addresses()?;
        let mappings = state.mappings(address, bytes)?;
        let mut users = BTreeSet::new();
        for description in descriptions.get_all(count)? {
            let device = state.located(description.location)?;
            match description.flags {
                CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE => drop(users.insert(device)),
                CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE => drop(users.remove(&device)),
                _ => return Err(NOT_SUPPORTED),
            }
        }
        for start in mappings {
            if let Some(region) = state.regions.get_mut(&start)
                && let Kind::Mapped { usable, .. } = &mut region.kind
            {
                // The fake does not check which device does the work.
                *usable = !users.is_empty();
            }
        }
        Ok(())
    }
}
