//! Modes that are entered and left by calls: what a context manager of another language needs.

use super::eager_write::EagerWrite;
use super::mode::{self, Mode};
use crate::base::sync::RelaxedBool;
use crate::thread::{self, Masked, Scope};

/// The mode that a [`ModeContext`] sets, under PyTorch's name.
///
/// ```
/// use interlock_core::modes::{ModeContext, ModeKind, is_inference_mode_enabled};
///
/// let context = ModeContext::new(ModeKind::InferenceMode);
/// context.enter();
/// assert!(is_inference_mode_enabled());
/// context.leave();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeKind {
    /// Gradients off; takes no argument.
    NoGrad,
    /// Gradients on; takes no argument.
    EnableGrad,
    /// Gradients as told; writes when it is made.
    SetGradEnabled,
    /// Every mode, as inference mode or its opposite decides them.
    InferenceMode,
    /// Threads of a backward pass as told; writes when it is made.
    SetMultithreadingEnabled,
    /// Tracking of views as told; writes when it is made.
    ForceOriginalViewTracking,
    /// The layout of gradients as told; writes when it is made.
    EnforceGradLayoutPolicy,
}

impl ModeKind {
    /// The mode whose old value such an object remembers.
    fn remembered(self) -> Mode {
        match self {
            ModeKind::NoGrad | ModeKind::EnableGrad | ModeKind::SetGradEnabled => Mode::Grad,
            ModeKind::InferenceMode => Mode::Inference,
            ModeKind::SetMultithreadingEnabled => Mode::Multithreading,
            ModeKind::ForceOriginalViewTracking => Mode::ViewReplay,
            ModeKind::EnforceGradLayoutPolicy => Mode::LayoutPolicy,
        }
    }

    /// Whether making the object is a write without a scope.
    pub const fn writes_when_made(self) -> bool {
        !matches!(self, ModeKind::NoGrad | ModeKind::EnableGrad | ModeKind::InferenceMode)
    }

    /// Whether the object is told what to do.
    pub const fn takes_mode(self) -> bool {
        !matches!(self, ModeKind::NoGrad | ModeKind::EnableGrad)
    }

    #[inline]
    fn decision(self, on: bool) -> Masked<u8> {
        match self {
            ModeKind::NoGrad => mode::single(Mode::Grad, false),
            ModeKind::EnableGrad => mode::single(Mode::Grad, true),
            ModeKind::InferenceMode => mode::inference(on),
            _ => mode::single(self.remembered(), on),
        }
    }
}

/// A mode as an object that is entered and exited, like a context manager of Python. It may be entered again while it
/// is open, by several threads, and exited in any order.
///
/// ```
/// use interlock_core::modes::{ModeContext, ModeKind, is_grad_enabled};
///
/// let context = ModeContext::new(ModeKind::NoGrad);
/// context.enter();
/// assert!(!is_grad_enabled());
/// context.leave();
/// assert!(is_grad_enabled());
/// ```
#[derive(Debug)]
pub struct ModeContext {
    manager: ModeKind,
    /// What it was told.
    mode: RelaxedBool,
    /// What the mode was when the object was last told or entered.
    previous: RelaxedBool,
    write: EagerWrite,
    scope: Scope,
}

impl ModeContext {
    /// An object that has not been told anything; its mode is on.
    pub fn new(manager: ModeKind) -> Self {
        ModeContext {
            manager,
            mode: RelaxedBool::new(true),
            previous: RelaxedBool::new(false),
            write: EagerWrite::default(),
            scope: Scope::default(),
        }
    }

    /// An object that was told the same and has been entered nowhere. Nothing is written.
    pub fn twin(&self) -> Self {
        let twin = ModeContext::new(self.manager);
        twin.recall(self.mode());
        twin
    }

    /// Gives a copy the mode that its original was told. Nothing is written.
    #[inline]
    pub fn recall(&self, mode: bool) {
        self.mode.set(mode);
    }

    /// Tells it its mode. Where making the object is a write, the mode is written without a scope,
    /// until the object is entered, left or used as a decorator.
    pub fn tell(&self, mode: bool) {
        self.mode.set(mode);
        if self.manager.writes_when_made() {
            self.remember();
            self.write.write(self.manager.remembered(), mode);
        }
    }

    fn remember(&self) {
        // What counts is the mode without the scopes that were left elsewhere.
        thread::apply_remote_exits();
        self.previous.set(self.manager.remembered().is_on());
    }

    /// The mode holds on this thread from now on.
    #[inline]
    pub fn enter(&self) {
        self.write.revoke();
        self.remember();
        self.scope.enter_modes(self.manager.decision(self.mode()));
    }

    /// It no longer does; see [`Scope::leave`].
    #[inline]
    pub fn leave(&self) {
        self.leave_with(Scope::leave);
    }

    /// The same for who has more to do when a scope is left: `leave` leaves it.
    #[inline]
    pub fn leave_with<R>(&self, leave: impl FnOnce(&Scope) -> R) -> R {
        self.write.revoke();
        leave(&self.scope)
    }

    /// The object turns out to be a decorator: a write made with it was not meant.
    pub fn decorate(&self) {
        self.write.revoke();
    }

    /// Who enters and leaves.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Which mode it is for.
    pub fn manager(&self) -> ModeKind {
        self.manager
    }

    /// What it was told.
    #[inline]
    pub fn mode(&self) -> bool {
        self.mode.get()
    }

    /// What the mode was when the object was last told or entered; false before.
    pub fn previous(&self) -> bool {
        self.previous.get()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{is_grad_enabled, is_inference_mode_enabled};
    use super::*;

    #[test]
    fn one_object_may_be_entered_twice() {
        let manager = ModeContext::new(ModeKind::NoGrad);
        manager.enter();
        manager.enter();
        manager.leave();
        assert!(!is_grad_enabled());
        manager.leave();
        manager.leave();
        assert!(is_grad_enabled());
    }

    #[test]
    fn telling_writes_until_the_object_is_used_as_a_scope() {
        let manager = ModeContext::new(ModeKind::SetGradEnabled);
        manager.tell(false);
        assert!(!is_grad_enabled() && manager.previous());
        manager.enter();
        manager.leave();
        assert!(is_grad_enabled());
    }

    #[test]
    fn inference_mode_off_inside_inference_mode_is_ordinary() {
        let (on, off) =
            (ModeContext::new(ModeKind::InferenceMode), ModeContext::new(ModeKind::InferenceMode));
        off.tell(false);
        on.enter();
        off.enter();
        assert_eq!((is_grad_enabled(), is_inference_mode_enabled()), (true, false));
        off.leave();
        on.leave();
        assert_eq!((is_grad_enabled(), is_inference_mode_enabled()), (true, false));
    }

    #[test]
    fn an_object_shared_by_threads_is_left_by_each_for_itself() {
        let manager = ModeContext::new(ModeKind::NoGrad);
        manager.enter();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                manager.enter();
                assert!(!is_grad_enabled());
                manager.leave();
                assert!(is_grad_enabled());
            });
        });
        assert!(!is_grad_enabled());
        manager.leave();
        assert!(is_grad_enabled());
    }
}
