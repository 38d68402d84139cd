//! Addresses that get their memory later. A driver has them, or says that it has none.

use std::sync::Arc;

use crate::{Address, Copy, CopyEndpoint, DeviceIndex, Fill, StreamHandle};
use crate::{Error, Result};

use super::rig::{Make, Memory, Rig};

/// Reserved addresses of the first device, and which pieces of them have memory. One piece is as large as what the
/// driver gives at least.
struct Reserved<'a> {
    rig: &'a Rig,
    address: Address,
    pieces: usize,
    piece: usize,
    given: Vec<(usize, usize)>,
}

impl<'a> Reserved<'a> {
    const DEVICE: DeviceIndex = 0;

    /// `None` where the driver has no virtual memory.
    fn new(rig: &'a Rig, pieces: usize) -> Option<Self> {
        let piece = rig.driver.mapping_granularity(Self::DEVICE).unwrap();
        if piece == 0 {
            return None;
        }
        let address = rig.driver.reserve_addresses(Self::DEVICE, pieces * piece).unwrap();
        Some(Reserved { rig, address, pieces, piece, given: Vec::new() })
    }

    fn at(&self, first: usize) -> Address {
        Address(self.address.0 + (first * self.piece) as u64)
    }

    fn map(&mut self, first: usize, count: usize) -> Result<()> {
        self.rig.driver.map(Self::DEVICE, self.at(first), count * self.piece)?;
        self.given.push((first, count));
        Ok(())
    }

    /// What is asked for may be wrong; then nothing may change.
    fn unmap(&mut self, first: usize, count: usize) -> Result<()> {
        // SAFETY: whoever uses the addresses waits for its work, and a part or what has no memory is refused.
        unsafe { self.rig.driver.unmap(Self::DEVICE, self.at(first), count * self.piece) }?;
        self.given.retain(|given| *given != (first, count));
        Ok(())
    }

    fn release(&self, pieces: usize) -> Result<()> {
        // SAFETY: what has memory, or is a part, is refused.
        unsafe { self.rig.driver.free_addresses(Self::DEVICE, self.address, pieces * self.piece) }
    }

    fn copy(&self, stream: StreamHandle, offset: usize, other: &Arc<Memory>, inwards: bool) {
        let here = CopyEndpoint::Device(Self::DEVICE, Address(self.address.0 + offset as u64));
        let (to, from) = if inwards { (here, other.place()) } else { (other.place(), here) };
        let copy = Copy { to, from, bytes: other.bytes, keep_alive: Some(other.clone()) };
        // SAFETY: the keeper owns one end, and the other has memory until the stream is finished.
        unsafe { self.rig.driver.copy(stream, copy) }.unwrap();
        self.rig.finish(stream);
    }

    fn fill(&self, stream: StreamHandle, first: usize, value: u8) {
        let fill = Fill { address: self.at(first), bytes: self.piece, value, keep_alive: None };
        // SAFETY: the piece has memory until the stream is finished.
        unsafe { self.rig.driver.fill(stream, fill) }.unwrap();
        self.rig.finish(stream);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        for (first, count) in std::mem::take(&mut self.given) {
            let taken = self.unmap(first, count);
            assert!(taken.is_ok() || std::thread::panicking(), "{taken:?}");
        }
        let released = self.release(self.pieces);
        assert!(released.is_ok() || std::thread::panicking(), "{released:?}");
    }
}

fn is_refused<T>(result: &Result<T>) -> bool {
    matches!(result, Err(Error::Argument { .. }))
}

fn free(rig: &Rig) -> u64 {
    rig.driver.memory_info(Reserved::DEVICE).unwrap().free
}

pub fn without_virtual_memory_every_function_says_so(make: Make) {
    let rig = Rig::new(make);
    let (driver, bytes, address) = (&rig.driver, 1 << 21, Address(1 << 21));
    if driver.mapping_granularity(0).unwrap() != 0 {
        return;
    }
    assert!(matches!(driver.reserve_addresses(0, bytes), Err(Error::Unsupported { .. })));
    assert!(matches!(driver.map(0, address, bytes), Err(Error::Unsupported { .. })));
    // SAFETY: the driver has no such addresses, and says so.
    let refused = unsafe { [driver.unmap(0, address, bytes), driver.free_addresses(0, address, bytes)] };
    assert!(refused.iter().all(|refused| matches!(refused, Err(Error::Unsupported { .. }))), "{refused:?}");
}

pub fn reserved_addresses_are_aligned_and_take_no_memory(make: Make) {
    let rig = Rig::new(make);
    let before = free(&rig);
    let Some(first) = Reserved::new(&rig, 3) else { return };
    // More than the device has memory.
    let pieces = (rig.driver.memory_info(0).unwrap().total / first.piece as u64) as usize + 1;
    let second = Reserved::new(&rig, pieces).unwrap();
    assert!(first.piece.is_multiple_of(512));
    assert_eq!([first.address.0 % first.piece as u64, second.address.0 % first.piece as u64], [0, 0]);
    let [(low, pieces), (high, _)] = {
        let mut both = [(first.address.0, first.pieces), (second.address.0, second.pieces)];
        both.sort_unstable();
        both
    };
    assert!(low != 0 && low + (pieces * first.piece) as u64 <= high);
    assert_eq!(free(&rig), before);
    for bytes in [0, first.piece / 2, first.piece + 1] {
        assert!(is_refused(&rig.driver.reserve_addresses(0, bytes)), "{bytes}");
    }
}

