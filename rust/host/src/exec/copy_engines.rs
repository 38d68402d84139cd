//! Copy engines, which limit how many copies and fills a device runs at a time.

use std::collections::BTreeMap;

use crate::object::stream::StreamId;

/// The copy engines of one device and the streams that wait for one. Streams with the smallest priority number are
/// served first; streams of equal priority in the order of their requests.
#[derive(Debug)]
pub(crate) struct CopyEngines {
    free: usize,
    /// Ordered by priority and ticket.
    waiting: BTreeMap<(i32, u64), StreamId>,
}

impl CopyEngines {
    /// The number of copy engines of a device.
    pub(crate) const COUNT: usize = 2;

    pub(crate) fn new() -> Self {
        CopyEngines { free: Self::COUNT, waiting: BTreeMap::new() }
    }

    /// Acquires an engine for a stream. If none is free, queues the stream and returns false: a later
    /// [`release`](CopyEngines::release) returns it. `ticket` increases with every call.
    pub(crate) fn acquire(&mut self, stream: StreamId, priority: i32, ticket: u64) -> bool {
        if self.free == 0 {
            self.waiting.insert((priority, ticket), stream);
            return false;
        }
        self.free -= 1;
        true
    }

    /// Releases an engine. If a stream waits, it acquires the engine and is returned.
    pub(crate) fn release(&mut self) -> Option<StreamId> {
        let next = self.waiting.pop_first().map(|(_, stream)| stream);
        if next.is_none() {
            self.free += 1;
        }
        next
    }

    /// Removes a stream from the queue.
    pub(crate) fn cancel(&mut self, stream: StreamId) {
        self.waiting.retain(|_, waiting| *waiting != stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_engines_serve_streams_by_priority_then_by_ticket() {
        let mut engines = CopyEngines::new();
        assert!((0..CopyEngines::COUNT as u64).all(|ticket| engines.acquire(100 + ticket, 0, ticket)));
        let waiting = [(1, 0), (2, -1), (3, -3), (4, -1), (5, 0)];
        for (ticket, (stream, priority)) in waiting.into_iter().enumerate() {
            assert!(!engines.acquire(stream, priority, 10 + ticket as u64));
        }
        engines.cancel(4);
        let order: Vec<_> = std::iter::from_fn(|| engines.release()).collect();
        assert_eq!(order, [3, 2, 1, 5]);
        assert_eq!(engines.release(), None);
        assert_eq!(engines.free, CopyEngines::COUNT);
    }
}
