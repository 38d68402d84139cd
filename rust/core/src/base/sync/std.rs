//! The primitives of the standard library.

pub use std::hint::spin_loop;
pub use std::sync::atomic::{AtomicBool, AtomicU64};
pub use std::thread::yield_now;
pub use std::thread_local;

/// A cell with the closure interface of loom's.
pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub const fn new(value: T) -> Self {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }

    #[inline(always)]
    pub fn with<R>(&self, action: impl FnOnce(*const T) -> R) -> R {
        action(self.0.get())
    }

    #[inline(always)]
    pub fn with_mut<R>(&self, action: impl FnOnce(*mut T) -> R) -> R {
        action(self.0.get())
    }
}
