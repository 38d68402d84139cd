//! The rules of scopes, guards and writes in contexts.

use super::carrier::{TestContext, copy_current, detached, forgotten};
use crate::Error;
use crate::binding::modes::write_bits;
use crate::binding::thread::set_device_slots;
use crate::flags::{FlagScope, InputValue, find, flags};
use crate::modes::{ModeContext, ModeKind, is_grad_enabled, no_grad, scope_barrier, set_grad_enabled};
use crate::thread::current::{Changing, is_changing};
use crate::thread::{DeviceSlots, TaskState, ThreadState, any_flag_layer, current_device, mode_bits, sync};

fn no_grad_scope() -> ModeContext {
    ModeContext::new(ModeKind::NoGrad)
}

fn enable_grad_scope() -> ModeContext {
    ModeContext::new(ModeKind::EnableGrad)
}

fn cudnn(value: bool) -> FlagScope {
    FlagScope::new([(find("cudnn.enabled").unwrap(), InputValue::Bool(value))], None).unwrap()
}

fn write_grad(on: bool) {
    write_bits(mode_bits::GRAD, if on { mode_bits::GRAD } else { 0 }).unwrap();
}

fn grad() -> bool {
    sync();
    is_grad_enabled()
}

#[test]
fn copy_keeps_a_scope_that_its_context_exits() {
    TestContext::new().run(|| {
        let scope = no_grad_scope();
        scope.enter();
        let copy = copy_current();
        scope.exit();
        assert!(grad());
        assert!(!copy.run(is_grad_enabled));
        assert!(grad());
    });
}

#[test]
fn thread_that_was_attached_keeps_nothing_of_a_context_that_has_ended() {
    fn seen() -> (bool, bool) {
        (is_grad_enabled(), flags::CUDNN_ENABLED.get())
    }
    let steps: [fn(); 4] = [
        sync,
        || assert_eq!(ThreadState::capture().run(seen), (true, true)),
        || flags::CUDNN_ENABLED.set(true).unwrap(),
        || enable_grad_scope().exit(),
    ];
    for step in steps {
        let (scope, mode) = (cudnn(false), no_grad_scope());
        TestContext::new().run_without_look(|| {
            mode.enter();
            scope.enter();
        });
        assert_eq!(detached(seen), (false, false), "a thread that is only detached keeps its context");
        forgotten(step);
        assert_eq!(seen(), (true, true));
    }
}

#[test]
fn change_that_begins_within_another_one_does_not_end_it() {
    let outer = Changing::begin().unwrap();
    assert!(Changing::begin().is_none() && is_changing());
    drop(outer);
    assert!(!is_changing());
}

#[test]
fn exit_in_another_context_ends_the_scope_in_every_state() {
    let main = TestContext::new();
    main.run(|| {
        let scope = no_grad_scope();
        scope.enter();
        let (copy, kept) = (copy_current(), copy_current());
        copy.run(|| scope.exit());
        assert!(grad() && copy.run(is_grad_enabled) && kept.run(is_grad_enabled));
        assert_eq!(copy.state().serial(), copy.run(|| copy_current().state().serial()));
    });
}

#[test]
fn exit_on_another_thread_reaches_a_guard_of_this_one_at_its_next_look() {
    let scope = cudnn(false);
    let main = TestContext::new();
    main.run(|| {
        scope.enter();
        assert!(!flags::CUDNN_ENABLED.get());
        std::thread::scope(|threads| {
            threads.spawn(|| TestContext::new().run(|| scope.exit())).join().unwrap()
        });
        drop(no_grad());
        assert!(flags::CUDNN_ENABLED.get());
    });
    drop(main);
    sync();
    assert!(!any_flag_layer());
}

#[test]
fn context_is_not_seen_on_a_thread_before_a_look() {
    let context = TestContext::new();
    context.run(|| no_grad_scope().enter());
    context.run_without_look(|| {
        assert!(is_grad_enabled());
        sync();
        assert!(!is_grad_enabled());
    });
    // As of the last look.
    assert!(!is_grad_enabled());
    TestContext::new().run(|| assert!(is_grad_enabled()));
}

#[test]
fn scopes_are_exited_out_of_order_and_entered_twice() {
    TestContext::new().run(|| {
        let (first, second) = (no_grad_scope(), enable_grad_scope());
        first.enter();
        second.enter();
        first.exit();
        assert!(is_grad_enabled());
        first.enter();
        first.enter();
        second.exit();
        assert!(!is_grad_enabled());
        first.exit();
        assert!(!is_grad_enabled());
        first.exit();
        first.exit();
        assert!(is_grad_enabled());
    });
}

