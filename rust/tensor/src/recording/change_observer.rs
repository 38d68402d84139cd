//! Observers that are called before a tensor is changed in place, for `allow_mutation_on_saved_tensors`.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use interlock_core::base::mutex::Mutex;

use crate::{Result, Tensor};

/// The number of observers, so that a change costs one load while there are none.
static LIVE: AtomicUsize = AtomicUsize::new(0);

static OBSERVERS: Mutex<Vec<Arc<dyn ChangeObserver>>> = Mutex::new(Vec::new());

/// An observer of changes in place, by any thread.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use interlock_tensor::Tensor;
/// use interlock_tensor::autograd::observe_changes;
///
/// static CHANGES: AtomicUsize = AtomicUsize::new(0);
/// let tensor = Tensor::from_slice(&[3.0], &[1])?;
/// let count = |_: &Tensor| {
///     CHANGES.fetch_add(1, Ordering::Relaxed);
///     Ok(())
/// };
/// let observation = observe_changes(Arc::new(count));
/// tensor.zero_()?;
/// drop(observation);
/// tensor.zero_()?;
/// assert_eq!(CHANGES.load(Ordering::Relaxed), 1);
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub trait ChangeObserver: Any + Send + Sync {
    /// Called with a tensor whose elements an operation is about to change. Its error prevents the change.
    fn call(&self, tensor: &Tensor) -> Result<()>;
}

impl<F: Fn(&Tensor) -> Result<()> + Any + Send + Sync> ChangeObserver for F {
    fn call(&self, tensor: &Tensor) -> Result<()> {
        self(tensor)
    }
}

/// An observer that is called until this value is dropped; see [`ChangeObserver`].
#[must_use = "the observer is removed when this value is dropped"]
pub struct ChangeObservation(Arc<dyn ChangeObserver>);

/// Makes operations that change a tensor in place, on any thread, call an observer first.
pub fn observe_changes(observer: Arc<dyn ChangeObserver>) -> ChangeObservation {
    OBSERVERS.lock().push(observer.clone());
    LIVE.fetch_add(1, Ordering::Release);
    ChangeObservation(observer)
}

impl Drop for ChangeObservation {
    fn drop(&mut self) {
        let mut observers = OBSERVERS.lock();
        let found = observers.iter().position(|observer| Arc::ptr_eq(observer, &self.0));
        let removed = found.map(|index| observers.remove(index));
        drop(observers);
        LIVE.fetch_sub(1, Ordering::Release);
        // After the lock is released: the drop may run code of the program.
        drop(removed);
    }
}

/// Calls the observers with a tensor that is about to be changed.
pub(super) fn before_change(tensor: &Tensor) -> Result<()> {
    if LIVE.load(Ordering::Acquire) == 0 { Ok(()) } else { call_observers(tensor) }
}

#[cold]
fn call_observers(tensor: &Tensor) -> Result<()> {
    let observers = OBSERVERS.lock().clone();
    observers.iter().try_for_each(|observer| observer.call(tensor))
}
