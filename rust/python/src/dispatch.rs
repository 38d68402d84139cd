//! Bindings of `interlock.dispatch`: records of calls and the choice of their kernels.

#[cfg(feature = "tensor")]
pub(crate) mod explain;
#[cfg(feature = "tensor")]
mod flash_attention;

use interlock::dispatch::{self, Outcome, Rounding, Sums};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyTuple, PyType};
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
// The classes have texts, not the objects of Rust, whose names are static: a pickle may come from a process that has other
// kernels.
#[pyclass(frozen, eq, module = "interlock.dispatch")]
#[derive(Clone, PartialEq)]
pub(crate) struct Call {
    operation: String,
    arguments: String,
    kernel: Option<String>,
    is_model: bool,
    inputs: Option<String>,
    sums: Option<String>,
    composite: Option<String>,
    notes: Vec<String>,
    considered: Vec<Considered>,
    text: String,
}

/// The fields of a [`Call`] in a pickle.
type CallFields = (
    String,
    String,
    Option<String>,
    bool,
    Option<String>,
    Option<String>,
    Option<String>,
    Vec<String>,
    Vec<Considered>,
    String,
);

/// The fields of a [`Considered`] in a pickle.
type ConsideredFields = (String, String, Option<Reason>, String);

/// The fields of a [`Reason`] in a pickle.
type ReasonFields = (Option<String>, Option<String>, String);

/// A function that returns an object of a pickle, and its arguments.
type Reduced<'py, T> = (Bound<'py, PyAny>, T);

impl Call {
    pub(crate) fn new(call: dispatch::Call) -> Self {
        let owned = |text: Option<&'static str>| text.map(str::to_owned);
        Call {
            operation: call.operation.to_owned(),
            kernel: owned(call.kernel()),
            is_model: call.is_model,
            inputs: owned(call.inputs.map(Rounding::name)),
            sums: owned(call.sums.map(Sums::name)),
            composite: owned(call.composite),
            considered: call.considered.iter().map(Considered::new).collect(),
            text: call.to_string(),
            arguments: call.arguments,
            notes: call.notes,
        }
    }
}

#[pymethods]
impl Call {
    /// The name of the operation, such as ``"matmul"``.
    #[getter]
    fn operation(&self) -> &str {
        &self.operation
    }

    /// The device, dtype and shapes.
    #[getter]
    fn arguments(&self) -> &str {
        &self.arguments
    }

    /// The name of the kernel that ran the call, or None if every kernel refused.
    #[getter]
    fn kernel(&self) -> Option<&str> {
        self.kernel.as_deref()
    }

    /// Whether the kernel emulates the library of its name without calling it.
    #[getter]
    fn is_model(&self) -> bool {
        self.is_model
    }

    /// The precision to which float32 inputs were rounded: ``"float32"`` (unchanged), ``"tf32"``, ``"bf16"``, or
    /// ``"bfx9"`` for three bfloat16 parts of each, whose nine products emulate float32. None for inputs of another
    /// dtype, and for an operation whose calls of `matmul` are recorded separately.
    #[getter]
    fn inputs(&self) -> Option<&str> {
        self.inputs.as_deref()
    }

    /// The type in which `matmul` of float16 and bfloat16 inputs accumulated: ``"float32"``, ``"float16"``, or
    /// ``"float16 halves"`` or ``"bfloat16 halves"`` if two partial sums were rounded to that type and added.
    /// None for inputs of another dtype.
    #[getter]
    fn sums(&self) -> Option<&str> {
        self.sums.as_deref()
    }

    /// The operation that the call is part of, such as ``"linear"``, or None.
    #[getter]
    fn composite(&self) -> Option<&str> {
        self.composite.as_deref()
    }

    /// Details of the choice, such as the path of `einsum`.
    #[getter]
    fn notes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.notes)
    }

    /// All kernels of the operation, in the order in which they were tried.
    #[getter]
    fn considered<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.considered.iter().cloned())
    }

    /// Return the call of a pickle.
    #[classmethod]
    #[pyo3(name = "_restored", signature = (*fields))]
    fn restored(_cls: &Bound<'_, PyType>, fields: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let (operation, arguments, kernel, is_model, inputs, sums, composite, notes, considered, text) =
            fields.extract::<CallFields>()?;
        Ok(Call { operation, arguments, kernel, is_model, inputs, sums, composite, notes, considered, text })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py, CallFields>> {
        let Call { operation, arguments, kernel, is_model, inputs, sums, composite, notes, considered, text } =
            slf.get().clone();
        let fields =
            (operation, arguments, kernel, is_model, inputs, sums, composite, notes, considered, text);
        Ok((slf.get_type().getattr("_restored")?, fields))
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<interlock.dispatch.Call: {}>", self.text)
    }
}

