//! Captures: calls that invalidate them, and calls that are allowed while they are underway.

use crate::common;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::{Session, elsewhere, event, launch, memory, pinned, stream};
use fake_cuda::errors::*;
use fake_cuda::*;

const GLOBAL: u32 = 0;
const THREAD_LOCAL: u32 = 1;
const RELAXED: u32 = 2;
const MODES: [u32; 3] = [GLOBAL, THREAD_LOCAL, RELAXED];

fn begin(stream: Handle, mode: u32) {
    ok!(cuStreamBeginCapture_v2(stream, mode));
}

fn end(stream: Handle) -> Result<Handle, Code> {
    let mut graph = 1;
    match code!(cuStreamEndCapture(stream, Out::to(&mut graph))) {
        0 => Ok(graph),
        code => {
            assert!(graph == 0 || code == CAPTURE_WRONG_THREAD || code == ILLEGAL_STATE);
            Err(code)
        }
    }
}

fn join(to: Handle, from: Handle) {
    let mark = event();
    ok!(cuEventRecord(mark, from));
    ok!(cuStreamWaitEvent(to, mark, 0));
    ok!(cuEventDestroy_v2(mark));
}

/// Returns the capture status of a stream (0 none, 1 active, 2 invalidated) and the id of its capture.
fn status(stream: Handle) -> (u32, u64) {
    let (mut status, mut id) = (9, 0);
    ok!(cuStreamGetCaptureInfo_v2(
        stream,
        Out::to(&mut status),
        Out::to(&mut id),
        Out::NULL,
        Out::NULL,
        Out::NULL,
    ));
    (status, id)
}

/// Exchanges the capture mode of this thread.
fn exchange(mut mode: u32) -> u32 {
    ok!(cuThreadExchangeStreamCaptureMode(InOut::at(&mut mode)));
    mode
}

#[test]
fn capture_records_work_without_running_it() {
    let _session = Session::start();
    let (capturing, other) = (stream(), stream());
    static RUNS: AtomicU32 = AtomicU32::new(0);
    begin(capturing, RELAXED);
    launch(capturing, || RUNS.store(1, Ordering::SeqCst));
    let (state, id) = status(capturing);
    assert_eq!((state, status(other).0, status(0).0), (1, 0, 0));
    join(other, capturing);
    assert_eq!(status(other), (1, id));
    join(capturing, other);
    let graph = end(capturing).unwrap();
    assert_eq!([capturing, other].map(|stream| status(stream).0), [0, 0]);
    ok!(cuStreamSynchronize(capturing));
    assert_eq!(RUNS.load(Ordering::SeqCst), 0);
    begin(other, RELAXED);
    assert_ne!(status(other).1, id);
    ok!(cuGraphDestroy(end(other).unwrap()));
    ok!(cuGraphDestroy(graph));
}

#[test]
fn stream_query_and_synchronize_invalidate_captures_in_every_mode() {
    let _session = Session::start();
    let address = memory(1);
    for mode in MODES {
        for call in [cuStreamQuery, cuStreamSynchronize] {
            let stream = stream();
            begin(stream, mode);
            assert_eq!(code!(call(stream)), CAPTURE_UNSUPPORTED);
            assert_eq!(status(stream).0, 2);
            let mark = event();
            let later = [
                code!(call(stream)),
                code!(cuEventRecord(mark, stream)),
                common::try_launch(stream, || {}),
                code!(cuMemsetD8Async(address, 0, 1, stream)),
            ];
            assert_eq!(later, [CAPTURE_INVALIDATED; 4]);
            assert_eq!(end(stream), Err(CAPTURE_INVALIDATED));
            assert_eq!(status(stream).0, 0);
            ok!(cuStreamSynchronize(stream));
        }
    }
}

