//! The stack of the calling thread.

use std::cell::Cell;

/// Returns how many bytes of the stack of this thread are below the caller's frame; `None` on platforms that do not
/// report stack bounds.
///
/// ```
/// use interlock_core::base::stack;
///
/// let spawned = std::thread::Builder::new().stack_size(1 << 20).spawn(stack::remaining);
/// let remaining = spawned?.join().ok().flatten();
/// assert!(remaining.is_none_or(|bytes| bytes <= 1 << 21));
/// # Ok::<(), std::io::Error>(())
/// ```
#[inline(never)]
pub fn remaining() -> Option<usize> {
    thread_local! {
        /// The lowest address, which the system takes long to find for the first thread.
        static LOWEST: Cell<Option<Option<usize>>> = const { Cell::new(None) };
    }
    let lowest = LOWEST.get().unwrap_or_else(|| {
        let lowest = lowest_address();
        LOWEST.set(Some(lowest));
        lowest
    });
    let here = 0u8;
    // The stack grows towards lower addresses on every platform that interlock supports.
    Some((&raw const here).addr().saturating_sub(lowest?))
}

#[cfg(target_os = "linux")]
fn lowest_address() -> Option<usize> {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: the out pointer is valid; a successful call initializes it.
    if unsafe { libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) } != 0 {
        return None;
    }
    let (mut address, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes are initialized, and are destroyed once.
    let found = unsafe {
        let found = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut address, &raw mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        found
    };
    (found == 0).then(|| address.addr())
}

#[cfg(target_os = "macos")]
fn lowest_address() -> Option<usize> {
    // SAFETY: both functions only read facts about the calling thread.
    let (highest, size) = unsafe {
        let thread = libc::pthread_self();
        (libc::pthread_get_stackaddr_np(thread).addr(), libc::pthread_get_stacksize_np(thread))
    };
    highest.checked_sub(size)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn lowest_address() -> Option<usize> {
    None
}
