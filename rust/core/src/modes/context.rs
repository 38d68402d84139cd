//! Modes that are entered and exited by calls, as a context manager of another language does.

use super::eager_write::EagerWrite;
use super::mode::{self, Mode};
use crate::Result;
use crate::base::sync::RelaxedBool;
use crate::thread::{self, Masked, PresentContext, Scope};

/// The mode that a [`ModeContext`] sets, under PyTorch's name. A kind that writes eagerly changes the mode already in
/// [`ModeContext::set`], before it is entered.
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
#[non_exhaustive]
pub enum ModeKind {
    /// `no_grad`: gradients are not recorded. Accepts no argument.
    NoGrad,
    /// `enable_grad`: gradients are recorded. Accepts no argument.
    EnableGrad,
    /// `set_grad_enabled(mode)`: whether gradients are recorded. Writes eagerly.
    SetGradEnabled,
    /// `inference_mode(mode)`: whether new tensors are inference tensors. Sets every mode but those of anomaly
    /// detection.
    InferenceMode,
    /// `set_multithreading_enabled(mode)`: whether a backward pass may use several threads. Writes eagerly.
    SetMultithreadingEnabled,
    /// `_force_original_view_tracking(mode)`: whether views are tracked by replay. Writes eagerly.
    ForceOriginalViewTracking,
    /// `enforce_grad_layout_policy(enable)`: whether an accumulated gradient is converted to the layout of its tensor.
    /// Writes eagerly.
    EnforceGradLayoutPolicy,
    /// The `mode` of `set_detect_anomaly`: whether failing nodes report the operation that created them. Writes
    /// eagerly.
    DetectAnomaly,
    /// The `check_nan` of `set_detect_anomaly`: whether anomaly mode checks gradients for NaN. Writes eagerly.
    AnomalyCheckNan,
}

impl ModeKind {
    /// Returns the mode whose previous value an object of this kind saves.
    fn mode(self) -> Mode {
        match self {
            ModeKind::NoGrad | ModeKind::EnableGrad | ModeKind::SetGradEnabled => Mode::Grad,
            ModeKind::InferenceMode => Mode::Inference,
            ModeKind::SetMultithreadingEnabled => Mode::Multithreading,
            ModeKind::ForceOriginalViewTracking => Mode::ViewReplay,
            ModeKind::EnforceGradLayoutPolicy => Mode::LayoutPolicy,
            ModeKind::DetectAnomaly => Mode::Anomaly,
            ModeKind::AnomalyCheckNan => Mode::AnomalyCheckNan,
        }
    }

    /// Returns whether [`ModeContext::set`] writes the mode without a scope.
    pub const fn writes_eagerly(self) -> bool {
        !matches!(self, ModeKind::NoGrad | ModeKind::EnableGrad | ModeKind::InferenceMode)
    }

    /// Returns whether the constructor accepts a value for the mode.
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
    /// The value to set.
    mode: RelaxedBool,
    /// The value of the mode before the last `set` or `enter`.
    previous: RelaxedBool,
    write: EagerWrite,
    scope: Scope,
}

impl ModeContext {
    /// Creates an object whose value is `true`. Does not write the mode.
    pub fn new(kind: ModeKind) -> Self {
        ModeContext::from_scope(kind, Scope::default())
    }

    /// Creates an object as [`new`](ModeContext::new) does, for a binding whose interpreter admits one thread at a
    /// time: an enter and an exit then acquire no lock.
    ///
    /// # Safety
    /// No two threads use the object at the same time.
    #[inline]
    pub(crate) unsafe fn new_serialized(kind: ModeKind) -> Self {
        // SAFETY: guaranteed by the caller.
        ModeContext::from_scope(kind, unsafe { Scope::new_serialized() })
    }

    #[inline]
    fn from_scope(kind: ModeKind, scope: Scope) -> Self {
        ModeContext {
            kind,
            mode: RelaxedBool::new(true),
            previous: RelaxedBool::new(false),
            write: EagerWrite::default(),
            scope,
        }
    }

    /// Returns a new object of the same kind and value that is not open. Does not write the mode.
    pub fn clone_unentered(&self) -> Self {
        let clone = ModeContext::new(self.kind);
        clone.restore(self.mode());
        clone
    }