#[test]
fn event_query_of_a_captured_event_invalidates_the_capture() {
    let _session = Session::start();
    let (stream, mark) = (stream(), event());
    begin(stream, RELAXED);
    ok!(cuEventRecord(mark, stream));
    assert_eq!(code!(cuEventQuery(mark)), CAPTURED_EVENT);
    assert_eq!(end(stream), Err(CAPTURE_INVALIDATED));
    assert_eq!(code!(cuEventQuery(mark)), CAPTURED_EVENT);
    assert_eq!(code!(cuStreamWaitEvent(stream, mark, 0)), CAPTURE_ISOLATION);
    ok!(cuEventRecord(mark, stream));
    ok!(cuStreamSynchronize(stream));
    ok!(cuEventQuery(mark));
}

#[test]
fn capture_refuses_dependencies_on_work_outside() {
    let _session = Session::start();
    let (stream, mark, never) = (stream(), event(), event());
    ok!(cuEventRecord(mark, stream));
    begin(stream, RELAXED);
    ok!(cuStreamWaitEvent(stream, never, 0));
    assert_eq!(code!(cuStreamWaitEvent(stream, mark, 0)), CAPTURE_ISOLATION);
    assert_eq!(end(stream), Err(CAPTURE_INVALIDATED));
}

#[test]
fn capture_refuses_to_merge_with_another_capture() {
    let _session = Session::start();
    let (first, second, mark) = (stream(), stream(), event());
    begin(first, RELAXED);
    begin(second, RELAXED);
    ok!(cuEventRecord(mark, first));
    assert_eq!(code!(cuStreamWaitEvent(second, mark, 0)), CAPTURE_MERGE);
    assert_eq!([end(first), end(second)], [Err(CAPTURE_INVALIDATED); 2]);
}

#[test]
fn capture_refuses_the_default_stream() {
    let _session = Session::start();
    let (stream, mark) = (stream(), event());
    assert_eq!(code!(cuStreamBeginCapture_v2(0, RELAXED)), CAPTURE_IMPLICIT);
    begin(stream, RELAXED);
    ok!(cuEventRecord(mark, stream));
    assert_eq!(code!(cuStreamWaitEvent(0, mark, 0)), CAPTURE_IMPLICIT);
    assert_eq!(end(stream), Err(CAPTURE_INVALIDATED));
}

#[test]
fn end_capture_fails_for_a_stream_that_was_not_joined() {
    let _session = Session::start();
    let (origin, forked, idle) = (stream(), stream(), stream());
    begin(origin, RELAXED);
    launch(origin, || {});
    join(forked, origin);
    join(idle, origin);
    launch(forked, || {});
    assert_eq!(end(origin), Err(CAPTURE_UNJOINED));
    assert_eq!([origin, forked, idle].map(|stream| status(stream).0), [0; 3]);
    begin(origin, RELAXED);
    launch(origin, || {});
    join(idle, origin);
    ok!(cuGraphDestroy(end(origin).unwrap()));
}

#[test]
fn end_capture_fails_on_another_stream_than_the_origin() {
    let _session = Session::start();
    let (origin, forked) = (stream(), stream());
    assert_eq!(end(origin), Err(ILLEGAL_STATE));
    begin(origin, RELAXED);
    assert_eq!(code!(cuStreamBeginCapture_v2(origin, RELAXED)), ILLEGAL_STATE);
    join(forked, origin);
    assert_eq!(end(forked), Err(CAPTURE_UNMATCHED));
    assert_eq!(end(origin), Err(CAPTURE_INVALIDATED));
    assert_eq!(code!(cuStreamBeginCapture_v2(origin, 3)), INVALID_VALUE);
}

#[test]
fn end_capture_on_another_thread_requires_relaxed_mode() {
    let session = Session::start();
    let ended = MODES.map(|mode| {
        let stream = stream();
        begin(stream, mode);
        let there = elsewhere(session.contexts[0], || end(stream)).map(drop);
        let here = end(stream).map(drop);
        (there, here)
    });
    let wrong = (Err(CAPTURE_WRONG_THREAD), Ok(()));
    assert_eq!(ended, [wrong, wrong, (Ok(()), Err(ILLEGAL_STATE))]);
}

