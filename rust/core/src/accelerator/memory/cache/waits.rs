//! What can be used again, or given back, once streams have got somewhere.

use std::collections::{BTreeMap, VecDeque};

use super::piece::PieceId;
use crate::accelerator::driver::{DeviceIndex, DriverRuntime, EventHandle, EventOptions, StreamHandle};
use crate::accelerator::stream::Stream;
use crate::{Error, Result};

/// Everything that waits for streams.
#[derive(Default)]
pub(super) struct Waits {
    /// Freed pieces by the streams whose work still uses them. Of each stream only the first is looked at. In an order
    /// that is always the same, so that the same program has the same peaks.
    freed: BTreeMap<(DeviceIndex, i64), VecDeque<Freed>>,
    /// Freed pieces for which no event can be recorded while a graph is captured.
    postponed: Vec<(u64, PieceId)>,
    /// What goes back to the driver.
    leaving: Vec<Leaving>,
    /// The numbers of what was leaving and is with the driver just now.
    with_driver: Vec<u64>,
    /// Events that nobody uses.
    idle: Vec<EventHandle>,
    /// How many waits have begun.
    begun: u64,
    /// Why a driver could not tell how far a stream is.
    trouble: Option<Error>,
}

struct Freed {
    number: u64,
    event: EventHandle,
    piece: PieceId,
}

/// Pieces that go back to the driver once all events have passed.
struct Leaving {
    number: u64,
    events: Vec<EventHandle>,
    pieces: Vec<PieceId>,
}

/// A piece that can be given back.
pub(super) struct Ready {
    number: u64,
    pub(super) piece: PieceId,
}

