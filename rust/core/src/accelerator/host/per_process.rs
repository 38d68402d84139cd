//! Something that every process has one of, though forked ones share the memory that it was made in.

use once_cell::race::OnceBox;

use crate::lifecycle;

/// A value of this process. A forked child finds a fresh one, because the parent's may be half written or
/// locked by a thread that the child lacks.
pub(super) struct PerProcess<T: Default> {
    /// The fork generation of the process that the value belongs to.
    generation: u32,
    value: T,
    /// That of a child.
    next: OnceBox<PerProcess<T>>,
}

impl<T: Default> PerProcess<T> {
    pub(super) fn get(&self) -> &T {
        let generation = lifecycle::fork_generation();
        let mut place = self;
        while place.generation != generation {
            place = place.next.get_or_init(Box::default);
        }
        &place.value
    }
}

impl<T: Default> Default for PerProcess<T> {
    fn default() -> Self {
        let generation = lifecycle::fork_generation();
        PerProcess { generation, value: T::default(), next: OnceBox::new() }
    }
}

impl<T: Default> Drop for PerProcess<T> {
    fn drop(&mut self) {
        // What belongs to another process is left alone: to drop it might wait for a thread that is not here.
        if self.generation != lifecycle::fork_generation() {
            std::mem::forget(std::mem::take(&mut self.value));
        }
    }
}
