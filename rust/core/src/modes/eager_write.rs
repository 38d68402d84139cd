//! Writes of a mode without a scope that can be revoked.

use super::mode::{self, Mode};
use crate::base::sync::RelaxedU64;
use crate::thread::{self, LayerId, Masked};

/// The last write of one object, until it is revoked.
///
/// `set_grad_enabled(False)` writes in its constructor. If the object is then used as a context manager or a decorator,
/// that write was not intended. The id of the layer or base that was written is stored with the old value, so that one
/// that no longer exists, or belongs to another thread, is not changed.
#[derive(Debug, Default)]
pub(super) struct EagerWrite {
    /// [`packed`], or 0 if there is nothing to revoke.
    written: RelaxedU64,
}

impl EagerWrite {
    /// Writes to the innermost active layer that decides the mode, else to the base.
    pub(super) fn write(&self, mode: Mode, on: bool) {
        let Some((layer, old)) = thread::write_mode(mode::single(mode, on)) else { return };
        self.written.set(packed(layer, old));
    }

    /// Restores the old value, once, if the layer or base is active on this thread.
    #[inline]
    pub(super) fn revoke(&self) {
        if self.written.get() != 0 {
            self.restore();
        }
    }

    #[cold]
    fn restore(&self) {
        let written = self.written.take();
        if written != 0 {
            let (layer, old) = unpacked(written);
            thread::restore_mode(layer, old);
        }
    }
}

/// Layer, mask and old value in one word, never 0 because the mask is not.
fn packed(layer: LayerId, old: Masked<u8>) -> u64 {
    layer.number() << 16 | u64::from(old.mask) << 8 | u64::from(old.value)
}

fn unpacked(word: u64) -> (LayerId, Masked<u8>) {
    let [value, mask, ..] = word.to_le_bytes();
    (LayerId::of_number(word >> 16), Masked::new(mask, value))
}

#[cfg(test)]
mod tests {
    use super::super::{is_grad_enabled, no_grad};
    use super::*;

    #[test]
    fn revoke_restores_the_old_value_once() {
        let write = EagerWrite::default();
        write.write(Mode::Grad, false);
        assert!(!is_grad_enabled());
        write.revoke();
        assert!(is_grad_enabled());
        EagerWrite::default().write(Mode::Grad, false);
        write.revoke();
        assert!(!is_grad_enabled());
        EagerWrite::default().write(Mode::Grad, true);
    }

    #[test]
    fn revoke_of_a_write_to_a_removed_layer_changes_nothing() {
        let write = EagerWrite::default();
        {
            let _guard = no_grad();
            write.write(Mode::Grad, true);
            assert!(is_grad_enabled());
        }
        let _guard = no_grad();
        write.revoke();
        assert!(!is_grad_enabled());
    }

    #[test]
    fn revoke_on_another_thread_changes_nothing() {
        let write = EagerWrite::default();
        write.write(Mode::Grad, false);
        std::thread::scope(|scope| scope.spawn(|| write.revoke()).join().unwrap());
        assert!(!is_grad_enabled());
        EagerWrite::default().write(Mode::Grad, true);
    }

    #[test]
    fn unpacked_returns_what_packed_stored() {
        for layer in [LayerId::of_number(1), LayerId::of_number(1 << 40)] {
            let old = Masked::new(0b10, 0b10);
            assert_eq!(unpacked(packed(layer, old)), (layer, old));
        }
    }
}
