//! The books of addresses that were reserved, and of which parts were given memory.

use std::collections::BTreeMap;

use super::Device;
use super::driver::Address;
use crate::Error;

pub(super) const RESERVING: &str = "reserving addresses";
pub(super) const RELEASING: &str = "giving addresses back";
pub(super) const MAPPING: &str = "giving memory to addresses";
pub(super) const UNMAPPING: &str = "taking memory from addresses";

/// The error for so many bytes of addresses that can't be reserved.
pub(super) fn not_whole(bytes: usize, granularity: usize) -> Error {
    let (given, allowed) = (format!("{bytes} bytes"), format!("a multiple of {granularity}"));
    Error::Argument { name: RESERVING, given, allowed }
}

/// The error for addresses that can't be given back.
pub(super) fn not_unused(device: Device, address: Address, bytes: usize) -> Error {
    refused(RELEASING, address, bytes, format!("what was reserved on {device} and has no memory"))
}

/// The error for addresses that can't be given memory.
pub(super) fn not_free(device: Device, address: Address, bytes: usize, granularity: usize) -> Error {
    let allowed =
        format!("whole multiples of {granularity} of what was reserved on {device} and has no memory");
    refused(MAPPING, address, bytes, allowed)
}

/// The error for addresses whose memory can't be taken back.
pub(super) fn not_a_piece(device: Device, address: Address, bytes: usize) -> Error {
    refused(UNMAPPING, address, bytes, format!("what was given memory at once on {device}"))
}

fn refused(name: &'static str, address: Address, bytes: usize, allowed: String) -> Error {
    Error::Argument { name, given: format!("{bytes} bytes at {:#x}", address.0), allowed }
}

/// Reserved addresses by the first, what owns them, and the pieces that have memory.
#[derive(Debug)]
pub(super) struct Reservations<Owner = ()>(BTreeMap<u64, Reservation<Owner>>);

#[derive(Debug)]
struct Reservation<Owner> {
    bytes: usize,
    owner: Owner,
    /// Bytes by the first address: what was given memory at once.
    pieces: BTreeMap<u64, usize>,
}

impl<Owner> Reservation<Owner> {
    fn end(&self, start: u64) -> u64 {
        start + self.bytes as u64
    }

    /// Whether any of these addresses has memory.
    fn overlaps(&self, address: u64, bytes: usize) -> bool {
        let below = self.pieces.range(..address + bytes as u64).next_back();
        below.is_some_and(|(start, length)| start + *length as u64 > address)
    }
}

impl<Owner> Default for Reservations<Owner> {
    fn default() -> Self {
        Reservations(BTreeMap::new())
    }
}

impl<Owner> Reservations<Owner> {
    /// Addresses were reserved.
    pub(super) fn add(&mut self, address: Address, bytes: usize, owner: Owner) {
        self.0.insert(address.0, Reservation { bytes, owner, pieces: BTreeMap::new() });
    }

    /// Takes what was reserved at once, and has no memory, off the books; `None` if there is no such thing.
    pub(super) fn remove(&mut self, address: Address, bytes: usize) -> Option<Owner> {
        self.0.get(&address.0).filter(|found| found.bytes == bytes && found.pieces.is_empty())?;
        self.0.remove(&address.0).map(|found| found.owner)
    }

    fn around(&mut self, address: Address, bytes: usize) -> Option<&mut Reservation<Owner>> {
        let (start, reservation) = self.0.range_mut(..=address.0).next_back()?;
        let end = address.0.checked_add(bytes as u64)?;
        (end <= reservation.end(*start)).then_some(reservation)
    }

    /// Whether addresses are reserved and have no memory.
    pub(super) fn are_free(&mut self, address: Address, bytes: usize) -> bool {
        self.around(address, bytes).is_some_and(|found| !found.overlaps(address.0, bytes))
    }

    /// Addresses that are free are given memory.
    pub(super) fn give(&mut self, address: Address, bytes: usize) {
        if let Some(found) = self.around(address, bytes) {
            found.pieces.insert(address.0, bytes);
        }
    }

    /// Whether addresses were given memory at once.
    pub(super) fn is_piece(&mut self, address: Address, bytes: usize) -> bool {
        self.around(address, bytes).is_some_and(|found| found.pieces.get(&address.0) == Some(&bytes))
    }

    /// Takes the memory of a piece off the books; false if it is none.
    pub(super) fn take(&mut self, address: Address, bytes: usize) -> bool {
        let is_piece = self.is_piece(address, bytes);
        if let Some(found) = self.around(address, bytes).filter(|_| is_piece) {
            found.pieces.remove(&address.0);
        }
        is_piece
    }

    /// All pieces that have memory.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (Address, usize)> {
        self.0.values().flat_map(|found| &found.pieces).map(|(start, bytes)| (Address(*start), *bytes))
    }
}
