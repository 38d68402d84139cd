//! Virtual memory: addresses that are reserved, memory that is created, and the one mapped to the other.
//!
//! Memory that is mapped a second time has lost its content, and it is never mapped twice at the same time: nobody here needs
//! either.

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

/// Bytes that addresses and memory are multiples of.
const GRANULARITY: usize = 2 << 20;

/// Memory without an address.
pub(crate) struct Physical {
    device: DeviceIndex,
    pub(crate) bytes: u64,
    /// Where it is mapped.
    address: Option<u64>,
    /// Nobody has its handle any more: it goes when it is unmapped.
    is_released: bool,
}

/// Addresses that are the program's.
pub(crate) struct Reservation {
    bytes: usize,
}

fn is_whole(bytes: usize) -> bool {
    bytes > 0 && bytes.is_multiple_of(GRANULARITY)
}

impl State {
    /// Fails where devices have no virtual memory, or a capture forbids to change it.
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

    /// The device of a location.
    fn located(&self, location: CUmemLocation) -> Answer<DeviceIndex> {
        if location.type_ != CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE {
            return Err(INVALID_VALUE);
        }
        self.device(location.id)
    }

    /// Whether a range lies within one reservation.
    fn is_reserved(&self, address: u64, bytes: usize) -> bool {
        let below = self.reservations.range(..=address).next_back();
        below.is_some_and(|(start, reservation)| {
            let from = address - start;
            from.checked_add(bytes as u64).is_some_and(|end| end <= reservation.bytes as u64)
        })
    }

    /// The addresses of mappings that make up a range exactly.
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

    /// Takes memory off the books that has neither an address nor a handle.
    fn drop_if_unused(&mut self, handle: Handle) {
        let unused = |physical: &Physical| physical.is_released && physical.address.is_none();
        if self.physical.get(&handle).is_some_and(unused)
            && let Some(Physical { device, bytes, .. }) = self.physical.remove(&handle)
        {
            self.give_bytes(device, bytes);
        }
    }
}

exported! {
    /// What addresses and memory must be multiples of.
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
        // A wish where the addresses be may be passed over.
        let _ = wanted;
        let is_aligned = alignment == 0 || (alignment.is_power_of_two() && alignment <= GRANULARITY);
        if !is_whole(bytes) || !is_aligned || flags != 0 {
            return Err(INVALID_VALUE);
        }
        let reserved = state.driver.reserve_addresses(state.keeper_of_memory(), bytes);
        let Address(found) = reserved.map_err(|_| OUT_OF_MEMORY)?;
        state.reservations.insert(found, Reservation { bytes });
        address.put(found)
    }

    /// Gives addresses back that have no memory.
    fn cuMemAddressFree(address: u64, bytes: usize) |fake| {
        let mut state = fake.state();
        state.check_addresses()?;
        let fits = state.reservations.get(&address).is_some_and(|reservation| reservation.bytes == bytes);
        if !fits || state.regions.range(address..address + bytes as u64).next().is_some() {
            return Err(INVALID_VALUE);
        }
        state.reservations.remove(&address);
        let keeper = state.keeper_of_memory();
        // SAFETY: the driver reserved them for as many bytes, and nothing is mapped. Should queued work still own what was,
        // the driver keeps the addresses.
        let _ = unsafe { state.driver.free_addresses(keeper, Address(address), bytes) };
        Ok(())
    }

    /// Memory of a device, without an address.
    fn cuMemCreate(handle: Out<u64>, bytes: usize, properties: In<CUmemAllocationProp>, flags: c_ulonglong) |fake| {
        let mut state = fake.state();
        state.check_addresses()?;
        handle.check()?;
        let device = state.created_on(&properties)?;
        if !is_whole(bytes) || flags != 0 {
            return Err(INVALID_VALUE);
        }
        count_allocation()?;
        let bytes = state.take_bytes(device, bytes as u64)?;
        let name = state.number();
        state.physical.insert(name, Physical { device, bytes, address: None, is_released: false });
        handle.put(name as u64)
    }

    /// Lets memory go; it stays while it is mapped.
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

    /// Maps all of it to reserved addresses. Devices may not use it yet.
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

    /// Takes the memory of addresses that make up whole mappings.
    fn cuMemUnmap(address: u64, bytes: usize) |fake| {
        let gone = {
            let mut state = fake.state();
            state.check_addresses()?;
            let mappings = state.mappings(address, bytes)?;
            let gone: Vec<_> = mappings.iter().filter_map(|start| state.regions.remove(start)).collect();
            for region in &gone {
                if let Kind::Mapped { physical, .. } = region.kind {
                    if let Some(physical) = state.physical.get_mut(&physical) {
                        physical.address = None;
                    }
                    state.drop_if_unused(physical);
                }
            }
            gone
        };
        // A program that unmaps what queued work uses errs; here it is waited for instead of ending the process.
        if gone.iter().any(|region| Arc::strong_count(&region.block) > 1) {
            waiting::wait_for_all(fake);
        }
        Ok(())
    }

    /// Says which devices may use what is mapped.
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
                // Which of the devices that may do the work does it is not looked at.
                *usable = !users.is_empty();
            }
        }
        Ok(())
    }
}
