//! Tests of the memory history, and of its replay.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use interlock_accelerator::Error;
use interlock_accelerator::memory::{
    self, BlockUsage, DeviceBuffer, Frame, HistoryConfig, HistoryRecorder, Limit, ReleaseReason, Snapshot,
    Stack, Statistics, TraceAction, TraceEntry,
};
use interlock_accelerator::{Device, HostFn, Stream, use_driver};
use interlock_host::{HostDriver, HostOptions};

const MIB: usize = 1 << 20;

/// Returns two devices that no other test uses now. The history is global for the process.
fn devices() -> (MutexGuard<'static, ()>, [Device; 2]) {
    static LOCK: Mutex<()> = Mutex::new(());
    static MADE: OnceLock<()> = OnceLock::new();
    static USED: Mutex<u8> = Mutex::new(0);
    let guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    MADE.get_or_init(|| {
        let options = HostOptions { devices: 16, memory: 128 * MIB as u64, ..HostOptions::default() };
        use_driver(HostDriver::new(options).unwrap()).unwrap();
    });
    let mut used = USED.lock().unwrap();
    *used += 2;
    let device = |index| format!("host:{index}").parse().unwrap();
    (guard, [device(*used - 2), device(*used - 1)])
}

fn recorded(max_entries: Option<usize>) -> HistoryRecorder {
    HistoryRecorder::record(HistoryConfig { max_entries, stacks: true, pinned: false }, None).unwrap()
}

fn trace_of(snapshot: &Snapshot, device: Device) -> &[TraceEntry] {
    &snapshot.traces[usize::from(device.index().unwrap())]
}

fn actions(trace: &[TraceEntry]) -> Vec<&'static str> {
    trace.iter().map(|entry| entry.action.name()).collect()
}

/// Returns the snapshot with the trace of one device as the trace of another.
fn moved(snapshot: &Snapshot, from: Device, to: Device) -> Snapshot {
    let mut traces = vec![Vec::new(); 16];
    traces[usize::from(to.index().unwrap())] = trace_of(snapshot, from).to_vec();
    Snapshot { traces, ..Snapshot::default() }
}

/// A deterministic generator of pseudo-random numbers.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Creates a host function that takes a short time.
fn busy() -> HostFn {
    HostFn::new("busy", || {
        (0..200).for_each(|_| std::thread::yield_now());
        Ok(())
    })
}

/// Allocates and frees on several busy streams of a device until memory runs out.
fn program(device: Device, seed: u64) -> Vec<DeviceBuffer> {
    let mut draw = Draw(seed);
    let mut streams = [
        Stream::default_of(Some(device)).unwrap(),
        Stream::new(Some(device), 0).unwrap(),
        Stream::dedicated(Some(device), 0).unwrap(),
    ];
    let mut kept: Vec<DeviceBuffer> = Vec::new();
    for step in 0..600 {
        let stream = streams[draw.below(streams.len())].clone();
        let largest = [3000, MIB, 3 * MIB, 14 * MIB][draw.below(4)];
        match DeviceBuffer::on(&stream, 1 + draw.below(largest)) {
            Ok(memory) => kept.push(memory),
            Err(Error::OutOfMemory(_)) => kept.truncate(kept.len() / 2),
            Err(other) => panic!("{other}"),
        }
        if !kept.is_empty() && (kept.len() > 24 || draw.below(3) == 0) {
            let memory = kept.swap_remove(draw.below(kept.len()));
            if draw.below(3) == 0 {
                let other = &streams[draw.below(streams.len())];
                other.launch(busy()).unwrap();
                memory.record_stream(other).unwrap();
            }
        }
        match step % 97 {
            50 => memory::empty_cache().unwrap(),
            90 => streams[2] = Stream::dedicated(Some(device), 0).unwrap(),
            _ => {}
        }
    }
    kept
}

