//! Memory: at once, in the order of streams, pinned, and at reserved addresses.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[macro_use]
mod common;

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use common::{Gate, Session, alone, calls, content, event, free_bytes, launch, live, memory, pinned, stream};
use cudarc::driver::sys::{
    CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation,
    CUmemLocationType, CUmemPoolProps,
};
use fake_cuda::errors::*;
use fake_cuda::*;

const TOTAL: usize = 64 << 20;
const THRESHOLD: u32 = 4;

fn location(device: c_int) -> CUmemLocation {
    CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: device }
}

fn properties(device: c_int) -> CUmemPoolProps {
    CUmemPoolProps {
        allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location: location(device),
        win32SecurityAttributes: std::ptr::null_mut(),
        reserved: [0; 64],
    }
}

/// A pool that keeps what is freed when somebody waits.
fn pool(device: c_int) -> Handle {
    let pool = got!(pool => cuMemPoolCreate(pool, In::at(&properties(device))));
    ok!(cuMemPoolSetAttribute(pool, THRESHOLD, In::at(&u64::MAX)));
    pool
}

fn pooled(pool: Handle, bytes: usize, stream: Handle) -> u64 {
    got!(address => cuMemAllocFromPoolAsync(address, bytes, pool, stream))
}

#[test]
fn memory_is_counted_and_ends() {
    let _session = Session::start();
    let (free, bytes) = (free_bytes(), live("bytes"));
    let address = memory(1000);
    assert_eq!((free - free_bytes(), live("bytes") - bytes, address % 512), (1024, 1000, 0));
    let mut refused = 0;
    assert_eq!(code!(cuMemAlloc_v2(Out::to(&mut refused), TOTAL)), OUT_OF_MEMORY);
    assert_eq!(code!(cuMemAlloc_v2(Out::to(&mut refused), usize::MAX)), OUT_OF_MEMORY);
    assert_eq!(code!(cuMemAlloc_v2(Out::to(&mut refused), 0)), INVALID_VALUE);
    assert_eq!(code!(cuMemFree_v2(address + 1)), INVALID_VALUE);
    ok!(cuMemFree_v2(address));
    assert_eq!(code!(cuMemFree_v2(address)), INVALID_VALUE);
    assert_eq!((free_bytes(), live("bytes")), (free, bytes));
}

#[test]
fn freeing_waits_for_the_whole_device_and_for_no_other() {
    static FREED: AtomicBool = AtomicBool::new(false);
    let session = Session::start();
    let (address, stopped) = (memory(8), stream());
    let gate = Gate::on(stopped);
    gate.wait_until_entered();
    launch(stopped, || assert!(!FREED.load(Ordering::SeqCst)));
    session.on(1);
    ok!(cuMemFree_v2(memory(8)));
    session.on(0);
    let before = calls("cuMemFree_v2");
    thread::scope(|scope| {
        let freeing = scope.spawn(|| {
            session.on(0);
            ok!(cuMemFree_v2(address));
            FREED.store(true, Ordering::SeqCst);
            code!(cuStreamQuery(stopped))
        });
        while calls("cuMemFree_v2") == before {
            thread::yield_now();
        }
        assert_eq!(code!(cuStreamQuery(stopped)), NOT_READY);
        gate.open();
        assert_eq!(freeing.join().unwrap(), SUCCESS);
    });
}

#[test]
fn pinned_memory_goes_once() {
    let _session = Session::start();
    let before = live("pinned");
    let pointer = pinned(100).as_ptr() as usize;
    assert_eq!(live("pinned") - before, 100);
    assert_eq!(code!(cuMemFreeHost(pointer + 1)), INVALID_VALUE);
    ok!(cuMemFreeHost(pointer));
    assert_eq!((code!(cuMemFreeHost(pointer)), live("pinned")), (INVALID_VALUE, before));
    assert_eq!(code!(cuMemHostAlloc(Out::to(&mut 0), 1, 8)), INVALID_VALUE);
}

