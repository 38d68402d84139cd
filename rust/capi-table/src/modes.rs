//! The entries for modes.

use interlock::autograd::{self, Mode};
use interlock_core::binding::modes::{enter_bits, write_bits};
use interlock_core::binding::thread::mode_word_address;
use interlock_sys::*;

use crate::arguments::flag_bit;
use crate::entry::{Failure, Result, run};
use crate::scopes::store_guard;

/// Refuses bits that no mode has, and modes outside of the mask.
fn check_bits(entry: &str, mask: u8, modes: u8) -> Result<()> {
    let known = Mode::ALL.into_iter().fold(0, |bits, mode| bits | mode as u8);
    for (argument, bits) in [("mask", mask), ("modes", modes)] {
        if bits & !known != 0 {
            let (name, given) = (format!("{entry}: {argument}"), format!("{bits:#x}"));
            return Err(Failure::argument(&name, "a combination of INTERLOCK_MODE_*", given));
        }
    }
    if modes & !mask != 0 {
        let (name, given) = (format!("{entry}: modes"), format!("{modes:#x}"));
        return Err(Failure::argument(&name, &format!("bits of the mask {mask:#x}"), given));
    }
    Ok(())
}

pub(crate) unsafe extern "C" fn word_address() -> *const u8 {
    mode_word_address()
}

pub(crate) unsafe extern "C" fn enter(
    mask: u8,
    modes: u8,
    guard: *mut InterlockGuard,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            check_bits("modes_enter", mask, modes)?;
            store_guard("modes_enter", guard, || Ok(enter_bits(mask, modes)))
        })
    }
}

pub(crate) unsafe extern "C" fn enter_inference(
    is_on: u8,
    guard: *mut InterlockGuard,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let is_on = flag_bit("inference_mode_enter: is_on", is_on)?;
            store_guard("inference_mode_enter", guard, || Ok(autograd::inference_mode(is_on)))
        })
    }
}

pub(crate) unsafe extern "C" fn write(mask: u8, modes: u8, error: *mut InterlockError) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            check_bits("modes_write", mask, modes)?;
            Ok(write_bits(mask, modes)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use interlock::autograd::Mode;
    use interlock_sys::*;

    #[test]
    fn bits_of_the_header_are_those_of_the_mode_word() {
        let bits = Mode::ALL.map(|mode| mode as u8);
        let header = [
            INTERLOCK_MODE_GRAD,
            INTERLOCK_MODE_INFERENCE,
            INTERLOCK_MODE_MULTITHREADING,
            INTERLOCK_MODE_VIEW_REPLAY,
            INTERLOCK_MODE_LAYOUT_POLICY,
            INTERLOCK_MODE_ANOMALY,
            INTERLOCK_MODE_ANOMALY_CHECK_NAN,
        ];
        assert_eq!(bits, header);
    }
}
