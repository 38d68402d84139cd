//! Scopes and writes on one thread.

use super::*;
use crate::modes::{enable_grad, inference_mode, is_grad_enabled, no_grad};
use crate::thread::{TaskState, ThreadState, any_flag_layer, layer_changes, sync};

#[test]
fn guard_decides_only_the_slots_that_it_names() {
    let devices = devices();
    let (first, second) = (devices.stream(0), devices.stream(1));
    assert_eq!(seen(), NOTHING);
    let outer = guard(of_stream(first.clone()));
    let default = guard(DeviceSlots::from_default_device(Some(META)));
    assert_eq!(seen(), (Some(0), [Some(first.clone()), None], Some(META)));
    let inner = guard(of_stream(second.clone()));
    assert_eq!(seen(), (Some(1), [Some(first.clone()), Some(second)], Some(META)));
    let innermost = guard(device(0));
    assert_eq!(seen().0, Some(0));
    drop(innermost);
    assert_eq!(seen().0, Some(1));
    drop(inner);
    assert_eq!(seen(), (Some(0), [Some(first), None], Some(META)));
    drop((default, outer));
    assert_eq!(seen(), NOTHING);
}

#[test]
fn mem_pool_is_decided_for_its_device_and_captured() {
    let devices = devices();
    let (first, second) = (devices.stream(0), devices.stream(1));
    let pools = || [0, 1].map(|index| binding::mem_pool(index).map(|pool| pool.device_index()));
    let of_pool = |pool: &FakeStream| DeviceSlots::from_mem_pool(pool.clone().into());
    assert_eq!(pools(), [None, None]);
    let nothing = ThreadState::capture();
    let outer = Object::new(of_pool(&first));
    outer.enter();
    let inner = guard(of_pool(&second));
    assert_eq!((pools(), seen()), ([Some(0), Some(1)], NOTHING));
    let state = ThreadState::capture();
    assert_eq!((state.mem_pools().len(), state.streams().len()), (2, 0));
    assert_eq!(nothing.run(|| (pools(), state.run(pools))), ([None, None], [Some(0), Some(1)]));
    outer.exit();
    assert_eq!(pools(), [None, Some(1)]);
    drop(inner);
    assert_eq!(pools(), [None, None]);
    assert_eq!(on_a_thread(|| (pools(), state.run(pools))), ([None, None], [Some(0), Some(1)]));
}

#[test]
fn exit_out_of_order_restores_the_base() {
    let (zero, one) = (Object::new(device(0)), Object::new(device(1)));
    set_device_slots(device(7));
    zero.enter();
    one.enter();
    zero.enter();
    assert_eq!(current_device(), Some(0));
    zero.exit();
    assert_eq!(current_device(), Some(1));
    zero.exit();
    assert_eq!(current_device(), Some(1));
    zero.exit();
    one.exit();
    one.exit();
    assert_eq!(current_device(), Some(7));
}

#[test]
fn exit_on_another_thread_removes_the_layer_that_was_entered() {
    let (zero, one) = (Object::new(device(0)), Object::new(device(1)));
    zero.enter();
    one.enter();
    on_a_thread(|| {
        set_device_slots(device(5));
        one.exit();
        assert_eq!(current_device(), Some(5));
    });
    // A read does not check the mailbox.
    assert_eq!(current_device(), Some(1));
    sync();
    assert_eq!(current_device(), Some(0));
    zero.exit();
    assert_eq!(current_device(), None);
}

#[test]
fn set_device_slots_lasts_as_long_as_the_deciding_scope() {
    let devices = devices();
    let (first, second, third) = (devices.stream(0), devices.stream(0), devices.stream(0));
    set_device_slots(of_stream(first.clone()));
    let scope = Object::new(device(1));
    scope.enter();
    scope.enter();
    // The device is written to the layer of the scope, the stream to the base.
    set_device_slots(of_stream(second.clone()));
    set_device_slots(DeviceSlots::from_default_device(Some(META)));
    assert_eq!(seen(), (Some(0), [Some(second.clone()), None], Some(META)));
    let streams = guard(of_stream(first.clone()));
    set_device_slots(of_stream(third.clone()));
    assert_eq!(seen().1, [Some(third), None]);
    drop(streams);
    scope.exit();
    assert_eq!(seen(), (Some(1), [Some(second.clone()), None], Some(META)));
    scope.exit();
    set_device_slots(DeviceSlots::from_default_device(None));
    assert_eq!(seen(), (Some(0), [Some(second), None], None));
}

#[test]
fn default_device_can_be_reset_to_the_cpu() {
    let _outer = guard(DeviceSlots::from_default_device(Some(META)));
    let inner = guard(DeviceSlots::from_default_device(None));
    assert_eq!(default_device(), None);
    drop(inner);
    assert_eq!(default_device(), Some(META));
}

#[test]
fn set_device_slots_affects_only_its_thread() {
    let devices = devices();
    set_device_slots(of_stream(devices.stream(1)));
    set_device_slots(DeviceSlots::from_default_device(Some(META)));
    let here = seen();
    let there = on_a_thread(|| {
        let at_first = seen();
        set_device_slots(device(0));
        at_first
    });
    assert_eq!((there, seen()), (NOTHING, here));
}

#[test]
fn guards_of_modes_and_devices_interleave() {
    let one = guard(device(1));
    let no_grad = no_grad();
    let zero = guard(device(0));
    let grad = enable_grad();
    drop(no_grad);
    assert_eq!((is_grad_enabled(), current_device()), (true, Some(0)));
    drop(zero);
    assert_eq!((is_grad_enabled(), current_device()), (true, Some(1)));
    drop(one);
    let inference = inference_mode(true);
    assert_eq!((is_grad_enabled(), current_device()), (false, None));
    drop(inference);
    drop(grad);
    assert_eq!((is_grad_enabled(), current_device()), (true, None));
}

#[test]
fn set_device_slots_changes_no_flag_state() {
    let devices = devices();
    set_device_slots(of_stream(devices.stream(1)));
    let changes = layer_changes();
    let outer = guard(device(0));
    let state = ThreadState::capture();
    state.run(|| {
        set_device_slots(device(1));
        TaskState::new(&state).step(|| assert!(!any_flag_layer())).unwrap();
    });
    drop(outer);
    assert_eq!(layer_changes(), changes);
    assert!(!any_flag_layer());
}
