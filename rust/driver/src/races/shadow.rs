//! The last accesses of each byte.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::access::{Access, AccessKind};
use super::clock::Actor;

/// An allocation of memory from a cache, which work of the stream that it was allocated for may use at once.
#[derive(Clone)]
pub(super) struct Allocation {
    /// The allocation in the order of its stream. Work of the previous owner must precede it.
    pub access: Arc<Access>,
    /// Its time for the program. Work that was queued later is work of the new owner.
    pub program_time: u64,
}

impl Allocation {
    /// Returns whether an access is neither one of the owner nor ordered before the allocation.
    fn is_used_by_other(&self, access: &Access) -> bool {
        let is_later = access.moment.seen.time_of(Actor::HOST) >= self.program_time;
        !is_later && !access.precedes(&self.access)
    }
}

/// The last accesses of bytes that have the same ones.
#[derive(Clone, Default)]
struct Cell {
    /// The last write.
    write: Option<Arc<Access>>,
    /// The reads since the last write, none of which follows another.
    reads: Vec<Arc<Access>>,
    /// The release of the memory, until it is allocated again.
    release: Option<Arc<Access>>,
    /// The allocation that the bytes are a part of.
    allocation: Option<Allocation>,
}

/// Gets two accesses that race, and the allocation of the memory.
pub(super) type OnRace<'a> = &'a mut dyn FnMut(&Arc<Access>, Option<&Arc<Access>>);

impl Cell {
    /// Adds an access, and reports each earlier access that it races with.
    fn add(&mut self, access: &Arc<Access>, on_race: OnRace<'_>) {
        let allocation = self.allocation.as_ref();
        if let Some(allocation) = allocation.filter(|allocation| allocation.is_used_by_other(access)) {
            return on_race(&allocation.access, Some(&allocation.access));
        }
        // Work that was queued before the release is ordered by the allocator, or races with the next owner.
        let released = self.release.iter().filter(|release| release.precedes(access));
        let is_read = access.kind == AccessKind::Read;
        let reads = self.reads.iter().filter(|_| !is_read);
        let unordered = self.write.iter().chain(reads).filter(|earlier| !access.is_ordered_with(earlier));
        for earlier in released.chain(unordered) {
            on_race(earlier, allocation.map(|allocation| &allocation.access));
        }
        if is_read {
            self.reads.retain(|earlier| !earlier.precedes(access));
            self.reads.push(access.clone());
        } else {
            self.write = Some(access.clone());
            self.reads.clear();
        }
    }

    /// Begins another use of the memory, and reports each access of the previous one that may still happen. The others
    /// remain: streams other than the one of the allocation may not know of them.
    fn allocate(&mut self, allocation: &Allocation, on_race: OnRace<'_>) {
        let mut precedes = |earlier: &Arc<Access>| {
            let precedes = earlier.precedes(&allocation.access);
            if !precedes {
                on_race(earlier, self.allocation.as_ref().map(|allocation| &allocation.access));
            }
            precedes
        };
        self.write.take_if(|write| !precedes(write));
        self.reads.retain(|read| precedes(read));
        (self.allocation, self.release) = (Some(allocation.clone()), None);
    }

    /// Returns whether another cell has the same accesses, and neither has reads.
    fn is_like(&self, other: &Cell) -> bool {
        let same = |one: Option<&Arc<Access>>, other: Option<&Arc<Access>>| match (one, other) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        let [own, others] = [self, other].map(|cell| cell.allocation.as_ref().map(|found| &found.access));
        self.reads.is_empty()
            && other.reads.is_empty()
            && same(self.write.as_ref(), other.write.as_ref())
            && same(self.release.as_ref(), other.release.as_ref())
            && same(own, others)
    }
}

/// The cells of all memory that was accessed, by address: FastTrack's shadow memory, with one cell for a range of
/// bytes instead of one for each variable.
#[derive(Default)]
pub(super) struct Shadow {
    /// The end of each range, and its cell, by the start.
    cells: BTreeMap<usize, (usize, Cell)>,
}

impl Shadow {
    /// Adds a read or a write of its bytes, and reports each earlier access that it races with.
    pub fn access(&mut self, access: &Arc<Access>, on_race: OnRace<'_>) {
        self.for_each(&access.bytes, |cell| cell.add(access, on_race));
        if access.kind == AccessKind::Write {
            self.merge(&access.bytes);
        }
    }

    /// Adds an allocation of its bytes, and reports each access of the previous owner that may still happen.
    pub fn allocate(&mut self, allocation: &Allocation, on_race: OnRace<'_>) {
        self.for_each(&allocation.access.bytes, |cell| cell.allocate(allocation, on_race));
    }