impl Waits {
    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.leaving.is_empty() && self.postponed.is_empty() && self.freed.is_empty()
    }

    /// The last wait that has begun.
    pub(super) fn newest(&self) -> u64 {
        self.begun
    }

    /// Whether a freed piece still waits that began to by then.
    pub(super) fn any_freed_until(&self, newest: u64) -> bool {
        self.freed.values().filter_map(VecDeque::front).any(|freed| freed.number <= newest)
    }

    /// Whether anything is still on its way to the driver that was by then.
    pub(super) fn any_leaving_until(&self, newest: u64) -> bool {
        let mut numbers =
            self.leaving.iter().map(|leaving| leaving.number).chain(self.with_driver.iter().copied());
        numbers.any(|number| number <= newest)
    }

    fn next_number(&mut self) -> u64 {
        self.begun += 1;
        self.begun
    }

    /// An event after all that is queued on the stream.
    pub(super) fn recorded(
        &mut self,
        driver: &dyn DriverRuntime,
        stream: StreamHandle,
    ) -> Result<EventHandle> {
        let device = stream.device;
        let event = match self.idle.iter().position(|event| event.device == device) {
            Some(place) => self.idle.swap_remove(place),
            None => driver.create_event(device, EventOptions::default())?,
        };
        let recorded = driver.record_event(event, stream).and_then(|()| match driver.capture_id(stream)? {
            None => Ok(()),
            // A capture has just begun, and the event is a part of it.
            Some(_) => {
                Err(Error::Graph { operation: "an allocation", reason: "the stream captures".to_owned() })
            }
        });
        if recorded.is_err() {
            self.idle.push(event);
        }
        recorded.map(|()| event)
    }

    /// Events after all that is queued on the streams.
    pub(super) fn recorded_on_all(
        &mut self,
        driver: &dyn DriverRuntime,
        streams: &[Stream],
    ) -> Result<Vec<EventHandle>> {
        let mut events = Vec::with_capacity(streams.len());
        for stream in streams {
            match stream.handle().and_then(|stream| self.recorded(driver, stream)) {
                Ok(event) => events.push(event),
                Err(error) => {
                    self.idle.extend(events);
                    return Err(error);
                }
            }
        }
        Ok(events)
    }

    /// Nobody waits for these events.
    pub(super) fn forget(&mut self, events: Vec<EventHandle>) {
        self.idle.extend(events);
    }

    /// Why a driver could not tell how far a stream is, if that happened since this was last asked.
    pub(super) fn take_trouble(&mut self) -> Result<()> {
        self.trouble.take().map_or(Ok(()), Err)
    }

    /// A freed piece waits for what the streams have queued now. Returns for how many, or fails where one of them
    /// can't be asked, and then waits for none.
    pub(super) fn wait_for(
        &mut self,
        driver: &dyn DriverRuntime,
        piece: PieceId,
        streams: &[Stream],
    ) -> Result<usize> {
        let events = self.recorded_on_all(driver, streams)?;
        let number = self.next_number();
        for (stream, event) in streams.iter().zip(&events) {
            let queue = self.freed.entry((stream.device_index(), stream.id())).or_default();
            queue.push_back(Freed { number, event: *event, piece });
        }
        Ok(events.len())
    }

    /// A freed piece waits until events can be recorded again.
    pub(super) fn postpone(&mut self, piece: PieceId) {
        let number = self.next_number();
        self.postponed.push((number, piece));
    }

    /// The pieces that were postponed, which are so no longer.
    pub(super) fn take_postponed(&mut self) -> Vec<PieceId> {
        std::mem::take(&mut self.postponed).into_iter().map(|(_, piece)| piece).collect()
    }

    /// Pieces go back once all events have passed.
    pub(super) fn leave(&mut self, events: Vec<EventHandle>, pieces: Vec<PieceId>) {
        let number = self.next_number();
        self.leaving.push(Leaving { number, events, pieces });
    }

    /// Pieces of which one stream less has queued work, once for each stream that has got past it. What waits for
    /// another device that was lost is forgotten: it never passes, which is no trouble of `device`.
    pub(super) fn passed(&mut self, driver: &dyn DriverRuntime, device: DeviceIndex) -> Vec<PieceId> {
        let mut passed = Vec::new();
        for ((other, _), queue) in &mut self.freed {
            while let Some(first) = queue.front() {
                match driver.has_completed(first.event) {
                    Ok(true) => {
                        self.idle.push(first.event);
                        passed.push(first.piece);
                        queue.pop_front();
                    }
                    Ok(false) => break,
                    Err(Error::DeviceLost { .. }) if *other != device => queue.clear(),
                    Err(error) => {
                        self.trouble = Some(error);
                        break;
                    }
                }
            }
        }
        self.freed.retain(|_, queue| !queue.is_empty());
        passed
    }

    /// What can be given back to the driver now. Who takes it says when that has been [done](Waits::given_back).
    pub(super) fn ready(&mut self, driver: &dyn DriverRuntime) -> Vec<Ready> {
        if self.leaving.is_empty() {
            return Vec::new();
        }
        let trouble = &mut self.trouble;
        let mut has_passed =
            |leaving: &mut Leaving| leaving.events.iter().all(|event| is_over(driver, *event, trouble));
        let mut ready = Vec::new();
        for leaving in self.leaving.extract_if(.., &mut has_passed) {
            self.idle.extend(leaving.events);
            self.with_driver.extend(std::iter::repeat_n(leaving.number, leaving.pieces.len()));
            ready.extend(leaving.pieces.into_iter().map(|piece| Ready { number: leaving.number, piece }));
        }
        ready
    }

    /// A piece is with the driver no more.
    pub(super) fn given_back(&mut self, ready: &Ready) {
        if let Some(place) = self.with_driver.iter().position(|number| *number == ready.number) {
            self.with_driver.swap_remove(place);
        }
    }
}

/// Whether an event has passed. Where that can't be told it has not: a device that is lost may still write.
fn is_over(driver: &dyn DriverRuntime, event: EventHandle, trouble: &mut Option<Error>) -> bool {
    driver.has_completed(event).unwrap_or_else(|error| {
        *trouble = Some(error);
        false
    })
}
