//! The scope of a decorated generator or coroutine, which is open around each resume.

use interlock_core::base::mutex::Mutex;
use interlock_core::binding::thread::{self as binding, Position};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};

use crate::detach::{call_method, call_with};

/// Enters the scope of a decorated generator around each resume: above all scopes but the generator's own.
///
/// The generator has the scopes that were entered during its resumes and are still open. A resume enters at the position
/// of an earlier one, below them, or at the top if there are none in the present context. It is native so that no signal
/// handler runs between an enter and the block.
#[pyclass(frozen, module = "interlock._core.state")]
pub(crate) struct Resumes {
    /// Returns the scope for one resume.
    new_scope: Py<PyAny>,
    places: Mutex<Places>,
}

/// Where the scope lies, and the scopes of the generator.
#[derive(Default)]
struct Places {
    /// The scope of the present resume.
    scope: Option<Py<PyAny>>,
    position: Position,
    /// Above everything that was open when the present resume began.
    start: Position,
    /// The positions of the scopes of the generator that were open after the last resume. Later scopes of the consumer
    /// have higher ones.
    own: Vec<Position>,
}

#[pymethods]
impl Resumes {
    #[new]
    fn new(new_scope: Py<PyAny>) -> Self {
        Resumes { new_scope, places: Mutex::default() }
    }

    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        let scope = call_with(self.new_scope.bind(py), ())?;
        let start = binding::new_position();
        let position = {
            let mut places = self.places.lock();
            let above =
                if places.own.is_empty() { Vec::new() } else { binding::positions_above(places.position) };
            if !places.own.iter().any(|own| above.contains(own)) {
                places.own.clear();
                places.position = start;
            }
            places.start = start;
            places.position
        };
        binding::enter_at(position, || call_method(&scope, intern!(py, "__enter__"), ()))?;
        let replaced = self.places.lock().scope.replace(scope.unbind());
        drop(replaced);
        Ok(())
    }

    #[pyo3(signature = (*error))]
    fn __exit__<'py>(&self, error: &Bound<'py, PyTuple>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = error.py();
        let scope = self.places.lock().scope.take();
        let exit = |scope: Py<PyAny>| call_method(scope.bind(py), intern!(py, "__exit__"), error);
        let result = scope.map(exit).transpose();
        let mut places = self.places.lock();
        // Scopes that the consumer enters from now on have higher positions.
        binding::new_position();
        let (own, start) = (std::mem::take(&mut places.own), places.start);
        places.own = binding::positions_above(places.position);
        places.own.retain(|position| *position > start || own.contains(position));
        result
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.new_scope)
    }
}
