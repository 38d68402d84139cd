//! The names of flags by class and address: an assignment `cudnn.benchmark = True` names the flag with an interned
//! string, so comparing two addresses finds the flag.

use once_cell::race::OnceBox;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

/// An open-addressing hash table of entries, at most half full.
pub(super) struct FlagNames {
    slots: Box<[Option<Entry>]>,
}

/// The addresses of a class and of an interned string, which both live as long as the process.
type Entry = (usize, usize);

static NAMES: OnceBox<FlagNames> = OnceBox::new();

impl FlagNames {
    /// Creates the table of flags, each a class and a name.
    pub(super) fn of<'py>(py: Python<'py>, flags: Vec<(Bound<'py, PyType>, &str)>) -> Self {
        let count = (flags.len() * 2 + 1).next_power_of_two();
        let mut names = FlagNames { slots: vec![None; count].into_boxed_slice() };
        for (class, name) in flags {
            let interned = PyString::intern(py, name).into_ptr();
            names.add((class.into_ptr() as usize, interned as usize));
        }
        names
    }

    /// Sets the table that [`contains`] searches. Only the first call has an effect: a process has one interpreter.
    pub(super) fn publish(self) {
        // A name that is missing in the table takes the slow path, which is correct, too.
        let _ = NAMES.set(Box::new(self));
    }

    fn add(&mut self, entry: Entry) {
        let free = self.slots_for(entry).find(|slot| matches!(self.slots.get(*slot), Some(None)));
        if let Some(slot) = free.and_then(|slot| self.slots.get_mut(slot)) {
            *slot = Some(entry);
        }
    }

    fn has(&self, entry: Entry) -> bool {
        let taken = self.slots_for(entry).map_while(|slot| self.slots.get(slot).copied().flatten());
        taken.into_iter().any(|found| found == entry)
    }

    fn slots_for(&self, (class, name): Entry) -> impl Iterator<Item = usize> + use<> {
        let mask = self.slots.len() - 1;
        // Objects are aligned, so the lowest bits are zero.
        let hash = (class >> 4) ^ (name >> 4) ^ (name >> 12);
        (0..=mask).map(move |step| (hash + step) & mask)
    }
}

/// Returns whether an assignment to an object of exactly this class, by this name, assigns a flag. `false` is not
/// conclusive.
#[inline]
pub(super) fn contains(class: *mut ffi::PyTypeObject, name: *mut ffi::PyObject) -> bool {
    NAMES.get().is_some_and(|names| names.has((class as usize, name as usize)))
}
