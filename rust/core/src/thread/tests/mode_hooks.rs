//! Hooks for modes on threads that run in copies of contexts of other threads.

use std::sync::{Arc, Mutex};

use super::carrier::{TestContext, copy_current, without_reports};
use crate::binding::modes::write_bits;
use crate::binding::thread::{CarriedTask, CarriedValues};
use crate::modes::{Mode, ModeContext, ModeKind, is_grad_enabled, no_grad, on_change};
use crate::thread::{Carried, CarriedValue, StateScope, ThreadState, mode_bits, register_carried, sync};

/// A value of another library that is the same on all threads.
struct Constant;

impl Carried for Constant {
    fn save(&self) -> CarriedValue {
        Arc::new(())
    }

    fn restore(&self, _: &CarriedValue) {}

    fn are_same(&self, _: &CarriedValue, _: &CarriedValue) -> bool {
        true
    }
}

/// Calls `action` on a new thread in a context, as `asyncio.to_thread` does, and returns the gradient modes that hooks get
/// there: none where nothing sets it.
fn reported_on_a_thread(context: &TestContext, action: impl Fn() + Send + Sync) -> Vec<Option<bool>> {
    let reported = Arc::new(Mutex::new(Vec::new()));
    let noted = reported.clone();
    let hook = on_change(move |change| noted.lock().unwrap().push(change.set(Mode::Grad)));
    std::thread::scope(|threads| {
        threads.spawn(|| context.run_without_look(|| without_reports(&action)));
    });
    drop(hook);
    std::mem::take(&mut *reported.lock().unwrap())
}

/// Calls `action` with a context in which this thread has disabled gradients with a scope.
fn in_no_grad(action: impl FnOnce(&TestContext)) {
    TestContext::new().run(|| {
        let scope = ModeContext::new(ModeKind::NoGrad);
        scope.enter();
        action(&copy_current());
        scope.exit();
    });
}

fn write_grad(on: bool) {
    write_bits(mode_bits::GRAD, if on { mode_bits::GRAD } else { 0 }).unwrap();
}

fn read() {
    sync();
    assert!(!is_grad_enabled());
}

#[test]
fn modes_that_another_thread_set_are_read_and_not_reported() {
    in_no_grad(|context| assert_eq!(reported_on_a_thread(context, read), []));
    let state = {
        let _guard = no_grad();
        ThreadState::capture()
    };
    TestContext::new().run(|| {
        let scope = StateScope::new(state);
        scope.enter();
        assert_eq!(reported_on_a_thread(&copy_current(), read), []);
        scope.exit();
    });
    TestContext::new().run(|| {
        write_grad(false);
        assert_eq!(reported_on_a_thread(&copy_current(), read), []);
    });
}

#[test]
fn modes_that_this_thread_sets_in_such_a_context_are_reported() {
    let scope = || {
        let scope = ModeContext::new(ModeKind::EnableGrad);
        scope.enter();
        scope.exit();
        read();
    };
    in_no_grad(|context| assert_eq!(reported_on_a_thread(context, scope), [Some(true), None]));
    // In the layer of the other thread, and without one.
    let write = || write_grad(true);
    in_no_grad(|context| assert_eq!(reported_on_a_thread(context, write), [Some(true)]));
    assert_eq!(reported_on_a_thread(&TestContext::new(), write), [Some(true)]);
    let guard = || drop(no_grad());
    in_no_grad(|context| assert_eq!(reported_on_a_thread(context, guard), [Some(false), None]));
}

#[test]
fn merged_layers_of_several_threads_are_reported_on_none() {
    let nested = TestContext::new();
    nested.run(|| {
        let mut context = copy_current();
        // So many that they are merged.
        for _ in 0..40 {
            context = std::thread::scope(|threads| {
                let enter = || {
                    context.run(|| {
                        let scope = ModeContext::new(ModeKind::NoGrad);
                        scope.enter();
                        let copy = copy_current();
                        scope.exit();
                        copy
                    })
                };
                threads.spawn(enter).join().unwrap()
            });
        }
        assert_eq!(reported_on_a_thread(&context, read), []);
    });
}

#[test]
fn all_modes_are_reported_where_the_end_is() {
    let step = || {
        let task = CarriedTask::new(CarriedValues::save());
        task.begin();
        read();
        task.end();
        sync();
    };
    in_no_grad(|context| assert_eq!(reported_on_a_thread(context, step), []));
    let _carried = register_carried("constant", Constant).unwrap();
    in_no_grad(|context| assert_eq!(reported_on_a_thread(context, step), [Some(false), None]));
    // In a function that a pool calls with a captured state.
    let state = ThreadState::capture();
    let apply = |context: &TestContext| {
        reported_on_a_thread(&TestContext::new(), || {
            let scope = StateScope::new(state.clone());
            scope.enter();
            context.run_without_look(read);
            scope.exit();
        })
    };
    in_no_grad(|context| assert_eq!(apply(context), [Some(false), None]));
    in_no_grad(|context| {
        let reported = Arc::new(Mutex::new(Vec::new()));
        let noted = reported.clone();
        let _hook = on_change(move |change| noted.lock().unwrap().push(change.set(Mode::Grad)));
        std::thread::scope(|threads| {
            threads.spawn(|| context.run(read));
        });
        assert_eq!(*reported.lock().unwrap(), [Some(false), None]);
    });
}

#[test]
fn modes_are_reported_again_after_values_of_other_libraries_were_replaced() {
    let task = CarriedTask::new(CarriedValues::default());
    let values = {
        let _carried = register_carried("constant", Constant).unwrap();
        CarriedValues::save()
    };
    let reported = reported_on_a_thread(&TestContext::new(), || {
        let _guard = no_grad();
        // Nothing is carried.
        task.begin();
        read();
        task.end();
        values.restore();
        read();
        read();
    });
    assert_eq!(reported, [Some(false), Some(false), None]);
}
