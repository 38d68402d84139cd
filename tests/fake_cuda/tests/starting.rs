//! Initialization of the driver: calls before it, failures, and forked processes.

use crate::common;
use std::ffi::{CStr, c_char};
use std::ptr;

use crate::common::{Session, alone, calls, is_true_in_child};
use cudarc::driver::sys::CUuuid;
use fake_cuda::errors::*;
use fake_cuda::*;

fn version() -> i32 {
    got!(version => cuDriverGetVersion(version))
}

fn count() -> Result<i32, Code> {
    let mut count = -1;
    match code!(cuDeviceGetCount(Out::to(&mut count))) {
        0 => Ok(count),
        code => Err(code),
    }
}

#[test]
fn calls_before_init_fail_except_version_and_error_names() {
    alone("calls_before_init_fail_except_version_and_error_names", &[], || {
        assert_eq!(count(), Err(NOT_INITIALIZED));
        let (mut stream, mut address) = (0, 0);
        let codes = [
            code!(cuCtxSetCurrent(0)),
            code!(cuCtxGetCurrent(Out::to(&mut stream))),
            code!(cuStreamCreateWithPriority(Out::to(&mut stream), 0, 0)),
            code!(cuMemAlloc_v2(Out::to(&mut address), 0)),
            code!(cuStreamQuery(0)),
            code!(cuEventQuery(0)),
            code!(cuGraphDestroy(0)),
            code!(cuMemUnmap(0, 0)),
        ];
        assert_eq!(codes, [NOT_INITIALIZED; 8]);
        assert_eq!(version(), 12_020);
        let mut name: *const c_char = ptr::null();
        ok!(cuGetErrorName(900, Out::to(&mut name)));
        // SAFETY: the library returns static C strings.
        assert_eq!(unsafe { CStr::from_ptr(name) }, c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED");
        assert_eq!(code!(cuGetErrorName(12_345, Out::to(&mut name))), INVALID_VALUE);
        assert!(name.is_null());
        ok!(cuInit(0));
        assert_eq!((count(), calls("cuDeviceGetCount"), calls("cuInit")), (Ok(2), 2, 1));
    });
}

#[test]
fn init_refuses_flags_and_may_be_repeated() {
    alone("init_refuses_flags_and_may_be_repeated", &[("FAKE_CUDA_VERSION", "11040")], || {
        assert_eq!(code!(cuInit(1)), INVALID_VALUE);
        assert_eq!(count(), Err(NOT_INITIALIZED));
        ok!(cuInit(0));
        ok!(cuInit(0));
        assert_eq!(version(), 11_040);
    });
}

#[test]
fn stub_fails_every_function_with_stub_library() {
    alone("stub_fails_every_function_with_stub_library", &[("FAKE_CUDA_INIT", "34")], || {
        let mut version = 0;
        for _ in 0..2 {
            assert_eq!(code!(cuDriverGetVersion(Out::to(&mut version))), STUB_LIBRARY);
            assert_eq!(count(), Err(STUB_LIBRARY));
            assert_eq!(code!(cuInit(0)), STUB_LIBRARY);
        }
    });
}

#[test]
fn init_failure_is_permanent() {
    alone("init_failure_is_permanent", &[("FAKE_CUDA_INIT", "304")], || {
        assert_eq!([code!(cuInit(0)), code!(cuInit(0))], [OPERATING_SYSTEM; 2]);
        assert_eq!(count(), Err(NOT_INITIALIZED));
    });
}

#[test]
fn init_fails_without_a_visible_device() {
    alone("init_fails_without_a_visible_device", &[("CUDA_VISIBLE_DEVICES", "-1")], || {
        assert_eq!(code!(cuInit(0)), NO_DEVICE);
    });
}

#[test]
fn visible_devices_are_renumbered_and_keep_their_uuids() {
    let variables =
        [("FAKE_CUDA_DEVICES", "20"), ("CUDA_VISIBLE_DEVICES", "18,3"), ("FAKE_CUDA_MEMORY", "4096")];
    alone("visible_devices_are_renumbered_and_keep_their_uuids", &variables, || {
        ok!(cuInit(0));
        assert_eq!(count(), Ok(2));
        let mut uuid = CUuuid { bytes: [1; 16] };
        ok!(cuDeviceGetUuid_v2(Out::to(&mut uuid), 0));
        assert_eq!((uuid.bytes[..15].to_vec(), uuid.bytes[15]), (vec![0; 15], 18));
        let mut place = [1; 13];
        ok!(cuDeviceGetPCIBusId(Out::to_all(&mut place), 13, 0));
        assert_eq!(place.map(|letter| letter as u8), *b"0000:12:00.0\0");
        assert_eq!(code!(cuDeviceGetPCIBusId(Out::to_all(&mut place), 12, 0)), INVALID_VALUE);
        let bytes: usize = got!(bytes => cuDeviceTotalMem_v2(bytes, 1));
        assert_eq!(bytes, 4096);
        let mut device = 0;
        assert_eq!(code!(cuDeviceGet(Out::to(&mut device), 2)), INVALID_DEVICE);
        assert_eq!(code!(cuDeviceGet(Out::to(&mut device), -1)), INVALID_DEVICE);
    });
}

#[test]
fn device_name_is_truncated_and_ends_with_nul() {
    let _session = Session::start();
    let mut name = [1; 5];
    ok!(cuDeviceGetName(Out::to_all(&mut name), 5, 0));
    assert_eq!(name.map(|letter| letter as u8), *b"Fake\0");
    assert_eq!(code!(cuDeviceGetName(Out::to_all(&mut name), 0, 0)), INVALID_VALUE);
}

#[test]
fn forked_child_of_a_started_process_cannot_use_the_driver() {
    alone("forked_child_of_a_started_process_cannot_use_the_driver", &[], || {
        let session = Session::start();
        assert!(is_true_in_child(|| {
            count() == Err(NOT_INITIALIZED)
                && code!(cuInit(0)) == NOT_INITIALIZED
                && code!(cuCtxSetCurrent(session.contexts[0])) == NOT_INITIALIZED
                && code!(cuStreamSynchronize(0)) == NOT_INITIALIZED
        }));
        assert_eq!(count(), Ok(2));
    });
}

#[test]
fn forked_child_starts_the_driver_if_its_parent_did_not() {
    alone("forked_child_starts_the_driver_if_its_parent_did_not", &[], || {
        assert_eq!(version(), 12_020);
        assert!(is_true_in_child(|| {
            let _session = Session::start();
            let stream = common::stream();
            common::launch(stream, || {});
            code!(cuStreamSynchronize(stream)) == 0
        }));
        assert_eq!(count(), Err(NOT_INITIALIZED));
    });
}
