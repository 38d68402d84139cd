//! Semaphores that the CPU signals and streams wait for (`cuStreamWaitValue32`).

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cudarc::driver::sys::{
    CU_MEMHOSTALLOC_PORTABLE, CUresult, CUstream, CUstream_flags, CUstreamWaitValue_flags,
};
use once_cell::race::OnceBool;

use interlock_core::base::mutex::Mutex;
use interlock_driver::Result;

use crate::device::device::DeviceOp;
use crate::sys::api;
use crate::sys::error::{Code, check};

/// Bytes of each allocation of pinned memory for words.
const PAGE: usize = 4096;
/// Bytes from one word to the next: a cache line, because streams read words while the CPU writes others.
const LINE: usize = 64;

const UNSIGNALED: u32 = 0;
const SIGNALED: u32 = 1;

/// The free words of a device, which are never freed.
#[derive(Default)]
pub(crate) struct SemaphorePool {
    free: Mutex<Vec<u64>>,
    /// Whether streams of the device support `cuStreamWaitValue32`.
    is_supported: OnceBool,
}

/// A semaphore whose word returns to its pool when this is dropped. The caller keeps it alive until the waiting stream
/// has resumed.
pub(crate) struct Semaphore {
    word: u64,
    pool: Arc<SemaphorePool>,
}

impl Semaphore {
    /// Returns an unsignaled semaphore; `None` if streams of the device can't wait for semaphores.
    pub(crate) fn acquire(pool: &Arc<SemaphorePool>, op: &DeviceOp<'_>) -> Result<Option<Self>> {
        let is_supported = match pool.is_supported.get() {
            Some(known) => known,
            None => {
                let found = Self::is_supported(pool, op)?;
                pool.is_supported.get_or_init(|| found)
            }
        };
        if !is_supported {
            return Ok(None);
        }
        let semaphore = Self::unused(pool, op)?;
        semaphore.word().store(UNSIGNALED, Ordering::Release);
        Ok(Some(semaphore))
    }

    /// Tests whether streams can wait for semaphores, on a stream that no other thread can capture.
    fn is_supported(pool: &Arc<SemaphorePool>, op: &DeviceOp<'_>) -> Result<bool> {
        let _relaxed = op.relax();
        let semaphore = Self::unused(pool, op)?;
        // A wait for a signaled semaphore does not block the stream.
        semaphore.signal();
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the pointer is valid.
        let create = |stream| unsafe { api::cuStreamCreateWithPriority(stream, flags, 0) };
        let stream = op.read(ptr::null_mut(), create)?;
        let tried = check(semaphore.enqueue_wait(stream));
        // SAFETY: this function has created the stream and has the only reference to it.
        op.check(unsafe { api::cuStreamDestroy_v2(stream) })?;
        match tried {
            Err(Code::NOT_SUPPORTED) => Ok(false),
            Err(code) => Err(op.error(code)),
            Ok(()) => {
                // Leaked, because the stream may not have executed the wait yet.
                std::mem::forget(semaphore);
                Ok(true)
            }
        }
    }

    fn unused(pool: &Arc<SemaphorePool>, op: &DeviceOp<'_>) -> Result<Self> {
        let free = pool.free.lock().pop();
        let word = free.map_or_else(|| pool.allocate_page(op), Ok)?;
        Ok(Semaphore { word, pool: pool.clone() })
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: the word is aligned, in pinned memory that is never freed, and the CPU accesses it only as an atomic.
        unsafe { &*ptr::with_exposed_provenance(self.word as usize) }
    }

    /// Makes work that is queued on a stream from now on wait until the semaphore is signaled.
    pub(crate) fn enqueue_wait(&self, on: CUstream) -> CUresult {
        let at_least = CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_GEQ as u32;
        // SAFETY: the word is in pinned memory that is never freed.
        unsafe { api::cuStreamWaitValue32_v2(on, self.word, SIGNALED, at_least) }
    }

    /// Signals the semaphore. Makes no driver call.
    pub(crate) fn signal(&self) {
        self.word().store(SIGNALED, Ordering::Release);
    }
}

impl SemaphorePool {
    /// Allocates a page of words and returns one of them.
    fn allocate_page(&self, op: &DeviceOp<'_>) -> Result<u64> {
        let _relaxed = op.relax();
        // SAFETY: the pointer is valid.
        let allocate = |page| unsafe { api::cuMemHostAlloc(page, PAGE, CU_MEMHOSTALLOC_PORTABLE) };
        let page = op.read_memory(PAGE, ptr::null_mut(), allocate)?;
        let first = page.expose_provenance() as u64;
        self.free.lock().extend((first + LINE as u64..first + PAGE as u64).step_by(LINE));
        Ok(first)
    }
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        self.pool.free.lock().push(self.word);
    }
}
