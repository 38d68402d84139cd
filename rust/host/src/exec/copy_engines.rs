//! What moves a device's data: few, so that copies and fills take turns.

use std::collections::BTreeMap;

use crate::object::stream::StreamId;

/// The engines of one device, and who waits for one. The smallest priority goes first, and among equals who
/// came first.
#[derive(Debug)]
pub(crate) struct CopyEngines {
    free: usize,
    /// By priority and turn.
    waiting: BTreeMap<(i32, u64), StreamId>,
}

impl CopyEngines {
    /// How many a device has.
    pub(crate) const COUNT: usize = 2;

    pub(crate) fn new() -> Self {
        CopyEngines { free: Self::COUNT, waiting: BTreeMap::new() }
    }

    /// Takes an engine for a stream; false where it has to wait until [`give_back`](CopyEngines::give_back) names
    /// it. `turn` grows from call to call.
    pub(crate) fn take(&mut self, stream: StreamId, priority: i32, turn: u64) -> bool {
        if self.free == 0 {
            self.waiting.insert((priority, turn), stream);
            return false;
        }
        self.free -= 1;
        true
    }

    /// Gives an engine to the stream that is returned, if any waits.
    pub(crate) fn give_back(&mut self) -> Option<StreamId> {
        let next = self.waiting.pop_first().map(|(_, stream)| stream);
        if next.is_none() {
            self.free += 1;
        }
        next
    }

    /// The stream no longer waits.
    pub(crate) fn leave(&mut self, stream: StreamId) {
        self.waiting.retain(|_, waiting| *waiting != stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_engine_goes_to_the_highest_priority_and_among_equals_to_the_first() {
        let mut engines = CopyEngines::new();
        assert!((0..CopyEngines::COUNT as u64).all(|turn| engines.take(100 + turn, 0, turn)));
        for (turn, (stream, priority)) in [(1, 0), (2, -1), (3, -3), (4, -1), (5, 0)].into_iter().enumerate()
        {
            assert!(!engines.take(stream, priority, 10 + turn as u64));
        }
        engines.leave(4);
        let order: Vec<_> = std::iter::from_fn(|| engines.give_back()).collect();
        assert_eq!(order, [3, 2, 1, 5]);
        assert_eq!(engines.give_back(), None);
        assert_eq!(engines.free, CopyEngines::COUNT);
    }
}
