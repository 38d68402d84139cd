//! A captured state of a thread, which other threads and tasks can apply.

use std::any::Any;
use std::convert::Infallible;
use std::sync::Arc;

use super::captured_slots::CapturedSlots;
use super::carried::CarriedValues;
use super::scope::{Scope, ScopeGuard};
use super::{
    DeviceObject, DeviceSlots, FlagSlots, Masked, Slots, carrier, current, native, process, reads, writes,
};
use crate::Result;
use crate::device::{Device, DeviceIndex};

/// A copy of the state of a thread: the mode bits, the flags that its scopes name, the current device and streams, the
/// memory pools of allocations and the default device. Where it is active, other flags have the values of the process,
/// and a device, stream or pool that was not set has its default.
///
/// ```
/// use interlock_core::modes::{is_grad_enabled, no_grad};
/// use interlock_core::thread::ThreadState;
///
/// let state = {
///     let _guard = no_grad();
///     ThreadState::capture()
/// };
/// let seen = std::thread::spawn(move || state.run(is_grad_enabled)).join();
/// assert_eq!(seen.ok(), Some(false));
/// ```
#[derive(Clone, Debug)]
pub struct ThreadState {
    pub(super) modes: u8,
    slots: CapturedSlots,
    carried: CarriedValues,
}

impl ThreadState {
    /// Captures the state of this thread: in constant time, unless guards are open on it.
    pub fn capture() -> Self {
        carrier::sync();
        let (modes, slots) = reads::captured();
        ThreadState { modes, slots, carried: CarriedValues::save() }
    }

    /// Returns the state of a thread on which nothing was set. Its modes are those of the process.
    pub fn neutral() -> Self {
        ThreadState::from_slots(process::mode_word(), Slots::opaque())
    }

    fn from_slots(modes: u8, slots: Arc<Slots>) -> Self {
        ThreadState { modes, slots: CapturedSlots::merged(slots), carried: CarriedValues::default() }
    }

    fn with_slots(self, slots: Arc<Slots>) -> Self {
        ThreadState { slots: CapturedSlots::merged(slots), ..self }
    }

    /// Returns the values of other libraries.
    pub(super) fn carried(&self) -> &CarriedValues {
        &self.carried
    }

    /// Returns the slots, which are opaque: the layers below have no effect.
    pub(super) fn slots(&self) -> &Arc<Slots> {
        self.slots.get()
    }

    /// Returns the hooks of saved tensors, unless other slots, a layer or a captured state share them.
    pub(crate) fn own_saved_tensor_hooks(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.slots.own_saved_tensor_hooks()
    }

    /// Returns the hooks of the creation of nodes that no other slots, layer or captured state shares.
    pub(crate) fn own_node_creation_hooks(&self) -> impl Iterator<Item = &Arc<dyn Any + Send + Sync>> {
        self.slots.own_node_creation_hooks()
    }

    /// Returns this state with other modes.
    pub(crate) fn with_modes(self, modes: Masked<u8>) -> Self {
        ThreadState { modes: modes.applied_to(self.modes), ..self }
    }

    /// Returns this state, in which the device slots that it does not set have these values.
    pub(crate) fn with_devices(self, devices: DeviceSlots) -> Self {
        let mut slots = Slots::clone(self.slots());
        slots.devices.fill_from(&devices);
        self.with_slots(Arc::new(slots))
    }

    /// Returns the mode bits of a layer that applies this state: all of them.
    pub(super) fn modes_of_layer(&self) -> Masked<u8> {
        Masked::new(u8::MAX, self.modes)
    }

    pub(crate) fn mode_word(&self) -> u8 {
        self.modes
    }

    pub(crate) fn flag_slots(&self) -> &FlagSlots {
        &self.slots().flags
    }

    /// Returns this state, in which the flags that it does not set have these values.
    pub(crate) fn with_flags_below(self, below: &FlagSlots) -> Self {
        let mut slots = Slots::clone(self.slots());
        slots.flags.fill_from(below);
        self.with_slots(Arc::new(slots))
    }

    /// Returns the current device, or `None` if none was set.
    pub fn device(&self) -> Option<DeviceIndex> {
        self.slots().devices.device
    }

    /// Returns the current streams of the devices for which one was set.
    pub(crate) fn streams(&self) -> &[Arc<dyn DeviceObject>] {
        self.slots().devices.streams.as_slice()
    }

    /// Returns the memory pools that allocations use, of the devices for which a scope set one.
    pub(crate) fn mem_pools(&self) -> &[Arc<dyn DeviceObject>] {
        self.slots().devices.mem_pools.as_slice()
    }

    /// Returns whether a recording of calls or hooks of saved tensors are active in this state.
    pub(crate) fn has_objects(&self) -> bool {
        self.slots().objects.is_some()
    }