pub fn a_copy_goes_across_addresses_that_were_given_memory_in_any_order(make: Make) {
    let rig = Rig::new(make);
    let Some(mut reserved) = Reserved::new(&rig, 4) else { return };
    let stream = rig.stream(0);
    for (first, count) in [(3, 1), (0, 1), (1, 2)] {
        reserved.map(first, count).unwrap();
    }
    let content: Vec<u8> = (0..2 * reserved.piece).map(|place| (place / 251) as u8).collect();
    let (sent, received) = (rig.pinned(&content), rig.pinned(&vec![0; content.len()]));
    for offset in [reserved.piece / 2, 2 * reserved.piece] {
        reserved.copy(stream, offset, &sent, true);
        reserved.copy(stream, offset, &received, false);
        assert!(received.content() == content);
    }
}

pub fn memory_of_addresses_counts_as_allocated_until_it_is_taken_back(make: Make) {
    let rig = Rig::new(make);
    let before = free(&rig);
    let Some(mut reserved) = Reserved::new(&rig, 3) else { return };
    let piece = reserved.piece as u64;
    reserved.map(0, 2).unwrap();
    assert!(before - free(&rig) >= 2 * piece);
    reserved.map(2, 1).unwrap();
    assert!(before - free(&rig) >= 3 * piece);
    reserved.unmap(0, 2).unwrap();
    assert!(before - free(&rig) >= piece && before - free(&rig) < 3 * piece);
    drop(reserved);
    assert_eq!(free(&rig), before);
}

pub fn addresses_are_given_memory_again(make: Make) {
    let rig = Rig::new(make);
    let Some(mut reserved) = Reserved::new(&rig, 2) else { return };
    let (stream, kept) = (rig.stream(0), rig.pinned(&[7; 512]));
    reserved.map(0, 1).unwrap();
    reserved.map(1, 1).unwrap();
    reserved.copy(stream, reserved.piece, &kept, true);
    for value in [1, 2] {
        reserved.fill(stream, 0, value);
        let received = rig.pinned(&[0; 512]);
        reserved.copy(stream, 0, &received, false);
        assert_eq!(received.content(), [value; 512]);
        reserved.unmap(0, 1).unwrap();
        reserved.map(0, 1).unwrap();
    }
    // What lies beside it was left alone.
    let received = rig.pinned(&[0; 512]);
    reserved.copy(stream, reserved.piece, &received, false);
    assert_eq!(received.content(), [7; 512]);
}

pub fn addresses_have_memory_once_and_only_within_what_was_reserved(make: Make) {
    let rig = Rig::new(make);
    let Some(mut reserved) = Reserved::new(&rig, 4) else { return };
    reserved.map(1, 2).unwrap();
    let before = free(&rig);
    for (first, count) in [(1, 2), (1, 1), (2, 1), (0, 2), (2, 2), (0, 4), (3, 2), (4, 1), (9, 1), (3, 0)] {
        assert!(is_refused(&reserved.map(first, count)), "{first} {count}");
    }
    let (driver, piece) = (&rig.driver, reserved.piece);
    assert!(is_refused(&driver.map(0, Address(reserved.at(0).0 + 512), piece)));
    assert!(is_refused(&driver.map(0, reserved.at(0), piece / 2)));
    assert!(is_refused(&driver.map(0, Address(u64::MAX - 511), piece)));
    assert_eq!(free(&rig), before);
    reserved.map(3, 1).unwrap();
    reserved.map(0, 1).unwrap();
}

pub fn only_what_was_given_at_once_is_taken_back(make: Make) {
    let rig = Rig::new(make);
    let Some(mut reserved) = Reserved::new(&rig, 4) else { return };
    reserved.map(0, 2).unwrap();
    reserved.map(2, 1).unwrap();
    let before = free(&rig);
    for (first, count) in [(0, 1), (1, 1), (0, 3), (3, 1), (2, 2), (9, 1)] {
        assert!(is_refused(&reserved.unmap(first, count)), "{first} {count}");
    }
    assert_eq!(free(&rig), before);
    reserved.unmap(0, 2).unwrap();
    assert!(is_refused(&reserved.unmap(0, 2)));
}

pub fn addresses_with_memory_are_not_given_back(make: Make) {
    let rig = Rig::new(make);
    let Some(mut reserved) = Reserved::new(&rig, 2) else { return };
    reserved.map(1, 1).unwrap();
    assert!(is_refused(&reserved.release(2)));
    reserved.unmap(1, 1).unwrap();
    assert!(is_refused(&reserved.release(1)));
    // They are as before.
    reserved.map(0, 2).unwrap();
}

pub fn more_memory_than_there_is_is_told_and_addresses_stay_without(make: Make) {
    let rig = Rig::new(make);
    let Some(some) = Reserved::new(&rig, 1) else { return };
    let pieces = (rig.driver.memory_info(0).unwrap().total / some.piece as u64) as usize + 1;
    let mut reserved = Reserved::new(&rig, pieces).unwrap();
    let before = free(&rig);
    match reserved.map(0, pieces) {
        Err(Error::OutOfMemory(told)) => {
            assert_eq!((told.device.index(), told.requested), (Some(0), pieces * some.piece));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(free(&rig), before);
    reserved.map(0, 1).unwrap();
}
