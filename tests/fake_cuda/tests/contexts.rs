//! Contexts and invalid handles.

use crate::common;
use std::ptr;

use crate::common::{Session, elsewhere, event, live, memory, stream};
use fake_cuda::errors::*;
use fake_cuda::*;

fn current() -> Handle {
    got!(context => cuCtxGetCurrent(context))
}

#[test]
fn calls_fail_on_a_thread_without_a_current_context() {
    let session = Session::start();
    let (existing, found) = (stream(), event());
    ok!(cuCtxSetCurrent(0));
    assert_eq!(current(), 0);
    let (mut handle, mut address, mut device) = (0, 0, 0);
    let codes = [
        code!(cuCtxGetDevice(Out::to(&mut device))),
        code!(cuCtxSynchronize()),
        code!(cuStreamCreateWithPriority(Out::to(&mut handle), 0, 0)),
        code!(cuEventCreate(Out::to(&mut handle), 0)),
        code!(cuMemAlloc_v2(Out::to(&mut address), 16)),
        code!(cuMemGetInfo_v2(Out::NULL, Out::NULL)),
        code!(cuMemHostAlloc(Out::to(&mut handle), 16, 0)),
        code!(cuStreamQuery(0)),
        code!(cuStreamSynchronize(existing)),
        code!(cuEventRecord(found, existing)),
        code!(cuMemsetD8Async(0, 0, 1, existing)),
        code!(cuCtxEnablePeerAccess(session.contexts[1], 0)),
    ];
    assert_eq!(codes, [INVALID_CONTEXT; 12]);
    assert_eq!(code!(cuEventQuery(found)), SUCCESS);
}

#[test]
fn context_that_is_pushed_is_current_until_it_is_popped() {
    let session = Session::start();
    let [first, second] = [session.contexts[0], session.contexts[1]];
    ok!(cuCtxPushCurrent_v2(second));
    assert_eq!(current(), second);
    ok!(cuCtxSetCurrent(first));
    assert_eq!(got!(context => cuCtxPopCurrent_v2(context)), first);
    assert_eq!(current(), first);
    ok!(cuCtxPopCurrent_v2(Out::NULL));
    assert_eq!((current(), code!(cuCtxPopCurrent_v2(Out::NULL))), (0, INVALID_CONTEXT));
    assert_eq!(code!(cuCtxPushCurrent_v2(12_345)), INVALID_CONTEXT);
}

#[test]
fn current_context_is_per_thread() {
    let session = Session::start();
    session.on(1);
    assert_eq!(current(), session.contexts[1]);
    elsewhere(0, || assert_eq!(current(), 0));
    assert_eq!(code!(cuCtxSetCurrent(12_345)), INVALID_CONTEXT);
    assert_eq!(current(), session.contexts[1]);
    let device: i32 = got!(device => cuCtxGetDevice(device));
    assert_eq!(device, 1);
}

#[test]
fn primary_context_is_active_after_its_first_retain() {
    common::alone("primary_context_is_active_after_its_first_retain", &[], || {
        ok!(cuInit(0));
        let state = |device| {
            let (mut flags, mut active) = (9, 9);
            ok!(cuDevicePrimaryCtxGetState(device, Out::to(&mut flags), Out::to(&mut active)));
            (flags, active)
        };
        let retain = || -> Handle { got!(context => cuDevicePrimaryCtxRetain(context, 1)) };
        assert_eq!((state(1), fake_cuda_context_state(1)), ((0, 0), 0));
        assert_eq!(retain(), retain());
        assert_eq!((state(0), state(1)), ((0, 0), (0, 1)));
        assert_eq!([0, 1, 2].map(|device| fake_cuda_context_state(device)), [0, 2, -1]);
        assert_eq!(live("contexts"), 1);
    });
}

#[test]
fn stream_get_ctx_returns_the_context_of_the_stream() {
    let session = Session::start();
    let first = stream();
    session.on(1);
    let of = |stream| -> Handle { got!(context => cuStreamGetCtx(stream, context)) };
    assert_eq!(of(first), session.contexts[0]);
    assert_eq!([of(0), of(1)], [session.contexts[1]; 2]);
}

