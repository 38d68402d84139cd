//! Broken devices.

use crate::common;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use crate::common::{Gate, Session, alone, calls, event, launch, memory, stream};
use fake_cuda::errors::*;
use fake_cuda::*;

#[test]
fn broken_device_fails_all_calls_and_other_devices_work() {
    alone("broken_device_fails_all_calls_and_other_devices_work", &[], || {
        let session = Session::start();
        let (stream, mark, address) = (stream(), event(), memory(8));
        assert_eq!(fake_cuda_break_device(0, ILLEGAL_ADDRESS), 0);
        assert_eq!(fake_cuda_break_device(0, LAUNCH_FAILED), 0);
        let (mut handle, mut number, mut place) = (0, 0, 0);
        for _ in 0..2 {
            let codes = [
                code!(cuStreamQuery(stream)),
                code!(cuStreamSynchronize(stream)),
                code!(cuStreamSynchronize(0)),
                code!(cuStreamCreateWithPriority(Out::to(&mut handle), 0, 0)),
                code!(cuEventQuery(mark)),
                code!(cuEventRecord(mark, stream)),
                code!(cuEventDestroy_v2(mark)),
                code!(cuCtxSynchronize()),
                code!(cuCtxGetDevice(Out::to(&mut number))),
                code!(cuMemAlloc_v2(Out::to(&mut place), 8)),
                code!(cuMemFree_v2(address)),
                code!(cuMemsetD8Async(address, 0, 8, stream)),
                code!(cuMemGetInfo_v2(Out::NULL, Out::NULL)),
                code!(cuDevicePrimaryCtxRetain(Out::to(&mut handle), 0)),
                code!(cuDeviceGetAttribute(Out::to(&mut number), 1, 0)),
            ];
            assert_eq!(codes, [ILLEGAL_ADDRESS; 15]);
        }
        ok!(cuCtxGetCurrent(Out::to(&mut handle)));
        ok!(cuCtxSetCurrent(handle));
        let (mut flags, mut active) = (0, 0);
        ok!(cuDevicePrimaryCtxGetState(0, Out::to(&mut flags), Out::to(&mut active)));
        session.on(1);
        assert_eq!(code!(cuStreamQuery(stream)), ILLEGAL_ADDRESS);
        let (own, other) = (common::stream(), memory(8));
        assert_eq!(code!(cuMemcpyDtoDAsync_v2(other, address, 8, own)), ILLEGAL_ADDRESS);
        ok!(cuMemsetD8Async(other, 1, 8, own));
        ok!(cuCtxSynchronize());
        assert_eq!(fake_cuda_break_device(2, 700), INVALID_DEVICE);
        assert_eq!(fake_cuda_break_device(1, 0), INVALID_VALUE);
    });
}

#[test]
fn broken_device_drops_queued_work_and_wakes_waits() {
    alone("broken_device_drops_queued_work_and_wakes_waits", &[], || {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let session = Session::start();
        let (stopped, behind, other) = (stream(), stream(), stream());
        let gate = Gate::on(stopped);
        gate.wait_until_entered();
        launch(stopped, || RUNS.store(1, Ordering::SeqCst));
        launch(behind, || RUNS.store(1, Ordering::SeqCst));
        let context = session.contexts[0];
        let codes = thread::scope(|scope| {
            let waits = [stopped, behind].map(|stream| {
                scope.spawn(move || {
                    ok!(cuCtxSetCurrent(context));
                    code!(cuStreamSynchronize(stream))
                })
            });
            while calls("cuStreamSynchronize") < 2 {
                thread::yield_now();
            }
            fake_cuda_break_device(0, ECC_UNCORRECTABLE);
            waits.map(|wait| wait.join().unwrap())
        });
        assert_eq!(codes, [ECC_UNCORRECTABLE; 2]);
        gate.open();
        session.on(1);
        let after = stream();
        launch(after, || {});
        ok!(cuStreamSynchronize(after));
        assert_eq!((RUNS.load(Ordering::SeqCst), code!(cuStreamQuery(other))), (0, ECC_UNCORRECTABLE));
    });
}
