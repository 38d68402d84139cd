//! Device memory and pinned memory.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::common::{Gate, Session, alone, calls, free_bytes, launch, live, memory, pinned, stream};
use fake_cuda::errors::*;
use fake_cuda::*;

const TOTAL: usize = 64 << 20;

#[test]
fn mem_alloc_counts_bytes_and_runs_out() {
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
fn mem_free_waits_for_its_device_only() {
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
fn mem_free_host_fails_the_second_time() {
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
fn fail_allocation_counts_allocations_of_every_kind() {
    let _session = Session::start();
    let free = free_bytes();
    let (mut address, mut pointer) = (0, 0);
    let mut allocate = || {
        [code!(cuMemAlloc_v2(Out::to(&mut address), 8)), code!(cuMemHostAlloc(Out::to(&mut pointer), 8, 0))]
    };
    for place in 0..2 {
        fake_cuda_fail_allocation(place + 1);
        let codes = allocate();
        assert!(
            (0..2).all(|other| (codes[other] == OUT_OF_MEMORY) == (other == place as usize)),
            "{codes:?}"
        );
    }
    fake_cuda_fail_allocation(1);
    fake_cuda_fail_allocation(0);
    assert_eq!(allocate(), [SUCCESS; 2]);
    assert!(free_bytes() < free);
}

#[test]
fn fail_allocation_is_read_from_the_environment() {
    alone("fail_allocation_is_read_from_the_environment", &[("FAKE_CUDA_FAIL_ALLOCATION", "2")], || {
        let _session = Session::start();
        let codes = [(); 3].map(|()| code!(cuMemAlloc_v2(Out::to(&mut 0), 8)));
        assert_eq!(codes, [SUCCESS, OUT_OF_MEMORY, SUCCESS]);
    });
}

#[test]
fn virtual_memory_can_be_disabled_by_the_environment() {
    let variables = [("FAKE_CUDA_NO_VIRTUAL_MEMORY", "1")];
    alone("virtual_memory_can_be_disabled_by_the_environment", &variables, || {
        let _session = Session::start();
        assert_eq!(got!(value => cuDeviceGetAttribute(value, 102, 0)), 0);
        let codes = [code!(cuMemAddressReserve(Out::to(&mut 0), 2 << 20, 0, 0, 0)), code!(cuMemUnmap(0, 0))];
        assert_eq!(codes, [NOT_SUPPORTED; 2]);
    });
}

#[test]
fn virtual_memory_is_supported_by_default() {
    let _session = Session::start();
    let attribute = |number| -> c_int { got!(value => cuDeviceGetAttribute(value, number, 0)) };
    assert_eq!([115, 102, 75].map(attribute), [1, 1, 9]);
    assert_eq!(code!(cuDeviceGetAttribute(Out::to(&mut 0), 0, 0)), INVALID_VALUE);
}
