//! Virtual memory: reserved addresses, physical memory and mappings.

use crate::common::{Session, content, free_bytes, live, stream};
use cudarc::driver::sys::{
    CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationProp, CUmemAllocationType, CUmemLocation,
    CUmemLocationType,
};
use fake_cuda::errors::*;
use fake_cuda::*;

const PIECE: usize = 2 << 20;

fn location(device: i32) -> CUmemLocation {
    CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: device }
}

fn properties(device: i32) -> CUmemAllocationProp {
    // SAFETY: the fields whose types do not allow zero are set before the value is used.
    let mut properties = std::mem::MaybeUninit::<CUmemAllocationProp>::zeroed();
    let place = properties.as_mut_ptr();
    // SAFETY: the pointers are to fields of the value.
    unsafe {
        (&raw mut (*place).type_).write(CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED);
        (&raw mut (*place).location).write(location(device));
        properties.assume_init()
    }
}

fn reserved(bytes: usize) -> u64 {
    got!(address => cuMemAddressReserve(address, bytes, 0, 0, 0))
}

fn created(device: i32) -> u64 {
    got!(handle => cuMemCreate(handle, PIECE, In::at(&properties(device)), 0))
}

fn allow(address: u64, bytes: usize, device: i32) -> Code {
    let flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    let description = CUmemAccessDesc { location: location(device), flags };
    code!(cuMemSetAccess(address, bytes, In::at(&description), 1))
}

#[test]
fn physical_memory_is_used_until_it_is_released_and_unmapped() {
    let _session = Session::start();
    let (free, bytes) = (free_bytes(), live("bytes"));
    let (address, handle) = (reserved(2 * PIECE), created(0));
    assert_eq!((free - free_bytes(), live("bytes") - bytes), (PIECE, PIECE as u64));
    ok!(cuMemMap(address, PIECE, 0, handle, 0));
    ok!(cuMemRelease(handle));
    assert_eq!(code!(cuMemRelease(handle)), INVALID_VALUE);
    assert_eq!(free - free_bytes(), PIECE);
    assert_eq!(code!(cuMemAddressFree(address, 2 * PIECE)), INVALID_VALUE);
    ok!(cuMemUnmap(address, PIECE));
    assert_eq!((free_bytes(), live("bytes")), (free, bytes));
    assert_eq!(code!(cuMemAddressFree(address, PIECE)), INVALID_VALUE);
    ok!(cuMemAddressFree(address, 2 * PIECE));
    ok!(cuMemRelease(created(0)));
    assert_eq!(free_bytes(), free);
}

#[test]
fn set_access_makes_adjacent_mappings_usable_together() {
    let _session = Session::start();
    let (address, stream) = (reserved(3 * PIECE), stream());
    let fill = |address, bytes| code!(cuMemsetD8Async(address, 4, bytes, stream));
    assert_eq!(fill(address, 1), INVALID_VALUE);
    for place in 0..2 {
        ok!(cuMemMap(address + (place * PIECE) as u64, PIECE, 0, created(0), 0));
    }
    assert_eq!(fill(address, 1), INVALID_VALUE);
    assert_eq!(allow(address, PIECE, 0), SUCCESS);
    assert_eq!([fill(address, PIECE), fill(address, PIECE + 1)], [SUCCESS, INVALID_VALUE]);
    assert_eq!(allow(address + PIECE as u64, PIECE, 0), SUCCESS);
    assert_eq!([fill(address, 2 * PIECE), fill(address, 2 * PIECE + 1)], [SUCCESS, INVALID_VALUE]);
    assert_eq!(content(address + PIECE as u64 - 2, 4, stream), [4; 4]);
    ok!(cuMemUnmap(address, 2 * PIECE));
    assert_eq!(fill(address, 1), INVALID_VALUE);
    ok!(cuMemAddressFree(address, 3 * PIECE));
}

#[test]
fn mem_map_maps_whole_memory_to_reserved_unmapped_addresses() {
    let _session = Session::start();
    let (address, handle) = (reserved(PIECE), created(1));
    let map = |address, bytes, offset, handle| code!(cuMemMap(address, bytes, offset, handle, 0));
    let refused = [
        map(address + 512, PIECE, 0, handle),
        map(address, PIECE / 2, 0, handle),
        map(address, PIECE, PIECE, handle),
        map(address + PIECE as u64, PIECE, 0, handle),
        map(address, PIECE, 0, 12_345),
    ];
    assert_eq!(refused, [INVALID_VALUE; 5]);
    assert_eq!(map(address, PIECE, 0, handle), SUCCESS);
    assert_eq!(map(address, PIECE, 0, created(0)), INVALID_VALUE);
    let unmap = |address, bytes| code!(cuMemUnmap(address, bytes));
    assert_eq!([unmap(address, PIECE / 2), unmap(address, 2 * PIECE)], [INVALID_VALUE; 2]);
    assert_eq!(allow(address, 2 * PIECE, 1), INVALID_VALUE);
    assert_eq!(unmap(address, PIECE), SUCCESS);
    assert_eq!([unmap(address, PIECE), allow(address, PIECE, 1)], [INVALID_VALUE; 2]);
}

#[test]
fn virtual_memory_refuses_sizes_that_are_not_multiples_of_granularity() {
    let _session = Session::start();
    let granularity: usize = got!(found => cuMemGetAllocationGranularity(found, In::at(&properties(0)), 0));
    assert_eq!(granularity, PIECE);
    let mut place = 0_u64;
    let codes = [
        code!(cuMemAddressReserve(Out::to(&mut place), PIECE + 512, 0, 0, 0)),
        code!(cuMemAddressReserve(Out::to(&mut place), 0, 0, 0, 0)),
        code!(cuMemCreate(Out::to(&mut place), PIECE - 1, In::at(&properties(0)), 0)),
        code!(cuMemCreate(Out::to(&mut place), PIECE, In::NULL, 0)),
    ];
    assert_eq!(codes, [INVALID_VALUE; 4]);
    assert_eq!(code!(cuMemCreate(Out::to(&mut place), PIECE, In::at(&properties(7)), 0)), INVALID_DEVICE);
    assert_eq!(code!(cuMemCreate(Out::to(&mut place), 1 << 40, In::at(&properties(0)), 0)), OUT_OF_MEMORY);
    fake_cuda_fail_allocation(1);
    assert_eq!(code!(cuMemCreate(Out::to(&mut place), PIECE, In::at(&properties(0)), 0)), OUT_OF_MEMORY);
}
