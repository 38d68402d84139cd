//! Events: what they mark, and the time between them.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[macro_use]
mod common;

use common::{Gate, Session, event, stream};
use fake_cuda::errors::*;
use fake_cuda::*;

fn timed() -> Handle {
    got!(event => cuEventCreate(event, 0))
}

fn elapsed(start: Handle, end: Handle) -> Result<f32, Code> {
    let mut milliseconds = -1.0;
    match code!(cuEventElapsedTime(Out::to(&mut milliseconds), start, end)) {
        0 => Ok(milliseconds),
        code => Err(code),
    }
}

#[test]
fn an_event_is_reached_once_what_was_queued_before_has_ended() {
    let _session = Session::start();
    let (stopped, waiting, mark) = (stream(), stream(), event());
    ok!(cuEventQuery(mark));
    let gate = Gate::on(stopped);
    ok!(cuEventRecord(mark, stopped));
    ok!(cuStreamWaitEvent(waiting, mark, 0));
    assert_eq!(code!(cuEventQuery(mark)), NOT_READY);
    assert_eq!([stopped, waiting].map(|stream| code!(cuStreamQuery(stream))), [NOT_READY; 2]);
    gate.open();
    ok!(cuStreamSynchronize(waiting));
    ok!(cuEventQuery(mark));
}

#[test]
fn who_waits_for_an_event_waits_for_what_it_marked_then() {
    let _session = Session::start();
    let (first, second, waiting, mark) = (stream(), stream(), stream(), event());
    ok!(cuEventRecord(mark, first));
    ok!(cuStreamWaitEvent(waiting, mark, 0));
    let gate = Gate::on(second);
    ok!(cuEventRecord(mark, second));
    ok!(cuStreamSynchronize(waiting));
    assert_eq!(code!(cuEventQuery(mark)), NOT_READY);
    gate.open();
    ok!(cuStreamSynchronize(second));
}

#[test]
fn the_time_between_events_is_known_once_both_were_reached() {
    let _session = Session::start();
    let (stopped, start, end) = (stream(), timed(), timed());
    assert_eq!(elapsed(start, end), Err(INVALID_HANDLE));
    ok!(cuEventRecord(start, stopped));
    let gate = Gate::on(stopped);
    ok!(cuEventRecord(end, stopped));
    assert_eq!(elapsed(start, end), Err(NOT_READY));
    gate.open();
    ok!(cuStreamSynchronize(stopped));
    let [forth, back] = [elapsed(start, end), elapsed(end, start)].map(Result::unwrap);
    assert!(forth > 0.0 && back == -forth);
}

#[test]
fn events_without_timing_have_no_time() {
    let _session = Session::start();
    let (stream, with, without) = (stream(), timed(), event());
    ok!(cuEventRecord(with, stream));
    ok!(cuEventRecord(without, stream));
    ok!(cuStreamSynchronize(stream));
    assert_eq!(elapsed(with, without), Err(INVALID_HANDLE));
    assert_eq!(elapsed(with, with), Ok(0.0));
}

#[test]
fn flags_that_there_are_not_and_shared_events_with_timing_are_refused() {
    let _session = Session::start();
    let mut event = 0;
    for (flags, expected) in [(8, INVALID_VALUE), (4, INVALID_VALUE), (6, SUCCESS), (3, SUCCESS)] {
        assert_eq!(code!(cuEventCreate(Out::to(&mut event), flags)), expected, "{flags}");
    }
    let stream = stream();
    assert_eq!(
        [1, 2].map(|flags| code!(cuStreamWaitEvent(stream, event, flags))),
        [NOT_SUPPORTED, INVALID_VALUE]
    );
}
