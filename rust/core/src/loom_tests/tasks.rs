//! Objects that several threads use concurrently.

use std::sync::Arc;

use super::{explore_up_to, flag_scope, spawn};
use crate::Error;
use crate::flags::flags::CUDNN_ENABLED;
use crate::modes::{ModeContext, ModeKind, is_grad_enabled};
use crate::thread::{self, Masked, TaskState, ThreadState, mode_bits};

#[test]
fn step_by_two_threads_at_once_runs_or_fails() {
    let done = explore_up_to(3, || {
        let task = Arc::new(TaskState::new(&ThreadState::capture()));
        let other = {
            let task = task.clone();
            spawn(move || {
                let done = task.step(|| ModeContext::new(ModeKind::NoGrad).enter());
                assert!(is_grad_enabled());
                done
            })
        };
        let done = task.step(|| flag_scope(false).enter());
        assert!(CUDNN_ENABLED.get());
        let done_by_other = other.join().unwrap();
        let refused = |done: &crate::Result<()>| *done == Err(Error::TaskIsRunning);
        task.step(|| {
            assert_eq!(CUDNN_ENABLED.get(), refused(&done));
            assert_eq!(is_grad_enabled(), refused(&done_by_other));
        })
        .unwrap();
        (refused(&done), refused(&done_by_other))
    });
    assert_eq!(done, [(false, false), (false, true), (true, false)].into());
}

#[test]
fn revoke_write_never_changes_another_thread() {
    let taken_back = explore_up_to(3, || {
        let object = Arc::new(ModeContext::new(ModeKind::SetGradEnabled));
        let writer = {
            let object = object.clone();
            spawn(move || {
                object.set(false).unwrap();
                assert!(!is_grad_enabled());
                object.revoke_write().unwrap();
                is_grad_enabled()
            })
        };
        // To the base, as the other thread.
        thread::write_mode("a mode", Masked::new(mode_bits::GRAD, 0)).unwrap();
        object.revoke_write().unwrap();
        assert!(!is_grad_enabled());
        writer.join().unwrap()
    });
    assert_eq!(taken_back, [false, true].into());
}

#[test]
fn revoke_write_does_not_revoke_a_write_of_another_thread() {
    explore_up_to(3, || {
        let object = Arc::new(ModeContext::new(ModeKind::SetGradEnabled));
        let other = {
            let object = object.clone();
            spawn(move || {
                thread::write_mode("a mode", Masked::new(mode_bits::GRAD, 0)).unwrap();
                object.set(false).unwrap();
                object.revoke_write().unwrap();
                assert!(!is_grad_enabled());
            })
        };
        object.set(true).unwrap();
        object.revoke_write().unwrap();
        assert!(is_grad_enabled());
        other.join().unwrap();
    });
}