#[test]
fn scope_shared_by_contexts_is_exited_in_each() {
    let scope = no_grad_scope();
    let (one, other) = (TestContext::new(), TestContext::new());
    one.run(|| scope.enter());
    other.run(|| scope.enter());
    one.run(|| scope.exit());
    assert!(one.run(is_grad_enabled) && !other.run(is_grad_enabled));
    one.run(|| scope.exit());
    assert!(other.run(is_grad_enabled));
}

#[test]
fn guard_lies_above_the_layers_in_which_it_was_made_and_below_all_others() {
    let (main, task) = (TestContext::new(), TestContext::new());
    task.run(|| no_grad_scope().enter());
    main.run(|| {
        enable_grad_scope().enter();
        let guard = set_grad_enabled(false);
        assert!(!is_grad_enabled());
        let inner = enable_grad_scope();
        inner.enter();
        assert!(is_grad_enabled());
        {
            let _newer = set_grad_enabled(false);
            assert!(!is_grad_enabled());
        }
        assert!(is_grad_enabled());
        inner.exit();
        assert!(!is_grad_enabled());
        drop(guard);
        assert!(is_grad_enabled());
        let _guard = set_grad_enabled(true);
        task.run(|| {
            assert!(!is_grad_enabled());
            let _newest = set_grad_enabled(true);
            assert!(is_grad_enabled());
        });
        assert!(is_grad_enabled());
    });
}

#[test]
fn guard_outside_of_contexts_sets_what_a_context_does_not() {
    let context = TestContext::new();
    context.run(|| cudnn(false).enter());
    let _guard = no_grad();
    context.run(|| assert!(!is_grad_enabled() && !flags::CUDNN_ENABLED.get()));
    assert!(!is_grad_enabled());
}

#[test]
fn write_changes_the_innermost_layer_and_copies_keep_the_old_value() {
    TestContext::new().run(|| {
        let scope = no_grad_scope();
        scope.enter();
        let copy = copy_current();
        write_grad(true);
        assert!(is_grad_enabled() && !copy.run(is_grad_enabled));
        scope.exit();
        assert!(is_grad_enabled());
    });
}

#[test]
fn write_without_a_layer_lasts_for_the_context_and_its_copies() {
    let main = TestContext::new();
    main.run(|| {
        write_grad(false);
        set_device_slots(DeviceSlots::from_device(1)).unwrap();
        assert_eq!((is_grad_enabled(), current_device()), (false, Some(1)));
        let copy = copy_current();
        write_grad(true);
        assert_eq!(copy.run(|| (is_grad_enabled(), current_device())), (false, Some(1)));
    });
    TestContext::new().run(|| assert_eq!((is_grad_enabled(), current_device()), (true, None)));
}

#[test]
fn write_reaches_the_guard_that_sets_the_slot() {
    TestContext::new().run(|| {
        no_grad_scope().enter();
        {
            let _guard = no_grad();
            write_grad(true);
            assert!(is_grad_enabled());
        }
        assert!(!is_grad_enabled());
    });
}

#[test]
fn eager_write_of_a_mode_is_revoked_when_its_object_is_entered() {
    TestContext::new().run(|| {
        let to_the_base = ModeContext::new(ModeKind::SetGradEnabled);
        to_the_base.set(false).unwrap();
        assert!(!is_grad_enabled() && to_the_base.previous());
        to_the_base.enter();
        to_the_base.exit();
        assert!(is_grad_enabled());
        no_grad_scope().enter();
        let to_a_layer = ModeContext::new(ModeKind::SetGradEnabled);
        to_a_layer.set(true).unwrap();
        assert!(is_grad_enabled());
        to_a_layer.revoke_write().unwrap();
        assert!(!is_grad_enabled());
    });
}

#[test]
fn flag_assignment_under_a_scope_stays_in_its_context() {
    TestContext::new().run(|| {
        let scope = cudnn(false);
        scope.enter();
        let copy = copy_current();
        flags::CUDNN_ENABLED.set(true).unwrap();
        assert!(flags::CUDNN_ENABLED.get() && !copy.run(|| flags::CUDNN_ENABLED.get()));
        copy.run(|| flags::CUDNN_ENABLED.set(true).unwrap());
        assert!(copy.run(|| flags::CUDNN_ENABLED.get()));
        scope.exit();
        flags::CUDNN_ENABLED.set(false).unwrap();
    });
    assert!(!flags::CUDNN_ENABLED.get());
}