#[test]
fn replay_returns_the_statistics_of_the_program() {
    for seed in 1..=6 {
        let (_lock, [here, there]) = devices();
        for device in [here, there] {
            memory::set_limit(Some(Limit::Bytes(64 * MIB as u64)), Some(device)).unwrap();
        }
        let history = recorded(None);
        let kept = program(here, seed * 0x9E37_79B9);
        history.stop().unwrap();
        let counted = memory::statistics(Some(here)).unwrap();
        assert!(counted.num_ooms > 0 && counted.num_alloc_retries > counted.num_ooms, "{counted:?}");
        let snapshot = memory::snapshot(Some(here)).unwrap();
        let trace = trace_of(&snapshot, here);
        let causes = [ReleaseReason::Shortage, ReleaseReason::EmptyCache, ReleaseReason::Stream];
        assert!(causes.iter().all(|cause| trace.iter().any(|entry| entry.cause == Some(*cause))));
        let replayed = memory::replay(&moved(&snapshot, here, there), Some(there)).unwrap();
        // Emptying a cache without unused memory records no entry.
        let compared = |counted: Statistics| Statistics { num_sync_all_streams: 0, ..counted };
        assert_eq!(compared(replayed), compared(counted), "seed {seed}");
        drop(kept);
        assert_eq!(memory::statistics(Some(there)).unwrap().allocated_bytes.all.current, 0);
    }
}

#[test]
fn history_records_events_with_addresses_and_stacks() {
    let (_lock, [device, _]) = devices();
    let lines = |line| Stack::from([Frame { file: "train.py".into(), line, name: "step".into() }]);
    let history = recorded(None);
    let (first, second) = memory::with_stack(Some(lines(1)), || {
        let first = DeviceBuffer::new(Some(device), 1000).unwrap();
        (first, memory::with_stack(Some(lines(2)), || DeviceBuffer::new(Some(device), 5 * MIB).unwrap()))
    });
    let address = first.address().0;
    drop(first);
    assert!(matches!(DeviceBuffer::new(Some(device), 1 << 40), Err(Error::OutOfMemory(_))));
    let snapshot = memory::snapshot(Some(device)).unwrap();
    history.stop().unwrap();
    let trace = trace_of(&snapshot, device);
    let entries: Vec<_> = trace.iter().map(|entry| (entry.action.name(), entry.size)).collect();
    assert_eq!(
        entries,
        [
            ("segment_alloc", 2 * MIB as u64),
            ("alloc", 1000),
            ("segment_alloc", 20 * MIB as u64),
            ("alloc", 5 * MIB as u64),
            ("free_requested", 1000),
            ("free_completed", 1000),
            ("segment_free", 2 * MIB as u64),
            ("oom", 1 << 40),
            ("snapshot", 5 * MIB as u64),
        ]
    );
    assert!(trace.is_sorted_by_key(|entry| entry.time) && trace.iter().all(|entry| entry.pool.is_none()));
    assert!(trace[..2].iter().chain(&trace[4..7]).all(|entry| entry.stack == Some(lines(1))));
    assert!(trace[2..4].iter().all(|entry| entry.stack == Some(lines(2))));
    assert_eq!(
        (trace[1].address, trace[5].address, trace[6].cause),
        (address, address, Some(ReleaseReason::Shortage))
    );
    assert_eq!(trace[7].address, 108 * MIB as u64, "what the driver had left");
    let [segment] = &snapshot.segments[..] else { panic!("{:?}", snapshot.segments) };
    assert_eq!((segment.address, segment.total_size), (second.address().0, 20 * MIB as u64));
    assert_eq!((segment.allocated_size, segment.requested_size), (5 * MIB as u64, 5 * MIB as u64));
    assert!(!segment.small && segment.stack == Some(lines(2)));
    let blocks: Vec<_> = segment.blocks.iter().map(|block| (block.size, block.usage)).collect();
    let (used, free) = (5 * MIB as u64, 15 * MIB as u64);
    assert_eq!(blocks, [(used, BlockUsage::Allocated), (free, BlockUsage::Inactive)]);
    assert_eq!((&segment.blocks[0].stack, &segment.blocks[1].stack), (&Some(lines(2)), &None));
}

