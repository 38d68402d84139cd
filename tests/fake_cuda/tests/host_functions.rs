//! Host functions.

use crate::common;
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::{ptr, thread};

use crate::common::{Gate, Session, event, launch, stream};
use fake_cuda::errors::*;
use fake_cuda::*;

#[test]
fn host_functions_run_in_order_on_one_thread() {
    let _session = Session::start();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let streams = [stream(), stream()];
    for number in 0..4 {
        let seen = seen.clone();
        launch(streams[number % 2], move || seen.lock().unwrap().push((number, thread::current().id())));
    }
    streams.iter().for_each(|stream| ok!(cuStreamSynchronize(*stream)));
    let seen = seen.lock().unwrap();
    for stream in 0..2 {
        let order: Vec<_> =
            seen.iter().map(|(number, _)| *number).filter(|number| number % 2 == stream).collect();
        assert_eq!(order, [stream, stream + 2]);
    }
    assert!(seen.iter().all(|(_, thread)| *thread == seen[0].1 && *thread != thread::current().id()));
}

#[test]
fn host_functions_of_all_streams_run_one_at_a_time() {
    let _session = Session::start();
    let [first, second] = [stream(), stream()];
    let gate = Gate::on(first);
    gate.wait_until_entered();
    let ran = Arc::new(AtomicUsize::new(0));
    let counter = ran.clone();
    launch(second, move || counter.store(1, Ordering::SeqCst));
    assert_eq!((code!(cuStreamQuery(second)), ran.load(Ordering::SeqCst)), (NOT_READY, 0));
    gate.open();
    ok!(cuStreamSynchronize(second));
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

#[test]
fn host_functions_may_call_only_error_names() {
    let _session = Session::start();
    let (stream, mark) = (stream(), event());
    let codes = Arc::new(Mutex::new(Vec::new()));
    let found = codes.clone();
    launch(stream, move || {
        let mut number = 0;
        let mut name: *const c_char = ptr::null();
        *found.lock().unwrap() = vec![
            code!(cuEventQuery(mark)),
            code!(cuStreamQuery(stream)),
            code!(cuMemFree_v2(0)),
            code!(cuInit(0)),
            code!(cuDriverGetVersion(Out::to(&mut number))),
            code!(cuLaunchHostFunc(stream, None, ptr::null_mut())),
            code!(cuGetErrorName(800, Out::to(&mut name))),
        ];
    });
    ok!(cuStreamSynchronize(stream));
    assert_eq!(codes.lock().unwrap()[..6], [NOT_PERMITTED; 6]);
    assert_eq!(codes.lock().unwrap()[6], SUCCESS);
}

#[test]
fn host_functions_do_not_block_calls_of_other_threads() {
    let session = Session::start();
    let [stopped, other] = [stream(), stream()];
    let address = common::memory(8);
    let gate = Gate::on(stopped);
    gate.wait_until_entered();
    let mark = event();
    ok!(cuMemsetD8Async(address, 3, 8, other));
    ok!(cuEventRecord(mark, other));
    ok!(cuStreamSynchronize(other));
    launch(other, || {});
    launch(stopped, || {});
    common::elsewhere(session.contexts[1], || {
        ok!(cuCtxSynchronize());
        common::memory(8);
    });
    ok!(cuEventQuery(mark));
    gate.open();
    ok!(cuCtxSynchronize());
}

#[test]
fn launch_host_func_refuses_a_null_function() {
    let _session = Session::start();
    assert_eq!(code!(cuLaunchHostFunc(0, None, ptr::null_mut::<c_void>())), INVALID_VALUE);
}
