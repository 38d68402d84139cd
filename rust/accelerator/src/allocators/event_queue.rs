//! Items waiting for stream events before they are reused or freed.
//!
//! Kernels and copies such as `cudaMemcpyAsync` return before they finish, so a block that a stream has used cannot be
//! reused when it is freed: first an event is recorded on that stream, and the block is reused once the event has
//! completed. [`EventQueue`] stores these items in one FIFO per stream. Events of a stream complete in the order in
//! which they were recorded, so only the oldest event of each stream is queried.
//!
//! PyTorch calls this structure `cuda_events` and polls it in `process_events`. The caching allocator and the cache of
//! pinned memory each own one.

use std::collections::{BTreeMap, VecDeque};

use interlock_driver::{DeviceIndex, EventHandle, EventOptions, StreamHandle};

use super::DynDriver;
use crate::stream::Stream;
use crate::{Error, Result};

/// The device and the id of a stream, which are unique while items wait for it.
type StreamKey = (DeviceIndex, i64);

/// Items of type `T`, each waiting for one event for each stream that has used it.
#[derive(Debug)]
pub(super) struct EventQueue<T> {
    /// Ordered by stream, so that a program frees its blocks in the same order in every run.
    pending: BTreeMap<StreamKey, VecDeque<Pending<T>>>,
    /// Items whose event could not be recorded yet: their stream is captured, or its device is lost.
    deferred: Vec<(Stream, T)>,
    /// Completed events, recycled because creating one takes a driver call.
    free_events: Vec<EventHandle>,
    /// The number of events that the queue has created. It destroys none.
    created_events: usize,
    last_ticket: u64,
    last_error: Option<Error>,
}

#[derive(Debug)]
struct Pending<T> {
    /// Increases with each item, so that callers can wait for the items that were queued before some moment.
    ticket: u64,
    event: EventHandle,
    item: T,
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        EventQueue {
            pending: BTreeMap::new(),
            deferred: Vec::new(),
            free_events: Vec::new(),
            created_events: 0,
            last_ticket: 0,
            last_error: None,
        }
    }
}

impl<T> EventQueue<T> {
    /// Records an event on `stream` and queues `item` behind it. If no event can be recorded, `item` is
    /// [deferred](EventQueue::defer).
    pub(super) fn push(&mut self, driver: &DynDriver, stream: &Stream, item: T) {
        match stream.handle().and_then(|handle| self.record_event(driver, handle)) {
            Ok(event) => {
                self.last_ticket += 1;
                let pending = Pending { ticket: self.last_ticket, event, item };
                self.pending.entry((stream.device_index(), stream.id())).or_default().push_back(pending);
            }
            Err(_) => self.defer(stream, item),
        }
    }

    /// Queues `item` without an event, which is recorded by [`retry_deferred`](EventQueue::retry_deferred).
    pub(super) fn defer(&mut self, stream: &Stream, item: T) {
        self.deferred.push((stream.clone(), item));
    }

    /// Queues deferred items again. Returns handles of their streams; the caller drops them without holding a lock,
    /// because the last handle of a stream calls the allocator and the driver.
    pub(super) fn retry_deferred(&mut self, driver: &DynDriver) -> Vec<Stream> {
        let deferred = std::mem::take(&mut self.deferred).into_iter();
        let retried = deferred.map(|(stream, item)| {
            self.push(driver, &stream, item);
            stream
        });
        retried.collect()
    }

    /// Removes and returns the items whose events have completed, ordered by stream and then by event. Never blocks.
    ///
    /// An event of a lost device never completes. Its items are removed and never reused, which is an error only if the
    /// lost device is `device`, the owner of the items.
    pub(super) fn drain_completed(&mut self, driver: &DynDriver, device: Option<DeviceIndex>) -> Vec<T> {
        let mut completed = Vec::new();
        for ((stream_device, _), queue) in &mut self.pending {
            while let Some(oldest) = queue.front() {
                match driver.has_completed(oldest.event) {
                    Ok(true) => {
                        self.free_events.push(oldest.event);
                        completed.extend(queue.pop_front().map(|oldest| oldest.item));
                    }
                    Ok(false) => break,
                    Err(Error::DeviceLost { .. }) if Some(*stream_device) != device => queue.clear(),
                    Err(error) => {
                        self.last_error = Some(error);
                        break;
                    }
                }
            }
        }
        self.pending.retain(|_, queue| !queue.is_empty());
        completed
    }

    /// Returns whether no item is waiting.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.deferred.is_empty()
    }

    /// Returns the number of events of the driver that the queue owns.
    #[cfg(feature = "host")]
    pub(super) fn owned_events(&self) -> usize {
        self.created_events
    }

    /// Returns the ticket of the item that was queued last.
    pub(super) fn last_ticket(&self) -> u64 {
        self.last_ticket
    }

    /// Returns whether an item is waiting for an event that was recorded up to this ticket.
    pub(super) fn is_pending_until(&self, ticket: u64) -> bool {
        self.pending.values().filter_map(VecDeque::front).any(|oldest| oldest.ticket <= ticket)
    }

    /// Records an event behind the work that is queued on a stream.
    ///
    /// # Errors
    /// Returns the driver's error, and [`Error::Graph`] if the stream is being captured: the event would become a part
    /// of the graph.
    pub(super) fn record_event(&mut self, driver: &DynDriver, stream: StreamHandle) -> Result<EventHandle> {
        check_not_capturing(driver, stream)?;
        let device = stream.device;
        let event = match self.free_events.iter().rposition(|event| event.device == device) {
            Some(index) => self.free_events.swap_remove(index),
            None => {
                let event = driver.create_event(device, EventOptions::default())?;
                self.created_events += 1;
                event
            }
        };
        // The event is in the graph if a capture began in the meantime.
        let recorded = driver.record_event(event, stream).and_then(|()| check_not_capturing(driver, stream));
        if recorded.is_err() {
            self.free_events.push(event);
        }
        recorded.map(|()| event)
    }

    /// Records an event on every stream; returns `None` if recording fails on one of them.
    pub(super) fn record_events(
        &mut self,
        driver: &DynDriver,
        streams: &[Stream],
    ) -> Option<Vec<EventHandle>> {
        let record =
            |stream: &Stream| stream.handle().and_then(|handle| self.record_event(driver, handle)).ok();
        let events: Vec<_> = streams.iter().map_while(record).collect();
        if events.len() == streams.len() {
            return Some(events);
        }
        self.recycle_events(events);
        None
    }

    /// Returns completed or unused events to the free list.
    pub(super) fn recycle_events(&mut self, events: Vec<EventHandle>) {
        self.free_events.extend(events);
    }

    /// Returns whether an event has completed. An error of the driver counts as not completed, because a lost device
    /// may still write; [`take_last_error`](EventQueue::take_last_error) returns it.
    pub(super) fn has_completed(&mut self, driver: &DynDriver, event: EventHandle) -> bool {
        driver.has_completed(event).unwrap_or_else(|error| {
            self.last_error = Some(error);
            false
        })
    }

    /// Removes the last error of a query.
    ///
    /// # Errors
    /// Returns the error, if there was one since the last call.
    pub(super) fn take_last_error(&mut self) -> Result<()> {
        self.last_error.take().map_or(Ok(()), Err)
    }
}

fn check_not_capturing(driver: &DynDriver, stream: StreamHandle) -> Result<()> {
    match driver.capture_id(stream)? {
        None => Ok(()),
        Some(_) => Err(Error::Graph { operation: "an allocation", reason: "the stream captures".to_owned() }),
    }
}
