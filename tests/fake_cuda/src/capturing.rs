//! The functions that begin, end and query captures.

use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use cudarc::driver::sys::CUstreamCaptureStatus as Status;

use crate::call::{Handle, InOut, Out, exported};
use crate::captures::{Capture, MODE, Mode};
use crate::errors::{
    CAPTURE_IMPLICIT, CAPTURE_INVALIDATED, CAPTURE_UNMATCHED, CAPTURE_WRONG_THREAD, ILLEGAL_STATE,
    NOT_SUPPORTED,
};

/// The id of the last capture.
static CAPTURES: AtomicU64 = AtomicU64::new(0);

exported! {
    /// Begins a capture on a stream.
    fn cuStreamBeginCapture_v2(stream: Handle, mode: c_uint) |fake| {
        let mut state = fake.state();
        let name = state.stream_named(stream)?;
        let mode = Mode::from_number(mode)?;
        let found = state.stream_mut(name)?;
        if found.is_default {
            return Err(CAPTURE_IMPLICIT);
        }
        if found.capture.is_some() {
            return Err(ILLEGAL_STATE);
        }
        let id = CAPTURES.fetch_add(1, Ordering::SeqCst) + 1;
        found.capture = Some(id);
        state.captures.insert(id, Capture::new(mode, name));
        Ok(())
    }

    /// Ends the capture that began on a stream and returns its graph.
    fn cuStreamEndCapture(stream: Handle, graph: Out<Handle>) |fake| {
        let mut state = fake.state();
        state.current()?;
        let name = state.stream_named(stream)?;
        graph.put(0)?;
        let id = state.stream(name)?.capture.ok_or(ILLEGAL_STATE)?;
        let capture = state.captures.get(&id).ok_or(ILLEGAL_STATE)?;
        if capture.mode != Mode::Relaxed && capture.thread != thread::current().id() {
            return Err(CAPTURE_WRONG_THREAD);
        }
        if capture.origin != name {
            state.invalidate(id);
            return Err(CAPTURE_UNMATCHED);
        }
        let capture = state.end_capture(id).ok_or(ILLEGAL_STATE)?;
        if capture.is_invalid {
            return Err(CAPTURE_INVALIDATED);
        }
        capture.check_joined()?;
        graph.put(state.add_graph(capture.nodes))
    }

    /// Returns the capture status of a stream, and the id of a valid capture. The other results are not supported.
    fn cuStreamGetCaptureInfo_v2(
        stream: Handle,
        status: Out<c_uint>,
        id: Out<u64>,
        graph: Out<Handle>,
        dependencies: Out<*const c_void>,
        count: Out<usize>,
    ) |fake| {
        let state = fake.state();
        let name = state.stream_named(stream)?;
        status.check()?;
        if !graph.is_null() || !dependencies.is_null() || !count.is_null() {
            return Err(NOT_SUPPORTED);
        }
        let Some(capture) = state.stream(name)?.capture else {
            return status.put(Status::CU_STREAM_CAPTURE_STATUS_NONE as c_uint);
        };
        if state.check_capture(capture).is_err() {
            return status.put(Status::CU_STREAM_CAPTURE_STATUS_INVALIDATED as c_uint);
        }
        id.put_if_wanted(capture);
        status.put(Status::CU_STREAM_CAPTURE_STATUS_ACTIVE as c_uint)
    }

    /// Exchanges the capture mode of this thread.
    fn cuThreadExchangeStreamCaptureMode(mode: InOut<c_uint>) |fake| {
        let _ = fake;
        let wanted = Mode::from_number(mode.given().get()?)?;
        mode.wanted().put(MODE.replace(wanted) as c_uint)
    }
}
