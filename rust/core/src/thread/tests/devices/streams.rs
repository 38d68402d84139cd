//! When the layers of a thread drop their streams.

use std::sync::mpsc;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use super::*;
use crate::Error;
use crate::flags::flags::{CUDNN_BENCHMARK, CUDNN_ENABLED};
use crate::modes::no_grad;
use crate::thread::current::is_borrowed;
use crate::thread::testing::run_at_thread_end;
use crate::thread::{TaskState, ThreadState, sync};

/// Returns devices that record, for each dropped stream, whether the state of the thread was accessible.
fn watched() -> (FakeDevices, Arc<Mutex<Vec<bool>>>) {
    let noted = Arc::new(Mutex::new(Vec::new()));
    let notes = noted.clone();
    let devices = FakeDevices::new(move || {
        let is_free = !is_borrowed();
        // A driver may enter scopes.
        let _guard = guard(device(3));
        notes.lock().unwrap().push(is_free);
    });
    (devices, noted)
}

#[test]
fn streams_are_dropped_once_while_the_state_is_accessible() {
    let (devices, noted) = watched();
    let dropped = || std::mem::take(&mut *noted.lock().unwrap());
    let stream = || of_stream(devices.stream(1));

    // With its layer, at any depth.
    let (inner, outer) = (guard(stream()), guard(stream()));
    drop(inner);
    assert_eq!(dropped(), [true]);
    drop(outer);
    assert_eq!(dropped(), [true]);

    // With the layer that another thread has exited, also when a push applies that exit.
    for observe in [|| sync(), || drop(no_grad()), || drop(guard(device(0)))] {
        let scope = Scope::default();
        scope.enter_slots(&Slots::from_devices(stream())).unwrap();
        on_a_thread(|| scope.exit());
        assert_eq!(dropped(), []);
        observe();
        assert_eq!(dropped(), [true]);
    }

    // With the write that replaces it, in the base and in a layer whose scope has a clone.
    set_device_slots(stream());
    set_device_slots(stream());
    assert_eq!(dropped(), [true]);
    let scope = Object::new(stream());
    scope.enter();
    set_device_slots(stream());
    assert_eq!(dropped(), []);
    scope.exit();
    assert_eq!(dropped(), [true]);
    drop(scope);
    assert_eq!(dropped(), [true]);

    // With the base of a thread, with a captured state and with a task.
    let state = on_a_thread(ThreadState::capture);
    state.install().unwrap();
    assert_eq!(dropped(), [true]);
    state.run(|| set_device_slots(stream()));
    assert_eq!(dropped(), [true]);
    let task = TaskState::new(&state);
    task.step(|| set_device_slots(stream())).unwrap();
    let _captured = task.step(ThreadState::capture).unwrap();
    drop(task);
    assert_eq!(dropped(), []);
    drop(_captured);
    assert_eq!(dropped(), [true]);
}

#[test]
fn step_that_applies_remote_exits_drops_streams() {
    let (devices, noted) = watched();
    let task = TaskState::new(&ThreadState::capture());
    let scope = Scope::default();
    task.step(|| scope.enter_slots(&Slots::from_devices(of_stream(devices.stream(0))))).unwrap().unwrap();
    scope.exit();
    assert_eq!(*noted.lock().unwrap(), []);
    assert_eq!(task.step(seen).unwrap(), NOTHING);
    assert_eq!(*noted.lock().unwrap(), [true]);
}

/// Fails if `action` has not returned after ten seconds.
fn within_ten_seconds(action: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        action();
        done.send(()).unwrap();
    });
    match is_done.recv_timeout(Duration::from_secs(10)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("deadlock"),
        _ => thread.join().unwrap(),
    }
}

#[test]
fn write_of_a_flag_drops_streams_after_its_lock_is_released() {
    within_ten_seconds(|| {
        let devices = FakeDevices::new(|| CUDNN_BENCHMARK.set(true).unwrap());
        let scope = Scope::default();
        scope.enter_slots(&Slots::from_devices(of_stream(devices.stream(0)))).unwrap();
        on_a_thread(|| scope.exit());
        CUDNN_ENABLED.set(false).unwrap();
        assert_eq!((CUDNN_ENABLED.get(), CUDNN_BENCHMARK.get()), (false, true));
    });
}

#[test]
fn enter_step_drops_streams_after_the_step_has_begun() {
    static TASK: OnceLock<TaskState> = OnceLock::new();
    let task = TASK.get_or_init(|| TaskState::new(&ThreadState::capture()));
    let devices = FakeDevices::new(|| task.exit_step());
    let scope = Scope::default();
    task.step(|| scope.enter_slots(&Slots::from_devices(of_stream(devices.stream(0))))).unwrap().unwrap();
    scope.exit();
    let _here = guard(device(1));
    // The destructor ends the step that has just begun, so the thread decides again.
    task.enter_step().unwrap();
    assert_eq!(current_device(), Some(1));
    assert_eq!(task.step(seen), Ok(NOTHING));
}

#[test]
fn device_slots_are_undecided_after_the_end_of_a_thread() {
    let (devices, noted) = watched();
    let (entered, written) = (devices.stream(0), devices.stream(1));
    let late = entered.clone();
    let live = move || {
        set_device_slots(of_stream(written));
        Scope::default()
            .enter_slots(&Slots::from_devices(DeviceSlots::from_default_device(Some(META))))
            .unwrap();
        let guard = guard(of_stream(entered));
        assert_eq!(current_device(), Some(0));
        guard
    };
    let end = move |open| {
        let at_first = seen();
        drop(open);
        let written = binding::set_device_slots(of_stream(late.clone()));
        assert!(matches!(written, Err(Error::ThreadEnded { .. })), "{written:?}");
        let _entered = guard(of_stream(late));
        let captured = ThreadState::capture();
        [at_first, seen(), captured.run(seen)]
    };
    assert_eq!(run_at_thread_end(live, end), [NOTHING; 3]);
    assert_eq!(*noted.lock().unwrap(), [true; 2]);
}
