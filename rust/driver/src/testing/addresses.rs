//! Checks of virtual memory management, which a driver may report as unsupported.

use std::sync::Arc;

use crate::{Address, Copy, CopyEndpoint, DeviceIndex, Fill, Owners, StreamHandle};
use crate::{Error, Result};

use super::rig::{Make, Memory, Rig};

/// Reserved addresses of the first device, counted in units of the mapping granularity, and their mappings.
struct Reserved<'a> {
    rig: &'a Rig,
    address: Address,
    units: usize,
    unit: usize,
    mappings: Vec<(usize, usize)>,
}

impl<'a> Reserved<'a> {
    const DEVICE: DeviceIndex = 0;

    /// Reserves addresses; returns `None` if the driver has no virtual memory management.
    fn new(rig: &'a Rig, units: usize) -> Option<Self> {
        let unit = rig.driver.mapping_granularity(Self::DEVICE).unwrap();
        if unit == 0 {
            return None;
        }
        let address = rig.driver.reserve_addresses(Self::DEVICE, units * unit).unwrap();
        Some(Reserved { rig, address, units, unit, mappings: Vec::new() })
    }

    fn at(&self, first: usize) -> Address {
        Address(self.address.0 + (first * self.unit) as u64)
    }

    fn map(&mut self, first: usize, count: usize) -> Result<()> {
        self.rig.driver.map(Self::DEVICE, self.at(first), count * self.unit)?;
        self.mappings.push((first, count));
        Ok(())
    }

    /// Unmaps units. The range may be invalid, for checks that the driver rejects it.
    fn unmap(&mut self, first: usize, count: usize) -> Result<()> {
        // SAFETY: all uses of the addresses wait for their work, and invalid ranges are rejected.
        unsafe { self.rig.driver.unmap(Self::DEVICE, self.at(first), count * self.unit) }?;
        self.mappings.retain(|mapping| *mapping != (first, count));
        Ok(())
    }

    fn free(&self, units: usize) -> Result<()> {
        // SAFETY: mapped addresses and parts of the reservation are rejected.
        unsafe { self.rig.driver.free_addresses(Self::DEVICE, self.address, units * self.unit) }
    }

    fn copy(&self, stream: StreamHandle, offset: usize, other: &Arc<Memory>, inwards: bool) {
        let here = CopyEndpoint::Device(Self::DEVICE, Address(self.address.0 + offset as u64));
        let (to, from) = if inwards { (here, other.endpoint()) } else { (other.endpoint(), here) };
        let copy = Copy { to, from, bytes: other.bytes, owners: Owners::until_completed(other.clone()) };
        // SAFETY: `keep_alive` owns one endpoint, and the other is mapped until the stream has finished.
        unsafe { self.rig.driver.copy(stream, copy) }.unwrap();
        self.rig.finish(stream);
    }

    fn fill(&self, stream: StreamHandle, first: usize, value: u8) {
        let fill = Fill { address: self.at(first), bytes: self.unit, value, owners: Owners::default() };
        // SAFETY: the unit is mapped until the stream has finished.
        unsafe { self.rig.driver.fill(stream, fill) }.unwrap();
        self.rig.finish(stream);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        for (first, count) in std::mem::take(&mut self.mappings) {
            let unmapped = self.unmap(first, count);
            assert!(unmapped.is_ok() || std::thread::panicking(), "{unmapped:?}");
        }
        let released = self.free(self.units);
        assert!(released.is_ok() || std::thread::panicking(), "{released:?}");
    }
}

fn is_refused<T>(result: &Result<T>) -> bool {
    matches!(result, Err(Error::Argument { .. }))
}

fn free_bytes(rig: &Rig) -> u64 {
    rig.driver.memory_info(Reserved::DEVICE).unwrap().free
}

pub fn virtual_memory_is_unsupported_in_every_function(make: Make) {
    let rig = Rig::new(make);
    let (driver, bytes, address) = (&rig.driver, 1 << 21, Address(1 << 21));
    if driver.mapping_granularity(0).unwrap() != 0 {
        return;
    }
    assert!(matches!(driver.reserve_addresses(0, bytes), Err(Error::Unsupported { .. })));
    assert!(matches!(driver.map(0, address, bytes), Err(Error::Unsupported { .. })));
    // SAFETY: the driver has no such addresses and returns an error.
    let refused = unsafe { [driver.unmap(0, address, bytes), driver.free_addresses(0, address, bytes)] };
    assert!(refused.iter().all(|refused| matches!(refused, Err(Error::Unsupported { .. }))), "{refused:?}");
}

pub fn reserve_addresses_returns_aligned_addresses_without_memory(make: Make) {
    let rig = Rig::new(make);
    let before = free_bytes(&rig);
    let Some(first) = Reserved::new(&rig, 3) else { return };
    // The reservation may exceed the memory of the device.
    let units = (rig.driver.memory_info(0).unwrap().total / first.unit as u64) as usize + 1;
    let second = Reserved::new(&rig, units).unwrap();
    assert!(first.unit.is_multiple_of(512));
    assert_eq!([first.address.0 % first.unit as u64, second.address.0 % first.unit as u64], [0, 0]);
    let [(low, units), (high, _)] = {
        let mut both = [(first.address.0, first.units), (second.address.0, second.units)];
        both.sort_unstable();
        both
    };
    assert!(low != 0 && low + (units * first.unit) as u64 <= high);
    assert_eq!(free_bytes(&rig), before);
    for bytes in [0, first.unit / 2, first.unit + 1] {
        assert!(is_refused(&rig.driver.reserve_addresses(0, bytes)), "{bytes}");
    }
}

