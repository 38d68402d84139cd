//! Values of other libraries that belong to a thread there, and that captured states and tasks carry.
//!
//! A layer of a captured state makes the values of its capture those of the thread, and its end restores the previous
//! values before.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::thread::ThreadId;

use super::LayerId;
use super::ids::TaskId;
use crate::base::fork::rank;
use crate::base::hook_list::HookList;
use crate::base::sync::{ForkLock, RelaxedU64, SpinLock};
use crate::{Error, Registration, Result};

/// A value of another library that belongs to a thread there.
///
/// ```
/// use std::cell::Cell;
/// use std::sync::Arc;
///
/// use interlock_core::thread::{Carried, CarriedValue, ThreadState, register_carried};
///
/// thread_local!(static VERBOSITY: Cell<u8> = const { Cell::new(0) });
///
/// struct Verbosity;
///
/// impl Carried for Verbosity {
///     fn save(&self) -> CarriedValue {
///         Arc::new(VERBOSITY.get())
///     }
///
///     fn restore(&self, value: &CarriedValue) {
///         value.downcast_ref().inspect(|value: &&u8| VERBOSITY.set(**value));
///     }
/// }
///
/// let registration = register_carried("verbosity", Verbosity)?;
/// VERBOSITY.set(2);
/// let state = ThreadState::capture();
/// let seen = std::thread::spawn(move || (state.run(|| VERBOSITY.get()), VERBOSITY.get())).join();
/// assert_eq!(seen.ok(), Some((2, 0)));
/// # drop(registration);
/// # Ok::<(), interlock_core::Error>(())
/// ```
pub trait Carried: Send + Sync {
    /// Returns the value of this thread.
    fn save(&self) -> CarriedValue;

    /// Makes a value that [`save`](Carried::save) has returned, on any thread, the one of this thread.
    fn restore(&self, value: &CarriedValue);

    /// Returns the name of the code that declares the value, if that code may be loaded again: a registration replaces
    /// an earlier one with its name and its code.
    fn declared_by(&self) -> Option<String> {
        None
    }

    /// Returns whether two values of [`save`](Carried::save) are the same, so that none is restored where the other is.
    fn are_same(&self, one: &CarriedValue, other: &CarriedValue) -> bool {
        Arc::ptr_eq(one, other)
    }
}

/// A value of a [`Carried`].
pub type CarriedValue = Arc<dyn Any + Send + Sync>;

struct Registered {
    name: String,
    declared_by: Option<String>,
    carried: Box<dyn Carried>,
}

static REGISTERED: HookList<Registered> = HookList::new(rank::CARRIED);

/// The values of threads before the open layers of captured states and steps of tasks.
static OPEN: ForkLock<Vec<Open>> = ForkLock::new(rank::CARRIED_LAYERS, Vec::new());

static OPEN_COUNT: RelaxedU64 = RelaxedU64::new(0);

thread_local! {
    /// Whether values of this thread were replaced since the last call of [`take_replaced`].
    static ARE_REPLACED: Cell<bool> = const { Cell::new(false) };
}

struct Open {
    owner: Owner,
    thread: ThreadId,
    before: CarriedValues,
}

/// The layer or step that has replaced the values of a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Layer(LayerId),
    Step(TaskId),
}

/// Registers a value of another library: from now on captured states and tasks have it. Values are saved and restored in
/// the order of registrations.
///
/// # Errors
/// Fails if the name is registered, unless [`declared_by`](Carried::declared_by) names the code of the earlier
/// registration. The earlier one then has no effect any more, and the new one has its position.
pub fn register_carried(name: impl Into<String>, carried: impl Carried + 'static) -> Result<Registration> {
    let name = name.into();
    let declared_by = carried.declared_by();
    let new = Arc::new(Registered { name, declared_by, carried: Box::new(carried) });
    let number = REGISTERED.add_or_replace(new.clone(), |earlier| {
        let is_again = new.declared_by.is_some() && new.declared_by == earlier.declared_by;
        match earlier.name == new.name {
            true if !is_again => Err(Error::CarriedName { name: new.name.clone() }),
            is_earlier => Ok(is_earlier),
        }
    })?;
    Ok(Registration::new(number, |number| REGISTERED.remove(number)))
}

