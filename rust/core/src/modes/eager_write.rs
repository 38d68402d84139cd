//! Writes of a mode without a scope that can be revoked.

use super::mode::{self, Mode};
use crate::Result;
use crate::base::sync::RelaxedU64;
use crate::thread::{self, LayerId, Masked, WrittenMode};

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
    /// Writes to the innermost active layer that sets the mode, else to a base.
    pub(super) fn write(&self, mode: Mode, on: bool) -> Result<()> {
        self.written.set(packed(mode, thread::write_mode(mode.name(), mode::single(mode, on))?));
        Ok(())
    }

    /// Restores the old value, once, if the layer or base is active on this thread. A write that cannot be revoked,
    /// because the state of the context cannot be stored, may be revoked later.
    #[inline]
    pub(super) fn revoke(&self, mode: Mode) -> Result<()> {
        if self.written.get() != 0 { self.restore(mode) } else { Ok(()) }
    }

    #[cold]
    fn restore(&self, mode: Mode) -> Result<()> {
        let word = self.written.take();
        if word == 0 {
            return Ok(());
        }
        let (mask, written) = unpacked(word);
        let restored = thread::restore_mode(mode.name(), mask, written);
        if restored.is_err() {
            self.written.set(word);
        }
        restored
    }
}

/// Layer, mask of the mode and its old value in one word, never 0 because the mask is not.
fn packed(mode: Mode, written: WrittenMode) -> u64 {
    let old = u64::from(written.old.mask != 0) << 8 | u64::from(written.old.value != 0) << 9;
    written.layer.number() << 10 | old | mode as u64
}

fn unpacked(word: u64) -> (u8, WrittenMode) {
    let mask = word.to_le_bytes()[0];
    let was_set = if word & 1 << 8 != 0 { mask } else { 0 };
    let value = if word & 1 << 9 != 0 { mask } else { 0 };
    (mask, WrittenMode { layer: LayerId::from_number(word >> 10), old: Masked::new(was_set, value) })
}

#[cfg(test)]
mod tests {
    use super::super::{is_grad_enabled, no_grad};
    use super::*;

    #[test]
    fn revoke_restores_the_old_value_once() {
        let write = EagerWrite::default();
        write.write(Mode::Grad, false).unwrap();
        assert!(!is_grad_enabled());
        write.revoke(Mode::Grad).unwrap();
        assert!(is_grad_enabled());
        EagerWrite::default().write(Mode::Grad, false).unwrap();
        write.revoke(Mode::Grad).unwrap();
        assert!(!is_grad_enabled());
        EagerWrite::default().write(Mode::Grad, true).unwrap();
    }

    #[test]
    fn revoke_of_a_write_to_a_removed_layer_changes_nothing() {
        let write = EagerWrite::default();
        {
            let _guard = no_grad();
            write.write(Mode::Grad, true).unwrap();
            assert!(is_grad_enabled());
        }
        let _guard = no_grad();
        write.revoke(Mode::Grad).unwrap();
        assert!(!is_grad_enabled());
    }

    #[test]
    fn revoke_on_another_thread_changes_nothing() {
        let write = EagerWrite::default();
        write.write(Mode::Grad, false).unwrap();
        std::thread::scope(|scope| scope.spawn(|| write.revoke(Mode::Grad).unwrap()).join().unwrap());
        assert!(!is_grad_enabled());
        EagerWrite::default().write(Mode::Grad, true).unwrap();
    }

    #[test]
    fn unpacked_returns_what_packed_stored() {
        let (inference, none) = (Mode::Inference as u8, Masked::default());
        for layer in [1, 1 << 40].map(LayerId::from_number) {
            for old in [none, Masked::new(inference, 0), Masked::new(inference, inference)] {
                let written = WrittenMode { layer, old };
                assert_eq!(unpacked(packed(Mode::Inference, written)), (inference, written));
            }
        }
    }
}
