//! Values that each process has its own instance of, although a forked child shares the memory of its parent.

use once_cell::race::OnceBox;

use super::fork;

/// A value with one instance for each process. A forked child creates a new one: that of the parent may be half
/// written, or locked by a thread that the child lacks.
pub struct ForkLocal<T: Default> {
    /// The fork generation of the process that the value belongs to.
    generation: u32,
    value: T,
    in_child: OnceBox<ForkLocal<T>>,
}

impl<T: Default> ForkLocal<T> {
    /// Returns the value of this process, which the first call after a fork reinitializes.
    pub fn get(&self) -> &T {
        let generation = fork::generation();
        let mut local = self;
        while local.generation != generation {
            local = local.in_child.get_or_init(Box::default);
        }
        &local.value
    }
}

impl<T: Default> Default for ForkLocal<T> {
    fn default() -> Self {
        ForkLocal { generation: fork::generation(), value: T::default(), in_child: OnceBox::new() }
    }
}

impl<T: Default> Drop for ForkLocal<T> {
    fn drop(&mut self) {
        // The destructor of another process's value might wait for a thread that this process lacks.
        if self.generation != fork::generation() {
            std::mem::forget(std::mem::take(&mut self.value));
        }
    }
}
