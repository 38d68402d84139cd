//! Exits on another thread than the enter.

use std::sync::Arc;

use super::{explore_up_to, flag_scope, spawn};
use crate::flags::flags::CUDNN_ENABLED;
use crate::modes::{Mode, ModeContext, ModeKind, enable_grad, is_grad_enabled};
use crate::thread::{self, Masked, TaskState, ThreadState, mode_bits};

fn no_grad_object() -> Arc<ModeContext> {
    Arc::new(ModeContext::new(ModeKind::NoGrad))
}

/// Exits the context on another thread.
fn exit_elsewhere(object: &Arc<ModeContext>) -> loom::thread::JoinHandle<()> {
    let object = object.clone();
    spawn(move || object.exit())
}

#[test]
fn exit_elsewhere_removes_the_layer_during_other_enters_and_writes() {
    let seen = explore_up_to(3, || {
        let object = no_grad_object();
        object.enter();
        let exiting = exit_elsewhere(&object);
        {
            let _guard = enable_grad();
            assert!(is_grad_enabled());
        }
        let after_guard = is_grad_enabled();
        thread::write_mode("a mode", Masked::new(mode_bits::MULTITHREADING, 0)).unwrap();
        let after_write = is_grad_enabled();
        exiting.join().unwrap();
        thread::sync();
        assert!(is_grad_enabled() && !Mode::Multithreading.is_on());
        (after_guard, after_write)
    });
    assert_eq!(seen, [(false, false), (false, true), (true, true)].into());
}

#[test]
fn exit_by_two_threads_at_once_removes_two_layers() {
    explore_up_to(2, || {
        let object = no_grad_object();
        (0..3).for_each(|_| object.enter());
        let exiting = [exit_elsewhere(&object), exit_elsewhere(&object)];
        thread::sync();
        for exiting in exiting {
            exiting.join().unwrap();
        }
        thread::sync();
        assert!(!is_grad_enabled());
        object.exit();
        assert!(is_grad_enabled());
    });
}

#[test]
fn exit_races_with_the_end_of_the_thread_that_entered() {
    let dropped = explore_up_to(3, || {
        let scope = Arc::new(flag_scope(false));
        let other = {
            let scope = scope.clone();
            spawn(move || {
                scope.enter();
                assert!(!CUDNN_ENABLED.get());
                thread::sync();
                CUDNN_ENABLED.get()
            })
        };
        scope.exit();
        let dropped = other.join().unwrap();
        scope.exit();
        assert!(CUDNN_ENABLED.get());
        dropped
    });
    assert_eq!(dropped, [false, true].into());
}

#[test]
fn exit_in_excess_removes_at_most_one_layer_of_another_thread() {
    let dropped = explore_up_to(3, || {
        let object = no_grad_object();
        object.enter();
        let other = {
            let object = object.clone();
            spawn(move || {
                object.enter();
                assert!(!is_grad_enabled());
                object.exit();
                assert!(is_grad_enabled());
                object.exit();
            })
        };
        object.enter();
        other.join().unwrap();
        object.exit();
        let dropped = is_grad_enabled();
        object.exit();
        assert!(is_grad_enabled());
        object.enter();
        assert!(!is_grad_enabled());
        object.exit();
        dropped
    });
    assert_eq!(dropped, [false, true].into());
}

#[test]
fn exit_elsewhere_of_a_flag_scope_takes_effect_at_the_next_check() {
    let held = explore_up_to(3, || {
        let scope = Arc::new(flag_scope(false));
        scope.enter();
        let exiting = {
            let scope = scope.clone();
            spawn(move || {
                scope.exit();
                assert!(CUDNN_ENABLED.get());
            })
        };
        assert!(!CUDNN_ENABLED.get());
        thread::sync();
        let held = !CUDNN_ENABLED.get();
        exiting.join().unwrap();
        assert_eq!(!CUDNN_ENABLED.get(), held);
        thread::sync();
        assert!(CUDNN_ENABLED.get());
        held
    });
    assert_eq!(held, [false, true].into());
}

#[test]
fn exit_elsewhere_removes_the_layer_of_a_task() {
    let dropped = explore_up_to(3, || {
        let (task, object) = (TaskState::new(&ThreadState::capture()), no_grad_object());
        // The thread has a mailbox as well.
        drop(enable_grad());
        task.step(|| object.enter()).unwrap();
        let exiting = exit_elsewhere(&object);
        let dropped = task.step(is_grad_enabled).unwrap();
        assert!(is_grad_enabled());
        exiting.join().unwrap();
        task.step(|| assert!(is_grad_enabled())).unwrap();
        dropped
    });
    assert_eq!(dropped, [false, true].into());
}