/// Returns whether an unsafe call is refused on the capturing thread, or on another thread with the mode `own`.
fn refuses(
    session: &Session,
    mode: u32,
    own: u32,
    same_thread: bool,
    call: impl Fn() -> Code + Send + Sync,
) -> bool {
    let stream = stream();
    begin(stream, mode);
    let called = || {
        let before = exchange(own);
        let code = call();
        assert_eq!(exchange(before), own);
        code
    };
    let code = if same_thread { called() } else { elsewhere(session.contexts[0], called) };
    let ended = end(stream).map(drop);
    assert_eq!(
        ended.err(),
        (code == CAPTURE_UNSUPPORTED).then_some(CAPTURE_INVALIDATED),
        "{mode} {own} {code}"
    );
    assert!(code == CAPTURE_UNSUPPORTED || code == SUCCESS, "{code}");
    code == CAPTURE_UNSUPPORTED
}

#[test]
fn capture_modes_decide_which_threads_may_make_unsafe_calls() {
    let session = Session::start();
    let mark = event();
    let asks = |mode, own, same| refuses(&session, mode, own, same, || code!(cuEventQuery(mark)));
    let here = MODES.map(|own| MODES.map(|mode| asks(mode, own, true)));
    assert_eq!(here, [[true, true, false], [true, true, false], [false; 3]]);
    let there = MODES.map(|own| MODES.map(|mode| asks(mode, own, false)));
    assert_eq!(there, [[true, false, false], [false; 3], [false; 3]]);
}

#[test]
fn unsafe_calls_are_refused_during_a_global_capture() {
    let session = Session::start();
    let (address, idle, mark) = (memory(8), stream(), event());
    let pointer = pinned(8).as_ptr() as usize;
    let context = session.contexts[1];
    let calls: [&(dyn Fn() -> Code + Send + Sync); 10] = [
        &|| code!(cuMemAlloc_v2(Out::to(&mut 0), 8)),
        &|| code!(cuMemFree_v2(address)),
        &|| code!(cuMemHostAlloc(Out::to(&mut 0), 8, 0)),
        &|| code!(cuMemFreeHost(pointer)),
        &|| code!(cuEventQuery(mark)),
        &|| code!(cuStreamQuery(idle)),
        &|| code!(cuStreamSynchronize(idle)),
        &|| code!(cuMemAddressReserve(Out::to(&mut 0), 2 << 20, 0, 0, 0)),
        &|| {
            ok!(cuCtxSetCurrent(context));
            code!(cuCtxSynchronize())
        },
        &|| code!(cuMemUnmap(0, 0)),
    ];
    for (number, call) in calls.iter().enumerate() {
        assert!(refuses(&session, GLOBAL, GLOBAL, false, call), "{number}");
    }
}

#[test]
fn ctx_synchronize_is_refused_in_every_mode_while_a_stream_captures() {
    let session = Session::start();
    assert!(
        MODES.into_iter().all(|mode| refuses(&session, mode, RELAXED, true, || code!(cuCtxSynchronize())))
    );
    let another = || {
        session.on(1);
        let code = code!(cuCtxSynchronize());
        session.on(0);
        code
    };
    assert_eq!(MODES.map(|mode| refuses(&session, mode, GLOBAL, true, another)), [true, true, false]);
}

#[test]
fn graph_launch_is_refused_on_a_capturing_stream() {
    let _session = Session::start();
    let (first, second) = (stream(), stream());
    begin(first, RELAXED);
    let graph = end(first).unwrap();
    let executable: Handle = got!(executable => cuGraphInstantiateWithFlags(executable, graph, 0));
    begin(second, RELAXED);
    assert_eq!(code!(cuGraphLaunch(executable, second)), CAPTURE_UNSUPPORTED);
    assert_eq!(end(second), Err(CAPTURE_INVALIDATED));
    ok!(cuGraphLaunch(executable, second));
}

#[test]
fn stream_destroy_invalidates_the_capture() {
    let _session = Session::start();
    let (origin, forked) = (stream(), stream());
    begin(origin, GLOBAL);
    join(forked, origin);
    ok!(cuStreamDestroy_v2(forked));
    assert_eq!(end(origin), Err(CAPTURE_INVALIDATED));
    begin(origin, GLOBAL);
    ok!(cuStreamDestroy_v2(origin));
    ok!(cuEventQuery(event()));
}