#[test]
fn the_allocation_that_was_asked_to_is_out_of_memory_whatever_it_is_for() {
    let _session = Session::start();
    let (pool, stream, free) = (pool(0), stream(), free_bytes());
    let (mut address, mut pointer) = (0, 0);
    let mut allocate = || {
        [
            code!(cuMemAlloc_v2(Out::to(&mut address), 8)),
            code!(cuMemAllocFromPoolAsync(Out::to(&mut address), 8, pool, stream)),
            code!(cuMemHostAlloc(Out::to(&mut pointer), 8, 0)),
        ]
    };
    for place in 0..3 {
        fake_cuda_fail_allocation(place + 1);
        let codes = allocate();
        assert!(
            (0..3).all(|other| (codes[other] == OUT_OF_MEMORY) == (other == place as usize)),
            "{codes:?}"
        );
    }
    fake_cuda_fail_allocation(1);
    fake_cuda_fail_allocation(0);
    assert_eq!(allocate(), [SUCCESS; 3]);
    assert!(free_bytes() < free);
}

#[test]
fn the_environment_says_which_allocation_fails() {
    alone("the_environment_says_which_allocation_fails", &[("FAKE_CUDA_FAIL_ALLOCATION", "2")], || {
        let _session = Session::start();
        let codes = [(); 3].map(|()| code!(cuMemAlloc_v2(Out::to(&mut 0), 8)));
        assert_eq!(codes, [SUCCESS, OUT_OF_MEMORY, SUCCESS]);
    });
}

#[test]
fn what_was_freed_into_a_pool_counts_until_the_pool_is_trimmed() {
    let _session = Session::start();
    let (pool, stream, free) = (pool(0), stream(), free_bytes());
    let address = pooled(pool, 1000, stream);
    let gate = Gate::on(stream);
    ok!(cuMemFreeAsync(address, stream));
    assert_eq!(code!(cuMemFreeAsync(address, stream)), INVALID_VALUE);
    assert_eq!(code!(cuMemsetD8Async(address, 0, 1, stream)), INVALID_VALUE);
    ok!(cuMemPoolTrimTo(pool, 0));
    assert_eq!((free - free_bytes(), code!(cuStreamQuery(stream))), (1024, NOT_READY));
    gate.open();
    ok!(cuStreamSynchronize(stream));
    assert_eq!(free - free_bytes(), 1024);
    ok!(cuMemPoolTrimTo(pool, 1024));
    assert_eq!(free - free_bytes(), 1024);
    ok!(cuMemPoolTrimTo(pool, 0));
    assert_eq!(free, free_bytes());
    ok!(cuMemPoolDestroy(pool));
    assert_eq!(code!(cuMemPoolTrimTo(pool, 0)), INVALID_HANDLE);
}

#[test]
fn a_pool_without_a_threshold_keeps_nothing_when_somebody_waits() {
    let _session = Session::start();
    let (stream, free) = (stream(), free_bytes());
    let pool = got!(pool => cuMemPoolCreate(pool, In::at(&properties(0))));
    ok!(cuMemFreeAsync(pooled(pool, 512, stream), stream));
    let mark = event();
    ok!(cuEventRecord(mark, stream));
    while code!(cuEventQuery(mark)) == NOT_READY {
        thread::yield_now();
    }
    assert_eq!(free - free_bytes(), 512);
    ok!(cuStreamSynchronize(stream));
    assert_eq!(free, free_bytes());
}

#[test]
fn a_pool_gives_out_again_what_the_same_stream_freed_and_what_any_has_reached() {
    let _session = Session::start();
    let (pool, stopped, other) = (pool(0), stream(), stream());
    let address = pooled(pool, 512, stopped);
    let gate = Gate::on(stopped);
    ok!(cuMemFreeAsync(address, stopped));
    let another = pooled(pool, 512, other);
    assert_ne!(another, address);
    assert_eq!(pooled(pool, 512, stopped), address);
    ok!(cuMemFreeAsync(address, stopped));
    gate.open();
    ok!(cuStreamSynchronize(stopped));
    assert_eq!(pooled(pool, 512, other), address);
}

