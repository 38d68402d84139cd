//! Words of flags: read without a lock, filled by the first read, written under the lock of the process.

use super::{explore, explore_up_to, spawn};
use crate::flags::flags::{CUDNN_BENCHMARK, CUDNN_ENABLED};
use crate::flags::{
    FreezeScope, InputValue, Level, Node, Precision, SourceLocation, assign, epoch, find, snapshot,
};

#[test]
fn first_read_never_undoes_an_assignment() {
    let read = explore(|| {
        let reader = spawn(|| CUDNN_ENABLED.get());
        CUDNN_ENABLED.set(false).unwrap();
        assert!(!CUDNN_ENABLED.get());
        let read = reader.join().unwrap();
        assert!(!CUDNN_ENABLED.get());
        read
    });
    assert_eq!(read, [false, true].into());
}

#[test]
fn read_after_a_seen_assignment_returns_nothing_older() {
    let read = explore(|| {
        let writer = spawn(|| CUDNN_ENABLED.set(false).unwrap());
        let read = (CUDNN_ENABLED.get(), CUDNN_ENABLED.get());
        writer.join().unwrap();
        assert!(!CUDNN_ENABLED.get());
        read
    });
    assert_eq!(read, [(false, false), (true, false), (true, true)].into());
}

#[test]
fn assignments_of_two_nodes_by_two_threads_are_both_stored() {
    let read = explore_up_to(4, || {
        let writer = spawn(|| Node::CudaConv.set(Precision::Ieee).unwrap());
        let reader = spawn(|| (Node::CudaConv.get().name(), Node::MkldnnConv.get().name()));
        Node::MkldnnConv.set(Precision::Bf16).unwrap();
        writer.join().unwrap();
        assert_eq!((Node::CudaConv.get(), Node::MkldnnConv.get()), (Precision::Ieee, Precision::Bf16));
        reader.join().unwrap()
    });
    assert_eq!(read, [("ieee", "bf16"), ("ieee", "none"), ("tf32", "bf16"), ("tf32", "none")].into());
}

#[test]
fn epoch_read_before_a_flag_is_not_newer_than_the_flag() {
    let read = explore_up_to(4, || {
        // Fills the words: a first read would always see the newest value.
        assert!(CUDNN_ENABLED.get() && !CUDNN_BENCHMARK.get());
        let writers = [(&CUDNN_ENABLED, false), (&CUDNN_BENCHMARK, true)]
            .map(|(flag, value)| spawn(move || flag.set(value).unwrap()));
        let epoch_before = epoch();
        let seen = u64::from(!CUDNN_ENABLED.get()) + u64::from(CUDNN_BENCHMARK.get());
        for writer in writers {
            writer.join().unwrap();
        }
        assert_eq!(epoch(), 2);
        (epoch_before, seen)
    });
    assert_eq!(read, [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)].into());
}

#[test]
fn snapshot_sees_flags_that_were_assigned_together_both_or_neither() {
    let seen = explore(|| {
        let writer = spawn(|| {
            let both = ["cudnn.benchmark", "cudnn.deterministic"];
            assign(&both.map(|name| (find(name).unwrap(), Some(InputValue::Bool(true)))), None).unwrap();
        });
        let seen = snapshot().iter().filter(|entry| entry.level == Level::Process).count();
        writer.join().unwrap();
        seen
    });
    assert_eq!(seen, [0, 2].into());
}

#[test]
fn set_that_began_before_a_freeze_is_not_made_in_it() {
    let written = explore(|| {
        let writer = spawn(|| CUDNN_ENABLED.set(false).is_ok());
        let freeze = FreezeScope::default();
        freeze.enter(SourceLocation::caller());
        let (first, second) = (CUDNN_ENABLED.get(), CUDNN_ENABLED.get());
        freeze.exit();
        assert_eq!(first, second);
        let written = writer.join().unwrap();
        assert_eq!(CUDNN_ENABLED.get(), !written);
        (first, written)
    });
    assert_eq!(written, [(false, true), (true, false), (true, true)].into());
}
