//! Lists of functions that a program registers. They are called without a lock.

use std::sync::Arc;

use super::sync::{ForkLock, RelaxedU64};

/// The functions that are registered for one purpose.
pub struct HookList<F: ?Sized + 'static> {
    registered: ForkLock<Registered<F>>,
    /// The number of functions.
    count: RelaxedU64,
}

struct Registered<F: ?Sized> {
    last: u64,
    functions: Vec<(u64, Arc<F>)>,
}

impl<F: ?Sized + Send + Sync> HookList<F> {
    /// Creates an empty list, whose lock has a rank of [`fork::rank`](super::fork::rank).
    pub const fn new(rank: u8) -> Self {
        let registered = Registered { last: 0, functions: Vec::new() };
        HookList { registered: ForkLock::new(rank, registered), count: RelaxedU64::new(0) }
    }

    /// Returns whether no function is registered, with one load.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.get() == 0
    }

    /// Adds a function and returns the number of its registration.
    pub fn add(&'static self, function: Arc<F>) -> u64 {
        let mut registered = self.registered.lock();
        registered.last += 1;
        let number = registered.last;
        registered.functions.push((number, function));
        self.count.add(1);
        number
    }

    /// Puts a function in the place of another one and returns the number of its registration; `None` if the other one
    /// is not registered any more.
    pub fn replace(&'static self, earlier: &Arc<F>, function: Arc<F>) -> Option<u64> {
        let mut registered = self.registered.lock();
        let number = registered.last + 1;
        let place = registered.functions.iter_mut().find(|(_, known)| Arc::ptr_eq(known, earlier))?;
        // Not dropped with the lock: the caller owns `earlier`.
        *place = (number, function);
        registered.last = number;
        Some(number)
    }

    /// Removes the function of a registration. A call that has begun on another thread may still run.
    pub fn remove(&'static self, number: u64) {
        let mut registered = self.registered.lock();
        let index = registered.functions.iter().position(|(known, _)| *known == number);
        let removed = index.map(|index| registered.functions.remove(index));
        if removed.is_some() {
            self.count.subtract(1);
        }
        // Dropped without the lock, because captured values may run code of the program.
        drop(registered);
        drop(removed);
    }

    /// Returns the functions in the order of their registrations.
    pub fn all(&'static self) -> Vec<Arc<F>> {
        self.registered.lock().functions.iter().map(|(_, function)| function.clone()).collect()
    }
}

/// A registered function, which is removed when the registration is dropped.
///
/// ```
/// use interlock_core::Registration;
/// use interlock_core::modes::{Mode, on_change};
///
/// let registration: Registration = on_change(|change| println!("{:?}", change.set(Mode::Grad)));
/// // The function is not called for later changes.
/// drop(registration);
/// ```
#[must_use = "the function is removed when the registration is dropped"]
#[derive(Debug)]
pub struct Registration {
    number: u64,
    remove: fn(u64),
}

impl Registration {
    /// Creates a registration that calls `remove` with its number.
    pub fn new(number: u64, remove: fn(u64)) -> Self {
        Registration { number, remove }
    }

    /// Keeps the function until the process exits.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        (self.remove)(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::fork::rank;

    #[test]
    fn removed_functions_are_not_in_the_list() {
        static LIST: HookList<dyn Fn() -> u8 + Send + Sync> = HookList::new(rank::MODE_HOOKS);
        let results = || LIST.all().iter().map(|function| function()).collect::<Vec<_>>();
        assert!(LIST.is_empty());
        let first = Registration::new(LIST.add(Arc::new(|| 1)), |number| LIST.remove(number));
        let second = LIST.add(Arc::new(|| 2));
        assert_eq!(results(), [1, 2]);
        drop(first);
        LIST.remove(second + 1);
        assert_eq!(results(), [2]);
        LIST.remove(second);
        assert!(LIST.is_empty() && results().is_empty());
    }

    #[test]
    fn replaced_function_has_the_position_of_the_earlier_one() {
        static LIST: HookList<dyn Fn() -> u8 + Send + Sync> = HookList::new(rank::MODE_HOOKS);
        let results = || LIST.all().iter().map(|function| function()).collect::<Vec<_>>();
        let earlier: Arc<dyn Fn() -> u8 + Send + Sync> = Arc::new(|| 1);
        let first = LIST.add(earlier.clone());
        LIST.add(Arc::new(|| 2));
        let number = LIST.replace(&earlier, Arc::new(|| 3)).unwrap();
        LIST.remove(first);
        assert_eq!(results(), [3, 2]);
        assert_eq!(LIST.replace(&earlier, Arc::new(|| 4)), None);
        LIST.remove(number);
        assert_eq!(results(), [2]);
    }
}
