//! The entries for records of calls.

use std::ffi::c_void;

use interlock::base::quote::one_line;
use interlock::dispatch::internal::{self, ForeignRecord, intern_name};
use interlock::dispatch::{Call, Considered, Outcome, Reason, Recording, Rounding, Sums};
use interlock_capi::sys::*;

use crate::arguments::{
    Handle, NO_TEXT, Sized32, array, check_zero, flag_bit, optional_text, read_sized, static_text, text,
    text_view,
};
use crate::entry::{Failure, Result, run, run_infallible};
use crate::scopes::store_guard;

// SAFETY: `new` alone makes these handles.
unsafe impl Handle for InterlockRecording {
    type Target = Recording;
}

// SAFETY: `size` is the first field, and the rest is plain data.
unsafe impl Sized32 for InterlockCall {
    const FIRST_SIZE: usize = 80;
}

pub(crate) unsafe extern "C" fn is_recorded() -> u8 {
    u8::from(internal::is_recorded())
}

pub(crate) unsafe extern "C" fn note(call: *const InterlockCall, error: *mut InterlockError) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let call = read_sized("dispatch_note: call", call)?;
            check_zero("dispatch_note: call.reserved", call.reserved)?;
            check_zero("dispatch_note: call.padding", call.padding)?;
            let considered = array("dispatch_note: call.considered", call.considered, call.considered_count)?;
            let considered: Vec<Considered> =
                considered.iter().map(|one| considered_from_c(one)).collect::<Result<_>>()?;
            let operation = intern_name(&one_line(text("dispatch_note: call.operation", call.operation)?));
            let arguments =
                optional_text("dispatch_note: call.arguments", call.arguments)?.unwrap_or_default();
            let composite = optional_text("dispatch_note: call.composite", call.composite)?
                .map(|name| intern_name(&one_line(name)));
            let notes = array("dispatch_note: call.notes", call.notes, call.notes_count)?;
            let note =
                |note: &InterlockText| Ok(one_line(text("dispatch_note: call.notes", *note)?).into_owned());
            internal::note_foreign(ForeignRecord {
                operation,
                arguments: one_line(arguments).into_owned(),
                composite,
                inputs: rounding_from_c(call.rounding)?,
                sums: sums_from_c(call.sums)?,
                notes: notes.iter().map(note).collect::<Result<_>>()?,
                is_model: flag_bit("dispatch_note: call.is_model", call.is_model)?,
                considered,
            });
            Ok(())
        })
    }
}

/// # Safety
/// The texts are valid.
unsafe fn considered_from_c(considered: &InterlockConsidered) -> Result<Considered> {
    check_zero("dispatch_note: considered.reserved", considered.reserved)?;
    // SAFETY: guaranteed by the caller.
    let (kernel, reason) = unsafe {
        (
            text("dispatch_note: considered.kernel", considered.kernel)?,
            optional_text("dispatch_note: considered.reason", considered.reason)?.unwrap_or_default(),
        )
    };
    let (kernel, reason) = (one_line(kernel), one_line(reason));
    let outcome = match considered.outcome {
        INTERLOCK_KERNEL_CHOSEN => Outcome::Chosen,
        INTERLOCK_KERNEL_BEHIND => Outcome::Behind(intern_name(&reason)),
        INTERLOCK_KERNEL_REFUSED => Outcome::Refused(Reason::from(reason.into_owned())),
        other => {
            let allowed = "one of INTERLOCK_KERNEL_*";
            return Err(Failure::argument("dispatch_note: considered.outcome", allowed, other));
        }
    };
    Ok(Considered { kernel: intern_name(&kernel), outcome })
}

fn rounding_from_c(rounding: u32) -> Result<Rounding> {
    match rounding {
        INTERLOCK_ROUNDING_NONE => Ok(Rounding::None),
        INTERLOCK_ROUNDING_TF32 => Ok(Rounding::Tf32),
        INTERLOCK_ROUNDING_BF16 => Ok(Rounding::Bf16),
        INTERLOCK_ROUNDING_BFX9 => Ok(Rounding::Bfx9),
        other => Err(Failure::argument("dispatch_note: call.rounding", "one of INTERLOCK_ROUNDING_*", other)),
    }
}