/// The values of a thread at one moment, of all that are registered.
#[derive(Clone, Default)]
pub struct CarriedValues(Option<Arc<[Saved]>>);

type Saved = (Arc<Registered>, CarriedValue);

impl fmt::Debug for CarriedValues {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let names = self.values().iter().map(|(registered, _)| &registered.name);
        formatter.debug_list().entries(names).finish()
    }
}

impl CarriedValues {
    /// Returns the values of this thread: one load if nothing is registered.
    #[inline]
    pub fn save() -> Self {
        if REGISTERED.is_empty() { CarriedValues(None) } else { Self::save_all() }
    }

    #[cold]
    fn save_all() -> Self {
        let values = REGISTERED.all().into_iter().map(|registered| {
            let value = registered.carried.save();
            (registered, value)
        });
        CarriedValues(Some(values.collect()))
    }

    /// Returns the values of this thread that these replace.
    fn present(&self) -> Self {
        let save = |(registered, _): &Saved| (registered.clone(), registered.carried.save());
        CarriedValues(self.0.as_ref().map(|values| values.iter().map(save).collect()))
    }

    fn values(&self) -> &[Saved] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Makes these the values of this thread.
    pub fn restore(&self) {
        self.replace(&CarriedValues::default());
    }

    /// Makes these the values of this thread, which has the values `present`.
    pub fn replace(&self, present: &Self) {
        let is_present = |(registered, value): &Saved| {
            let mut same = present.values().iter().filter(|(other, _)| Arc::ptr_eq(registered, other));
            same.any(|(_, present)| registered.carried.are_same(value, present))
        };
        for (registered, value) in self.values().iter().filter(|saved| !is_present(saved)) {
            registered.carried.restore(value);
            // The modes that hooks have set may be among them.
            ARE_REPLACED.set(true);
        }
    }

    /// Returns whether there are none.
    #[inline]
    pub fn are_none(&self) -> bool {
        self.0.is_none()
    }

    /// Makes these the values of this thread while a layer is open that `enter` pushes and `layer` returns, until [`layer_ended`] is called with
    /// it. They are restored before the push, so that hooks for modes find the values that belong to the layer.
    pub(super) fn enter_with<T, E>(
        &self,
        enter: impl FnOnce() -> std::result::Result<T, E>,
        layer: impl FnOnce(&T) -> LayerId,
    ) -> std::result::Result<T, E> {
        if self.are_none() {
            return enter();
        }
        let before = self.present();
        self.replace(&before);
        let entered = enter();
        match entered.as_ref().map_or(LayerId::NONE, layer) {
            LayerId::NONE => before.restore(),
            layer => before.put_back_after(Owner::Layer(layer)),
        }
        entered
    }

    /// Puts these back when the owner ends.
    fn put_back_after(self, owner: Owner) {
        OPEN.lock().push(Open { owner, thread: std::thread::current().id(), before: self });
        OPEN_COUNT.add(1);
    }
}

/// The values of a task, which are those of the thread during each step of the task.
#[derive(Debug)]
pub struct CarriedTask {
    id: TaskId,
    /// The values between steps.
    values: SpinLock<CarriedValues>,
}

impl CarriedTask {
    /// Creates a task with these values.
    pub fn new(values: CarriedValues) -> Self {
        CarriedTask { id: TaskId::next(), values: SpinLock::new(values) }
    }

    /// Makes the values of the task those of this thread until [`end`](CarriedTask::end).
    pub fn begin(&self) {
        let values = self.values.lock().clone();
        if !values.are_none() {
            let before = values.present();
            values.replace(&before);
            before.put_back_after(Owner::Step(self.id));
        }
    }

    /// Keeps the values that the step has left. This thread has what it had before.
    pub fn end(&self) {
        if OPEN_COUNT.get() == 0 {
            return;
        }
        let left = match end(Owner::Step(self.id)) {
            Some(Ended::Innermost(before)) => {
                let left = before.present();
                before.replace(&left);
                left
            }
            Some(Ended::Below(left)) => left,
            Some(Ended::Elsewhere) | None => return,
        };
        let replaced = std::mem::replace(&mut *self.values.lock(), left);
        drop(replaced);
    }
}

