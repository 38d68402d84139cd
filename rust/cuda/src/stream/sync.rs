//! Waits for streams and events.

use std::collections::HashMap;

use interlock_core::base::mutex::Mutex;
use interlock_driver::Result;
use interlock_driver::capture::refused;

use super::event::{Event, Record};
use super::table::StreamTable;
use crate::device::device::{CudaDevice, DeviceOp};
use crate::sys::api;

/// The id of a stream and a point on its timeline.
pub(crate) type Point = (u64, u64);

/// Waits for records of events that were recorded again or destroyed meanwhile. For each generation of a record, a
/// temporary stream waits for the record; the point follows that wait.
#[derive(Default)]
pub(crate) struct StaleWaits(Mutex<HashMap<u64, Point>>);

impl StaleWaits {
    /// Preserves the record for the threads that wait for it. The caller has locked the record and is about to record
    /// the event again or destroy it.
    pub(crate) fn preserve_waiters(
        &self,
        streams: &StreamTable,
        event: &Event,
        record: &Record,
        operation: &'static str,
    ) -> Result<()> {
        if !record.has_waiters() {
            return Ok(());
        }
        let point = {
            let op = event.device().begin(operation)?;
            if event.query(&op)? {
                return Ok(());
            }
            let stream = streams.create(event.device(), 0, operation)?;
            // SAFETY: the event and the stream are alive.
            let queued = op.check(unsafe { api::cuStreamWaitEvent(stream.raw(), event.raw(), 0) });
            let point = queued.and_then(|()| stream.signal(&op));
            streams.destroy(stream.handle());
            (stream.id(), point?.map_err(|_| refused(operation, "the stream of the wait captures"))?)
        };
        self.0.lock().insert(record.generation(), point);
        Ok(())
    }

    /// Returns whether the work before a stale record has completed.
    pub(crate) fn has_completed(
        &self,
        streams: &StreamTable,
        op: &DeviceOp<'_>,
        generation: u64,
    ) -> Result<bool> {
        let found = self.0.lock().get(&generation).copied();
        let Some(point) = found else { return Ok(true) };
        let has_completed = has_completed(streams, op, point)?;
        if has_completed {
            self.0.lock().remove(&generation);
        }
        Ok(has_completed)
    }
}

/// Returns whether a point has completed. A stream leaves the table only after its work has completed.
pub(crate) fn has_completed(
    streams: &StreamTable,
    op: &DeviceOp<'_>,
    (stream, point): Point,
) -> Result<bool> {
    streams.by_id(stream).map_or(Ok(true), |stream| stream.has_completed(op, point))
}

/// Polls a stream and returns its asynchronous error, if it occurred at or before a point.
pub(crate) fn poll_and_report(
    streams: &StreamTable,
    op: &DeviceOp<'_>,
    (stream, point): Point,
) -> Result<()> {
    let Some(stream) = streams.by_id(stream) else { return Ok(()) };
    stream.poll(op)?;
    stream.take_error(point)
}

/// Returns the first unreported error of all streams of a device.
pub(crate) fn report_device(streams: &StreamTable, device: &CudaDevice) -> Result<()> {
    let streams = streams.of_device(device.index()).into_iter();
    let errors = streams.filter_map(|stream| Some((stream.error_order()?, stream)));
    let first = errors.min_by_key(|(order, _)| *order);
    first.map_or(Ok(()), |(_, stream)| stream.take_error(u64::MAX))
}

/// Returns whether all streams of the device of `op` are idle.
pub(crate) fn is_device_idle(streams: &StreamTable, op: &DeviceOp<'_>) -> Result<bool> {
    let (live, others) = streams.live_and_destroyed(op.device().index());
    let mut is_idle = true;
    for stream in live {
        // A capturing stream records its work and queues nothing.
        is_idle &= stream.capture_id(op)?.is_some() || stream.query(op)?;
    }
    for stream in others {
        stream.poll(op)?;
        is_idle &= stream.is_idle();
    }
    Ok(is_idle)
}

/// Returns the points after all work that is queued on the non-capturing streams of a device.
pub(crate) fn points_of_device(streams: &StreamTable, op: &DeviceOp<'_>) -> Result<Vec<Point>> {
    let (live, others) = streams.live_and_destroyed(op.device().index());
    let mut points: Vec<Point> = others.iter().map(|stream| (stream.id(), stream.last_signaled())).collect();
    for stream in live {
        if let Ok(point) = stream.signal(op)? {
            points.push((stream.id(), point));
        }
    }
    Ok(points)
}
