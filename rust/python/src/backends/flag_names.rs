//! Which names are flags of which class, by address: an assignment `cudnn.benchmark = True` names the flag with an interned
//! string, so a look at two addresses says that the name is there.

use once_cell::race::OnceBox;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

/// Entries by their hash, each in the first free place from there on. Less than half of the places are taken.
pub(super) struct FlagNames {
    places: Box<[Option<Entry>]>,
}

/// The addresses of a class and of an interned string, both of which live as long as the process.
type Entry = (usize, usize);

static NAMES: OnceBox<FlagNames> = OnceBox::new();

impl FlagNames {
    /// Of these classes, each with the name of one flag.
    pub(super) fn of<'py>(py: Python<'py>, flags: Vec<(Bound<'py, PyType>, &str)>) -> Self {
        let count = (flags.len() * 2 + 1).next_power_of_two();
        let mut names = FlagNames { places: vec![None; count].into_boxed_slice() };
        for (class, name) in flags {
            let interned = PyString::intern(py, name).into_ptr();
            names.add((class.into_ptr() as usize, interned as usize));
        }
        names
    }

    /// Has [`contains`] answer from these. The first ones stay: a process has one interpreter.
    pub(super) fn publish(self) {
        // Nothing is lost where they are there already: what is not known here is looked up.
        let _ = NAMES.set(Box::new(self));
    }

    fn add(&mut self, entry: Entry) {
        let free = self.places_for(entry).find(|place| matches!(self.places.get(*place), Some(None)));
        if let Some(place) = free.and_then(|place| self.places.get_mut(place)) {
            *place = Some(entry);
        }
    }

    fn has(&self, entry: Entry) -> bool {
        let taken = self.places_for(entry).map_while(|place| self.places.get(place).copied().flatten());
        taken.into_iter().any(|found| found == entry)
    }

    fn places_for(&self, (class, name): Entry) -> impl Iterator<Item = usize> + use<> {
        let mask = self.places.len() - 1;
        // Objects are aligned, so the lowest bits say nothing.
        let hash = (class >> 4) ^ (name >> 4) ^ (name >> 12);
        (0..=mask).map(move |step| (hash + step) & mask)
    }
}

/// Whether an assignment to an object of exactly this class, by this name, is one to a flag. False says nothing.
#[inline]
pub(super) fn contains(class: *mut ffi::PyTypeObject, name: *mut ffi::PyObject) -> bool {
    NAMES.get().is_some_and(|names| names.has((class as usize, name as usize)))
}
