//! A list that only grows, which readers walk without a lock.

use once_cell::race::OnceBox;

/// A lock-free list. Items are appended and live until the process exits.
pub(super) struct KernelList<T: 'static> {
    first: OnceBox<Link<T>>,
}

struct Link<T: 'static> {
    item: T,
    next: OnceBox<Link<T>>,
}

impl<T> KernelList<T> {
    pub(super) const fn new() -> Self {
        KernelList { first: OnceBox::new() }
    }

    /// Appends an item, unless one that `excludes` it is in the list. Returns whether it was appended.
    ///
    /// Of items that exclude each other one is appended, also if several threads append them at the same time.
    pub(super) fn push_unless(&self, item: T, excludes: impl Fn(&T, &T) -> bool) -> bool {
        let mut link = Box::new(Link { item, next: OnceBox::new() });
        let mut end = &self.first;
        loop {
            match end.get() {
                Some(taken) if excludes(&taken.item, &link.item) => return false,
                Some(taken) => end = &taken.next,
                None => match end.set(link) {
                    Ok(()) => return true,
                    // Another thread has appended here first.
                    Err(refused) => link = refused,
                },
            }
        }
    }

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        std::iter::successors(self.first.get(), |link| link.next.get()).map(|link| &link.item)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn iter_returns_the_items_in_the_order_of_push_unless() {
        let list = KernelList::new();
        assert!((0..4).all(|item| list.push_unless(item, |_, _| false)));
        assert_eq!(list.iter().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
    }

    #[test]
    fn push_unless_on_two_threads_loses_no_item() {
        let list = KernelList::new();
        std::thread::scope(|threads| {
            for first in [0, 1000] {
                let list = &list;
                threads.spawn(move || {
                    assert!((first..first + 500).all(|item| list.push_unless(item, |_, _| false)));
                });
            }
        });
        let mut items: Vec<i32> = list.iter().copied().collect();
        items.sort_unstable();
        assert_eq!(items, (0..500).chain(1000..1500).collect::<Vec<_>>());
    }

    #[test]
    fn push_unless_on_two_threads_appends_one_of_equal_items() {
        let (list, both) = (KernelList::new(), Barrier::new(2));
        let push_all = || -> usize {
            let pushed = (0..500).filter(|item| {
                both.wait();
                list.push_unless(*item, |known, item| known == item)
            });
            pushed.count()
        };
        let pushed: usize = std::thread::scope(|threads| {
            let other = threads.spawn(push_all);
            push_all() + other.join().unwrap()
        });
        assert_eq!(pushed, 500);
        assert_eq!(list.iter().copied().collect::<Vec<_>>(), (0..500).collect::<Vec<_>>());
    }
}
