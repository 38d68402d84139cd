//! Hooks that are called on a thread after its modes have changed.

use std::sync::Arc;

use super::Mode;
use crate::Registration;
use crate::thread::{self, LayerId, Masked};

/// Which modes are set on a thread, before and after a change.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use interlock_core::modes::{Mode, ModeChange, no_grad, on_change};
///
/// let noted = Arc::new(Mutex::new(Vec::new()));
/// let seen = noted.clone();
/// let hook = on_change(move |change: &ModeChange| {
///     seen.lock().unwrap().push((change.was_set(Mode::Grad), change.set(Mode::Grad)));
/// });
/// drop(no_grad());
/// drop(hook);
/// drop(no_grad());
/// assert_eq!(*noted.lock().unwrap(), [(None, Some(false)), (Some(false), None)]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeChange {
    old: Masked<u8>,
    new: Masked<u8>,
}

impl ModeChange {
    /// Returns whether a scope, a write or the process set the mode on or off before; `None` if nothing set it.
    pub fn was_set(&self, mode: Mode) -> Option<bool> {
        mode.set_in(self.old)
    }

    /// Returns whether a scope, a write or the process sets the mode on or off now; `None` if nothing sets it.
    pub fn set(&self, mode: Mode) -> Option<bool> {
        mode.set_in(self.new)
    }
}

/// Registers a function that is called on a thread after its modes have changed, until the registration is dropped: when a
/// scope or guard is entered or exited, a mode is written, or the thread switches to another context or task. A thread sees
/// changes of the process and exits elsewhere with its next call into this crate, and then it calls the function. A
/// captured state counts as setting the modes that differ from their defaults. Where nothing reports the end of a context,
/// as in Python before 3.14, modes that another thread has set in it are not reported. After a registration each thread reports
/// the modes that are set on it to all functions, as if none had been set before. Functions are also called, perhaps without
/// a change, after [carried values](crate::thread::Carried) of other libraries were replaced.
///
/// The function is called outside of all locks. While there is one, enters, exits and reads from Python cost more. It may
/// read modes and set those of another library; changes that it makes here itself are reported after it returns. If it
/// panics, the change stays, and other functions are called.
pub fn on_change(hook: impl Fn(&ModeChange) + Send + Sync + 'static) -> Registration {
    thread::on_mode_change(Arc::new(move |report| {
        let (old, new) = report.effective();
        if old != new || report.is_due {
            hook(&ModeChange { old, new });
        }
    }))
}

/// What sets modes on a thread: a layer, or writes and the process.
#[derive(Clone, Copy, Debug)]
pub struct ModeSetter {
    /// The layer; 0 stands for writes and the process.
    pub layer: LayerId,
    modes: Masked<u8>,
}

impl ModeSetter {
    /// Returns whether this sets the mode on or off; `None` if it does not set it.
    pub fn set(&self, mode: Mode) -> Option<bool> {
        mode.set_in(self.modes)
    }
}

