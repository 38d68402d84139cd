//! Python stacks of memory allocations and queued work.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use interlock::accelerator::driver::{ByteRange, races};
use interlock::accelerator::memory::{Frame, Stack, stacks_are_recorded, with_stack};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::call_site::{caller_of, innermost_frame, is_ours};

/// The most frames of a stack that is captured for the detection of races only.
const MAX_FRAMES: usize = 16;

/// Captures the Python stack of this thread, innermost frame first, if a memory history records stacks or races are
/// detected.
#[inline]
pub(crate) fn capture_if_enabled(py: Python<'_>) -> Option<Stack> {
    (stacks_are_recorded() || races::is_on()).then(|| capture(py))
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
        of_program(&mut frames.skip_while(is_ours).take(MAX_FRAMES))
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
    let text = text.cast::<PyString>()?.to_cow()?;
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