#[test]
fn enable_peer_access_fails_for_itself_and_the_second_time() {
    common::alone("enable_peer_access_fails_for_itself_and_the_second_time", &[], || {
        let session = Session::start();
        let can: i32 = got!(can => cuDeviceCanAccessPeer(can, 0, 1));
        let cannot: i32 = got!(can => cuDeviceCanAccessPeer(can, 1, 1));
        assert_eq!((can, cannot), (1, 0));
        assert_eq!(code!(cuCtxEnablePeerAccess(session.contexts[0], 0)), INVALID_CONTEXT);
        assert_eq!(code!(cuCtxEnablePeerAccess(session.contexts[1], 1)), INVALID_VALUE);
        ok!(cuCtxEnablePeerAccess(session.contexts[1], 0));
        assert_eq!(code!(cuCtxEnablePeerAccess(session.contexts[1], 0)), PEER_ACCESS_ALREADY_ENABLED);
    });
}

#[test]
fn unknown_handles_are_refused() {
    let _session = Session::start();
    let (gone_stream, gone_event) = (stream(), event());
    ok!(cuStreamDestroy_v2(gone_stream));
    ok!(cuEventDestroy_v2(gone_event));
    let (good_stream, good_event) = (stream(), event());
    for (stream, event) in [(gone_stream, gone_event), (12_345, 67_890), (good_event, good_stream)] {
        let codes = [
            code!(cuStreamDestroy_v2(stream)),
            code!(cuStreamQuery(stream)),
            code!(cuStreamSynchronize(stream)),
            code!(cuEventRecord(good_event, stream)),
            code!(cuEventRecord(event, good_stream)),
            code!(cuStreamWaitEvent(good_stream, event, 0)),
            code!(cuStreamWaitEvent(stream, good_event, 0)),
            code!(cuEventQuery(event)),
            code!(cuEventDestroy_v2(event)),
            code!(cuLaunchHostFunc(stream, None, ptr::null_mut())),
            code!(cuMemsetD8Async(memory(1), 0, 1, stream)),
            code!(cuGraphLaunch(event, stream)),
            code!(cuGraphDestroy(event)),
            code!(cuGraphExecDestroy(event)),
        ];
        assert_eq!(codes, [INVALID_HANDLE; 14]);
    }
}

#[test]
fn stream_destroy_refuses_the_default_stream() {
    let _session = Session::start();
    assert_eq!([0, 1].map(|stream| code!(cuStreamDestroy_v2(stream))), [INVALID_HANDLE; 2]);
    ok!(cuStreamSynchronize(1));
}

#[test]
fn event_record_refuses_streams_of_other_contexts() {
    let session = Session::start();
    let (recorded, first) = (event(), stream());
    session.on(1);
    let second = stream();
    assert_eq!([second, 0].map(|stream| code!(cuEventRecord(recorded, stream))), [INVALID_HANDLE; 2]);
    ok!(cuEventRecord(recorded, first));
    ok!(cuStreamWaitEvent(second, recorded, 0));
}

#[test]
fn stream_create_clamps_priorities() {
    let _session = Session::start();
    let (mut least, mut greatest) = (9, 9);
    ok!(cuCtxGetStreamPriorityRange(Out::to(&mut least), Out::to(&mut greatest)));
    assert_eq!((least, greatest), (0, -5));
    let mut made = 0;
    ok!(cuStreamCreateWithPriority(Out::to(&mut made), 1, -100));
    ok!(cuStreamCreateWithPriority(Out::to(&mut made), 0, 100));
    assert_eq!(code!(cuStreamCreateWithPriority(Out::to(&mut made), 2, 0)), INVALID_VALUE);
}

#[test]
fn null_result_pointers_are_refused_without_leaks() {
    let _session = Session::start();
    let before = ["streams", "events", "bytes", "pinned"].map(live);
    let codes = [
        code!(cuStreamCreateWithPriority(Out::NULL, 0, 0)),
        code!(cuEventCreate(Out::NULL, 0)),
        code!(cuMemAlloc_v2(Out::NULL, 16)),
        code!(cuMemHostAlloc(Out::NULL, 16, 0)),
        code!(cuDevicePrimaryCtxRetain(Out::NULL, 0)),
    ];
    assert_eq!(codes, [INVALID_VALUE; 5]);
    assert_eq!(["streams", "events", "bytes", "pinned"].map(live), before);
}
