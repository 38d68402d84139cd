//! Python stacks of memory allocations and queued work.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ptr;
use std::sync::Arc;

use interlock::accelerator::driver::{ByteRange, races, set_stack_source};
use interlock::accelerator::memory::{Frame, Stack, stacks_are_recorded, stacks_are_used, with_stack};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::attached::is_attached;
use crate::call_site::{caller_of, innermost_frame, runs_for_caller};

/// The most frames of a stack that is captured for the detection of races only.
const MAX_FRAMES: usize = 16;

/// Captures the Python stack of this thread, innermost frame first, if a memory history records stacks or races are
/// detected.
#[inline]
pub(crate) fn capture_if_enabled(py: Python<'_>) -> Option<Stack> {
    stacks_are_used().then(|| capture(py))
}

#[cold]
fn capture(py: Python<'_>) -> Stack {
    let frames = std::iter::successors(innermost_frame(py), caller_of);
    let of_program = |frames: &mut dyn Iterator<Item = Bound<'_, PyAny>>| {
        frames.filter_map(|frame| frame_of(&frame).ok()).collect()
    };
    if stacks_are_recorded() {
        of_program(&mut { frames })
    } else {
        of_program(&mut frames.skip_while(runs_for_caller).take(MAX_FRAMES))
    }
}

/// Makes a release of memory outside of a call have the line of Python that runs, which ends the last reference.
pub(crate) fn install_stack_source() {
    set_stack_source(|| {
        is_attached().then(|| {
            // SAFETY: this thread is attached.
            let py = unsafe { Python::assume_attached() };
            undisturbed(py, || capture(py))
        })
    });
}

/// Calls `function` within the release of an object: no garbage collection runs, and a pending exception remains.
fn undisturbed<T>(_py: Python<'_>, function: impl FnOnce() -> T) -> T {
    let (mut kind, mut value, mut traceback) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: this thread is attached. The exception is restored after the function, which does not unwind.
    unsafe {
        ffi::PyErr_Fetch(&mut kind, &mut value, &mut traceback);
        let was_enabled = ffi::PyGC_Disable() == 1;
        let result = function();
        if was_enabled {
            ffi::PyGC_Enable();
        }
        ffi::PyErr_Restore(kind, value, traceback);
        result
    }
}

/// Reports to the detection of races that the program reads memory, such as through an export.
pub(crate) fn observe_read(py: Python<'_>, start: *const u8, bytes: usize) {
    if races::is_on() {
        with_stack(Some(capture(py)), || races::access(&[ByteRange::read(start, bytes)]));
    }
}

fn frame_of(frame: &Bound<'_, PyAny>) -> PyResult<Frame> {
    let code = frame.getattr("f_code")?;
    let file = shared(&code.getattr("co_filename")?)?;
    let name = shared(&code.getattr("co_qualname")?)?;
    // Code objects that were created at run time may have no line.
    let line = frame.getattr("f_lineno")?.extract::<Option<u32>>()?.unwrap_or(0);
    Ok(Frame { file, line, name })
}

/// Returns an interned copy of a text, because many frames have equal texts.
fn shared(text: &Bound<'_, PyAny>) -> PyResult<Arc<str>> {
    thread_local! {
        static KNOWN: RefCell<HashSet<Arc<str>>> = RefCell::default();
    }
    // The path of a folder may be no UTF-8.
    let text = text.cast::<PyString>()?.to_string_lossy();
    let found = KNOWN.try_with(|known| {
        let mut known = known.borrow_mut();
        if let Some(found) = known.get(&*text) {
            return found.clone();
        }
        let text = Arc::<str>::from(&*text);
        known.insert(text.clone());
        text
    });
    // A thread that is ending has no cache.
    Ok(found.unwrap_or_else(|_| Arc::from(&*text)))
}
