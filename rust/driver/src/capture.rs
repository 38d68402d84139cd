//! Captures that are underway, and the rules that every driver applies to them.
//!
//! A call that a replay could not repeat invalidates the capture that forbids it: the call fails, and the end of the
//! capture fails with the first such call as the reason. CUDA invalidates a capture by itself in most of these cases; a
//! driver that applies the rules first can report the reason.

use std::collections::BTreeMap;
use std::thread::{self, ThreadId};

use super::handle::StreamHandle;
use crate::{Error, Result};

/// The threads on which a wait for a device is an error while a stream is captured (`cudaStreamCaptureMode`), because a
/// replay could not repeat the wait. Memory can be allocated and freed in all modes: the layer above the drivers
/// ensures that a graph owns the memory that it uses.
///
/// ```
/// use interlock_driver::{CaptureMode, DriverRuntime, GraphHandle, Result, StreamHandle};
///
/// fn record(runtime: &dyn DriverRuntime, stream: StreamHandle) -> Result<GraphHandle> {
///     runtime.begin_capture(stream, CaptureMode::ThreadLocal)?;
///     // Work that is queued on the stream here is recorded and does not run.
///     runtime.end_capture(stream)
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureMode {
    /// All threads.
    Global,
    /// The thread that captures.
    ThreadLocal,
    /// No thread. A wait for the capturing stream itself is still an error.
    Relaxed,
}

impl CaptureMode {
    fn forbids_sync(self, is_capturing_thread: bool) -> bool {
        match self {
            CaptureMode::Global => true,
            CaptureMode::ThreadLocal => is_capturing_thread,
            CaptureMode::Relaxed => false,
        }
    }
}

/// The id of a capture, unique in a process and never 0.
pub type CaptureId = u64;

/// The captures of a driver that are underway, each with the content that the driver records.
///
/// ```
/// use interlock_driver::capture::Captures;
/// use interlock_driver::{CaptureMode, StreamHandle};
///
/// let stream = StreamHandle { device: 0, raw: 1 };
/// let mut captures = Captures::default();
/// captures.begin(1, stream, CaptureMode::Global, Vec::new());
/// captures.open(1, "launch")?.push("a kernel");
/// assert!(captures.check_sync_allowed("synchronize").is_err(), "a replay could not repeat the wait");
/// # Ok::<(), interlock_driver::Error>(())
/// ```
#[derive(Debug)]
pub struct Captures<T>(BTreeMap<CaptureId, Capture<T>>);

#[derive(Debug)]
struct Capture<T> {
    /// The stream on which the capture began and has to end.
    origin: StreamHandle,
    mode: CaptureMode,
    /// The thread that began the capture.
    thread: ThreadId,
    /// The first call that can't be repeated.
    invalidated_by: Option<String>,
    content: T,
}

/// A capture that has ended.
///
/// ```
/// use interlock_driver::capture::{Captures, Ended};
/// use interlock_driver::{CaptureMode, StreamHandle};
///
/// let mut captures = Captures::default();
/// captures.begin(1, StreamHandle { device: 0, raw: 1 }, CaptureMode::Relaxed, "content");
/// let ended: Option<Ended<&str>> = captures.end(1);
/// assert!(ended.is_some_and(|ended| ended.content == "content" && ended.invalidated_by.is_none()));
/// ```
#[derive(Debug)]
pub struct Ended<T> {
    /// The recorded content.
    pub content: T,
    /// The reason why it can't be repeated, if it was invalidated.
    pub invalidated_by: Option<String>,
}

impl<T> Default for Captures<T> {
    fn default() -> Self {
        Captures(BTreeMap::new())
    }
}

/// Creates the error of a call that a capture forbids.
pub fn refused(operation: &'static str, reason: impl Into<String>) -> Error {
    Error::Graph { operation, reason: reason.into() }
}

/// Creates the error of a capture that was invalidated.
pub fn err_invalidated(operation: &'static str, reason: &str) -> Error {
    refused(operation, format!("the capture was invalidated: {reason}"))
}

/// Creates the error of a copy that the caller would wait for, on a stream that is captured.
pub fn err_awaited(operation: &'static str) -> Error {
    refused(
        operation,
        "a copy that is recorded in a graph cannot be awaited; call memory::copy with `awaited` false",
    )
}

/// Checks that a stream may begin a capture.
///
/// # Errors
/// Returns an error for default streams and streams that take part in a capture.
pub fn check_begin(is_default: bool, current: Option<CaptureId>, operation: &'static str) -> Result<()> {
    if is_default {
        return Err(refused(operation, "a default stream cannot be captured"));
    }
    match current {
        Some(_) => Err(refused(operation, "the stream takes part in a capture already")),
        None => Ok(()),
    }
}

impl<T> Captures<T> {
    /// Adds a capture that the calling thread begins.
    pub fn begin(&mut self, id: CaptureId, origin: StreamHandle, mode: CaptureMode, content: T) {
        let thread = thread::current().id();
        let replaced = self.0.insert(id, Capture { origin, mode, thread, invalidated_by: None, content });
        debug_assert!(replaced.is_none() && id != 0, "the id of a capture is not unique");
    }