#[test]
fn memory_of_a_pool_that_went_stays_until_it_is_freed() {
    let _session = Session::start();
    let (pool, stream, free) = (pool(0), stream(), free_bytes());
    let address = pooled(pool, 512, stream);
    ok!(cuMemPoolDestroy(pool));
    ok!(cuMemsetD8Async(address, 3, 512, stream));
    assert_eq!((content(address, 2, stream), free - free_bytes()), (vec![3; 2], 512));
    ok!(cuMemFreeAsync(address, stream));
    assert_eq!(free, free_bytes());
}

#[test]
fn freeing_in_a_stream_takes_only_what_a_pool_gave_and_freeing_at_once_only_the_rest() {
    let _session = Session::start();
    let (pool, stream) = (pool(0), stream());
    let (plain, address) = (memory(8), pooled(pool, 8, stream));
    assert_eq!(code!(cuMemFreeAsync(plain, stream)), INVALID_VALUE);
    assert_eq!(code!(cuMemFree_v2(address)), INVALID_VALUE);
    assert_eq!(code!(cuMemPoolSetAttribute(pool, 7, In::at(&0))), INVALID_VALUE);
    let description = |device, flags| CUmemAccessDesc { location: location(device), flags };
    let none = description(0, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE);
    assert_eq!(code!(cuMemPoolSetAccess(pool, In::at(&none), 1)), INVALID_DEVICE);
    let peer = [description(1, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE)];
    ok!(cuMemPoolSetAccess(pool, In::at_all(&peer), 1));
    let away = description(7, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    assert_eq!(code!(cuMemPoolSetAccess(pool, In::at(&away), 1)), INVALID_DEVICE);
}

#[test]
fn devices_may_have_no_pools_and_no_virtual_memory() {
    let variables = [("FAKE_CUDA_NO_POOLS", "1"), ("FAKE_CUDA_NO_VIRTUAL_MEMORY", "1")];
    alone("devices_may_have_no_pools_and_no_virtual_memory", &variables, || {
        let _session = Session::start();
        let attributes =
            [115, 102].map(|number| -> c_int { got!(value => cuDeviceGetAttribute(value, number, 0)) });
        assert_eq!(attributes, [0, 0]);
        let codes = [
            code!(cuMemPoolCreate(Out::to(&mut 0), In::at(&properties(0)))),
            code!(cuMemFreeAsync(0, 0)),
            code!(cuMemAddressReserve(Out::to(&mut 0), 2 << 20, 0, 0, 0)),
            code!(cuMemUnmap(0, 0)),
        ];
        assert_eq!(codes, [NOT_SUPPORTED; 4]);
    });
}

#[test]
fn devices_have_pools_and_virtual_memory_unless_they_are_told() {
    let _session = Session::start();
    let attribute = |number| -> c_int { got!(value => cuDeviceGetAttribute(value, number, 0)) };
    assert_eq!([115, 102, 75].map(attribute), [1, 1, 9]);
    assert_eq!(code!(cuDeviceGetAttribute(Out::to(&mut 0), 0, 0)), INVALID_VALUE);
}

#[test]
fn pools_are_not_trimmed_in_a_capture_and_give_nothing_to_streams_that_capture() {
    let _session = Session::start();
    let (pool, capturing, other) = (pool(0), stream(), stream());
    let capture = |call: &dyn Fn() -> Code| {
        ok!(cuStreamBeginCapture_v2(capturing, 0));
        let code = call();
        (code, code!(cuStreamEndCapture(capturing, Out::to(&mut 0))))
    };
    let fine = capture(&|| {
        ok!(cuMemFreeAsync(pooled(pool, 8, other), other));
        SUCCESS
    });
    assert_eq!(fine, (SUCCESS, SUCCESS));
    let bad = (CAPTURE_UNSUPPORTED, CAPTURE_INVALIDATED);
    assert_eq!(capture(&|| code!(cuMemPoolTrimTo(pool, 0))), bad);
    assert_eq!(capture(&|| code!(cuMemPoolCreate(Out::to(&mut 0), In::at(&properties(0))))), bad);
    assert_eq!(capture(&|| code!(cuMemAllocFromPoolAsync(Out::to(&mut 0), 8, pool, capturing))), bad);
}