/// Registers a function as [`on_change`] does, which gets all that sets modes, innermost first, and is also called where a
/// layer that sets a mode to the value that it has is pushed or removed.
pub fn on_setters(hook: impl Fn(&[ModeSetter]) + Send + Sync + 'static) -> Registration {
    thread::on_mode_change(Arc::new(move |report| {
        let setter = |(layer, modes): &(LayerId, Masked<u8>)| ModeSetter { layer: *layer, modes: *modes };
        hook(&report.new.iter().map(setter).collect::<Vec<_>>());
    }))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::ProcessDefaults;
    use crate::modes::{ModeContext, ModeKind, enable_grad, is_grad_enabled, no_grad};
    use crate::thread::{TaskState, ThreadState, sync};

    type Noted = Arc<Mutex<Vec<Option<bool>>>>;

    fn noted() -> (Registration, Noted) {
        let noted = Noted::default();
        let seen = noted.clone();
        let hook = on_change(move |change| seen.lock().unwrap().push(change.set(Mode::Grad)));
        (hook, noted)
    }

    fn taken(noted: &Noted) -> Vec<Option<bool>> {
        std::mem::take(&mut noted.lock().unwrap())
    }

    #[test]
    fn scopes_guards_writes_and_the_process_are_reported_once() {
        let (_hook, noted) = noted();
        let guard = no_grad();
        let context = ModeContext::new(ModeKind::EnableGrad);
        context.enter();
        // No change.
        let same = enable_grad();
        drop(same);
        context.exit();
        drop(guard);
        assert_eq!(taken(&noted), [Some(false), Some(true), Some(false), None]);
        let write = ModeContext::new(ModeKind::SetGradEnabled);
        write.set(false).unwrap();
        write.revoke_write().unwrap();
        ProcessDefaults::change(|defaults| defaults.set_mode(Mode::Grad, Some(false))).unwrap();
        sync();
        assert_eq!(taken(&noted), [Some(false), None, Some(false)]);
        drop(no_grad());
        assert_eq!(taken(&noted), []);
    }

    #[test]
    fn scopes_that_repeat_a_mode_are_reported_as_setters() {
        let noted = Arc::new(Mutex::new(Vec::new()));
        let seen = noted.clone();
        let hook = on_setters(move |setters| {
            let set = |setter: &ModeSetter| (setter.layer.number() != 0, setter.set(Mode::Grad));
            seen.lock().unwrap().push(setters.iter().map(set).collect::<Vec<_>>());
        });
        let write = ModeContext::new(ModeKind::SetGradEnabled);
        write.set(false).unwrap();
        let (outer, inner) = (no_grad(), no_grad());
        drop(inner);
        drop(outer);
        write.revoke_write().unwrap();
        drop(hook);
        let [layer, base] = [(true, Some(false)), (false, Some(false))];
        let (one, two) = (vec![layer, base], vec![layer, layer, base]);
        assert_eq!(*noted.lock().unwrap(), [vec![base], one.clone(), two, one, vec![base], vec![]]);
    }

    #[test]
    fn modes_that_are_set_already_are_reported_with_the_next_call() {
        let guard = no_grad();
        let (_hook, noted) = noted();
        sync();
        assert_eq!(taken(&noted), [Some(false)]);
        drop(guard);
        assert_eq!(taken(&noted), [None]);
    }

    #[test]
    fn captured_state_sets_only_what_differs_from_the_defaults() {
        let plain = ThreadState::capture();
        let without = no_grad();
        let captured = ThreadState::capture();
        let (_hook, noted) = noted();
        drop(without);
        captured.run(|| assert!(!is_grad_enabled()));
        let guard = no_grad();
        plain.run(|| assert!(is_grad_enabled()));
        drop(guard);
        assert_eq!(taken(&noted), [Some(false), None, Some(false), None, Some(false), None]);
    }

    #[test]
    fn steps_of_tasks_are_switches() {
        let (_hook, noted) = noted();
        let task = TaskState::new(&ThreadState::capture());
        let context = ModeContext::new(ModeKind::NoGrad);
        task.step(|| context.enter()).unwrap();
        task.step(|| ()).unwrap();
        assert_eq!(taken(&noted), [Some(false), None, Some(false), None]);
    }

    #[test]
    fn changes_by_a_hook_are_reported_after_it_returns() {
        let noted = Noted::default();
        let seen = noted.clone();
        let hook = on_change(move |change| {
            let is_first = seen.lock().unwrap().is_empty();
            seen.lock().unwrap().push(change.set(Mode::Grad));
            if is_first {
                ModeContext::new(ModeKind::SetGradEnabled).set(true).unwrap();
            }
        });
        let guard = no_grad();
        assert_eq!(taken(&noted), [Some(false), Some(true)]);
        drop(hook);
        drop(guard);
        drop(no_grad());
        assert_eq!(taken(&noted), []);
    }
}