pub fn copy_crosses_addresses_mapped_in_any_order(make: Make) {
    let rig = Rig::new(make);
    let Some(mut reserved) = Reserved::new(&rig, 4) else { return };
    let stream = rig.stream(0);
    for (first, count) in [(3, 1), (0, 1), (1, 2)] {
        reserved.map(first, count).unwrap();
    }
    let content: Vec<u8> = (0..2 * reserved.unit).map(|index| (index / 251) as u8).collect();
    let (sent, received) = (rig.pinned(&content), rig.pinned(&vec![0; content.len()]));
    for offset in [reserved.unit / 2, 2 * reserved.unit] {
        reserved.copy(stream, offset, &sent, true);
        reserved.copy(stream, offset, &received, false);
        assert!(received.content() == content);
    }
}

pub fn map_counts_as_allocated_until_unmap(make: Make) {
    let rig = Rig::new(make);
    let before = free_bytes(&rig);
    let Some(mut reserved) = Reserved::new(&rig, 3) else { return };
    let unit = reserved.unit as u64;
    reserved.map(0, 2).unwrap();
    assert!(before - free_bytes(&rig) >= 2 * unit);
    reserved.map(2, 1).unwrap();
    assert!(before - free_bytes(&rig) >= 3 * unit);
    reserved.unmap(0, 2).unwrap();
    assert!(before - free_bytes(&rig) >= unit && before - free_bytes(&rig) < 3 * unit);
    drop(reserved);
    assert_eq!(free_bytes(&rig), before);
}

pub fn map_accepts_addresses_that_were_unmapped(make: Make) {
    let rig = Rig::new(make);
    let Some(mut reserved) = Reserved::new(&rig, 2) else { return };
    let (stream, original) = (rig.stream(0), rig.pinned(&[7; 512]));
    reserved.map(0, 1).unwrap();
    reserved.map(1, 1).unwrap();
    reserved.copy(stream, reserved.unit, &original, true);
    for value in [1, 2] {
        reserved.fill(stream, 0, value);
        let received = rig.pinned(&[0; 512]);
        reserved.copy(stream, 0, &received, false);
        assert_eq!(received.content(), [value; 512]);
        reserved.unmap(0, 1).unwrap();
        reserved.map(0, 1).unwrap();
    }
    // The neighbours are unchanged.
    let received = rig.pinned(&[0; 512]);
    reserved.copy(stream, reserved.unit, &received, false);
    assert_eq!(received.content(), [7; 512]);
}

pub fn map_requires_reserved_unmapped_addresses(make: Make) {
    let rig = Rig::new(make);
    let Some(mut reserved) = Reserved::new(&rig, 4) else { return };
    reserved.map(1, 2).unwrap();
    let before = free_bytes(&rig);
    for (first, count) in [(1, 2), (1, 1), (2, 1), (0, 2), (2, 2), (0, 4), (3, 2), (4, 1), (9, 1), (3, 0)] {
        assert!(is_refused(&reserved.map(first, count)), "{first} {count}");
    }
    let (driver, unit) = (&rig.driver, reserved.unit);
    assert!(is_refused(&driver.map(0, Address(reserved.at(0).0 + 512), unit)));
    assert!(is_refused(&driver.map(0, reserved.at(0), unit / 2)));
    assert!(is_refused(&driver.map(0, Address(u64::MAX - 511), unit)));
    assert_eq!(free_bytes(&rig), before);
    reserved.map(3, 1).unwrap();
    reserved.map(0, 1).unwrap();
}

pub fn unmap_requires_exactly_one_mapping(make: Make) {
    let rig = Rig::new(make);
    let Some(mut reserved) = Reserved::new(&rig, 4) else { return };
    reserved.map(0, 2).unwrap();
    reserved.map(2, 1).unwrap();
    let before = free_bytes(&rig);
    for (first, count) in [(0, 1), (1, 1), (0, 3), (3, 1), (2, 2), (9, 1)] {
        assert!(is_refused(&reserved.unmap(first, count)), "{first} {count}");
    }
    assert_eq!(free_bytes(&rig), before);
    reserved.unmap(0, 2).unwrap();
    assert!(is_refused(&reserved.unmap(0, 2)));
}

pub fn free_addresses_requires_unmapped_addresses(make: Make) {
    let rig = Rig::new(make);
    let Some(mut reserved) = Reserved::new(&rig, 2) else { return };
    reserved.map(1, 1).unwrap();
    assert!(is_refused(&reserved.free(2)));
    reserved.unmap(1, 1).unwrap();
    assert!(is_refused(&reserved.free(1)));
    // The addresses are unchanged.
    reserved.map(0, 2).unwrap();
}

pub fn map_reports_out_of_memory_and_leaves_addresses_unmapped(make: Make) {
    let rig = Rig::new(make);
    let Some(some) = Reserved::new(&rig, 1) else { return };
    let units = (rig.driver.memory_info(0).unwrap().total / some.unit as u64) as usize + 1;
    let mut reserved = Reserved::new(&rig, units).unwrap();
    let before = free_bytes(&rig);
    match reserved.map(0, units) {
        Err(Error::OutOfMemory(oom)) => {
            assert_eq!((oom.device.index(), oom.requested), (Some(0), units * some.unit));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(free_bytes(&rig), before);
    reserved.map(0, 1).unwrap();
}