    /// Returns the default device for new tensors, or `None` if it is the CPU.
    pub fn default_device(&self) -> Option<Device> {
        self.set_default_device().flatten()
    }

    /// Returns the default device for new tensors, or `None` if none was set; `Some(None)` is the CPU.
    pub(crate) fn set_default_device(&self) -> Option<Option<Device>> {
        self.slots().devices.default_device
    }

    /// Applies this state on this thread, above all open scopes, until the guard is dropped.
    pub fn enter(&self) -> ScopeGuard {
        let enter = || Ok::<_, Infallible>(ScopeGuard::from_layer(self.modes_of_layer(), Some(self.slots())));
        let Ok(guard) = self.carried.enter_with(enter, ScopeGuard::layer);
        guard
    }

    /// Calls `action` while this state is active.
    pub fn run<R>(&self, action: impl FnOnce() -> R) -> R {
        let _guard = self.enter();
        action()
    }

    /// Sets this state as the base of this thread, below all open scopes, until the thread ends. What was written
    /// without a scope on this thread and in the current context is gone.
    ///
    /// # Errors
    /// Fails if the current context cannot be changed, or the layers of the thread are dropped because it ends.
    pub fn install(&self) -> Result<()> {
        if reads::is_ended() {
            return Err(current::ended("install a state"));
        }
        writes::unset_base_of_context()?;
        native::set_base(self.modes_of_layer(), self.slots());
        self.carried.restore();
        Ok(())
    }
}

/// A captured state that is entered and exited. It may be entered again while it is open, by several threads, and
/// exited in any order.
///
/// ```
/// use interlock_core::modes::{is_grad_enabled, no_grad};
/// use interlock_core::thread::{StateScope, ThreadState};
///
/// let scope = StateScope::new(ThreadState::capture());
/// let _guard = no_grad();
/// scope.enter();
/// assert!(is_grad_enabled());
/// scope.exit();
/// assert!(!is_grad_enabled());
/// ```
#[derive(Debug)]
pub struct StateScope {
    scope: Scope,
    state: ThreadState,
}

impl StateScope {
    /// Creates a scope of this state that is not open.
    pub fn new(state: ThreadState) -> Self {
        StateScope { scope: Scope::default(), state }
    }

    /// Returns a new scope of this state that is not open.
    pub fn clone_unentered(&self) -> Self {
        StateScope::new(self.state.clone())
    }

    /// Returns the scope that enters and exits.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Returns the state.
    pub fn state(&self) -> &ThreadState {
        &self.state
    }

    /// Activates the state on this thread. Has no effect if [`try_enter`](StateScope::try_enter) fails.
    pub fn enter(&self) {
        let _entered = self.try_enter();
    }

    /// Enters as [`enter`](StateScope::enter) does.
    ///
    /// # Errors
    /// Fails if the state of the current context cannot be stored, or the layers of the thread are dropped because it ends.
    pub fn try_enter(&self) -> Result<()> {
        let state = &self.state;
        let enter = || self.scope.enter_layer(state.modes_of_layer(), Some(state.slots()));
        state.carried.enter_with(enter, |layer| *layer).map(drop)
    }

