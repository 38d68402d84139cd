//! Lists of functions that a program registers. They are called without a lock.

use std::convert::Infallible;
use std::sync::Arc;

use super::catch::call_catching_panic;
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
        let Ok(number) = self.add_or_replace(function, |_| Ok::<_, Infallible>(false));
        number
    }

    /// Adds a function, in the place of the first one for which `replaces` returns true, and returns the number of its
    /// registration. `replaces` is called under the lock, and its error cancels the registration.
    pub fn add_or_replace<E>(
        &'static self,
        function: Arc<F>,
        replaces: impl Fn(&F) -> Result<bool, E>,
    ) -> Result<u64, E> {
        let mut registered = self.registered.lock();
        let Registered { last, functions } = &mut *registered;
        let mut replaced = None;
        for known in functions.iter_mut() {
            if replaces(&known.1)? {
                replaced = Some(known);
                break;
            }
        }
        *last += 1;
        let (number, new) = (*last, (*last, function));
        let replaced = match replaced {
            Some(known) => Some(std::mem::replace(known, new)),
            None => {
                functions.push(new);
                self.count.add(1);
                None
            }
        };
        // Dropped without the lock, because captured values may run code of the program.
        drop(registered);
        drop(replaced);
        Ok(number)
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

    /// Calls each function, to report a change that has been made. A panic, which the panic hook of the program reports, is
    /// not passed on: the other functions are called, and the caller completes the change.
    pub fn call_each(&'static self, call: impl Fn(&F)) {
        for function in self.all() {
            let _: Result<(), String> = call_catching_panic(|| {
                call(&function);
                Ok(())
            });
        }
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
    fn panic_of_a_function_is_not_passed_on() {
        static LIST: HookList<dyn Fn() + Send + Sync> = HookList::new(rank::MODE_HOOKS);
        static CALLS: RelaxedU64 = RelaxedU64::new(0);
        LIST.add(Arc::new(|| panic!("in a hook")));
        LIST.add(Arc::new(|| {
            CALLS.add(1);
        }));
        LIST.call_each(|function| function());
        assert_eq!(CALLS.get(), 1);
    }

    #[test]
    fn replaced_function_has_the_position_of_the_earlier_one() {
        static LIST: HookList<dyn Fn() -> u8 + Send + Sync> = HookList::new(rank::MODE_HOOKS);
        let results = || LIST.all().iter().map(|function| function()).collect::<Vec<_>>();
        let first = LIST.add(Arc::new(|| 1));
        LIST.add(Arc::new(|| 2));
        let number = LIST.add_or_replace(Arc::new(|| 3), |known| Ok::<_, ()>(known() == 1)).unwrap();
        LIST.remove(first);
        assert_eq!(results(), [3, 2]);
        let taken =
            LIST.add_or_replace(Arc::new(|| 2), |known| if known() == 2 { Err("taken") } else { Ok(false) });
        assert_eq!(taken, Err("taken"));
        LIST.add_or_replace(Arc::new(|| 4), |_| Ok::<_, ()>(false)).unwrap();
        LIST.remove(number);
        assert_eq!(results(), [2, 4]);
    }
}
