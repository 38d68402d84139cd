//! Events: records, waits and elapsed time.

use crate::common::{Gate, Session, event, stream};
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
fn event_completes_after_the_work_before_it() {
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
fn wait_event_waits_for_the_record_at_the_time_of_the_call() {
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
fn elapsed_time_is_available_when_both_events_completed() {
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
fn elapsed_time_refuses_events_without_timing() {
    let _session = Session::start();
    let (stream, with, without) = (stream(), timed(), event());
    ok!(cuEventRecord(with, stream));
    ok!(cuEventRecord(without, stream));
    ok!(cuStreamSynchronize(stream));
    assert_eq!(elapsed(with, without), Err(INVALID_HANDLE));
    assert_eq!(elapsed(with, with), Ok(0.0));
}

#[test]
fn event_create_refuses_unknown_flags_and_timed_ipc_events() {
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