    /// Adds a release of its bytes. Work that is queued later must not use them.
    pub fn release(&mut self, release: &Arc<Access>) {
        self.for_each(&release.bytes, |cell| cell.release = Some(release.clone()));
    }

    /// Calls a function with the cells of exactly these bytes.
    fn for_each(&mut self, bytes: &Range<usize>, mut function: impl FnMut(&mut Cell)) {
        if bytes.is_empty() {
            return;
        }
        self.split(bytes.start);
        self.split(bytes.end);
        let (mut next, mut gaps) = (bytes.start, Vec::new());
        for (start, (end, cell)) in self.cells.range_mut(bytes.clone()) {
            if next < *start {
                gaps.push(next..*start);
            }
            function(cell);
            next = *end;
        }
        if next < bytes.end {
            gaps.push(next..bytes.end);
        }
        for gap in gaps {
            let mut cell = Cell::default();
            function(&mut cell);
            self.cells.insert(gap.start, (gap.end, cell));
        }
    }

    /// Forgets bytes that were returned to the system, which may use them for anything.
    pub fn remove(&mut self, bytes: &Range<usize>) {
        self.split(bytes.start);
        self.split(bytes.end);
        let removed: Vec<_> = self.cells.range(bytes.clone()).map(|(start, _)| *start).collect();
        removed.iter().for_each(|start| drop(self.cells.remove(start)));
    }

    /// Splits the cell that contains an address and does not begin there.
    fn split(&mut self, at: usize) {
        let Some((start, (end, cell))) = self.cells.range_mut(..at).next_back() else { return };
        debug_assert!(*start < at, "a cell before the address");
        if *end > at {
            let rest = (*end, cell.clone());
            *end = at;
            self.cells.insert(at, rest);
        }
    }

    /// Makes cells one if they are alike, as most are after a write.
    fn merge(&mut self, bytes: &Range<usize>) {
        let mut cells = self.cells.range(bytes.clone()).map(|(_, (_, cell))| cell);
        let is_one = cells.next().is_some_and(|first| cells.all(|cell| cell.is_like(first)));
        if is_one && let Some((_, cell)) = self.cells.remove(&bytes.start) {
            self.remove(bytes);
            self.cells.insert(bytes.start, (bytes.end, cell));
        }
    }

    /// Returns the number of cells.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.cells.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::access::{Moment, Work};
    use super::super::clock::VectorClock;
    use super::*;

    /// An access of an actor that follows nothing but its own work.
    fn access(actor: Actor, time: u64, kind: AccessKind, bytes: Range<usize>) -> Arc<Access> {
        let mut seen = VectorClock::default();
        while seen.time_of(actor) < time {
            seen.tick(actor);
        }
        let work = Work { operation: "work".into(), stack: None, stream: None, thread: None };
        Arc::new(Access { moment: Arc::new(Moment { session: 1, actor, time, seen, work }), kind, bytes })
    }

    fn races(shadow: &mut Shadow, access: &Arc<Access>) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        shadow.access(access, &mut |earlier, _| found.push(earlier.bytes.clone()));
        found
    }

    #[test]
    fn accesses_of_one_byte_race_if_one_writes_and_nothing_orders_them() {
        let (one, other) = (Actor::HOST.next(), Actor::HOST.next().next());
        let mut shadow = Shadow::default();
        assert!(races(&mut shadow, &access(one, 1, AccessKind::Write, 0..8)).is_empty());
        assert!(races(&mut shadow, &access(one, 2, AccessKind::Write, 4..12)).is_empty());
        assert!(races(&mut shadow, &access(other, 1, AccessKind::Read, 12..20)).is_empty());
        assert_eq!(races(&mut shadow, &access(other, 2, AccessKind::Read, 3..5)), [0..8, 4..12]);
        assert!(races(&mut shadow, &access(one, 3, AccessKind::Read, 0..20)).is_empty());
        assert_eq!(
            races(&mut shadow, &access(one, 4, AccessKind::Write, 19..21)),
            vec![Range { start: 12, end: 20 }]
        );
    }

    #[test]
    fn cells_of_a_write_become_one() {
        let one = Actor::HOST.next();
        let mut shadow = Shadow::default();
        for part in 0..8 {
            races(&mut shadow, &access(one, 1 + part as u64, AccessKind::Write, part * 8..part * 8 + 8));
        }
        assert_eq!(shadow.len(), 8);
        races(&mut shadow, &access(one, 9, AccessKind::Write, 0..64));
        assert_eq!(shadow.len(), 1);
        shadow.remove(&(8..16));
        assert_eq!(shadow.len(), 2);
    }
}
