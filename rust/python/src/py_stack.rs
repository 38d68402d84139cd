//! Python stacks of memory allocations.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use interlock::accelerator::memory::{Frame, Stack, stacks_are_recorded};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::call_site::{caller_of, innermost_frame};

/// Captures the Python stack of this thread, innermost frame first, if a memory history records stacks.
#[inline]
pub(crate) fn capture_if_enabled(py: Python<'_>) -> Option<Stack> {
    stacks_are_recorded().then(|| capture(py))
}

#[cold]
fn capture(py: Python<'_>) -> Stack {
    let frames = std::iter::successors(innermost_frame(py), caller_of);
    frames.filter_map(|frame| frame_of(&frame).ok()).collect()
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