    /// Removes a capture.
    pub fn end(&mut self, id: CaptureId) -> Option<Ended<T>> {
        let Capture { content, invalidated_by, .. } = self.0.remove(&id)?;
        Some(Ended { content, invalidated_by })
    }

    /// Removes all captures and returns their contents.
    pub fn take_all(&mut self) -> Vec<T> {
        std::mem::take(&mut self.0).into_values().map(|capture| capture.content).collect()
    }

    /// Returns the number of captures that are underway.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns whether a capture is underway.
    pub fn is_underway(&self, id: CaptureId) -> bool {
        self.0.contains_key(&id)
    }

    /// Returns the capture that began on a stream.
    pub fn by_origin(&self, origin: StreamHandle) -> Option<CaptureId> {
        self.0.iter().find(|(_, capture)| capture.origin == origin).map(|(id, _)| *id)
    }

    /// Returns the content of a capture that is underway, invalidated or not.
    pub fn content_mut(&mut self, id: CaptureId) -> Option<&mut T> {
        self.0.get_mut(&id).map(|capture| &mut capture.content)
    }

    /// Returns the content of a capture that is underway and can be repeated.
    ///
    /// # Errors
    /// Returns an error if the capture has ended or was invalidated.
    pub fn open(&mut self, id: CaptureId, operation: &'static str) -> Result<&mut T> {
        let capture = self.0.get_mut(&id).ok_or_else(|| refused(operation, "the capture has ended"))?;
        match &capture.invalidated_by {
            Some(reason) => Err(err_invalidated(operation, reason)),
            None => Ok(&mut capture.content),
        }
    }

    /// Checks that a capture was not invalidated. Accepts captures that this driver did not begin.
    pub fn check_valid(&self, id: CaptureId, operation: &'static str) -> Result<()> {
        match self.0.get(&id).and_then(|capture| capture.invalidated_by.as_ref()) {
            Some(reason) => Err(err_invalidated(operation, reason)),
            None => Ok(()),
        }
    }

    /// Invalidates a capture, if it is underway, and returns the error of the call that did so.
    pub fn invalidate(&mut self, id: CaptureId, operation: &'static str, reason: &str) -> Error {
        if let Some(capture) = self.0.get_mut(&id) {
            capture.invalidated_by.get_or_insert_with(|| format!("{operation} was called: {reason}"));
        }
        refused(operation, reason)
    }

    /// Checks that the calling thread may wait for a device.
    ///
    /// # Errors
    /// Returns an error if the mode of a capture forbids it, and invalidates these captures.
    pub fn check_sync_allowed(&mut self, operation: &'static str) -> Result<()> {
        let thread = thread::current().id();
        let forbids = |capture: &Capture<T>| capture.mode.forbids_sync(capture.thread == thread);
        let forbidding: Vec<_> =
            self.0.iter().filter(|(_, capture)| forbids(capture)).map(|(id, _)| *id).collect();
        let reason = "a stream captures, and a replay could not repeat it";
        let errors = forbidding.into_iter().map(|id| self.invalidate(id, operation, reason));
        errors.last().map_or(Ok(()), Err)
    }

    /// Returns the error of a wait for a stream that takes part in a capture, and invalidates the capture.
    pub fn refuse_stream_sync(&mut self, id: CaptureId, operation: &'static str) -> Error {
        self.invalidate(id, operation, "the stream captures, so its work does not run")
    }

    /// Returns the error of a wait for an event of a capture, and invalidates the capture.
    pub fn refuse_event_sync(&mut self, id: CaptureId, operation: &'static str) -> Error {
        self.invalidate(id, operation, "the event was recorded in a capture, so it is never reached")
    }

    /// Checks that a stream may wait for an event. `own` is the capture of the stream, `recorded_in` the capture in
    /// which the event was recorded.
    ///
    /// # Errors
    /// Returns an error if the wait would mix captures with each other or with work outside of them, and invalidates
    /// these captures.
    pub fn check_wait(
        &mut self,
        own: Option<CaptureId>,
        is_default: bool,
        recorded_in: Option<CaptureId>,
        operation: &'static str,
    ) -> Result<()> {
        let (mixed, reason) = match (own, recorded_in) {
            (None, None) => return Ok(()),
            (Some(own), Some(other)) if own == other => return Ok(()),
            (_, Some(other)) if !self.is_underway(other) => {
                (own, "the event was recorded in a capture that has ended")
            }
            (Some(_), Some(_)) => (own, "the event was recorded in another capture"),
            (Some(_), None) => (own, "the event was recorded outside of the capture"),
            (None, Some(_)) if is_default => (None, "a default stream cannot take part in a capture"),
            (None, Some(_)) => return Ok(()),
        };
        for id in mixed.into_iter().chain(recorded_in) {
            self.invalidate(id, operation, reason);
        }
        Err(refused(operation, reason))
    }