fn rounding_to_c(rounding: Rounding) -> u32 {
    match rounding {
        Rounding::None => INTERLOCK_ROUNDING_NONE,
        Rounding::Tf32 => INTERLOCK_ROUNDING_TF32,
        Rounding::Bf16 => INTERLOCK_ROUNDING_BF16,
        Rounding::Bfx9 => INTERLOCK_ROUNDING_BFX9,
    }
}

fn sums_from_c(sums: u32) -> Result<Sums> {
    match sums {
        INTERLOCK_SUMS_FLOAT32 => Ok(Sums::F32),
        INTERLOCK_SUMS_FLOAT16 => Ok(Sums::F16),
        INTERLOCK_SUMS_FLOAT16_HALVES => Ok(Sums::F16Halves),
        INTERLOCK_SUMS_BFLOAT16_HALVES => Ok(Sums::Bf16Halves),
        other => Err(Failure::argument("dispatch_note: call.sums", "one of INTERLOCK_SUMS_*", other)),
    }
}

fn sums_to_c(sums: Sums) -> u32 {
    match sums {
        Sums::F32 => INTERLOCK_SUMS_FLOAT32,
        Sums::F16 => INTERLOCK_SUMS_FLOAT16,
        Sums::F16Halves => INTERLOCK_SUMS_FLOAT16_HALVES,
        Sums::Bf16Halves => INTERLOCK_SUMS_BFLOAT16_HALVES,
    }
}

pub(crate) unsafe extern "C" fn new(
    recording: *mut *mut InterlockRecording,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe { run(error, || Handle::store("recording_new: recording", recording, Recording::default())) }
}

pub(crate) unsafe extern "C" fn enter(
    recording: *const InterlockRecording,
    guard: *mut InterlockGuard,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            store_guard("recording_enter", guard, || {
                Ok(Handle::target("recording_enter: recording", recording)?.guard())
            })
        })
    }
}

pub(crate) unsafe extern "C" fn visit(
    recording: *const InterlockRecording,
    visitor: InterlockVisitor,
    data: *mut c_void,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let recording = Handle::target("recording_visit: recording", recording)?;
            let visitor =
                visitor.ok_or_else(|| Failure::argument("recording_visit: visitor", "a function", "null"))?;
            recording.calls().iter().for_each(|call| show(call, |call| visitor(data, call)));
            Ok(())
        })
    }
}

/// Calls `receive` with a call as C reads it.
fn show(call: &Call, receive: impl FnOnce(*const InterlockCall)) {
    // The texts that the views below refer to.
    let reasons: Vec<String> = call
        .considered
        .iter()
        .map(|one| match &one.outcome {
            Outcome::Chosen => String::new(),
            Outcome::Behind(kernel) => (*kernel).to_owned(),
            Outcome::Refused(reason) => reason.to_string(),
        })
        .collect();
    let view = |(one, reason): (&Considered, &String)| InterlockConsidered {
        kernel: static_text(one.kernel),
        reason: text_view(reason),
        outcome: match one.outcome {
            Outcome::Chosen => INTERLOCK_KERNEL_CHOSEN,
            Outcome::Behind(_) => INTERLOCK_KERNEL_BEHIND,
            Outcome::Refused(_) => INTERLOCK_KERNEL_REFUSED,
        },
        reserved: 0,
    };
    let considered: Vec<InterlockConsidered> = call.considered.iter().zip(&reasons).map(view).collect();
    let notes: Vec<InterlockText> = call.notes.iter().map(|note| text_view(note)).collect();
    receive(&InterlockCall {
        size: size_of::<InterlockCall>() as u32,
        rounding: rounding_to_c(call.inputs.unwrap_or_default()),
        operation: static_text(call.operation),
        arguments: text_view(&call.arguments),
        composite: call.composite.map_or(NO_TEXT, static_text),
        considered: considered.as_ptr(),
        considered_count: considered.len(),
        is_model: u32::from(call.is_model),
        reserved: 0,
        notes: notes.as_ptr(),
        notes_count: notes.len(),
        sums: sums_to_c(call.sums.unwrap_or_default()),
        padding: 0,
    });
}

pub(crate) unsafe extern "C" fn free(recording: *mut InterlockRecording) {
    // SAFETY: the contract of the table.
    run_infallible(|| unsafe { Handle::free(recording) });
}