#[test]
fn native_write_to_a_layer_of_a_detached_context_changes_nothing() {
    TestContext::new().run(|| {
        no_grad_scope().enter();
        cudnn(false).enter();
        detached(|| {
            let refused = write_bits(mode_bits::GRAD, mode_bits::GRAD).unwrap_err();
            assert_eq!(refused, Error::ContextNotAtHand { name: "grad".into() });
            let writes = ["cudnn.benchmark", "cudnn.enabled"]
                .map(|name| (find(name).unwrap(), Some(InputValue::Bool(true))));
            assert!(matches!(crate::flags::assign(&writes, None), Err(Error::ContextNotAtHand { .. })));
            write_bits(mode_bits::MULTITHREADING, 0).unwrap();
            set_device_slots(DeviceSlots::from_device(1)).unwrap();
            let _guard = no_grad();
            write_bits(mode_bits::GRAD, mode_bits::GRAD).unwrap();
            assert!(is_grad_enabled());
        });
        assert!(!is_grad_enabled() && !flags::CUDNN_ENABLED.get() && !flags::CUDNN_BENCHMARK.get());
    });
    // The base of the thread lies below every context.
    TestContext::new().run(|| assert_eq!(current_device(), Some(1)));
}

#[test]
fn scope_without_a_context_at_hand_belongs_to_the_thread() {
    let scope = no_grad_scope();
    let context = TestContext::new();
    context.run(|| {
        detached(|| scope.enter());
        assert!(!is_grad_enabled());
        assert!(!TestContext::new().run(is_grad_enabled));
        scope.exit();
        assert!(is_grad_enabled());
    });
}

#[test]
fn captured_state_applies_what_is_effective_guards_included() {
    let state = TestContext::new().run(|| {
        cudnn(false).enter();
        let _guard = no_grad();
        ThreadState::capture()
    });
    TestContext::new().run(|| {
        enable_grad_scope().enter();
        state.run(|| assert!(!is_grad_enabled() && !flags::CUDNN_ENABLED.get()));
        assert!(is_grad_enabled() && flags::CUDNN_ENABLED.get());
    });
}

#[test]
fn capture_takes_the_value_and_later_changes_do_not_reach_it() {
    TestContext::new().run(|| {
        let scopes: Vec<_> = (0..1000).map(|round| cudnn(round % 2 == 1)).collect();
        scopes.iter().for_each(FlagScope::enter);
        let outer = no_grad_scope();
        outer.enter();
        let state = ThreadState::capture();
        write_grad(true);
        flags::CUDNN_ENABLED.set(false).unwrap();
        // Ends in every state, and in no captured one.
        TestContext::new().run(|| scopes.iter().for_each(FlagScope::exit));
        outer.exit();
        assert!(is_grad_enabled());
        let seen = state.run(|| (is_grad_enabled(), flags::CUDNN_ENABLED.get()));
        assert_eq!(seen, (false, true));
    });
}

#[test]
fn task_state_hides_the_context_in_which_its_step_runs() {
    let task = TaskState::new(&ThreadState::capture());
    TestContext::new().run(|| {
        let scope = no_grad_scope();
        scope.enter();
        task.step(|| {
            assert!(is_grad_enabled());
            write_grad(false);
            assert!(!is_grad_enabled());
            let inner = enable_grad_scope();
            inner.enter();
            assert!(is_grad_enabled());
            inner.exit();
            assert!(!is_grad_enabled());
        })
        .unwrap();
        scope.exit();
        assert!(is_grad_enabled());
    });
    task.step(|| assert!(!is_grad_enabled())).unwrap();
}

#[test]
fn scope_barrier_ends_scopes_of_the_context_that_are_left_open() {
    TestContext::new().run(|| {
        let outer = no_grad_scope();
        outer.enter();
        let barrier = scope_barrier();
        enable_grad_scope().enter();
        cudnn(false).enter();
        let copy = copy_current();
        assert!(is_grad_enabled());
        drop(barrier);
        assert!(!is_grad_enabled() && flags::CUDNN_ENABLED.get());
        assert!(copy.run(|| flags::CUDNN_ENABLED.get()));
        outer.exit();
        assert!(is_grad_enabled());
    });
}

#[test]
fn context_that_reschedules_itself_inside_a_scope_has_a_short_state() {
    let mut context = TestContext::new();
    for _ in 0..10_000 {
        context = context.run(|| {
            let scope = cudnn(false);
            scope.enter();
            let copy = copy_current();
            scope.exit();
            copy
        });
    }
    let layers = crate::thread::state::depth(context.state().layers());
    assert!(layers <= 20, "{layers} layers");
    context.run(|| assert!(!flags::CUDNN_ENABLED.get()));
}

#[test]
fn long_state_is_dropped_without_recursion() {
    let context = TestContext::new();
    context.run(|| {
        let scope = no_grad_scope();
        for _ in 0..50_000 {
            scope.enter();
        }
        assert!(!is_grad_enabled());
    });
    TestContext::new().run(|| assert!(is_grad_enabled()));
    drop(context);
}
