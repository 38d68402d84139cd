//! Words in memory at which streams wait until the processor opens them.

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{CU_MEMHOSTALLOC_PORTABLE, CUresult, CUstream, CUstreamWaitValue_flags};
use once_cell::race::OnceBool;

use super::api;
use super::device::CudaDevice;
use super::errors::{Code, check};
use crate::Result;

/// The bytes of pinned memory that words are taken from, and those from one word to the next: a line of the processor's
/// caches, as a stream reads one while the processor writes another.
const PAGE: usize = 4096;
const LINE: usize = 64;

const CLOSED: u32 = 0;
const OPEN: u32 = 1;

/// The words that nobody needs now. They last as long as the process.
#[derive(Default)]
pub(super) struct Gates {
    spare: Mutex<Vec<u64>>,
    /// Whether streams of the device wait for words at all.
    has_any: OnceBool,
}

/// A gate, which is spare again when this is dropped. Whoever has a stream wait at it keeps it until the stream has passed.
pub(super) struct Gate {
    word: u64,
    gates: Arc<Gates>,
}

impl Gate {
    /// A closed gate; `None` where the streams of the device can't wait for a word. The stream is one of them, in a
    /// context that is current, and captures nothing.
    pub(super) fn taken(device: &CudaDevice, operation: &'static str, on: CUstream) -> Result<Option<Self>> {
        let gates = device.gates.clone();
        if gates.has_any.get() == Some(false) {
            return Ok(None);
        }
        let kept = gates.spare().pop();
        let word = kept.map_or_else(|| gates.page(device, operation), Ok)?;
        let gate = Gate { word, gates };
        if gate.gates.has_any.get().is_none() {
            // To wait at a gate that is open is over at once.
            gate.open();
            match check(gate.hold_back(on)) {
                Err(Code::NOT_SUPPORTED) => return Ok(gate.gates.has_none()),
                tried => tried.map_err(|code| device.error(operation, code))?,
            }
            gate.gates.has_any.get_or_init(|| true);
            // The stream may not have passed yet: this one stays open for good.
            std::mem::forget(gate);
            return Self::taken(device, operation, on);
        }
        gate.word().store(CLOSED, Ordering::Release);
        Ok(Some(gate))
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: the word lies in pinned memory that is never given back, aligned to a line, and the processor reaches
        // it only here.
        unsafe { &*ptr::with_exposed_provenance(self.word as usize) }
    }

    /// What is queued on a stream from now on waits until the gate is opened.
    pub(super) fn hold_back(&self, on: CUstream) -> CUresult {
        let at_least = CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_GEQ as u32;
        // SAFETY: the word is pinned memory, and stays.
        unsafe { api::cuStreamWaitValue32_v2(on, self.word, OPEN, at_least) }
    }

    /// Lets pass who waits. Calls nobody.
    pub(super) fn open(&self) {
        self.word().store(OPEN, Ordering::Release);
    }
}

impl Gates {
    fn spare(&self) -> MutexGuard<'_, Vec<u64>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gets more words, and returns one.
    fn page(&self, device: &CudaDevice, operation: &'static str) -> Result<u64> {
        let mut page = ptr::null_mut();
        // SAFETY: the pointer is valid.
        let allocated = unsafe { api::cuMemHostAlloc(&raw mut page, PAGE, CU_MEMHOSTALLOC_PORTABLE) };
        device.memory(operation, PAGE, allocated)?;
        let first = page.expose_provenance() as u64;
        let others = (first + LINE as u64..first + PAGE as u64).step_by(LINE);
        self.spare().extend(others);
        Ok(first)
    }

    fn has_none<T>(&self) -> Option<T> {
        self.has_any.get_or_init(|| false);
        None
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.gates.spare().push(self.word);
    }
}
