//! Marks in streams that are to be passed before somebody else gets a block.

use std::collections::{BTreeMap, VecDeque};

use super::super::super::driver::{Address, DeviceIndex, EventHandle};
use super::super::super::stream::Stream;

/// A stream by its device and its id, which no other stream gets.
type StreamKey = (DeviceIndex, i64);

/// The oldest mark of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Front {
    stream: StreamKey,
    pub(super) event: EventHandle,
    number: u64,
}

#[derive(Debug)]
struct Mark {
    event: EventHandle,
    /// Tells records of one event apart.
    number: u64,
    address: Address,
}

/// A stream that uses a block that nobody has any more, and in which no mark could be set: it captures, or its device
/// is lost.
#[derive(Debug)]
pub(super) struct Unmarked {
    pub(super) stream: Stream,
    pub(super) address: Address,
}

/// All marks of a cache, and events for more.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The oldest first.
    queues: BTreeMap<StreamKey, VecDeque<Mark>>,
    pub(super) unmarked: Vec<Unmarked>,
    /// Events that mark nothing now. They are kept as long as the process lives.
    events: BTreeMap<DeviceIndex, Vec<EventHandle>>,
    numbers: u64,
}

impl Marks {
    /// An event that was used before.
    pub(super) fn event(&mut self, device: DeviceIndex) -> Option<EventHandle> {
        self.events.get_mut(&device)?.pop()
    }

    /// An event that marks nothing that anybody is interested in.
    pub(super) fn reuse(&mut self, event: EventHandle) {
        self.events.entry(event.device).or_default().push(event);
    }

    /// A stream no longer uses a block behind the place that an event marks. Without one it is to be marked again.
    pub(super) fn add(&mut self, stream: &Stream, event: Option<EventHandle>, address: Address) {
        let Some(event) = event else {
            self.unmarked.push(Unmarked { stream: stream.clone(), address });
            return;
        };
        self.numbers += 1;
        let queue = self.queues.entry((stream.device_index(), stream.id())).or_default();
        queue.push_back(Mark { event, number: self.numbers, address });
    }

    /// The oldest mark of every stream.
    pub(super) fn fronts(&self) -> Vec<Front> {
        self.queues.keys().filter_map(|stream| self.front(*stream)).collect()
    }

    fn front(&self, stream: StreamKey) -> Option<Front> {
        let mark = self.queues.get(&stream)?.front()?;
        Some(Front { stream, event: mark.event, number: mark.number })
    }

    /// The block whose mark was passed, unless another thread has found that before, and the next mark of the stream.
    pub(super) fn pass(&mut self, front: Front) -> (Option<Address>, Option<Front>) {
        let queue = self.queues.get_mut(&front.stream);
        let Some(queue) = queue.filter(|queue| queue.front().is_some_and(|mark| mark.number == front.number))
        else {
            return (None, None);
        };
        let Some(passed) = queue.pop_front() else { return (None, None) };
        self.reuse(passed.event);
        let next = self.front(front.stream);
        if next.is_none() {
            self.queues.remove(&front.stream);
        }
        (Some(passed.address), next)
    }
}