/// A kernel that was considered for a call.
#[pyclass(frozen, eq, from_py_object, module = "interlock.dispatch")]
#[derive(Clone, PartialEq)]
struct Considered {
    kernel: String,
    outcome: String,
    reason: Option<Reason>,
    text: String,
}

impl Considered {
    fn new(considered: &dispatch::Considered) -> Self {
        let (outcome, reason) = match &considered.outcome {
            Outcome::Chosen => ("chosen", None),
            Outcome::NotReached { .. } => ("behind", None),
            Outcome::Refused(reason) => ("refused", Some(Reason::new(reason))),
        };
        Considered {
            kernel: considered.kernel.to_owned(),
            outcome: outcome.to_owned(),
            reason,
            text: considered.to_string(),
        }
    }
}

#[pymethods]
impl Considered {
    /// The name of the kernel.
    #[getter]
    fn kernel(&self) -> &str {
        &self.kernel
    }

    /// ``"chosen"``, ``"behind"`` if an earlier kernel was chosen, or ``"refused"``.
    #[getter]
    fn outcome(&self) -> &str {
        &self.outcome
    }

    /// The reason why the kernel was rejected, or None.
    #[getter]
    fn reason(&self) -> Option<Reason> {
        self.reason.clone()
    }

    /// Return the object of a pickle.
    #[classmethod]
    #[pyo3(name = "_restored")]
    fn restored(
        _cls: &Bound<'_, PyType>,
        kernel: String,
        outcome: String,
        reason: Option<Reason>,
        text: String,
    ) -> Self {
        Considered { kernel, outcome, reason, text }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py, ConsideredFields>> {
        let Considered { kernel, outcome, reason, text } = slf.get().clone();
        Ok((slf.get_type().getattr("_restored")?, (kernel, outcome, reason, text)))
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<interlock.dispatch.Considered: {}>", self.text)
    }
}

/// The reason why a kernel cannot run a call. `str` returns it as a sentence.
#[pyclass(frozen, eq, from_py_object, module = "interlock.dispatch")]
#[derive(Clone, PartialEq)]
struct Reason {
    flag: Option<String>,
    library: Option<String>,
    text: String,
}

impl Reason {
    fn new(reason: &dispatch::Reason) -> Self {
        let (flag, library) = match reason {
            dispatch::Reason::Flag { name, .. } | dispatch::Reason::Listed { name, .. } => {
                (Some(*name), None)
            }
            dispatch::Reason::LibraryNotFound { library } => (None, Some(*library)),
            _ => (None, None),
        };
        Reason {
            flag: flag.map(str::to_owned),
            library: library.map(str::to_owned),
            text: reason.to_string(),
        }
    }
}

#[pymethods]
impl Reason {
    /// The dotted name, below `backends`, of the flag whose value excludes the kernel, or None.
    #[getter]
    fn flag(&self) -> Option<&str> {
        self.flag.as_deref()
    }

    /// The title of the vendor library that the kernel lacks, or None.
    #[getter]
    fn library(&self) -> Option<&str> {
        self.library.as_deref()
    }

    /// Return the reason of a pickle.
    #[classmethod]
    #[pyo3(name = "_restored")]
    fn restored(
        _cls: &Bound<'_, PyType>,
        flag: Option<String>,
        library: Option<String>,
        text: String,
    ) -> Self {
        Reason { flag, library, text }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py, ReasonFields>> {
        let Reason { flag, library, text } = slf.get().clone();
        Ok((slf.get_type().getattr("_restored")?, (flag, library, text)))
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<interlock.dispatch.Reason: {}>", self.text)
    }
}

/// A context manager that records the calls of operations, and the sequence of the calls. Created by `record`.
#[pyclass(frozen, sequence, module = "interlock.dispatch")]
struct Recording(dispatch::Recording);

impl Recording {
    fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.0.calls().into_iter().map(Call::new))
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

    fn __reduce__(&self) -> PyResult<()> {
        let message = "a Recording cannot be pickled or copied; list(recording) returns its calls, which can";
        Err(PyTypeError::new_err(message))
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
