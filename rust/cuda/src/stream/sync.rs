//! Waits for streams and events.

use std::collections::HashMap;

use interlock_core::base::mutex::Mutex;
use interlock_driver::Result;

use super::event::{Event, Record};
use super::table::StreamTable;
use crate::device::device::{CudaDevice, DeviceOp};
use crate::sys::api;

/// A point on the timeline of the stream of a number.
pub(crate) type Point = (u64, u64);

/// Where threads wait for records of events that were recorded again or destroyed meanwhile: points on streams that wait
/// for nothing else, by the generations of the records.
#[derive(Default)]
pub(crate) struct StaleWaits(Mutex<HashMap<u64, Point>>);

impl StaleWaits {
    /// Keeps threads that wait for a record of an event waiting for it. Called before the event is recorded again or
    /// destroyed, with the record locked.
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
            let waits = streams.create(event.device(), 0, operation)?;
            // SAFETY: the event and the stream are alive.
            let queued = waits.submit(&op, |on| unsafe { api::cuStreamWaitEvent(on, event.raw(), 0) });
            let point = queued.and_then(|()| waits.signal(&op));
            streams.destroy(waits.handle());
            (waits.number(), point?)
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

/// Returns whether a point has completed. A stream that is not in the table had no work left.
pub(crate) fn has_completed(
    streams: &StreamTable,
    op: &DeviceOp<'_>,
    (stream, point): Point,
) -> Result<bool> {
    streams.by_number(stream).map_or(Ok(true), |stream| stream.has_completed(op, point))
}

/// Drops what completed work of a stream no longer needs, and reports its error, if work up to a point failed.
pub(crate) fn poll_and_report(
    streams: &StreamTable,
    op: &DeviceOp<'_>,
    (stream, point): Point,
) -> Result<()> {
    let Some(stream) = streams.by_number(stream) else { return Ok(()) };
    stream.poll(op)?;
    stream.take_error(point)
}

/// Reports the first error on any stream of a device that was not reported yet.
pub(crate) fn report_device(streams: &StreamTable, device: &CudaDevice) -> Result<()> {
    let streams = streams.of_device(device.index()).into_iter();
    let failed = streams.filter_map(|(stream, _)| Some((stream.error_order()?, stream)));
    let first = failed.min_by_key(|(order, _)| *order);
    first.map_or(Ok(()), |(_, stream)| stream.take_error(u64::MAX))
}

/// Returns whether all streams of a device are idle. `op` has its context.
pub(crate) fn is_device_idle(streams: &StreamTable, op: &DeviceOp<'_>) -> Result<bool> {
    let mut is_idle = true;
    for (stream, may_be_destroyed) in streams.of_device(op.device().index()) {
        is_idle &= if may_be_destroyed {
            stream.poll(op)?;
            stream.is_idle()
        } else {
            // A stream that captures has nothing queued.
            stream.capture_id(op)?.is_some() || stream.query(op)?
        };
    }
    Ok(is_idle)
}

/// Returns the points behind all that is queued on the streams of a device that do not capture.
pub(crate) fn points_of_device(streams: &StreamTable, op: &DeviceOp<'_>) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for (stream, may_be_destroyed) in streams.of_device(op.device().index()) {
        if may_be_destroyed {
            points.push((stream.number(), stream.last_signaled()));
        } else if stream.capture_id(op)?.is_none() {
            points.push((stream.number(), stream.signal(op)?));
        }
    }
    Ok(points)
}