    /// Deactivates the state; see [`Scope::exit`].
    pub fn exit(&self) {
        self.scope.exit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::flags::{FlagScope, InputValue, find, flags};
    use crate::modes::{enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad};
    use crate::thread::TaskState;
    use crate::thread::testing::run_at_thread_end;
    use crate::thread::writes::set_device_slots;

    fn cudnn_enabled(value: bool) -> FlagScope {
        FlagScope::new([(find("cudnn.enabled").unwrap(), InputValue::Bool(value))], None).unwrap()
    }

    fn deterministic(value: bool) -> FlagScope {
        FlagScope::new([(find("cudnn.deterministic").unwrap(), InputValue::Bool(value))], None).unwrap()
    }

    fn seen() -> (bool, bool, bool) {
        (is_grad_enabled(), flags::CUDNN_ENABLED.get(), flags::CUDNN_DETERMINISTIC.get())
    }

    #[test]
    fn run_applies_all_slots_over_open_scopes_and_restores_them() {
        let state = {
            let (_modes, _flags) = (no_grad(), cudnn_enabled(false).guard());
            ThreadState::capture()
        };
        let _here = deterministic(true).guard();
        assert_eq!(seen(), (true, true, true));
        assert_eq!(state.run(seen), (false, false, false));
        assert_eq!(seen(), (true, true, true));
    }

    #[test]
    fn capture_merges_layers_only_if_guards_are_open() {
        let scopes = [cudnn_enabled(false), deterministic(true)];
        scopes.iter().for_each(FlagScope::enter);
        let with_scopes = ThreadState::capture();
        scopes.iter().for_each(FlagScope::exit);
        let without = ThreadState::capture();
        // Without a carrier, scopes are layers of the thread.
        assert!(with_scopes.slots.are_merged() && !without.slots.are_merged());
        assert_eq!(without.run(seen), (true, true, false));
        assert!(without.slots.are_merged());
        assert_eq!(with_scopes.run(seen), (true, false, true));
    }

    #[test]
    fn run_of_a_state_without_scopes_hides_open_scopes() {
        let state = ThreadState::capture();
        let (_modes, _flags) = (inference_mode(true), cudnn_enabled(false).guard());
        assert_eq!(state.run(|| (seen(), is_inference_mode_enabled())), ((true, true, false), false));
        assert_eq!(seen(), (false, false, false));
    }

    #[test]
    fn run_discards_writes_of_slots_that_the_state_decides() {
        let state = cudnn_enabled(false).guard();
        let captured = ThreadState::capture();
        drop(state);
        captured.run(|| flags::CUDNN_ENABLED.set(true).unwrap());
        captured.run(|| assert!(!flags::CUDNN_ENABLED.get()));
        captured.run(|| flags::CUDNN_DETERMINISTIC.set(true).unwrap());
        assert_eq!(seen(), (true, true, true));
    }

    #[test]
    fn capture_pinned_keeps_the_flags_of_the_process() {
        let (followed, pinned) = (ThreadState::capture(), ThreadState::capture_pinned());
        flags::CUDNN_ENABLED.set(false).unwrap();
        assert!(!followed.run(|| flags::CUDNN_ENABLED.get()));
        assert!(pinned.run(|| flags::CUDNN_ENABLED.get()));
    }

    #[test]
    fn enter_and_install_fail_after_the_layers_of_the_thread_are_dropped() {
        let state = {
            let _guard = no_grad();
            ThreadState::capture()
        };
        let end = move |()| {
            let (flags, scope) = (cudnn_enabled(false), StateScope::new(state.clone()));
            flags.enter();
            scope.enter();
            let device = set_device_slots(DeviceSlots::from_device(1));
            let failures = [flags.try_enter(), scope.try_enter(), state.install(), device];
            flags.exit();
            scope.exit();
            (failures, seen())
        };
        let (failures, seen) = run_at_thread_end(|| drop(no_grad()), end);
        for failure in failures {
            assert!(matches!(failure, Err(Error::ThreadEnded { .. })), "{failure:?}");
        }
        assert_eq!(seen, (true, true, false));
    }

    #[test]
    fn install_sets_the_base_of_the_thread() {
        let state = {
            let (_modes, _flags) = (no_grad(), cudnn_enabled(false).guard());
            ThreadState::capture()
        };
        let thread = std::thread::spawn(move || {
            let open = enable_grad();
            state.install().unwrap();
            let with_a_scope_open = seen();
            drop(open);
            ThreadState::capture().install().unwrap();
            (with_a_scope_open, seen())
        });
        assert_eq!(thread.join().unwrap(), ((true, false, false), (false, false, false)));
        assert_eq!(seen(), (true, true, false));
    }

    #[test]
    fn run_hides_flags_that_are_installed_below() {
        let (follows, names) = {
            let follows = ThreadState::capture();
            let _flags = cudnn_enabled(false).guard();
            (follows, ThreadState::capture())
        };
        let install_inside = |names: ThreadState| {
            let inside = follows.run(|| {
                names.install().unwrap();
                [seen(), follows.run(seen)]
            });
            // A mode that decides every mode hides no flags.
            let _inference = inference_mode(true);
            names.install().unwrap();
            (inside, seen())
        };
        let expected = ([(true, true, false); 2], (false, false, false));
        let on_a_thread = std::thread::scope(|threads| {
            let names = names.clone();
            threads.spawn(|| install_inside(names)).join().unwrap()
        });
        assert_eq!(on_a_thread, expected);
        let task = TaskState::new(&follows);
        assert_eq!(task.step(|| install_inside(names)).unwrap(), expected);
        drop(task);
        assert!(!crate::thread::any_flag_layer());
    }

    #[test]
    fn state_scope_may_be_entered_twice_and_exited_out_of_order() {
        let scope = StateScope::new(no_grad_state());
        let other = enable_grad();
        scope.enter();
        scope.enter();
        drop(other);
        scope.exit();
        assert!(!is_grad_enabled());
        scope.exit();
        scope.exit();
        assert!(is_grad_enabled());
    }

    fn no_grad_state() -> ThreadState {
        let _guard = no_grad();
        ThreadState::capture()
    }
}
