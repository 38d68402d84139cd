//! Who lets go of a stream, and when.

use std::sync::Mutex;

use super::*;
use crate::modes::no_grad;
use crate::thread::testing::run_at_thread_end;
use crate::thread::tls::with_tls;
use crate::thread::{TaskState, ThreadState, apply_remote_exits};

/// Devices that note, for each stream that is let go, whether the state of the thread was there for its driver.
fn watched() -> (FakeDevices, Arc<Mutex<Vec<bool>>>) {
    let noted = Arc::new(Mutex::new(Vec::new()));
    let notes = noted.clone();
    let devices = FakeDevices::new(move || {
        let is_free = with_tls(|current| current.owned.try_borrow_mut().is_ok());
        // As a driver may.
        let _guard = guard(device(3));
        notes.lock().unwrap().push(is_free);
    });
    (devices, noted)
}

#[test]
fn a_stream_goes_once_with_what_held_it_last_and_may_use_the_state_of_the_thread() {
    let (devices, noted) = watched();
    let deferred = || std::mem::take(&mut *noted.lock().unwrap());
    let stream = || of_stream(devices.stream(1));

    // With its layer, wherever that lies.
    let (inner, outer) = (guard(stream()), guard(stream()));
    drop(inner);
    assert_eq!(deferred(), [true]);
    drop(outer);
    assert_eq!(deferred(), [true]);

    // With the layer that another thread left, and with what a push finds to be done first.
    for apply_remote_exits in [|| apply_remote_exits(), || drop(no_grad()), || drop(guard(device(0)))] {
        let scope = Scope::default();
        scope.enter_slots(&Slots::of_devices(stream()));
        on_a_thread(|| scope.exit());
        assert_eq!(deferred(), []);
        apply_remote_exits();
        assert_eq!(deferred(), [true]);
    }

    // With the write that takes its place, in the base and in a layer, of which a scope has a clone.
    set_device_slots(stream());
    set_device_slots(stream());
    assert_eq!(deferred(), [true]);
    let scope = Object::new(stream());
    scope.enter();
    set_device_slots(stream());
    assert_eq!(deferred(), []);
    scope.exit();
    assert_eq!(deferred(), [true]);
    drop(scope);
    assert_eq!(deferred(), [true]);

    // With what a thread starts from, with a captured state and with a task.
    let state = on_a_thread(ThreadState::capture);
    state.install();
    assert_eq!(deferred(), [true]);
    state.run(|| set_device_slots(stream()));
    assert_eq!(deferred(), [true]);
    let task = TaskState::new(&state);
    task.step(|| set_device_slots(stream())).unwrap();
    let _captured = task.step(ThreadState::capture).unwrap();
    drop(task);
    assert_eq!(deferred(), []);
    drop(_captured);
    assert_eq!(deferred(), [true]);
}

#[test]
fn the_leaves_that_a_step_of_a_task_finds_let_streams_go() {
    let (devices, noted) = watched();
    let task = TaskState::new(&ThreadState::capture());
    let scope = Scope::default();
    task.step(|| scope.enter_slots(&Slots::of_devices(of_stream(devices.stream(0))))).unwrap();
    scope.exit();
    assert_eq!(*noted.lock().unwrap(), []);
    assert_eq!(task.step(seen).unwrap(), NOTHING);
    assert_eq!(*noted.lock().unwrap(), [true]);
}

#[test]
fn no_place_is_decided_once_a_thread_has_ended_and_its_streams_have_gone() {
    let (devices, noted) = watched();
    let (kept, written) = (devices.stream(0), devices.stream(1));
    let late = kept.clone();
    let live = move || {
        set_device_slots(of_stream(written));
        Scope::default().enter_slots(&Slots::of_devices(DeviceSlots::of_default_device(Some(META))));
        let guard = guard(of_stream(kept));
        assert_eq!(current_device(), Some(0));
        guard
    };
    let end = move |open| {
        let at_first = seen();
        drop(open);
        set_device_slots(of_stream(late.clone()));
        let _entered = guard(of_stream(late));
        let captured = ThreadState::capture();
        [at_first, seen(), captured.run(seen)]
    };
    assert_eq!(run_at_thread_end(live, end), [NOTHING; 3]);
    assert_eq!(*noted.lock().unwrap(), [true; 2]);
}
