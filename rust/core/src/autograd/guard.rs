//! Modes for a block of Rust: each function returns a guard, and the mode lasts until it is dropped.

use super::mode::{self, Mode};
use crate::state::ScopeGuard;

/// Gradients are not recorded.
#[inline]
pub fn no_grad() -> ScopeGuard {
    set_grad_enabled(false)
}

/// Gradients are recorded.
#[inline]
pub fn enable_grad() -> ScopeGuard {
    set_grad_enabled(true)
}

/// Gradients are recorded or not.
#[inline]
pub fn set_grad_enabled(enabled: bool) -> ScopeGuard {
    ScopeGuard::of_modes(mode::single(Mode::Grad, enabled))
}

/// Tensors made here are inference tensors (`true`), or ordinary again inside such a block (`false`).
#[inline]
pub fn inference_mode(enabled: bool) -> ScopeGuard {
    ScopeGuard::of_modes(mode::inference(enabled))
}

#[cfg(test)]
mod tests {
    use super::super::{is_grad_enabled, is_inference_mode_enabled};
    use super::*;

    #[test]
    fn guards_nest_and_bring_the_base_back() {
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
    fn guards_dropped_out_of_order_bring_the_base_back() {
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
    fn another_thread_starts_from_the_defaults() {
        let _guard = inference_mode(true);
        let seen = std::thread::spawn(|| (is_grad_enabled(), is_inference_mode_enabled())).join().unwrap();
        assert_eq!(seen, (true, false));
    }

    #[test]
    fn a_guard_in_a_thread_local_may_outlive_the_layers() {
        use std::cell::RefCell;
        thread_local! {
            static KEPT: RefCell<Option<ScopeGuard>> = const { RefCell::new(None) };
        }
        let ended = std::thread::spawn(|| {
            KEPT.with(|kept| *kept.borrow_mut() = Some(no_grad()));
            is_grad_enabled()
        });
        assert!(!ended.join().unwrap());
    }
}
