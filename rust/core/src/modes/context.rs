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
/// context.exit();
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
    fn mode(self) -> Mode {
        match self {
            ModeKind::NoGrad | ModeKind::EnableGrad | ModeKind::SetGradEnabled => Mode::Grad,
            ModeKind::InferenceMode => Mode::Inference,
            ModeKind::SetMultithreadingEnabled => Mode::Multithreading,
            ModeKind::ForceOriginalViewTracking => Mode::ViewReplay,
            ModeKind::EnforceGradLayoutPolicy => Mode::LayoutPolicy,
        }
    }

    /// Whether making the object is a write without a scope.
    pub const fn writes_eagerly(self) -> bool {
        !matches!(self, ModeKind::NoGrad | ModeKind::EnableGrad | ModeKind::InferenceMode)
    }

    /// Whether the object is told what to do.
    pub const fn accepts_mode(self) -> bool {
        !matches!(self, ModeKind::NoGrad | ModeKind::EnableGrad)
    }

    #[inline]
    fn decision(self, on: bool) -> Masked<u8> {
        match self {
            ModeKind::NoGrad => mode::single(Mode::Grad, false),
            ModeKind::EnableGrad => mode::single(Mode::Grad, true),
            ModeKind::InferenceMode => mode::inference(on),
            _ => mode::single(self.mode(), on),
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
/// context.exit();
/// assert!(is_grad_enabled());
/// ```
#[derive(Debug)]
pub struct ModeContext {
    kind: ModeKind,
    /// What it was told.
    mode: RelaxedBool,
    /// What the mode was when the object was last told or entered.
    previous: RelaxedBool,
    write: EagerWrite,
    scope: Scope,
}

impl ModeContext {
    /// An object that has not been told anything; its mode is on.
    pub fn new(kind: ModeKind) -> Self {
        ModeContext {
            kind,
            mode: RelaxedBool::new(true),
            previous: RelaxedBool::new(false),
            write: EagerWrite::default(),
            scope: Scope::default(),
        }
    }

    /// An object that was told the same and has been entered nowhere. Nothing is written.
    pub fn clone_unentered(&self) -> Self {
        let clone_unentered = ModeContext::new(self.kind);
        clone_unentered.restore(self.mode());
        clone_unentered
    }

    /// Gives a copy the mode that its original was told. Nothing is written.
    #[inline]
    pub fn restore(&self, mode: bool) {
        self.mode.set(mode);
    }

    /// Tells it its mode. Where making the object is a write, the mode is written without a scope,
    /// until the object is entered, left or used as a decorator.
    pub fn set(&self, mode: bool) {
        self.mode.set(mode);
        if self.kind.writes_eagerly() {
            self.save_previous();
            self.write.write(self.kind.mode(), mode);
        }
    }

    fn save_previous(&self) {
        // What counts is the mode without the scopes that were left elsewhere.
        thread::apply_remote_exits();
        self.previous.set(self.kind.mode().is_on());
    }

    /// The mode holds on this thread from now on.
    #[inline]
    pub fn enter(&self) {
        self.write.revoke();
        self.save_previous();
        self.scope.enter_modes(self.kind.decision(self.mode()));
    }

    /// It no longer does; see [`Scope::exit`].
    #[inline]
    pub fn exit(&self) {
        self.exit_with(Scope::exit);
    }

    /// The same for who has more to do when a scope is left: `leave` leaves it.
    #[inline]
    pub fn exit_with<R>(&self, exit: impl FnOnce(&Scope) -> R) -> R {
        self.write.revoke();
        exit(&self.scope)
    }

    /// The object turns out to be a decorator: a write made with it was not meant.
    pub fn revoke_write(&self) {
        self.write.revoke();
    }

    /// Who enters and leaves.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Which mode it is for.
    pub fn kind(&self) -> ModeKind {
        self.kind
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
        let context = ModeContext::new(ModeKind::NoGrad);
        context.enter();
        context.enter();
        context.exit();
        assert!(!is_grad_enabled());
        context.exit();
        context.exit();
        assert!(is_grad_enabled());
    }

    #[test]
    fn telling_writes_until_the_object_is_used_as_a_scope() {
        let context = ModeContext::new(ModeKind::SetGradEnabled);
        context.set(false);
        assert!(!is_grad_enabled() && context.previous());
        context.enter();
        context.exit();
        assert!(is_grad_enabled());
    }

    #[test]
    fn inference_mode_off_inside_inference_mode_is_ordinary() {
        let (on, off) =
            (ModeContext::new(ModeKind::InferenceMode), ModeContext::new(ModeKind::InferenceMode));
        off.set(false);
        on.enter();
        off.enter();
        assert_eq!((is_grad_enabled(), is_inference_mode_enabled()), (true, false));
        off.exit();
        on.exit();
        assert_eq!((is_grad_enabled(), is_inference_mode_enabled()), (true, false));
    }

    #[test]
    fn an_object_shared_by_threads_is_left_by_each_for_itself() {
        let context = ModeContext::new(ModeKind::NoGrad);
        context.enter();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                context.enter();
                assert!(!is_grad_enabled());
                context.exit();
                assert!(is_grad_enabled());
            });
        });
        assert!(!is_grad_enabled());
        context.exit();
        assert!(is_grad_enabled());
    }
}
