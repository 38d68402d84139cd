//! The count of layers that name flags is never too low, or a thread would miss its own layer.

use std::sync::Arc;

use super::{explore_up_to, flag_scope, spawn};
use crate::flags::flags::CUDNN_ENABLED;
use crate::thread::{TaskState, ThreadState, any_flag_layer};

#[test]
fn flag_read_sees_its_own_scope_while_another_thread_enters_one() {
    let other_open = explore_up_to(3, || {
        let other = spawn(|| {
            let _guard = flag_scope(false).guard();
            assert!(!CUDNN_ENABLED.get());
        });
        {
            let _guard = flag_scope(false).guard();
            assert!(!CUDNN_ENABLED.get());
        }
        assert!(CUDNN_ENABLED.get());
        let other_open = any_flag_layer();
        other.join().unwrap();
        assert!(!any_flag_layer());
        other_open
    });
    assert_eq!(other_open, [false, true].into());
}

#[test]
fn end_of_a_thread_with_an_open_scope_releases_only_its_own_count() {
    let other_open = explore_up_to(3, || {
        let other = spawn(|| flag_scope(false).enter());
        let other_open = any_flag_layer();
        let _guard = flag_scope(false).guard();
        assert!(!CUDNN_ENABLED.get());
        other.join().unwrap();
        assert!(!CUDNN_ENABLED.get());
        other_open
    });
    assert_eq!(other_open, [false, true].into());
}

#[test]
fn captured_state_applies_its_flags_on_another_thread() {
    let other_open = explore_up_to(3, || {
        let guard = flag_scope(false).guard();
        let state = ThreadState::capture();
        let other = spawn(move || {
            state.run(|| assert!(!CUDNN_ENABLED.get()));
            assert!(CUDNN_ENABLED.get());
            state.install().unwrap();
            assert!(!CUDNN_ENABLED.get());
        });
        drop(guard);
        assert!(CUDNN_ENABLED.get());
        let other_open = any_flag_layer();
        other.join().unwrap();
        other_open
    });
    assert_eq!(other_open, [false, true].into());
}

#[test]
fn task_keeps_its_scope_on_another_thread_while_others_close() {
    explore_up_to(3, || {
        let task = Arc::new(TaskState::new(&ThreadState::capture()));
        let guard = flag_scope(false).guard();
        task.step(|| flag_scope(false).enter()).unwrap();
        let moved = {
            let task = task.clone();
            spawn(move || {
                task.step(|| assert!(!CUDNN_ENABLED.get())).unwrap();
                assert!(CUDNN_ENABLED.get());
            })
        };
        drop(guard);
        assert!(CUDNN_ENABLED.get());
        moved.join().unwrap();
        drop(task);
        assert!(!any_flag_layer());
    });
}
