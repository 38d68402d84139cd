//! Exits on another thread than the enter.

use std::sync::Arc;

use super::{explore, explore_up_to, flag_scope, spawn};
use crate::flags::flags::CUDNN_ENABLED;
use crate::modes::{Mode, ModeContext, ModeKind, enable_grad, is_grad_enabled};
use crate::thread::{self, Masked, TaskState, ThreadState, mode_bits};

fn no_grad_object() -> Arc<ModeContext> {
    Arc::new(ModeContext::new(ModeKind::NoGrad))
}

/// Exits on a thread of its own.
fn exit_elsewhere(object: &Arc<ModeContext>) -> loom::thread::JoinHandle<()> {
    let object = object.clone();
    spawn(move || object.exit())
}

#[test]
fn a_layer_left_elsewhere_is_dropped_whatever_its_thread_does_meanwhile() {
    let seen = explore(|| {
        let object = no_grad_object();
        object.enter();
        let leaver = exit_elsewhere(&object);
        {
            let _guard = enable_grad();
            assert!(is_grad_enabled());
        }
        let after_guard = is_grad_enabled();
        thread::write_mode(Masked::new(mode_bits::MULTITHREADING, 0));
        let after_write = is_grad_enabled();
        leaver.join().unwrap();
        thread::apply_remote_exits();
        assert!(is_grad_enabled() && !Mode::Multithreading.is_on());
        (after_guard, after_write)
    });
    assert_eq!(seen, [(false, false), (false, true), (true, true)].into());
}

#[test]
fn two_threads_that_leave_at_once_have_two_layers_dropped_and_no_more() {
    explore_up_to(2, || {
        let object = no_grad_object();
        (0..3).for_each(|_| object.enter());
        let leavers = [exit_elsewhere(&object), exit_elsewhere(&object)];
        thread::apply_remote_exits();
        for leaver in leavers {
            leaver.join().unwrap();
        }
        thread::apply_remote_exits();
        assert!(!is_grad_enabled());
        object.exit();
        assert!(is_grad_enabled());
    });
}

#[test]
fn the_end_of_a_thread_races_with_a_leave_of_what_it_had_open() {
    let dropped = explore(|| {
        let scope = Arc::new(flag_scope(false));
        let asked = {
            let scope = scope.clone();
            spawn(move || {
                scope.enter();
                assert!(!CUDNN_ENABLED.get());
                thread::apply_remote_exits();
                CUDNN_ENABLED.get()
            })
        };
        scope.exit();
        let dropped = asked.join().unwrap();
        scope.exit();
        assert!(CUDNN_ENABLED.get());
        dropped
    });
    assert_eq!(dropped, [false, true].into());
}

#[test]
fn one_leave_too_many_drops_one_layer_of_another_thread_at_most() {
    let dropped = explore(|| {
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
fn flags_left_elsewhere_hold_until_their_thread_looks_into_its_inbox() {
    let held = explore(|| {
        let scope = Arc::new(flag_scope(false));
        scope.enter();
        let leaver = {
            let scope = scope.clone();
            spawn(move || {
                scope.exit();
                assert!(CUDNN_ENABLED.get());
            })
        };
        assert!(!CUDNN_ENABLED.get());
        thread::apply_remote_exits();
        let held = !CUDNN_ENABLED.get();
        leaver.join().unwrap();
        assert_eq!(!CUDNN_ENABLED.get(), held);
        thread::apply_remote_exits();
        assert!(CUDNN_ENABLED.get());
        held
    });
    assert_eq!(held, [false, true].into());
}

#[test]
fn a_layer_of_a_task_is_dropped_from_the_task_wherever_it_was_left() {
    let dropped = explore(|| {
        let (task, object) = (TaskState::new(&ThreadState::capture()), no_grad_object());
        // The thread has a mailbox as well.
        drop(enable_grad());
        task.step(|| object.enter()).unwrap();
        let leaver = exit_elsewhere(&object);
        let dropped = task.step(is_grad_enabled).unwrap();
        assert!(is_grad_enabled());
        leaver.join().unwrap();
        task.step(|| assert!(is_grad_enabled())).unwrap();
        dropped
    });
    assert_eq!(dropped, [false, true].into());
}
