//! Bindings of `interlock.dispatch`: records of calls and the choice of their kernels.

#[cfg(feature = "tensor")]
pub(crate) mod explain;
#[cfg(feature = "tensor")]
mod flash_attention;

use interlock::dispatch::{self, Outcome, Rounding, Sums};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::context::traverse_scope;
use crate::scope_debug;
use crate::submodule::submodule;

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = submodule(parent, "dispatch")?;
    module.add_class::<Call>()?;
    module.add_class::<Considered>()?;
    module.add_class::<Reason>()?;
    module.add_class::<Recording>()?;
    #[cfg(feature = "tensor")]
    {
        module.add_function(wrap_pyfunction!(explain::explain, &module)?)?;
        flash_attention::register(&module)?;
    }
    module.add_function(wrap_pyfunction!(record, &module)?)
}

/// A call of an operation and the choice of its kernel. `str` returns the line that `INTERLOCK_DISPATCH=1` prints.
///
/// Example:
///     >>> import interlock
///     >>> from interlock import dispatch
///     >>> x = interlock.ones(2, 2)
///     >>> dispatch.explain("matmul", x, x).kernel
///     'native'
#[pyclass(frozen, eq, module = "interlock.dispatch")]
#[derive(PartialEq)]
pub(crate) struct Call(dispatch::Call);

impl Call {
    pub(crate) fn new(call: dispatch::Call) -> Self {
        Call(call)
    }
}

#[pymethods]
impl Call {
    /// The name of the operation, such as ``"matmul"``.
    #[getter]
    fn operation(&self) -> &'static str {
        self.0.operation
    }

    /// The device, dtype and shapes.
    #[getter]
    fn arguments(&self) -> &str {
        &self.0.arguments
    }

    /// The name of the kernel that ran the call, or None if every kernel refused.
    #[getter]
    fn kernel(&self) -> Option<&'static str> {
        self.0.kernel()
    }

    /// Whether the kernel emulates the library of its name without calling it.
    #[getter]
    fn is_model(&self) -> bool {
        self.0.is_model
    }

    /// The precision to which float32 inputs were rounded: ``"float32"`` (unchanged), ``"tf32"``, ``"bf16"``, or
    /// ``"bfx9"`` for three bfloat16 parts of each, whose nine products emulate float32. None for inputs of another
    /// dtype, and for an operation whose calls of `matmul` are recorded separately.
    #[getter]
    fn inputs(&self) -> Option<&'static str> {
        self.0.inputs.map(Rounding::name)
    }

    /// The type in which `matmul` of float16 and bfloat16 inputs accumulated: ``"float32"``, ``"float16"``, or
    /// ``"float16 halves"`` or ``"bfloat16 halves"`` if two partial sums were rounded to that type and added.
    /// None for inputs of another dtype.
    #[getter]
    fn sums(&self) -> Option<&'static str> {
        self.0.sums.map(Sums::name)
    }

    /// The operation that the call is part of, such as ``"linear"``, or None.
    #[getter]
    fn composite(&self) -> Option<&'static str> {
        self.0.composite
    }

    /// Details of the choice, such as the path of `einsum`.
    #[getter]
    fn notes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.notes)
    }

    /// All kernels of the operation, in the order in which they were tried.
    #[getter]
    fn considered<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.considered.iter().cloned().map(Considered))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<interlock.dispatch.Call: {}>", self.0)
    }
}

/// A kernel that was considered for a call.
#[pyclass(frozen, eq, module = "interlock.dispatch")]
#[derive(PartialEq)]
struct Considered(dispatch::Considered);

#[pymethods]
impl Considered {
    /// The name of the kernel.
    #[getter]
    fn kernel(&self) -> &'static str {
        self.0.kernel
    }

    /// ``"chosen"``, ``"behind"`` if an earlier kernel was chosen, or ``"refused"``.
    #[getter]
    fn outcome(&self) -> &'static str {
        match self.0.outcome {
            Outcome::Chosen => "chosen",
            Outcome::NotReached { .. } => "behind",
            Outcome::Refused(_) => "refused",
        }
    }

    /// The reason why the kernel was rejected, or None.
    #[getter]
    fn reason(&self) -> Option<Reason> {
        match &self.0.outcome {
            Outcome::Refused(reason) => Some(Reason(reason.clone())),
            Outcome::Chosen | Outcome::NotReached { .. } => None,
        }
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<interlock.dispatch.Considered: {}>", self.0)
    }
}

/// The reason why a kernel cannot run a call. `str` returns it as a sentence.
#[pyclass(frozen, eq, module = "interlock.dispatch")]
#[derive(PartialEq)]
struct Reason(dispatch::Reason);

#[pymethods]
impl Reason {
    /// The dotted name, below `backends`, of the flag whose value excludes the kernel, or None.
    #[getter]
    fn flag(&self) -> Option<&'static str> {
        match self.0 {
            dispatch::Reason::Flag { name, .. } | dispatch::Reason::Listed { name, .. } => Some(name),
            _ => None,
        }
    }

    /// The title of the vendor library that the kernel lacks, or None.
    #[getter]
    fn library(&self) -> Option<&'static str> {
        match self.0 {
            dispatch::Reason::LibraryNotFound { library } => Some(library),
            _ => None,
        }
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<interlock.dispatch.Reason: {}>", self.0)
    }
}

/// A context manager that records the calls of operations, and the sequence of the calls. Created by `record`.
#[pyclass(frozen, sequence, module = "interlock.dispatch")]
struct Recording(dispatch::Recording);

impl Recording {
    fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.0.calls().into_iter().map(Call))
    }
}

#[pymethods]
impl Recording {
    fn __enter__<'a, 'py>(slf: &'a Bound<'py, Self>) -> PyResult<&'a Bound<'py, Self>> {
        let recording = &slf.get().0;
        scope_debug::enter(
            slf.py(),
            recording.scope(),
            || "dispatch.record".into(),
            || recording.try_enter(),
        )?;
        Ok(slf)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        traverse_scope(self.0.scope(), &visit)
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        scope_debug::exit(py, self.0.scope(), || "dispatch.record".into())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.list(index.py())?.as_any().get_item(index)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.list(py)?.as_any().try_iter()
    }

    fn __repr__(&self) -> String {
        let lines: Vec<String> = self.0.calls().iter().map(ToString::to_string).collect();
        format!(
            "<interlock.dispatch.Recording of {} calls>{}",
            lines.len(),
            lines.iter().map(|line| format!("\n  {line}")).collect::<String>()
        )
    }
}

/// Record the calls of operations with the choice of their kernels.
///
/// The recording is part of the state: it applies to the context that enters it, to copies of that context, and where a
/// captured state is applied. An inner recording replaces an outer one. Work that a graph replays is not
/// recorded again.
///
/// Returns:
///     A context manager whose target is the sequence of calls. It can be read while it is entered and afterwards.
///
/// Example:
///     >>> import interlock
///     >>> from interlock import dispatch
///     >>> x = interlock.ones(2, 2)
///     >>> with dispatch.record() as calls:
///     ...     y = x @ x
///     >>> calls[0].operation, calls[0].kernel
///     ('matmul', 'native')
#[pyfunction]
fn record() -> Recording {
    Recording(dispatch::Recording::default())
}