    /// Sets the value of an unpickled or copied object. Does not write the mode.
    #[inline]
    pub fn restore(&self, mode: bool) {
        self.mode.set(mode);
    }

    /// Sets the value. For a kind that [writes eagerly](ModeKind::writes_eagerly), also writes the mode without a
    /// scope, until the object is entered, exited or used as a decorator.
    ///
    /// # Errors
    /// Fails if a scope of a context that is not current sets the mode, or the layers of the thread are dropped because it
    /// ends.
    pub fn set(&self, mode: bool) -> Result<()> {
        self.mode.set(mode);
        if self.kind.writes_eagerly() {
            self.save_previous();
            self.write.write(self.kind.mode(), mode)?;
        }
        Ok(())
    }

    fn save_previous(&self) {
        // The previous value must not include scopes that were exited elsewhere.
        thread::sync();
        self.previous.set(self.kind.mode().is_on());
    }

    /// Enters the mode on this thread: pushes a layer that sets it. Has no effect if [`try_enter`] fails.
    ///
    /// [`try_enter`]: ModeContext::try_enter
    #[inline]
    pub fn enter(&self) {
        let _entered = self.try_enter();
    }

    /// Enters the mode as [`enter`](ModeContext::enter) does.
    ///
    /// # Errors
    /// Fails if the state of the current context cannot be stored, or the layers of the thread are dropped because it ends.
    #[inline]
    pub fn try_enter(&self) -> Result<()> {
        self.try_enter_present(PresentContext::at_hand)
    }

    /// Enters as [`try_enter`](ModeContext::try_enter) does, for a caller that knows the context.
    #[inline]
    pub(crate) fn try_enter_present(&self, context: impl FnOnce() -> Option<PresentContext>) -> Result<()> {
        // This may change the state of the context.
        self.write.revoke(self.kind.mode())?;
        let save_previous = |word| self.previous.set(self.kind.mode().is_on_in(word));
        self.scope.enter_modes(context(), self.kind.decision(self.mode()), save_previous)
    }

    /// Exits the mode: removes the layer that this object pushed last. See [`Scope::exit`].
    #[inline]
    pub fn exit(&self) {
        self.exit_with(Scope::exit);
    }

    /// Like `exit`, but calls `exit` to exit the scope, for a caller that has more to do.
    #[inline]
    pub fn exit_with<R>(&self, exit: impl FnOnce(&Scope) -> R) -> R {
        // The layer is removed in any case, and the write may be revoked later.
        let _revoked = self.write.revoke(self.kind.mode());
        exit(&self.scope)
    }

    /// Revokes the eager write, because the object is used as a decorator.
    ///
    /// # Errors
    /// Fails if the state of the current context cannot be stored, or the layers of the thread are dropped because it ends.
    pub fn revoke_write(&self) -> Result<()> {
        self.write.revoke(self.kind.mode())
    }

    /// Returns the scope that enters and exits.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Returns the kind.
    pub fn kind(&self) -> ModeKind {
        self.kind
    }

    /// Returns the value to set.
    #[inline]
    pub fn mode(&self) -> bool {
        self.mode.get()
    }

    /// Returns the value of the mode before the last `set` or `enter`; false before the first.
    pub fn previous(&self) -> bool {
        self.previous.get()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{is_grad_enabled, is_inference_mode_enabled};
    use super::*;

    #[test]
    fn mode_context_may_be_entered_twice() {
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
    fn set_writes_until_the_context_is_entered() {
        let context = ModeContext::new(ModeKind::SetGradEnabled);
        context.set(false).unwrap();
        assert!(!is_grad_enabled() && context.previous());
        context.enter();
        context.exit();
        assert!(is_grad_enabled());
    }

    #[test]
    fn inference_mode_off_inside_inference_mode_restores_grad_mode() {
        let (on, off) =
            (ModeContext::new(ModeKind::InferenceMode), ModeContext::new(ModeKind::InferenceMode));
        off.set(false).unwrap();
        on.enter();
        off.enter();
        assert_eq!((is_grad_enabled(), is_inference_mode_enabled()), (true, false));
        off.exit();
        on.exit();
        assert_eq!((is_grad_enabled(), is_inference_mode_enabled()), (true, false));
    }

    #[test]
    fn mode_context_shared_by_threads_is_exited_by_each() {
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
