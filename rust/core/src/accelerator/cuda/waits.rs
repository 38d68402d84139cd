//! Threads that ask whether something has ended, or wait until it has.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::device::CudaDevice;
use super::events::Marked;
use super::runtime::CudaRuntime;
use super::streams::capture_id;
use crate::Result;
use crate::accelerator::Backoff;
use crate::accelerator::driver::{DeviceIndex, EventHandle, StreamHandle, SyncPoint, WaitPolicy, WaitTarget};

const QUERY_STREAM: &str = "Stream.query";
const WAIT_STREAM: &str = "Stream.synchronize";
const QUERY_EVENT: &str = "Event.query";
const WAIT_EVENT: &str = "Event.synchronize";
const WAIT_DEVICE: &str = "accelerator.synchronize";

/// Stands in place of a stream's number for all that a device does.
const WHOLE: u64 = u64::MAX;

/// Where those wait for an event who began before it was recorded again: a place in a stream that waits for nothing
/// else, by the number of the record.
#[derive(Default)]
pub(super) struct Superseded(Mutex<HashMap<u64, (u64, u64)>>);

impl Superseded {
    pub(super) fn insert(&self, record: u64, stream: u64, place: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(record, (stream, place));
    }

    fn get(&self, record: u64) -> Option<(u64, u64)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&record).copied()
    }

    fn remove(&self, record: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&record);
    }
}

impl CudaRuntime {
    pub(super) fn is_done(&self, target: WaitTarget) -> Result<bool> {
        match target {
            WaitTarget::Stream(handle) => self.is_stream_done(handle),
            WaitTarget::Event(handle) => self.is_event_done(handle),
            WaitTarget::Device(index) => self.is_device_done(index),
        }
    }

    fn is_stream_done(&self, handle: StreamHandle) -> Result<bool> {
        let (stream, device) = (self.streams.find(handle, QUERY_STREAM)?, self.device(handle.device)?);
        self.check_stream_sync(device, handle, QUERY_STREAM)?;
        let is_done = stream.is_idle(device, QUERY_STREAM)?;
        stream.tell(stream.queued())?;
        Ok(is_done)
    }

    fn is_event_done(&self, handle: EventHandle) -> Result<bool> {
        let (event, device) = (self.events.find(handle, QUERY_EVENT)?, self.device(handle.device)?);
        let (is_done, marked) = {
            let state = event.state();
            self.check_event_sync(state.marked, QUERY_EVENT)?;
            let is_done = state.marked == Marked::Nothing || event.is_ready(device, QUERY_EVENT)?;
            (is_done, state.marked)
        };
        if let Marked::InStream { stream, place } = marked {
            self.advance_and_tell(device, QUERY_EVENT, stream, place)?;
        }
        Ok(is_done)
    }

    fn is_device_done(&self, index: DeviceIndex) -> Result<bool> {
        let device = self.device(index)?;
        self.captures().check_sync_allowed(WAIT_DEVICE)?;
        if !device.is_used() {
            return Ok(true);
        }
        let mut is_done = true;
        for (stream, is_gone) in self.streams.of_device(index) {
            is_done &= if is_gone {
                stream.advance(device, WAIT_DEVICE)?;
                stream.is_drained()
            } else {
                // One that captures has nothing queued.
                capture_id(device, stream.handle, WAIT_DEVICE)?.is_some()
                    || stream.is_idle(device, WAIT_DEVICE)?
            };
        }
        self.tell_of_device(device)?;
        Ok(is_done)
    }

    /// Whether what an event marks has ended. Tells and drops nothing.
    pub(super) fn is_over(&self, handle: EventHandle) -> Result<bool> {
        let event = self.events.find(handle, QUERY_EVENT)?;
        let state = event.state();
        match state.marked {
            Marked::Nothing => Ok(true),
            Marked::InCapture(_) => Ok(false),
            Marked::InStream { .. } | Marked::Elsewhere => {
                event.is_ready(self.device(handle.device)?, QUERY_EVENT)
            }
        }
    }

    pub(super) fn sync_point(&self, target: WaitTarget) -> Result<SyncPoint> {
        let points = match target {
            WaitTarget::Stream(handle) => {
                let (stream, device) = (self.streams.find(handle, WAIT_STREAM)?, self.device(handle.device)?);
                self.check_stream_sync(device, handle, WAIT_STREAM)?;
                vec![(stream.number, stream.mark(device, WAIT_STREAM)?)]
            }
            WaitTarget::Event(handle) => self.places_of_event(handle)?,
            WaitTarget::Device(index) => self.places_of_device(index)?,
        };
        Ok(SyncPoint { target, points })
    }

    /// The number of a wait for all that the device does, or places in its streams.
    fn places_of_device(&self, index: DeviceIndex) -> Result<Vec<(u64, u64)>> {
        let device = self.device(index)?;
        self.captures().check_sync_allowed(WAIT_DEVICE)?;
        if !device.is_used() {
            return Ok(Vec::new());
        }
        if self.captures().len() == 0 {
            return Ok(vec![(WHOLE, self.whole(index)?.begin(device.context(WAIT_DEVICE)?))]);
        }
        // The driver refuses to wait for a device while any of its streams captures. What other libraries have queued
        // is not awaited then.
        let mut places = Vec::new();
        for (stream, is_gone) in self.streams.of_device(index) {
            if is_gone {
                places.push((stream.number, stream.marked()));
            } else if capture_id(device, stream.handle, WAIT_DEVICE)?.is_none() {
                places.push((stream.number, stream.mark(device, WAIT_DEVICE)?));
            }
        }
        Ok(places)
    }

