//! Blocks of a program that want to know what is allocated while they run.

/// What was allocated on a device while a block ran. In bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScopeStatistics {
    /// What was allocated since the block began and is still in use.
    pub current: u64,
    /// The most that was so at one time.
    pub peak: u64,
    /// All that was allocated since.
    pub total: u64,
    /// In how many pieces.
    pub allocations: u64,
}

/// Blocks that are open.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    open: Vec<Open>,
    opened: u64,
}

#[derive(Debug)]
struct Open {
    id: u64,
    /// The last request before it.
    since: u64,
    counted: ScopeStatistics,
}

impl Scopes {
    /// Opens a block after so many requests; returns what it is closed with.
    pub(super) fn open(&mut self, requests: u64) -> u64 {
        self.opened += 1;
        self.open.push(Open { id: self.opened, since: requests, counted: ScopeStatistics::default() });
        self.opened
    }

    /// What a block has counted so far, if it is open.
    pub(super) fn counted(&self, id: u64) -> Option<ScopeStatistics> {
        self.open.iter().find(|open| open.id == id).map(|open| open.counted)
    }

    /// Closes a block; returns what it has counted.
    pub(super) fn close(&mut self, id: u64) -> Option<ScopeStatistics> {
        let place = self.open.iter().position(|open| open.id == id)?;
        Some(self.open.remove(place).counted)
    }

    /// A piece was handed out.
    pub(super) fn add(&mut self, bytes: u64) {
        for Open { counted, .. } in &mut self.open {
            counted.current += bytes;
            counted.peak = counted.peak.max(counted.current);
            counted.total += bytes;
            counted.allocations += 1;
        }
    }

    /// A piece that was handed out by the request with this number is used no more.
    pub(super) fn take(&mut self, request: u64, bytes: u64) {
        for open in self.open.iter_mut().filter(|open| open.since < request) {
            open.counted.current = open.counted.current.saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_counts_only_what_was_allocated_while_it_ran() {
        let mut scopes = Scopes::default();
        let outer = scopes.open(0);
        scopes.add(10);
        let inner = scopes.open(1);
        scopes.add(5);
        scopes.take(1, 10);
        scopes.take(2, 5);
        scopes.add(2);
        let counted =
            |current, peak, total, allocations| Some(ScopeStatistics { current, peak, total, allocations });
        assert_eq!(scopes.close(inner), counted(2, 5, 7, 2));
        assert_eq!(scopes.close(outer), counted(2, 15, 17, 3));
        assert_eq!(scopes.close(outer), None);
    }
}
