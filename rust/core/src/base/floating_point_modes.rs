//! The floating-point modes of a thread: how operations round, and whether they replace subnormal numbers by 0.

#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
use std::arch::asm;

/// The modes of a thread, which results depend on: the control register of the processor without the flags of exceptions. On
/// other processors than x86-64 and AArch64 this is nothing.
///
/// Rust assumes the modes of a new process. A program that changes them, as `torch.set_flush_denormal` does, changes them
/// for the calling thread. Threads that compute a part of an operation take those modes over, so that the result does not
/// depend on which thread computed which part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FloatingPointModes(Control);

impl FloatingPointModes {
    /// Returns the modes of the calling thread.
    pub fn current() -> Self {
        FloatingPointModes(read() & MODES)
    }

    /// Sets the modes of the calling thread.
    pub fn set(self) {
        let present = read();
        let control = (present & !MODES) | self.0;
        // To write the register takes longer than to read it.
        if control != present {
            write(control);
        }
    }
}

#[cfg(target_arch = "x86_64")]
type Control = u32;

/// Flush to zero, rounding, masks of exceptions, and denormals are zero. The lowest six bits are the flags of exceptions.
///
/// Source: Intel, "64 and IA-32 Architectures Software Developer's Manual", volume 1, section 10.2.3.
#[cfg(target_arch = "x86_64")]
const MODES: Control = 0xffc0;

#[cfg(target_arch = "x86_64")]
fn read() -> Control {
    let mut control: Control = 0;
    // SAFETY: stores the control register into a local variable.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut control, options(nostack, preserves_flags)) };
    control
}

#[cfg(target_arch = "x86_64")]
fn write(control: Control) {
    // SAFETY: the value is one that a thread of this process had, so no reserved bit is set.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const control, options(nostack, readonly, preserves_flags)) };
}

#[cfg(target_arch = "aarch64")]
type Control = u64;

/// All bits: the flags of exceptions are in another register.
///
/// Source: Arm, "Architecture Reference Manual for A-profile architecture", FPCR.
#[cfg(target_arch = "aarch64")]
const MODES: Control = u64::MAX;

#[cfg(target_arch = "aarch64")]
fn read() -> Control {
    let control: Control;
    // SAFETY: reads a register that every program may read.
    unsafe { asm!("mrs {}, fpcr", out(reg) control, options(nomem, nostack, preserves_flags)) };
    control
}

#[cfg(target_arch = "aarch64")]
fn write(control: Control) {
    // SAFETY: the value is one that a thread of this process had, so no reserved bit is set.
    unsafe { asm!("msr fpcr, {}", in(reg) control, options(nomem, nostack, preserves_flags)) };
}

#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
type Control = u32;

#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
const MODES: Control = 0;

#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
fn read() -> Control {
    0
}

#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
fn write(_control: Control) {}

#[cfg(all(test, any(target_arch = "aarch64", target_arch = "x86_64")))]
pub(super) mod tests {
    use std::hint::black_box;
    use std::thread;

    use super::*;

    #[cfg(target_arch = "x86_64")]
    const FLUSH_TO_ZERO: Control = 1 << 15;
    #[cfg(target_arch = "aarch64")]
    const FLUSH_TO_ZERO: Control = 1 << 24;

    impl FloatingPointModes {
        /// Returns these modes with results of 0 in place of subnormal ones.
        pub(in crate::base) fn flushing_to_zero(self) -> Self {
            FloatingPointModes(self.0 | FLUSH_TO_ZERO)
        }
    }

    /// Returns half of the smallest normal number, as the processor computes it.
    pub(in crate::base) fn subnormal() -> f32 {
        black_box(f32::MIN_POSITIVE) * black_box(0.5)
    }

    #[test]
    fn modes_of_a_thread_can_be_replaced_and_restored() {
        let here = FloatingPointModes::current();
        let seen = thread::spawn(move || {
            let before = FloatingPointModes::current();
            before.flushing_to_zero().set();
            let (during, flushed) = (FloatingPointModes::current(), subnormal());
            before.set();
            (before, during, flushed, subnormal())
        });
        let (before, during, flushed, after) = seen.join().unwrap();
        assert_eq!((before, during), (here, here.flushing_to_zero()));
        assert_eq!((flushed, after), (0.0, f32::MIN_POSITIVE / 2.0));
        assert_eq!(FloatingPointModes::current(), here, "the modes belong to a thread");
    }
}
