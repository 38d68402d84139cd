//! Values of modes and devices for the whole process: below every context, thread and scope, as assigned flags are.

use crate::Result;
use crate::device::{Device, DeviceIndex};
use crate::flags::call_unless_frozen;
use crate::modes::{Mode, inference_bits};
use crate::thread::{Masked, ProcessValues, sync};

/// The values of modes and devices where no scope, guard or write sets them; `None` where the built-in default applies.
/// [`snapshot`](crate::flags::snapshot) includes them, and [`reset`](crate::flags::reset) unsets them.
///
/// ```
/// use interlock_core::ProcessDefaults;
/// use interlock_core::modes::{Mode, is_grad_enabled};
///
/// ProcessDefaults::change(|defaults| defaults.set_mode(Mode::Grad, Some(false)))?;
/// assert_eq!(std::thread::spawn(is_grad_enabled).join().ok(), Some(false));
/// assert_eq!(ProcessDefaults::current().mode(Mode::Grad), Some(false));
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessDefaults(ProcessValues);

impl ProcessDefaults {
    /// Returns the values of the process.
    pub fn current() -> Self {
        ProcessDefaults(ProcessValues::current())
    }

    /// Changes the values of the process, all or none. Values that `change` leaves as they are keep what other threads set
    /// meanwhile. This thread sees the change now, and other threads that run native code with their next enter, exit, guard,
    /// write or capture.
    ///
    /// # Errors
    /// Fails while flags are frozen.
    pub fn change(change: impl FnOnce(&mut Self)) -> Result<()> {
        let before = ProcessDefaults::current();
        let mut after = before;
        // Without the lock, which the function may need.
        change(&mut after);
        call_unless_frozen("state.set_process_defaults", || {
            ProcessValues::current().with_changes(&before.0, &after.0).store();
        })?;
        sync();
        Ok(())
    }

    /// Returns the value of a mode.
    pub fn mode(&self, mode: Mode) -> Option<bool> {
        let bit = mode as u8;
        (self.0.modes.mask & bit != 0).then_some(self.0.modes.value & bit != 0)
    }

    /// Sets a mode.
    pub fn set_mode(&mut self, mode: Mode, on: Option<bool>) {
        let bit = mode as u8;
        self.set_bits(bit, on.map(|on| Masked::new(bit, if on { bit } else { 0 })));
    }

    /// Sets the modes that a scope of [`inference_mode`](crate::modes::inference_mode) sets.
    pub fn set_inference_mode(&mut self, on: Option<bool>) {
        let all = inference_bits(true).mask;
        self.set_bits(all, on.map(inference_bits));
    }

    fn set_bits(&mut self, mask: u8, new: Option<Masked<u8>>) {
        let kept = self.0.modes.within(!mask);
        self.0.modes = new.map_or(kept, |new| new.over(kept));
    }

    /// Returns the index of the current device.
    pub fn device(&self) -> Option<DeviceIndex> {
        self.0.device
    }

    /// Sets the index of the current device.
    pub fn set_device(&mut self, index: Option<DeviceIndex>) {
        self.0.device = index;
    }

    /// Returns the device on which tensors are created.
    pub fn default_device(&self) -> Option<Device> {
        self.0.default_device
    }

    /// Sets the device on which tensors are created.
    pub fn set_default_device(&mut self, device: Option<Device>) {
        self.0.default_device = device;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::modes::write_bits;
    use crate::device::DeviceType;
    use crate::flags::flags::CUDNN_BENCHMARK;
    use crate::flags::{FreezeScope, SourceLocation, reset};
    use crate::modes::{enable_grad, is_grad_enabled, is_inference_mode_enabled, no_grad};
    use crate::thread::{ThreadState, current_device, default_device, sync};

    fn change(change: impl FnOnce(&mut ProcessDefaults)) {
        ProcessDefaults::change(change).unwrap();
    }

    #[test]
    fn values_of_the_process_lie_below_scopes_writes_and_installed_states() {
        let captured = ThreadState::capture();
        change(|defaults| {
            defaults.set_mode(Mode::Grad, Some(false));
            defaults.set_device(Some(1));
            defaults.set_default_device(Some(Device::with_index(DeviceType::Host, 1)));
        });
        sync();
        let seen = || (is_grad_enabled(), current_device(), default_device());
        let set = (false, Some(1), Some(Device::with_index(DeviceType::Host, 1)));
        assert_eq!(seen(), set);
        assert_eq!(std::thread::spawn(seen).join().unwrap(), set);
        assert!(captured.run(is_grad_enabled));
        {
            let _guard = enable_grad();
            assert!(is_grad_enabled());
        }
        write_bits(Mode::Grad as u8, Mode::Grad as u8).unwrap();
        assert!(is_grad_enabled());
        change(|defaults| *defaults = ProcessDefaults::default());
        assert_eq!((current_device(), default_device()), (None, None));
    }

    #[test]
    fn thread_sees_its_own_change_now_and_others_with_its_next_guard() {
        assert!(is_grad_enabled());
        std::thread::scope(|threads| {
            let other = threads.spawn(|| change(|defaults| defaults.set_inference_mode(Some(true))));
            other.join().unwrap();
        });
        assert!(!is_inference_mode_enabled());
        drop(no_grad());
        assert!(is_inference_mode_enabled() && !is_grad_enabled());
        change(|defaults| defaults.set_inference_mode(None));
        assert!(!is_inference_mode_enabled() && is_grad_enabled());
        assert_eq!(ProcessDefaults::current(), ProcessDefaults::default());
    }

    #[test]
    fn function_may_use_flags_and_keeps_what_it_does_not_change() {
        change(|defaults| {
            CUDNN_BENCHMARK.set(true).unwrap();
            change(|others| others.set_device(Some(1)));
            change(|others| others.set_mode(Mode::Grad, Some(false)));
            defaults.set_mode(Mode::Inference, Some(true));
        });
        let defaults = ProcessDefaults::current();
        let modes = [Mode::Grad, Mode::Inference].map(|mode| defaults.mode(mode));
        assert_eq!((modes, defaults.device()), ([Some(false), Some(true)], Some(1)));
        reset(None).unwrap();
        assert!(is_grad_enabled(), "this thread sees the end at once");
        assert_eq!(ProcessDefaults::current(), ProcessDefaults::default());
    }

    #[test]
    fn change_fails_while_flags_are_frozen() {
        let freeze = FreezeScope::default();
        freeze.enter(SourceLocation::caller());
        assert!(ProcessDefaults::change(|defaults| defaults.set_device(Some(1))).is_err());
        freeze.exit();
        assert_eq!(ProcessDefaults::current(), ProcessDefaults::default());
    }
}
