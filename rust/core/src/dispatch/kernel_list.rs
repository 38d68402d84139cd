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

    /// Appends an item.
    pub(super) fn push(&self, item: T) {
        let mut link = Box::new(Link { item, next: OnceBox::new() });
        let mut end = &self.first;
        loop {
            match end.get() {
                Some(taken) => end = &taken.next,
                None => match end.set(link) {
                    Ok(()) => return,
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
    use super::*;

    #[test]
    fn iter_returns_the_items_in_the_order_of_push() {
        let list = KernelList::new();
        (0..4).for_each(|item| list.push(item));
        assert_eq!(list.iter().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
    }

    #[test]
    fn push_on_two_threads_loses_no_item() {
        let list = KernelList::new();
        std::thread::scope(|threads| {
            for first in [0, 1000] {
                let list = &list;
                threads.spawn(move || (first..first + 500).for_each(|item| list.push(item)));
            }
        });
        let mut items: Vec<i32> = list.iter().copied().collect();
        items.sort_unstable();
        assert_eq!(items, (0..500).chain(1000..1500).collect::<Vec<_>>());
    }
}
