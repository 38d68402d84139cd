//! Work on several threads, which wait for the next operation when they have completed their part.

use std::collections::VecDeque;

use interlock_core::base::fork::rank;
use interlock_core::base::mutex::Mutex;
use interlock_core::base::worker_threads::WorkerThreads;

use crate::Result;

static THREADS: WorkerThreads = WorkerThreads::in_background(rank::KERNEL_THREADS, "interlock");

/// Calls `work` with each item on at most `threads` threads, one of which is the calling thread. Each thread works on a
/// share of consecutive items, and then takes items of the other shares. So an operation on the memory of the previous one
/// finds the data of a share in the cache of its core.
///
/// Items must be independent of each other, so that results do not depend on the number of threads. After an error no
/// further item is taken. `work` is not a type parameter: each operation would get its own copy of the code that shares
/// the items.
pub(crate) fn for_each<I: Send>(
    threads: usize,
    mut items: impl ExactSizeIterator<Item = I> + Send,
    work: &(dyn Fn(I) -> Result<()> + Sync),
) -> Result<()> {
    let threads = threads.min(items.len());
    if threads > 1
        && let Some(shares) = Shares::of(threads, &mut items)
    {
        // The lock of a share is released before the item is worked on.
        return run_until_error(threads, &|thread| shares.take(thread).map(work));
    }
    items.try_for_each(work)
}

/// Addresses of memory that the threads of an operation use.
pub(super) struct Shared<T>(T);

// SAFETY: the caller of `new` guarantees that no thread uses memory that another one writes.
unsafe impl<T> Sync for Shared<T> {}

impl<T: Copy> Shared<T> {
    /// Shares addresses with threads.
    ///
    /// # Safety
    /// The memory lives until all threads have ended, and each thread writes only memory that no other one uses.
    pub unsafe fn new(addresses: T) -> Self {
        Shared(addresses)
    }

    /// Returns the addresses.
    pub fn get(&self) -> T {
        self.0
    }
}

/// The items that are left of the share of each thread.
struct Shares<I>(Vec<Mutex<VecDeque<I>>>);

impl<I> Shares<I> {
    /// Distributes items; `None`, with all items left, if there is no memory.
    fn of(threads: usize, items: &mut impl ExactSizeIterator<Item = I>) -> Option<Self> {
        let (count, mut shares) = (items.len(), Vec::new());
        shares.try_reserve_exact(threads).ok()?;
        for _ in 0..threads {
            let mut share = VecDeque::new();
            share.try_reserve_exact(count.div_ceil(threads)).ok()?;
            shares.push(Mutex::new(share));
        }
        for (number, share) in shares.iter_mut().enumerate() {
            // The first shares have one item more.
            let size = count / threads + usize::from(number < count % threads);
            share.get_mut().extend(items.by_ref().take(size));
        }
        Some(Shares(shares))
    }

    /// Takes the next item of a thread's share, or the last one of another.
    fn take(&self, thread: usize) -> Option<I> {
        let own = self.0.get(thread).and_then(|share| share.lock().pop_front());
        own.or_else(|| self.0.iter().find_map(|share| share.lock().pop_back()))
    }
}

/// Calls `step` with the number of each thread, the calling thread and others, until it returns `None`, or an error.
fn run_until_error(threads: usize, step: &(dyn Fn(usize) -> Option<Result<()>> + Sync)) -> Result<()> {
    let error = Mutex::new(None);
    THREADS.run_on_each(threads - 1, &|thread| {
        while error.lock().is_none()
            && let Some(result) = step(thread)
        {
            if let Err(of_step) = result {
                error.lock().get_or_insert(of_step);
            }
        }
    });
    error.lock().take().map_or(Ok(()), Err)
}

/// The number of elements from which on an operation on elements runs on several threads: about 20 us of an addition, twice
/// what it takes to hand over a part.
pub(crate) const THREADED_ELEMENTS: usize = 1 << 17;

/// The number of elements of a tile.
pub(crate) const TILE: usize = 1 << 14;

/// Calls `work` with each tile of `out` and the position of its first element.
pub(crate) fn for_each_tile<T: Send>(
    threads: usize,
    out: &mut [T],
    work: &(dyn Fn(usize, &mut [T]) + Sync),
) -> Result<()> {
    if threads == 1 {
        work(0, out);
        return Ok(());
    }
    for_each(threads, out.chunks_mut(TILE).enumerate(), &|(number, tile)| {
        work(number.saturating_mul(TILE), tile);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::Error;

    #[test]
    fn for_each_takes_every_item_once_on_several_threads() {
        for (threads, count) in [(1, 5), (2, 2), (3, 100), (8, 3), (2, 0)] {
            let seen = Mutex::new(Vec::new());
            for_each(threads, 0..count, &|item| {
                seen.lock().push(item);
                Ok(())
            })
            .unwrap();
            let mut seen = std::mem::take(&mut *seen.lock());
            seen.sort_unstable();
            assert_eq!(seen, (0..count).collect::<Vec<_>>(), "{threads} threads");
        }
        let (both, ids) = (Barrier::new(2), Mutex::new(HashSet::new()));
        for_each(2, 0..2, &|_| {
            both.wait();
            ids.lock().insert(std::thread::current().id());
            Ok(())
        })
        .unwrap();
        assert!(ids.lock().contains(&std::thread::current().id()), "the calling thread works, too");
    }

    #[test]
    fn for_each_stops_after_an_error() {
        let error = || Error::not_numeric("test", "it", "");
        let calls = AtomicUsize::new(0);
        let result = for_each(2, 0..1000, &|_| {
            calls.fetch_add(1, Ordering::Relaxed);
            Err(error())
        });
        assert_eq!(result, Err(error()));
        assert!(calls.into_inner() <= 2, "each thread takes one item at most");
    }

    #[test]
    #[should_panic(expected = "in an item")]
    fn for_each_passes_a_panic_on() {
        let _ = for_each(3, 0..10, &|item| if item == 7 { panic!("in an item") } else { Ok(()) });
    }
}