#[test]
fn history_keeps_the_last_entries_until_another_one_begins() {
    let (_lock, [device, other]) = devices();
    let history = recorded(Some(3));
    let allocate = || DeviceBuffer::new(Some(device), 1).unwrap();
    let kept = [allocate(), allocate()];
    drop(allocate());
    let taken = || memory::snapshot(None).unwrap();
    assert_eq!(actions(trace_of(&taken(), device)), ["free_requested", "free_completed", "snapshot"]);
    history.stop().unwrap();
    drop(kept);
    assert_eq!(actions(trace_of(&taken(), device)), ["free_requested", "free_completed", "snapshot"]);
    let of_one = HistoryConfig { max_entries: None, stacks: false, pinned: false };
    let later = HistoryRecorder::record(of_one, Some(device)).unwrap();
    history.stop().unwrap();
    assert!(!memory::stacks_are_recorded());
    drop((allocate(), DeviceBuffer::new(Some(other), 1).unwrap()));
    let snapshot = taken();
    assert_eq!(
        actions(trace_of(&snapshot, device)),
        ["alloc", "free_requested", "free_completed", "snapshot"]
    );
    assert!(trace_of(&snapshot, other).is_empty(), "it is of one device");
    later.stop().unwrap();
}

#[test]
fn history_without_entries_records_stacks_of_blocks_in_use() {
    let (_lock, [device, _]) = devices();
    let history = recorded(Some(0));
    let stack = Stack::from([Frame { file: "a.py".into(), line: 1, name: "f".into() }]);
    let kept = memory::with_stack(Some(stack.clone()), || DeviceBuffer::new(Some(device), 1).unwrap());
    history.stop().unwrap();
    let stack_of_first = || memory::snapshot(Some(device)).unwrap().segments[0].blocks[0].stack.clone();
    assert_eq!(stack_of_first(), Some(stack));
    assert!(trace_of(&memory::snapshot(Some(device)).unwrap(), device).is_empty());
    drop(kept);
    assert_eq!(stack_of_first(), None);
}

#[test]
fn history_records_the_later_free_of_shared_memory() {
    let (_lock, [device, there]) = devices();
    let history = recorded(None);
    let memory = DeviceBuffer::new(Some(device), 600).unwrap();
    let other = Stream::dedicated(Some(device), 0).unwrap();
    let (open, opened) = std::sync::mpsc::channel::<()>();
    let opened = Mutex::new(opened);
    other
        .launch(HostFn::new("wait", move || {
            let _ = opened.lock().unwrap().recv();
            Ok(())
        }))
        .unwrap();
    memory.record_stream(&other).unwrap();
    drop(memory);
    let waiting = memory::snapshot(Some(device)).unwrap();
    let counted = memory::statistics(Some(device)).unwrap();
    assert_eq!(waiting.segments[0].blocks[0].usage, BlockUsage::AwaitingFree);
    assert_eq!((waiting.segments[0].allocated_size, waiting.segments[0].active_size), (0, 1024));
    assert_eq!(memory::replay(&moved(&waiting, device, there), Some(there)), Ok(counted));
    drop(open);
    other.synchronize().unwrap();
    let _next = DeviceBuffer::new(Some(device), 1).unwrap();
    let snapshot = memory::snapshot(Some(device)).unwrap();
    history.stop().unwrap();
    let later = ["free_requested", "snapshot", "free_completed", "alloc", "snapshot"];
    assert_eq!(actions(trace_of(&snapshot, device))[2..], later);
}

#[test]
fn replay_requires_a_trace_and_accepts_a_truncated_one() {
    let (_lock, [device, other]) = devices();
    let entry = |action, address| TraceEntry {
        action,
        address,
        size: 100,
        stream: 77,
        time: 0,
        pool: Some((0, 7)),
        cause: None,
        capturing: false,
        stack: None,
        annotation: None,
    };
    let torn = [
        entry(TraceAction::FreeRequested, 1),
        entry(TraceAction::FreeCompleted, 2),
        entry(TraceAction::Alloc, 3),
        entry(TraceAction::Alloc, 3),
        entry(TraceAction::FreeRequested, 3),
    ];
    let mut traces = vec![Vec::new(); 16];
    traces[usize::from(device.index().unwrap())] = torn.to_vec();
    let snapshot = Snapshot { traces, ..Snapshot::default() };
    let replayed = memory::replay(&snapshot, Some(device)).unwrap();
    assert_eq!((replayed.allocation.all.allocated, replayed.allocation.all.freed), (2, 2));
    assert_eq!((replayed.active.all.current, replayed.reserved_bytes_by_private_pools.len()), (1, 1));
    assert_eq!(memory::statistics(Some(device)).unwrap().reserved_bytes.all.current, 0);
    assert!(matches!(memory::replay(&snapshot, Some(other)), Err(Error::Argument { .. })));
}
