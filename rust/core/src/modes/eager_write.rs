//! Writing a mode without a scope, and taking that write back.

use super::mode::{self, Mode};
use crate::base::sync::RelaxedU64;
use crate::thread::{self, LayerId, Masked};

/// The last write of one object, until it is taken back.
///
/// `set_grad_enabled(False)` writes when it is made; where the object then turns out to be a context
/// manager or a decorator, that write was not meant. The write is remembered with the place it went
/// to, so that a place which has ended since, or is another thread's, is left alone.
#[derive(Debug, Default)]
pub(super) struct EagerWrite {
    /// [`packed`], or 0 where there is nothing to take back.
    written: RelaxedU64,
}

impl EagerWrite {
    /// Writes where the innermost layer in force decides the mode, else to the base.
    pub(super) fn write(&self, mode: Mode, on: bool) {
        let Some((place, old)) = thread::write_mode(mode::single(mode, on)) else { return };
        self.written.set(packed(place, old));
    }

    /// Gives the place its old value again, once, if it is among those in force on this thread.
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
            let (place, old) = unpacked(written);
            thread::restore_mode(place, old);
        }
    }
}

/// Place, mask and old value in one word, never 0 because a mask never is.
fn packed(place: LayerId, old: Masked<u8>) -> u64 {
    place.number() << 16 | u64::from(old.mask) << 8 | u64::from(old.value)
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
    fn a_write_is_taken_back_once() {
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
    fn a_write_into_a_layer_that_ended_is_not_taken_back_elsewhere() {
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
    fn another_thread_cannot_take_it_back() {
        let write = EagerWrite::default();
        write.write(Mode::Grad, false);
        std::thread::scope(|scope| scope.spawn(|| write.revoke()).join().unwrap());
        assert!(!is_grad_enabled());
        EagerWrite::default().write(Mode::Grad, true);
    }

    #[test]
    fn packing_keeps_everything() {
        for place in [LayerId::of_number(1), LayerId::of_number(1 << 40)] {
            let old = Masked::new(0b10, 0b10);
            assert_eq!(unpacked(packed(place, old)), (place, old));
        }
    }
}
