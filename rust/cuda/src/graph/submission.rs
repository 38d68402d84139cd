//! Submission of work to a stream, which runs the work or records it in a capture.

use std::sync::{Arc, MutexGuard};

use cudarc::driver::sys::{CUresult, CUstream};

use interlock_driver::capture::{CaptureId, Captures};
use interlock_driver::{KeepAlive, Owners, Result};

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
    // Declared before the submit lock, and so released before it.
    captures: LockedCaptures<'a>,
    _submit: SubmitGuard<'a>,
}

/// The locked table of captures, with the capture that records the work, if any. `None` without a lock: the stream
/// does not capture.
type LockedCaptures<'a> = Option<(MutexGuard<'a, Captures<GraphResources>>, Option<CaptureId>)>;

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
        let submit = stream.lock_submit();
        if stream.capture_id(op)?.is_none() {
            return Ok(Submission { op, stream, captures: None, _submit: submit });
        }
        Self::begin_locked(op, stream, (captures, submit), operation)
    }

    /// Begins a submission that may add the stream to a capture.
    pub(crate) fn begin_join(
        op: &'a DeviceOp<'a>,
        stream: &'a Stream,
        captures: &'a CaptureTable,
        operation: &'static str,
    ) -> Result<Self> {
        let submit = stream.lock_submit();
        Self::begin_locked(op, stream, (captures, submit), operation)
    }

    /// Queries the capture under the lock of the table, under which it ends.
    fn begin_locked(
        op: &'a DeviceOp<'a>,
        stream: &'a Stream,
        (captures, submit): (&'a CaptureTable, SubmitGuard<'a>),
        operation: &'static str,
    ) -> Result<Self> {
        let captures = captures.lock();
        let capture = stream.capture_id(op)?;
        capture.map_or(Ok(()), |id| captures.check_valid(id, operation))?;
        Ok(Submission { op, stream, captures: Some((captures, capture)), _submit: submit })
    }

    /// Returns the capture that records the work.
    pub(crate) fn capture(&self) -> Option<CaptureId> {
        self.captures.as_ref().and_then(|(_, capture)| *capture)
    }

    /// Returns the tracker of the replays of the graph that records the work, if a capture does.
    pub(crate) fn replays(&mut self) -> Option<Arc<ReplayTracker>> {
        let (captures, capture) = self.captures.as_mut()?;
        // The graph of another library has no tracker, and its errors are not reported.
        Some(captures.content_mut((*capture)?).map(GraphResources::replays_or_new).unwrap_or_default())
    }

    /// Checks that the stream may wait for an event of the capture `recorded_in`, if any.
    pub(crate) fn check_wait(
        &mut self,
        recorded_in: Option<CaptureId>,
        operation: &'static str,
    ) -> Result<()> {
        match &mut self.captures {
            Some((captures, own)) => {
                captures.check_wait(*own, self.stream.is_default(), recorded_in, operation)
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
        let (owned, _unneeded) = owners.split(self.capture());
        let Submission { op, stream, captures, _submit: submit } = self;
        let polls = match captures {
            Some((mut captures, Some(id))) => {
                op.check(act(stream.raw()))?;
                retain_in_graph(&mut captures, id, owned);
                false
            }
            _ if owned.is_empty() => {
                op.check(act(stream.raw()))?;
                false
            }
            _ => {
                let event = stream.acquire_event(op)?;
                op.check(act(stream.raw()))?;
                stream.retain(op, event, owned)
            }
        };
        drop(submit);
        if polls {
            // The work is queued. Later calls report a device that is lost.
            let _ = stream.poll(op);
        }
        Ok(())
    }
}

fn retain_in_graph(captures: &mut Captures<GraphResources>, id: CaptureId, owned: Vec<KeepAlive>) {
    match captures.content_mut(id) {
        Some(resources) => resources.retain(owned),
        // The graph belongs to another library, which does not report its destruction.
        None => std::mem::forget(owned),
    }
}
