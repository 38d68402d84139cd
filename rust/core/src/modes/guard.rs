//! Guards of modes: the mode lasts until the guard is dropped.

use super::mode::{self, Mode};
use crate::Result;
use crate::thread::{self, Masked, ScopeBarrier, ScopeGuard, mode_bits};

/// Disables the recording of gradients until the guard is dropped.
#[inline]
pub fn no_grad() -> ScopeGuard {
    set_grad_enabled(false)
}

/// Enables the recording of gradients until the guard is dropped.
#[inline]
pub fn enable_grad() -> ScopeGuard {
    set_grad_enabled(true)
}

/// Enables or disables the recording of gradients until the guard is dropped.
#[inline]
pub fn set_grad_enabled(enabled: bool) -> ScopeGuard {
    ScopeGuard::from_modes(mode::single(Mode::Grad, enabled))
}

/// Enables inference mode, or with `false` disables it inside such a block, until the guard is dropped.
#[inline]
pub fn inference_mode(enabled: bool) -> ScopeGuard {
    ScopeGuard::from_modes(mode::inference(enabled))
}

/// Returns a barrier for code that may leave scopes open or write modes: they end when it is dropped.
#[inline]
pub fn scope_barrier() -> ScopeBarrier {
    ScopeBarrier::from_modes(Masked::new(mode_bits::ALL, thread::mode_word() & mode_bits::ALL))
}

/// Sets the modes of `mask` to their bits in `modes` until the guard is dropped. The bits are those of [`Mode`].
pub fn enter_bits(mask: u8, modes: u8) -> ScopeGuard {
    ScopeGuard::from_modes(Masked::new(mask & mode_bits::ALL, modes & mask & mode_bits::ALL))
}

/// Writes the modes of `mask` without a scope. The bits are those of [`Mode`].
pub fn write_bits(mask: u8, modes: u8) -> Result<()> {
    for mode in Mode::ALL {
        let bit = mode as u8;
        if mask & bit != 0 {
            thread::write_mode(mode.name(), mode::single(mode, modes & bit != 0))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{ModeContext, ModeKind, is_grad_enabled, is_inference_mode_enabled};
    use super::*;
    use crate::flags::{FlagScope, InputValue, Node, find, flags};
    use crate::thread::ThreadState;
    use crate::thread::testing::run_at_thread_end;

    #[test]
    fn guards_nest_and_restore_the_base() {
        assert!(is_grad_enabled() && !is_inference_mode_enabled());
        {
            let _inference = inference_mode(true);
            assert!(!is_grad_enabled() && is_inference_mode_enabled());
            {
                let _grad = enable_grad();
                assert!(is_grad_enabled() && is_inference_mode_enabled());
            }
            assert!(!is_grad_enabled());
        }
        assert!(is_grad_enabled() && !is_inference_mode_enabled());
    }

    #[test]
    fn guards_dropped_out_of_order_restore_the_base() {
        let outer = no_grad();
        let inner = enable_grad();
        drop(outer);
        assert!(is_grad_enabled());
        let innermost = no_grad();
        drop(inner);
        assert!(!is_grad_enabled());
        drop(innermost);
        assert!(is_grad_enabled());
    }

    #[test]
    fn scope_barrier_ends_what_is_left_open_above_it_and_nothing_below() {
        let below = ModeContext::new(ModeKind::NoGrad);
        below.enter();
        let barrier = scope_barrier();
        let (grad, flags) = (ModeContext::new(ModeKind::EnableGrad), two_flags());
        grad.enter();
        flags.enter();
        assert_eq!(seen(), (true, false, "ieee"));
        drop(barrier);
        assert_eq!(seen(), (false, true, "tf32"));
        // Scopes that have ended do nothing when they exit.
        grad.exit();
        assert!(!is_grad_enabled());
        below.exit();
        assert!(is_grad_enabled());
    }

    #[test]
    fn scope_barrier_undoes_writes_without_scopes() {
        let barrier = scope_barrier();
        write_bits(mode_bits::GRAD, 0).unwrap();
        assert!(!is_grad_enabled());
        drop(barrier);
        assert!(is_grad_enabled());
    }

    #[test]
    fn inference_mode_does_not_affect_another_thread() {
        let _guard = inference_mode(true);
        let seen = std::thread::spawn(|| (is_grad_enabled(), is_inference_mode_enabled())).join().unwrap();
        assert_eq!(seen, (true, false));
    }

    /// Returns the grad mode, a flag with its own word and a node of the precision tree.
    fn seen() -> (bool, bool, &'static str) {
        (is_grad_enabled(), flags::CUDNN_ENABLED.get(), Node::CudaConv.get().name())
    }

    fn two_flags() -> FlagScope {
        let (enabled, precision) = ("cudnn.enabled", "cudnn.conv.fp32_precision");
        let given = [(enabled, InputValue::Bool(false)), (precision, InputValue::Text("ieee".into()))];
        FlagScope::new(given.map(|(name, value)| (find(name).unwrap(), value)), None).unwrap()
    }

    #[test]
    fn guard_in_a_thread_local_may_outlive_the_layers() {
        let without_grad = {
            let _guard = no_grad();
            ThreadState::capture()
        };
        for flags_are_scoped_elsewhere in [false, true] {
            let _here = flags_are_scoped_elsewhere.then(|| two_flags().guard());
            let state = without_grad.clone();
            let live = move || {
                state.install().unwrap();
                two_flags().enter();
                let guard = no_grad();
                assert_eq!(seen(), (false, false, "ieee"));
                guard
            };
            let end = |guard| {
                let at_first = seen();
                drop(guard);
                let after_a_leave = seen();
                let written = ModeContext::new(ModeKind::SetGradEnabled).set(true);
                assert!(matches!(written, Err(crate::Error::ThreadEnded { .. })), "{written:?}");
                let after_a_write = seen();
                let _entered = (enable_grad(), two_flags().guard());
                [at_first, after_a_leave, after_a_write, seen()]
            };
            assert_eq!(run_at_thread_end(live, end), [(false, true, "tf32"); 4]);
        }
    }

    #[test]
    fn mode_context_entered_by_an_ending_thread_can_still_be_exited() {
        let object = Arc::new(ModeContext::new(ModeKind::NoGrad));
        object.enter();
        let entered_again = object.clone();
        run_at_thread_end(|| drop(no_grad()), move |()| entered_again.enter());
        std::thread::scope(|threads| threads.spawn(|| object.exit()).join().unwrap());
        drop(no_grad());
        assert!(is_grad_enabled());
    }
}