/// Puts back what this thread had before a layer, if that has carried values.
#[inline]
pub(super) fn layer_ended(layer: LayerId) {
    if OPEN_COUNT.get() != 0
        && let Some(Ended::Innermost(before)) = end(Owner::Layer(layer))
    {
        before.replace(&before.present());
    }
}

/// How a replacement of values has ended.
enum Ended {
    /// It was the last one on this thread, which had these values before.
    Innermost(CarriedValues),
    /// A later one on its thread is open, which had found these values, and now puts back those before the ended one.
    Below(CarriedValues),
    /// It was the last one on another thread, whose values cannot be changed here.
    Elsewhere,
}

/// Returns whether values of this thread were replaced since the last call.
pub(super) fn take_replaced() -> bool {
    ARE_REPLACED.replace(false)
}

/// Returns whether a layer or step is open on this thread that puts values back at its end.
pub(super) fn is_open_here() -> bool {
    let here = std::thread::current().id();
    OPEN_COUNT.get() != 0 && OPEN.lock().iter().any(|open| open.thread == here)
}

#[cold]
fn end(owner: Owner) -> Option<Ended> {
    let here = std::thread::current().id();
    let mut open = OPEN.lock();
    let index = open.iter().rposition(|open| open.owner == owner)?;
    let Open { thread, before, .. } = open.remove(index);
    OPEN_COUNT.subtract(1);
    let later = open.iter_mut().skip(index).find(|open| open.thread == thread);
    // Values are dropped by the caller, without the lock.
    Some(match later {
        Some(later) => Ended::Below(std::mem::replace(&mut later.before, before)),
        None if thread == here => Ended::Innermost(before),
        None => {
            drop(open);
            drop(before);
            Ended::Elsewhere
        }
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::thread::{StateScope, TaskState, ThreadState};

    thread_local!(static NUMBER: Cell<u8> = const { Cell::new(0) });

    struct Number;

    impl Carried for Number {
        fn save(&self) -> CarriedValue {
            Arc::new(NUMBER.get())
        }

        fn restore(&self, value: &CarriedValue) {
            NUMBER.set(*value.downcast_ref().unwrap());
        }
    }

    fn capture(number: u8) -> ThreadState {
        let before = NUMBER.replace(number);
        let state = ThreadState::capture();
        NUMBER.set(before);
        state
    }

    fn on_a_thread<T: Send>(action: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|threads| threads.spawn(action).join().unwrap())
    }

    #[test]
    fn captured_values_are_those_of_the_thread_while_the_state_is_active() {
        let _number = register_carried("number", Number).unwrap();
        let name = "number".to_owned();
        assert_eq!(register_carried("number", Number).err(), Some(Error::CarriedName { name }));
        let (one, two) = (capture(1), capture(2));
        NUMBER.set(9);
        assert_eq!(one.run(|| (NUMBER.get(), two.run(|| NUMBER.get()), NUMBER.get())), (1, 2, 1));
        assert_eq!((NUMBER.get(), on_a_thread(|| one.run(|| NUMBER.get()))), (9, 1));
        // Out of order: the later layer puts back what the earlier one had found.
        let [first, second] = [one, two].map(StateScope::new);
        first.enter();
        second.enter();
        first.exit();
        assert_eq!(NUMBER.get(), 2);
        second.exit();
        assert_eq!(NUMBER.get(), 9);
        // Entered here and exited elsewhere: nothing is put back, here or there.
        first.enter();
        on_a_thread(|| {
            NUMBER.set(5);
            first.exit();
            assert_eq!(NUMBER.get(), 5);
        });
        assert_eq!(NUMBER.get(), 1);
    }

    #[test]
    fn a_task_has_values_of_its_own() {
        let _number = register_carried("number", Number).unwrap();
        let (one, other) = (TaskState::new(&capture(1)), TaskState::new(&capture(2)));
        NUMBER.set(9);
        one.step(|| NUMBER.set(NUMBER.get() + 10)).unwrap();
        other.step(|| assert_eq!(NUMBER.get(), 2)).unwrap();
        assert_eq!(NUMBER.get(), 9);
        on_a_thread(|| one.step(|| assert_eq!(NUMBER.get(), 11)).unwrap());
        // Steps that overlap end in any order.
        one.enter_step().unwrap();
        other.enter_step().unwrap();
        NUMBER.set(20);
        one.exit_step();
        assert_eq!(NUMBER.get(), 20);
        other.exit_step();
        assert_eq!(NUMBER.get(), 9);
        one.step(|| assert_eq!(NUMBER.get(), 11)).unwrap();
        other.step(|| assert_eq!(NUMBER.get(), 20)).unwrap();
    }

    /// Saves the same value twice if the number has not changed, and counts the values that it restores.
    struct Counted {
        last: Mutex<Arc<u8>>,
        restored: Arc<AtomicUsize>,
    }

    impl Carried for Counted {
        fn save(&self) -> CarriedValue {
            let mut last = self.last.lock().unwrap();
            if **last != NUMBER.get() {
                *last = Arc::new(NUMBER.get());
            }
            last.clone()
        }

        fn restore(&self, value: &CarriedValue) {
            self.restored.fetch_add(1, Ordering::Relaxed);
            NUMBER.set(*value.downcast_ref().unwrap());
        }
    }

    #[test]
    fn a_value_that_the_thread_has_is_not_restored() {
        let restored = Arc::new(AtomicUsize::new(0));
        let counted = Counted { last: Mutex::new(Arc::new(0)), restored: restored.clone() };
        let _counted = register_carried("counted", counted).unwrap();
        let task = TaskState::new(&ThreadState::capture());
        task.step(|| ()).unwrap();
        assert_eq!(restored.swap(0, Ordering::Relaxed), 0);
        task.step(|| NUMBER.set(1)).unwrap();
        assert_eq!((NUMBER.get(), restored.swap(0, Ordering::Relaxed)), (0, 1));
        task.step(|| assert_eq!(NUMBER.get(), 1)).unwrap();
        assert_eq!((NUMBER.get(), restored.load(Ordering::Relaxed)), (0, 2));
    }

    /// Always saves one value. A registration replaces another one of the code `A`.
    struct Declared(&'static str, u8);

    impl Carried for Declared {
        fn save(&self) -> CarriedValue {
            Arc::new(self.1)
        }

        fn restore(&self, value: &CarriedValue) {
            NUMBER.set(*value.downcast_ref().unwrap());
        }

        fn declared_by(&self) -> Option<String> {
            Some(self.0.to_owned())
        }
    }

    #[test]
    fn registration_replaces_an_earlier_one_of_the_same_code() {
        let saved = || {
            let values = CarriedValues::save();
            values.values().iter().map(|(_, value)| *value.downcast_ref().unwrap()).collect::<Vec<u8>>()
        };
        let first = register_carried("declared", Declared("A", 1)).unwrap();
        let other = register_carried("other", Declared("A", 2)).unwrap();
        let name = || Error::CarriedName { name: "declared".to_owned() };
        assert_eq!(register_carried("declared", Declared("B", 3)).err(), Some(name()));
        assert_eq!(register_carried("declared", Number).err(), Some(name()));
        let again = register_carried("declared", Declared("A", 4)).unwrap();
        assert_eq!(saved(), [4, 2], "it is saved in the place of the earlier one");
        drop(first);
        assert_eq!(saved(), [4, 2]);
        drop(again);
        assert_eq!(saved(), [2]);
        drop(other);
        assert!(CarriedValues::save().are_none());
    }

    #[test]
    fn nothing_is_carried_after_the_end_of_the_registration() {
        let number = register_carried("number", Number).unwrap();
        let state = capture(3);
        drop(number);
        assert!(CarriedValues::save().are_none());
        // A state that has a value keeps it.
        assert_eq!((state.run(|| NUMBER.get()), NUMBER.get()), (3, 0));
        assert_eq!(format!("{:?}", CarriedValues::save()), "[]");
    }
}
