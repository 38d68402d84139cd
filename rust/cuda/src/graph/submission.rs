//! Submission of work to a stream, which runs the work or records it in a capture.

use std::sync::{Arc, MutexGuard};

use cudarc::driver::sys::{CUresult, CUstream};

use interlock_driver::capture::{CaptureId, Captures};
use interlock_driver::{Owners, Result};

use super::capture::{CaptureTable, GraphResources};
use crate::device::device::DeviceOp;
use crate::stream::replay_tracker::ReplayTracker;
use crate::stream::stream::{Stream, SubmitGuard};

/// The exclusive right to queue work on a stream.
///
/// While it exists, no other thread queues work on the stream, and no capture of the stream begins or ends: captures
/// begin under the submit lock of the stream that they include, and end under the lock of the table of captures, which
/// a capturing stream's submission holds.
pub(crate) struct Submission<'a> {
    op: &'a DeviceOp<'a>,
    stream: &'a Stream,
    /// The capture that records the work.
    capture: Option<CaptureId>,
    /// `None` without a lock: the stream does not capture, and the work does not add it to a capture.
    captures: Option<MutexGuard<'a, Captures<GraphResources>>>,
    submit: SubmitGuard<'a>,
}

impl<'a> Submission<'a> {
    /// Begins a submission.
    ///
    /// # Errors
    /// Refuses a capture that was invalidated.
    pub(crate) fn begin(
        op: &'a DeviceOp<'a>,
        stream: &'a Stream,
        captures: &'a CaptureTable,
        operation: &'static str,
    ) -> Result<Self> {
        Self::lock(op, stream, captures, operation, false)
    }

    /// Begins a submission that may add the stream to a capture.
    pub(crate) fn begin_join(
        op: &'a DeviceOp<'a>,
        stream: &'a Stream,
        captures: &'a CaptureTable,
        operation: &'static str,
    ) -> Result<Self> {
        Self::lock(op, stream, captures, operation, true)
    }

    fn lock(
        op: &'a DeviceOp<'a>,
        stream: &'a Stream,
        captures: &'a CaptureTable,
        operation: &'static str,
        may_join: bool,
    ) -> Result<Self> {
        let submit = stream.lock_submit();
        let captures = (may_join || stream.capture_id(op)?.is_some()).then(|| captures.lock());
        // Queried under the lock of the table, because the capture may have ended before.
        let capture = if captures.is_some() { stream.capture_id(op)? } else { None };
        if let (Some(captures), Some(id)) = (&captures, capture) {
            captures.check_valid(id, operation)?;
        }
        Ok(Submission { op, stream, capture, captures, submit })
    }

    /// Returns the capture that records the work.
    pub(crate) fn capture(&self) -> Option<CaptureId> {
        self.capture
    }

    /// Returns the tracker of the replays of the graph that records the work, if a capture does.
    pub(crate) fn replays(&mut self) -> Option<Arc<ReplayTracker>> {
        let content = self.captures.as_mut()?.content_mut(self.capture?);
        // The graph of another library has no tracker, and its errors are not reported.
        Some(content.map(GraphResources::replays_or_new).unwrap_or_default())
    }

    /// Checks that the stream may wait for an event of the capture `recorded_in`, if any.
    pub(crate) fn check_wait(
        &mut self,
        recorded_in: Option<CaptureId>,
        operation: &'static str,
    ) -> Result<()> {
        match &mut self.captures {
            Some(captures) => {
                captures.check_wait(self.capture, self.stream.is_default(), recorded_in, operation)
            }
            None => {
                debug_assert_eq!(recorded_in, None, "a wait for an event of a capture uses `begin_join`");
                Ok(())
            }
        }
    }

    /// Queues work with `act`, whose error means that it has queued nothing. The work owns its owners, until it has
    /// completed or as long as a graph contains it.
    pub(crate) fn queue(self, owners: Owners, act: impl FnOnce(CUstream) -> CUresult) -> Result<()> {
        // Declared before the guards, and so dropped without the locks.
        let (owned, _unneeded) = owners.split(self.capture);
        let Submission { op, stream, capture, mut captures, submit } = self;
        let is_retained = capture.is_none() && !owned.is_empty();
        // Acquired before the work is queued, so that an error has no effect.
        let end = if is_retained { Some(stream.acquire_event(op)?) } else { None };
        op.check(act(stream.raw()))?;
        let polls = match (capture, end) {
            (None, None) => false,
            (None, Some(end)) => stream.retain(op, end, owned),
            (Some(id), _) => {
                match captures.as_mut().and_then(|captures| captures.content_mut(id)) {
                    Some(resources) => resources.retain(owned),
                    // The graph belongs to another library, which does not report its destruction.
                    None => std::mem::forget(owned),
                }
                false
            }
        };
        drop((captures, submit));
        if polls {
            // The work is queued. Later calls report a device that is lost.
            let _ = stream.poll(op);
        }
        Ok(())
    }
}