    /// Returns the capture that ends on a stream. `current` returns the capture that the stream takes part in.
    ///
    /// # Errors
    /// Returns an error for a stream that is not captured, and for one that takes part in the capture of another
    /// stream.
    pub fn check_end(
        &self,
        stream: StreamHandle,
        current: impl FnOnce() -> Result<Option<CaptureId>>,
        operation: &'static str,
    ) -> Result<CaptureId> {
        if let Some(id) = self.by_origin(stream) {
            return Ok(id);
        }
        let id = current()?.ok_or_else(|| refused(operation, "no capture has begun on the stream"))?;
        if self.is_underway(id) {
            return Err(refused(operation, "a capture must be ended on the stream on which it began"));
        }
        Ok(id)
    }

    /// Checks that the calling thread may end a capture, for drivers whose library requires the thread that began it.
    pub fn check_end_thread(&self, id: CaptureId, operation: &'static str) -> Result<()> {
        let is_elsewhere = |capture: &Capture<T>| {
            capture.mode != CaptureMode::Relaxed && capture.thread != thread::current().id()
        };
        if self.0.get(&id).is_some_and(is_elsewhere) {
            let reason = "a capture must be ended on the thread that began it, unless its mode is relaxed";
            return Err(refused(operation, reason));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: StreamHandle = StreamHandle { device: 0, raw: 1 };

    fn captures<const N: usize>(modes: [CaptureMode; N]) -> Captures<()> {
        let mut captures = Captures::default();
        for (id, mode) in (1..).zip(modes) {
            captures.begin(id, StreamHandle { device: 0, raw: id }, mode, ());
        }
        captures
    }

    /// Returns for each capture whether it was invalidated.
    fn invalidated(captures: &Captures<()>) -> Vec<bool> {
        captures.0.values().map(|capture| capture.invalidated_by.is_some()).collect()
    }

    #[test]
    fn check_sync_allowed_depends_on_the_mode_and_the_thread() {
        use CaptureMode::{Global, Relaxed, ThreadLocal};
        let mut here = captures([Global, ThreadLocal, Relaxed]);
        assert!(here.check_sync_allowed("a test").is_err());
        assert_eq!(invalidated(&here), [true, true, false]);
        let mut elsewhere = captures([ThreadLocal, Relaxed]);
        thread::scope(|scope| {
            scope.spawn(|| elsewhere.check_sync_allowed("a test").unwrap()).join().unwrap()
        });
        assert_eq!(invalidated(&elsewhere), [false, false]);
    }

    #[test]
    fn check_wait_invalidates_captures_that_would_mix() {
        let table = [
            (None, None, Ok(()), [false, false]),
            (None, Some(1), Ok(()), [false, false]),
            (Some(1), Some(1), Ok(()), [false, false]),
            (Some(1), Some(2), Err(()), [true, true]),
            (Some(1), None, Err(()), [true, false]),
            (Some(1), Some(3), Err(()), [true, false]),
            (None, Some(3), Err(()), [false, false]),
        ];
        for (own, recorded_in, expected, expected_invalidated) in table {
            let mut captures = captures([CaptureMode::Relaxed; 2]);
            let checked = captures.check_wait(own, false, recorded_in, "a test");
            assert_eq!(checked.map_err(drop), expected, "{own:?} {recorded_in:?}");
            assert_eq!(invalidated(&captures), expected_invalidated, "{own:?} {recorded_in:?}");
        }
        let mut captures = captures([CaptureMode::Relaxed; 2]);
        assert!(captures.check_wait(None, true, Some(1), "a test").is_err());
        assert_eq!(invalidated(&captures), [true, false]);
    }

    #[test]
    fn captures_end_reports_the_first_call_that_cannot_be_repeated() {
        let mut captures = captures([CaptureMode::Global]);
        captures.invalidate(1, "first", "no");
        captures.invalidate(1, "second", "no");
        assert!(captures.check_valid(1, "third").is_err() && captures.open(1, "third").is_err());
        let ended = captures.end(1).unwrap();
        assert_eq!(ended.invalidated_by.as_deref(), Some("first was called: no"));
        assert!(captures.open(1, "fourth").is_err() && captures.check_valid(1, "fourth").is_ok());
    }

    #[test]
    fn check_end_requires_the_stream_and_the_thread_of_the_begin() {
        let captures = captures([CaptureMode::Global]);
        let other = StreamHandle { raw: 7, ..STREAM };
        assert_eq!(captures.check_end(STREAM, || Ok(Some(1)), "a test"), Ok(1));
        assert!(captures.check_end(other, || Ok(Some(1)), "a test").is_err());
        assert!(captures.check_end(other, || Ok(None), "a test").is_err());
        // The capture of another library.
        assert_eq!(captures.check_end(other, || Ok(Some(9)), "a test"), Ok(9));
        assert!(captures.check_end_thread(1, "a test").is_ok());
        thread::scope(|scope| {
            scope.spawn(|| assert!(captures.check_end_thread(1, "a test").is_err())).join().unwrap();
        });
    }
}
