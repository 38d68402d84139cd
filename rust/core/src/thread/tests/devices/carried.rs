//! Device slots of captured states and tasks.

use super::*;
use crate::flags::{FlagScope, InputValue, Node, find, flags};
use crate::thread::{StateScope, TaskState, ThreadState};

#[test]
fn run_applies_captured_device_slots_and_hides_others() {
    let devices = devices();
    let (first, second) = (devices.stream(0), devices.stream(1));
    let (nothing, state, captured) = {
        let nothing = ThreadState::capture();
        let _default = guard(DeviceSlots::from_default_device(Some(META)));
        let _streams = [&devices.stream(0), &first, &second].map(|stream| guard(of_stream(stream.clone())));
        let _device = guard(device(0));
        (nothing, ThreadState::capture(), seen())
    };
    assert_eq!(captured, (Some(0), [Some(first.clone()), Some(second.clone())], Some(META)));
    assert_eq!((state.device(), state.default_device()), (Some(0), Some(META)));
    assert_eq!(state.streams().len(), 2);
    assert_eq!((nothing.device(), nothing.streams().len(), nothing.default_device()), (None, 0, None));

    let _here = guard(of_stream(second.clone()));
    let here = seen();
    assert_eq!(
        state.run(|| (seen(), nothing.run(seen), seen())),
        (captured.clone(), NOTHING, captured.clone())
    );
    assert_eq!(nothing.run(|| state.run(|| ThreadState::capture().run(seen))), captured);
    assert_eq!(on_a_thread(|| state.run(seen)), captured);
    assert_eq!(seen(), here);
}

#[test]
fn capture_pinned_captures_device_slots() {
    let state = {
        let _one = guard(device(1));
        ThreadState::capture_pinned()
    };
    flags::CUDNN_ENABLED.set(false).unwrap();
    assert_eq!(state.run(|| (current_device(), flags::CUDNN_ENABLED.get())), (Some(1), true));
}

#[test]
fn set_device_slots_inside_a_state_ends_with_it() {
    let state = ThreadState::capture();
    let scope = StateScope::new(state.clone());
    set_device_slots(device(0));
    scope.enter();
    set_device_slots(device(1));
    set_device_slots(DeviceSlots::from_default_device(Some(META)));
    assert_eq!((current_device(), default_device()), (Some(1), Some(META)));
    state.run(|| assert_eq!(seen(), NOTHING));
    scope.enter();
    assert_eq!(current_device(), None);
    scope.exit();
    assert_eq!(current_device(), Some(1));
    scope.exit();
    assert_eq!(seen(), (Some(0), [None, None], None));
}

#[test]
fn install_sets_device_slots_below_open_scopes() {
    let devices = devices();
    let stream = devices.stream(1);
    let state = {
        let _stream = guard(of_stream(stream.clone()));
        ThreadState::capture()
    };
    on_a_thread(|| {
        set_device_slots(DeviceSlots::from_default_device(Some(META)));
        let open = guard(device(0));
        state.install().unwrap();
        assert_eq!(seen(), (Some(0), [None, Some(stream.clone())], None));
        drop(open);
        let nothing = on_a_thread(ThreadState::capture);
        nothing.run(|| {
            state.install().unwrap();
            assert_eq!(seen(), NOTHING);
        });
        set_device_slots(device(0));
        assert_eq!(seen(), (Some(0), [None, Some(stream.clone())], None));
        assert_eq!(state.run(current_device), Some(1));
    });
}

#[test]
fn task_state_keeps_device_slots_of_interleaved_tasks() {
    let devices = devices();
    let streams = [devices.stream(0), devices.stream(1)];
    let scopes = streams.clone().map(|stream| Object::new(of_stream(stream)));
    set_device_slots(device(7));
    let tasks = [(); 2].map(|()| TaskState::new(&ThreadState::capture()));
    for (task, scope) in tasks.iter().zip(&scopes) {
        task.step(|| {
            assert_eq!(current_device(), Some(7));
            scope.enter();
            set_device_slots(DeviceSlots::from_default_device(Some(META)));
        })
        .unwrap();
        assert_eq!(seen(), (Some(7), [None, None], None));
    }
    set_device_slots(device(8));
    let [first, second] = streams.map(Some);
    let expected = [(Some(0), [first, None], Some(META)), (Some(1), [None, second], Some(META))];
    for (task, expected) in tasks.iter().zip(expected) {
        assert_eq!(on_a_thread(|| task.step(seen)).unwrap(), expected);
    }
    for (task, scope) in tasks.iter().zip(&scopes).rev() {
        task.step(|| {
            set_device_slots(device(9));
            scope.exit();
        })
        .unwrap();
        // A write to the layer of a scope ends with that, one to the task's own base stays.
        assert_eq!(task.step(seen).unwrap(), (Some(7), [None, None], Some(META)));
    }
    // Exited in the other task, or outside of tasks.
    tasks[0].step(|| scopes[0].enter()).unwrap();
    tasks[1].step(|| scopes[0].exit()).unwrap();
    assert_eq!(tasks[0].step(current_device).unwrap(), Some(7));
    assert_eq!(current_device(), Some(8));
}

#[test]
fn with_state_keeps_device_slots_of_a_future() {
    let future = ThreadState::capture().in_future(async {
        set_device_slots(device(1));
        current_device()
    });
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert_eq!(future.as_mut().poll(&mut context), std::task::Poll::Ready(Some(1)));
    assert_eq!(current_device(), None);
}

#[test]
fn run_applies_flags_and_device_slots_together() {
    let flags = || {
        let given = [
            ("cudnn.enabled", InputValue::Bool(false)),
            ("cudnn.conv.fp32_precision", InputValue::Text("ieee".into())),
        ];
        FlagScope::new(given.map(|(name, value)| (find(name).unwrap(), value)), None).unwrap().guard()
    };
    let [both, only_a_device] = [true, false].map(|with_flags| {
        let _open = (with_flags.then(flags), guard(device(1)));
        ThreadState::capture()
    });
    let now = || (flags::CUDNN_ENABLED.get(), Node::CudaConv.get().name(), current_device());
    assert_eq!(both.run(now), (false, "ieee", Some(1)));
    let _flags = flags();
    // It names no flag, and hides the flags of scopes that are open below it.
    assert_eq!(only_a_device.run(now), (true, "tf32", Some(1)));
    assert_eq!(now(), (false, "ieee", None));
}
