//! A carrier that fails to store: the caller gets an error, and nothing has changed.

use super::carrier::{TestContext, copy_current, without_memory};
use crate::binding::modes::write_bits;
use crate::binding::thread::set_device_slots;
use crate::flags::flags::{CUDNN_BENCHMARK, CUDNN_ENABLED};
use crate::flags::{FlagScope, InputValue, assign, find};
use crate::modes::{ModeContext, ModeKind, is_grad_enabled};
use crate::thread::{DeviceSlots, StateScope, ThreadState, current_device, mode_bits, sync};
use crate::{Error, Result};

fn cudnn(name: &str, value: bool) -> FlagScope {
    FlagScope::new([(find(name).unwrap(), InputValue::Bool(value))], None).unwrap()
}

fn write_grad(on: bool) -> Result<()> {
    write_bits(mode_bits::GRAD, if on { mode_bits::GRAD } else { 0 })
}

/// Calls `action` without memory. Checks that it fails, and that the state of the context is the one before.
fn fails(action: impl FnOnce() -> Result<()>) -> String {
    let before = copy_current().state().serial();
    let error = without_memory(action).unwrap_err();
    assert_eq!(copy_current().state().serial(), before);
    sync();
    assert!(matches!(error, Error::ContextNotStored { .. }), "{error}");
    error.to_string()
}

#[test]
fn write_of_a_mode_changes_nothing() {
    TestContext::new().run(|| {
        assert!(fails(|| write_grad(false)).starts_with("cannot set grad: memory ran out"));
        assert!(is_grad_enabled());
        let scope = ModeContext::new(ModeKind::NoGrad);
        scope.enter();
        fails(|| write_grad(true));
        assert!(!is_grad_enabled());
        scope.exit();
        assert!(is_grad_enabled());
    });
}

#[test]
fn write_of_a_device_changes_neither_guard_nor_context() {
    TestContext::new().run(|| {
        let set = |index| set_device_slots(DeviceSlots::from_device(index));
        fails(|| set(1));
        assert_eq!(current_device(), None);
        set(1).unwrap();
        fails(|| set(2));
        assert_eq!(current_device(), Some(1));
    });
}

#[test]
fn write_of_flags_changes_neither_the_process_nor_the_context() {
    TestContext::new().run(|| {
        let scope = cudnn("cudnn.enabled", false);
        scope.enter();
        let writes = ["cudnn.benchmark", "cudnn.enabled"]
            .map(|name| (find(name).unwrap(), Some(InputValue::Bool(true))));
        let error = fails(|| assign(&writes, None));
        assert!(error.starts_with("cannot set backends.cudnn."), "{error}");
        assert!(!CUDNN_BENCHMARK.get() && !CUDNN_ENABLED.get());
        // Flags without a layer are the process's, which needs no memory.
        without_memory(|| CUDNN_BENCHMARK.set(true)).unwrap();
        assign(&writes, None).unwrap();
        assert!(CUDNN_BENCHMARK.get() && CUDNN_ENABLED.get());
        scope.exit();
        assert!(CUDNN_ENABLED.get());
        CUDNN_BENCHMARK.set(false).unwrap();
    });
}

#[test]
fn enter_pushes_nothing() {
    TestContext::new().run(|| {
        let (mode, flags) = (ModeContext::new(ModeKind::NoGrad), cudnn("cudnn.enabled", false));
        let state = StateScope::new(ThreadState::neutral().with_mode(crate::modes::Mode::Grad, false));
        fails(|| mode.try_enter());
        fails(|| flags.try_enter());
        assert!(fails(|| state.try_enter()).starts_with("cannot enter a scope: "));
        assert!(is_grad_enabled() && CUDNN_ENABLED.get());
        mode.exit();
        assert!(is_grad_enabled());
    });
}

#[test]
fn exit_removes_the_layer() {
    TestContext::new().run(|| {
        let (outer, inner) = (cudnn("cudnn.enabled", false), ModeContext::new(ModeKind::NoGrad));
        outer.enter();
        inner.enter();
        // Below another layer, so that the state without it is a new one.
        without_memory(|| outer.exit());
        assert!(CUDNN_ENABLED.get() && !is_grad_enabled());
        without_memory(|| inner.exit());
        assert!(is_grad_enabled());
    });
}

#[test]
fn eager_write_can_be_revoked_later() {
    TestContext::new().run(|| {
        let mode = ModeContext::new(ModeKind::SetGradEnabled);
        fails(|| mode.set(false));
        assert!(is_grad_enabled());
        mode.set(false).unwrap();
        fails(|| mode.revoke_write());
        fails(|| mode.try_enter());
        assert!(!is_grad_enabled());
        mode.revoke_write().unwrap();
        assert!(is_grad_enabled());
    });
}