    /// The record of an event, and the place in a stream that it marks if that is known.
    fn places_of_event(&self, handle: EventHandle) -> Result<Vec<(u64, u64)>> {
        let event = self.events.find(handle, WAIT_EVENT)?;
        let mut state = event.state();
        self.check_event_sync(state.marked, WAIT_EVENT)?;
        state.is_awaited = state.marked != Marked::Nothing;
        let record = (handle.raw, state.record);
        Ok(match state.marked {
            Marked::InStream { stream, place } => vec![record, (stream, place)],
            Marked::Elsewhere => vec![record],
            Marked::Nothing | Marked::InCapture(_) => Vec::new(),
        })
    }

    pub(super) fn wait(&self, sync_point: &SyncPoint, policy: WaitPolicy) -> Result<bool> {
        match (sync_point.target, sync_point.points.as_slice()) {
            (_, []) => Ok(true),
            (WaitTarget::Device(index), places) => self.wait_for_device(index, places, policy),
            (WaitTarget::Stream(handle), [(stream, place), ..]) => {
                let device = self.device(handle.device)?;
                if !ask_again(policy, || self.is_reached(device, WAIT_STREAM, *stream, *place))? {
                    return Ok(false);
                }
                self.advance_and_tell(device, WAIT_STREAM, *stream, *place)?;
                Ok(true)
            }
            (WaitTarget::Event(handle), [record, place @ ..]) => {
                let device = self.device(handle.device)?;
                if !ask_again(policy, || self.is_recorded_done(device, handle, record.1))? {
                    return Ok(false);
                }
                let mut tells = place.iter();
                tells.try_for_each(|(stream, place)| {
                    self.advance_and_tell(device, WAIT_EVENT, *stream, *place)
                })?;
                Ok(true)
            }
        }
    }

    fn wait_for_device(&self, index: DeviceIndex, places: &[(u64, u64)], policy: WaitPolicy) -> Result<bool> {
        let device = self.device(index)?;
        let are_reached = match places {
            [(WHOLE, number)] => {
                let waited = self.whole(index)?.wait(*number, policy);
                waited.map_err(|code| device.error(WAIT_DEVICE, code))?
            }
            places => ask_again(policy, || {
                let is_reached =
                    |(stream, place): &(u64, u64)| self.is_reached(device, WAIT_DEVICE, *stream, *place);
                places.iter().try_fold(true, |all, place| Ok(all && is_reached(place)?))
            })?,
        };
        if !are_reached {
            return Ok(false);
        }
        for (stream, _) in self.streams.of_device(index) {
            stream.advance(device, WAIT_DEVICE)?;
        }
        self.tell_of_device(device)?;
        self.streams.sweep(device, WAIT_DEVICE);
        Ok(true)
    }

    fn is_reached(
        &self,
        device: &CudaDevice,
        operation: &'static str,
        stream: u64,
        place: u64,
    ) -> Result<bool> {
        // One that nobody knows any more had nothing left to do.
        let stream = self.streams.of_number(stream);
        stream.map_or(Ok(true), |stream| stream.is_reached(device, operation, place))
    }

    /// Whether what an event marked with a record has ended.
    fn is_recorded_done(&self, device: &CudaDevice, handle: EventHandle, record: u64) -> Result<bool> {
        if let Ok(event) = self.events.find(handle, WAIT_EVENT) {
            let state = event.state();
            if state.record == record {
                return event.is_ready(device, WAIT_EVENT);
            }
        }
        // It was recorded again, or let go.
        let Some((stream, place)) = self.superseded.get(record) else { return Ok(true) };
        let is_reached = self.is_reached(device, WAIT_EVENT, stream, place)?;
        if is_reached {
            self.superseded.remove(record);
        }
        Ok(is_reached)
    }

    /// Lets go what is over on a stream, and fails with what failed there up to a place and was not told yet.
    fn advance_and_tell(
        &self,
        device: &CudaDevice,
        operation: &'static str,
        stream: u64,
        place: u64,
    ) -> Result<()> {
        let Some(stream) = self.streams.of_number(stream) else { return Ok(()) };
        stream.advance(device, operation)?;
        stream.tell(place)
    }

    /// Fails with what failed first on any stream of a device and was not told yet.
    fn tell_of_device(&self, device: &CudaDevice) -> Result<()> {
        let streams = self.streams.of_device(device.index).into_iter();
        let failed = streams.filter_map(|(stream, _)| Some((stream.failed()?, stream)));
        let first = failed.min_by_key(|(order, _)| *order);
        first.map_or(Ok(()), |(_, stream)| stream.tell(u64::MAX))
    }

    /// Fails where a stream records instead of running, which invalidates its capture.
    fn check_stream_sync(
        &self,
        device: &CudaDevice,
        handle: StreamHandle,
        operation: &'static str,
    ) -> Result<()> {
        match capture_id(device, handle, operation)? {
            Some(id) => Err(self.captures().refuse_stream_sync(id, operation)),
            None => Ok(()),
        }
    }

    /// Fails for an event of a capture, which it invalidates.
    fn check_event_sync(&self, marked: Marked, operation: &'static str) -> Result<()> {
        match marked {
            Marked::InCapture(id) => Err(self.captures().refuse_event_sync(id, operation)),
            _ => Ok(()),
        }
    }
}

/// Asks until the answer is yes or the timeout ends.
fn ask_again(policy: WaitPolicy, mut asks: impl FnMut() -> Result<bool>) -> Result<bool> {
    let mut backoff = Backoff::new(policy.timeout, policy.blocking);
    loop {
        if asks()? {
            return Ok(true);
        }
        if !backoff.pause() {
            return Ok(false);
        }
    }
}
