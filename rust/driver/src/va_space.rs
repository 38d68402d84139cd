//! Reserved virtual addresses and their mappings.
//!
//! Drivers with virtual memory management check calls with this record. Calls that their library would accept silently,
//! or reject with "invalid value", become errors that name the mistake.

use std::collections::BTreeMap;

use interlock_core::device::Device;

use super::handle::Address;
use crate::Error;

/// The name of [`DriverRuntime::reserve_addresses`](crate::DriverRuntime::reserve_addresses) in errors.
pub const RESERVING: &str = "reserve_addresses";
/// The name of [`DriverRuntime::free_addresses`](crate::DriverRuntime::free_addresses) in errors.
pub const RELEASING: &str = "free_addresses";
/// The name of [`DriverRuntime::map`](crate::DriverRuntime::map) in errors.
pub const MAPPING: &str = "map";
/// The name of [`DriverRuntime::unmap`](crate::DriverRuntime::unmap) in errors.
pub const UNMAPPING: &str = "unmap";

/// Creates the error for bytes that are no multiple of the granularity.
pub fn err_misaligned(bytes: usize, granularity: usize) -> Error {
    Error::argument(format!("{RESERVING}: bytes"), bytes.to_string(), format!("a multiple of {granularity}"))
}

/// Creates the error for addresses that can't be freed.
pub fn err_not_reserved(device: Device, address: Address, bytes: usize) -> Error {
    refused(RELEASING, address, bytes, format!("a reservation of {device} without mapped memory"))
}

/// Creates the error for addresses to which no memory can be mapped.
pub fn err_not_unmapped(device: Device, address: Address, bytes: usize, granularity: usize) -> Error {
    let allowed =
        format!("multiples of {granularity} bytes of a reservation of {device} without mapped memory");
    refused(MAPPING, address, bytes, allowed)
}

/// Creates the error for addresses that are not one mapping.
pub fn err_not_mapped(device: Device, address: Address, bytes: usize) -> Error {
    refused(UNMAPPING, address, bytes, format!("one mapping of {device}"))
}

fn refused(name: &'static str, address: Address, bytes: usize, allowed: String) -> Error {
    Error::argument(format!("{name}: the addresses"), format!("{bytes} bytes at {:#x}", address.0), allowed)
}

/// Reservations by first address, each with its owner and its mappings.
///
/// ```
/// use interlock_driver::Address;
/// use interlock_driver::va_space::VaSpace;
///
/// let mut space = VaSpace::default();
/// space.reserve(Address(0x1000), 0x2000, "a reservation");
/// assert!(space.is_unmapped(Address(0x1000), 0x2000));
/// space.map(Address(0x1000), 0x1000);
/// assert_eq!(space.free(Address(0x1000), 0x2000), None, "memory is mapped");
/// assert!(space.unmap(Address(0x1000), 0x1000));
/// assert_eq!(space.free(Address(0x1000), 0x2000), Some("a reservation"));
/// ```
#[derive(Debug)]
pub struct VaSpace<Owner = ()>(BTreeMap<u64, Reservation<Owner>>);

#[derive(Debug)]
struct Reservation<Owner> {
    bytes: usize,
    owner: Owner,
    /// Bytes by first address, one entry for each `map`.
    mappings: BTreeMap<u64, usize>,
}

impl<Owner> Reservation<Owner> {
    fn end(&self, start: u64) -> u64 {
        start + self.bytes as u64
    }

    /// Returns whether any of these addresses has memory.
    fn overlaps(&self, address: u64, bytes: usize) -> bool {
        let below = self.mappings.range(..address + bytes as u64).next_back();
        below.is_some_and(|(start, length)| start + *length as u64 > address)
    }
}

impl<Owner> Default for VaSpace<Owner> {
    fn default() -> Self {
        VaSpace(BTreeMap::new())
    }
}

impl<Owner> VaSpace<Owner> {
    /// Adds a reservation.
    pub fn reserve(&mut self, address: Address, bytes: usize, owner: Owner) {
        let replaced = self.0.insert(address.0, Reservation { bytes, owner, mappings: BTreeMap::new() });
        debug_assert!(replaced.is_none(), "the addresses are reserved already");
    }

    /// Removes a reservation without mappings and returns its owner; `None` if there is none of this size.
    pub fn free(&mut self, address: Address, bytes: usize) -> Option<Owner> {
        self.0.get(&address.0).filter(|found| found.bytes == bytes && found.mappings.is_empty())?;
        self.0.remove(&address.0).map(|found| found.owner)
    }

    fn containing(&self, address: Address, bytes: usize) -> Option<&Reservation<Owner>> {
        let (start, reservation) = self.0.range(..=address.0).next_back()?;
        let end = address.0.checked_add(bytes as u64)?;
        (end <= reservation.end(*start)).then_some(reservation)
    }

    fn containing_mut(&mut self, address: Address, bytes: usize) -> Option<&mut Reservation<Owner>> {
        let (start, reservation) = self.0.range_mut(..=address.0).next_back()?;
        let end = address.0.checked_add(bytes as u64)?;
        (end <= reservation.end(*start)).then_some(reservation)
    }

    /// Returns whether addresses are reserved and have no memory.
    pub fn is_unmapped(&self, address: Address, bytes: usize) -> bool {
        self.containing(address, bytes).is_some_and(|found| !found.overlaps(address.0, bytes))
    }

    /// Adds a mapping of addresses that are unmapped.
    pub fn map(&mut self, address: Address, bytes: usize) {
        debug_assert!(self.is_unmapped(address, bytes), "the addresses are not reserved, or are mapped");
        if let Some(found) = self.containing_mut(address, bytes) {
            found.mappings.insert(address.0, bytes);
        }
    }

    /// Returns whether the addresses are exactly one mapping.
    pub fn is_mapping(&self, address: Address, bytes: usize) -> bool {
        self.containing(address, bytes).is_some_and(|found| found.mappings.get(&address.0) == Some(&bytes))
    }

    /// Removes a mapping; returns false if the addresses are not exactly one.
    pub fn unmap(&mut self, address: Address, bytes: usize) -> bool {
        let is_mapping = self.is_mapping(address, bytes);
        if let Some(found) = self.containing_mut(address, bytes).filter(|_| is_mapping) {
            found.mappings.remove(&address.0);
        }
        is_mapping
    }

    /// Returns all mappings.
    pub fn mappings(&self) -> impl Iterator<Item = (Address, usize)> {
        self.0.values().flat_map(|found| &found.mappings).map(|(start, bytes)| (Address(*start), *bytes))
    }
}
