//! Waits for streams and events.

use std::sync::Arc;
use std::time::Instant;

use interlock_core::base::mutex::Mutex;
use interlock_driver::capture::refused;
use interlock_driver::{Result, TimelinePoint, WaitPoint, WaitPolicy};

use super::event::Event;
use super::stream::Stream;
use super::table::StreamTable;
use crate::device::device::{CudaDevice, DeviceOp};
use crate::sys::api;

/// Unused streams of a device, on which no other thread queues work. A point signals the end of their queued work.
#[derive(Default)]
pub(crate) struct SideStreams(Mutex<Vec<Arc<Stream>>>);

impl SideStreams {
    /// Removes and returns a stream without pending points; creates one if there is none.
    pub(crate) fn take(
        &self,
        streams: &StreamTable,
        op: &DeviceOp<'_>,
        operation: &'static str,
    ) -> Result<Arc<Stream>> {
        let unused = {
            let mut own = self.0.lock();
            let is_unused = |stream: &Arc<Stream>| stream.poll(op).is_ok() && stream.is_idle();
            own.iter().position(is_unused).map(|index| own.swap_remove(index))
        };
        unused.map_or_else(|| streams.create(op.device(), 0, operation), Ok)
    }

    /// Returns a stream, whose work need not have completed.
    pub(crate) fn put_back(&self, stream: Arc<Stream>) {
        self.0.lock().push(stream);
    }

    /// Returns a point after the last record of an event of the device of `op`. The caller has locked the record. Later
    /// records and the destruction of the event do not affect the point.
    pub(crate) fn point_after(
        &self,
        streams: &StreamTable,
        op: &DeviceOp<'_>,
        event: &Event,
        operation: &'static str,
    ) -> Result<TimelinePoint> {
        let stream = self.take(streams, op, operation)?;
        // SAFETY: the event and the stream are alive.
        let waits = op.check(unsafe { api::cuStreamWaitEvent(stream.raw(), event.raw(), 0) });
        let position = waits.and_then(|()| stream.signal(op));
        let id = stream.id();
        match position {
            Ok(_) => self.put_back(stream),
            // It may have queued a wait that no point signals.
            Err(_) => streams.destroy(stream.handle()),
        }
        let position = position?.map_err(|_| refused(operation, "the stream of the wait captures"))?;
        Ok(TimelinePoint { stream: id, position })
    }
}

/// Waits until points have completed; returns false on timeout. A stream leaves the table only after its work has
/// completed. Points of other kinds than [`WaitPoint::InStream`] have completed.
pub(crate) fn wait(
    streams: &StreamTable,
    op: &DeviceOp<'_>,
    points: &[WaitPoint],
    policy: WaitPolicy,
) -> Result<bool> {
    let began = Instant::now();
    for TimelinePoint { stream, position } in points.iter().filter_map(|point| point.in_stream()) {
        let Some(progress) = streams.by_id(stream) else { continue };
        let left = WaitPolicy { timeout: policy.timeout.saturating_sub(began.elapsed()), ..policy };
        if !progress.wait(op, position, left)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Polls a stream and returns its asynchronous error, if it occurred at or before a point.
pub(crate) fn poll_and_report(streams: &StreamTable, op: &DeviceOp<'_>, point: TimelinePoint) -> Result<()> {
    let Some(stream) = streams.by_id(point.stream) else { return Ok(()) };
    stream.poll(op)?;
    stream.take_error(point.position)
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
pub(crate) fn points_of_device(streams: &StreamTable, op: &DeviceOp<'_>) -> Result<Vec<WaitPoint>> {
    let (live, others) = streams.live_and_destroyed(op.device().index());
    let point = |stream, position| WaitPoint::InStream(TimelinePoint { stream, position });
    let mut points: Vec<_> = others.iter().map(|stream| point(stream.id(), stream.last_signaled())).collect();
    for stream in live {
        if let Ok(position) = stream.signal(op)? {
            points.push(point(stream.id(), position));
        }
    }
    Ok(points)
}
