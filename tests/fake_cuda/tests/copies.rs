//! Copies and fills: valid ranges and synchronization.

use crate::common::{Gate, Session, content, elsewhere, memory, pinned, stream};
use fake_cuda::errors::*;
use fake_cuda::*;

#[test]
fn copies_between_host_and_both_devices_preserve_bytes() {
    let session = Session::start();
    let (first, stream) = (memory(300), stream());
    session.on(1);
    let second = memory(300);
    let bytes: Vec<u8> = (0..300).map(|place| place as u8).collect();
    ok!(cuMemcpyHtoDAsync_v2(first, bytes.as_ptr().cast(), 300, stream));
    ok!(cuMemcpyPeerAsync(second, session.contexts[1], first, session.contexts[0], 300, stream));
    ok!(cuMemsetD8Async(second + 1, 7, 2, stream));
    assert_eq!(content(second, 4, stream), [0, 7, 7, 3]);
    ok!(cuMemcpyDtoDAsync_v2(first, second + 1, 3, stream));
    let found = pinned(4);
    ok!(cuMemcpyAsync(found.as_ptr() as u64, first, 4, stream));
    ok!(cuStreamSynchronize(stream));
    assert_eq!(found, [7, 7, 3, 3]);
}

#[test]
fn copies_and_fills_refuse_ranges_outside_of_allocations() {
    let session = Session::start();
    let (first, second, stream) = (memory(100), memory(100), stream());
    let mut bytes = [0_u8; 200];
    let local = bytes.as_mut_ptr();
    let refused = [
        code!(cuMemsetD8Async(first, 0, 101, stream)),
        code!(cuMemsetD8Async(first - 1, 0, 1, stream)),
        code!(cuMemsetD8Async(local as u64, 0, 1, stream)),
        code!(cuMemcpyHtoDAsync_v2(first + 50, local.cast(), 51, stream)),
        code!(cuMemcpyDtoHAsync_v2(local.cast(), first + 100, 1, stream)),
        code!(cuMemcpyDtoDAsync_v2(first, local as u64, 1, stream)),
        code!(cuMemcpyAsync(first, second + 1, 100, stream)),
        code!(cuMemcpyHtoDAsync_v2(first, std::ptr::null(), 1, stream)),
        code!(cuMemcpyHtoDAsync_v2(first, second as *const _, 1, stream)),
        code!(cuMemcpyDtoDAsync_v2(first + 1, first, 50, stream)),
        code!(cuMemsetD8Async(first, 0, usize::MAX, stream)),
    ];
    assert_eq!(refused, [INVALID_VALUE; 11]);
    ok!(cuMemsetD8Async(first + 99, 0, 1, stream));
    ok!(cuMemsetD8Async(0, 0, 0, stream));
    ok!(cuMemFree_v2(first));
    assert_eq!(code!(cuMemsetD8Async(first, 0, 1, stream)), INVALID_VALUE);
    let wrong = code!(cuMemcpyPeerAsync(second, session.contexts[1], second, session.contexts[0], 1, stream));
    assert_eq!(wrong, INVALID_VALUE);
}

#[test]
fn copy_has_read_pageable_memory_when_it_returns() {
    let _session = Session::start();
    let (stream, address) = (stream(), memory(8));
    let gate = Gate::on(stream);
    let mut bytes = [1_u8; 8];
    ok!(cuMemcpyHtoDAsync_v2(address, bytes.as_ptr().cast(), 8, stream));
    bytes = [2; 8];
    gate.open();
    assert_eq!((content(address, 8, stream), bytes), (vec![1; 8], [2; 8]));
}

#[test]
fn copy_reads_pinned_memory_in_stream_order() {
    let _session = Session::start();
    let (stream, address, bytes) = (stream(), memory(8), pinned(8));
    let gate = Gate::on(stream);
    ok!(cuMemcpyHtoDAsync_v2(address, bytes.as_ptr().cast(), 8, stream));
    bytes.fill(2);
    assert_eq!(code!(cuStreamQuery(stream)), NOT_READY);
    gate.open();
    assert_eq!(content(address, 8, stream), [2; 8]);
}

#[test]
fn copy_to_pageable_memory_blocks_only_the_caller() {
    let session = Session::start();
    let (stream, address) = (stream(), memory(8));
    ok!(cuMemsetD8Async(address, 5, 8, stream));
    let gate = Gate::on(stream);
    gate.wait_until_entered();
    let copied = std::thread::scope(|scope| {
        let copying = scope.spawn(|| {
            session.on(0);
            content(address, 8, stream)
        });
        elsewhere(session.contexts[0], || ok!(cuCtxGetDevice(Out::to(&mut 0))));
        gate.open();
        copying.join().unwrap()
    });
    assert_eq!(copied, [5; 8]);
}
