//! Bindings of `interlock.dispatch`: records of calls and the choice of their kernels.

use interlock::backends::suggest;
use interlock::dispatch::{self, Outcome};
use interlock_tensor::ConvPadding;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple};

use crate::errors::{IntoPyResult, new_exception};
use crate::submodule::submodule;
use crate::tensor::Tensor;
use crate::tensor::attention::AttentionArguments;
use crate::tensor::conv::{self, ConvArguments};
use crate::{scope_debug, switches};

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = submodule(parent, "dispatch")?;
    module.add_class::<Call>()?;
    module.add_class::<Considered>()?;
    module.add_class::<Reason>()?;
    module.add_class::<Recording>()?;
    module.add_function(wrap_pyfunction!(record, &module)?)?;
    module.add_function(wrap_pyfunction!(explain, &module)?)
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
struct Call(dispatch::Call);

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

    /// Whether the kernel computes like the library of its name, without the library.
    #[getter]
    fn is_model(&self) -> bool {
        self.0.is_model
    }

    /// The precision to which float32 inputs were rounded: ``"float32"`` (unchanged), ``"tf32"`` or ``"bf16"``.
    #[getter]
    fn inputs(&self) -> &'static str {
        self.0.numerics.inputs.name()
    }

    /// The type in which products of float16 and bfloat16 inputs were summed: ``"float32"``, ``"float16"``, or
    /// ``"float16 halves"`` or ``"bfloat16 halves"`` if two halves of the products were rounded before they were added.
    #[getter]
    fn sums(&self) -> &'static str {
        self.0.numerics.sums.name()
    }

    /// The operation that the call is part of, such as ``"linear"``, or None.
    #[getter]
    fn composite(&self) -> Option<&'static str> {
        self.0.composite
    }

    /// What the kernel chose, such as the path of `einsum`.
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
            Outcome::Behind(_) => "behind",
            Outcome::Refused(_) => "refused",
        }
    }

    /// The reason of a kernel that was refused, or None.
    #[getter]
    fn reason(&self) -> Option<Reason> {
        match &self.0.outcome {
            Outcome::Refused(reason) => Some(Reason(reason.clone())),
            Outcome::Chosen | Outcome::Behind(_) => None,
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
    /// The dotted name of the flag whose value refuses the kernel, below `backends`, or None.
    #[getter]
    fn flag(&self) -> Option<&'static str> {
        match self.0 {
            dispatch::Reason::Flag { name, .. } => Some(name),
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
        scope_debug::enter(slf.py(), recording.scope(), || recording.enter())?;
        Ok(slf)
    }

    fn __exit__(
        &self,
        kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        scope_debug::exit(kind.py(), self.0.scope())
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
/// The recording is part of the thread's state: it applies to the thread that enters it, and to other threads and tasks
/// to which a captured state is applied. An inner recording replaces an outer one. Work that a graph replays is not
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

/// The arguments of an operation that `explain` received.
type Given<'a, 'py> = (&'a Bound<'py, PyTuple>, Option<&'a Bound<'py, PyDict>>);

/// An operation that `explain` accepts.
struct Explained {
    name: &'static str,
    explain: for<'a, 'py> fn(Given<'a, 'py>) -> PyResult<Call>,
}

static OPERATIONS: [Explained; 3] = [
    Explained { name: "conv2d", explain: explain_conv2d },
    Explained { name: "matmul", explain: explain_matmul },
    Explained { name: "scaled_dot_product_attention", explain: explain_attention },
];

/// Return the choice of a kernel for a call on this thread now, without running it.
///
/// The kernel that is chosen may still refuse when it runs; the next one is then tried.
///
/// Args:
///     operation: The name of the operation: ``"conv2d"``, ``"matmul"`` or ``"scaled_dot_product_attention"``.
///     tensors: The operands.
///     options: The keyword arguments of the operation.
///
/// Raises:
///     ArgumentError: There is no operation of this name.
///     ShapeError: The shapes are incompatible.
///     TypeError: The operation takes other arguments, or an operand is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> from interlock import dispatch
///     >>> x = interlock.ones(2, 2)
///     >>> for considered in dispatch.explain("matmul", x, x).considered:
///     ...     print(considered)
///     cublas: needs a device, got cpu
///     cublaslt: needs a device, got cpu
///     mkldnn: backends.mkldnn.numerics is 'hardware', not 'model'
///     native: chosen
///     >>> x = interlock.ones(1, 1, 2, 2)
///     >>> dispatch.explain("scaled_dot_product_attention", x, x, x, is_causal=True).kernel
///     'flash'
#[pyfunction]
#[pyo3(signature = (operation, /, *tensors, **options))]
fn explain(
    operation: &str,
    tensors: &Bound<'_, PyTuple>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Call> {
    let names = || OPERATIONS.iter().map(|operation| operation.name);
    if let Some(found) = OPERATIONS.iter().find(|found| found.name == operation) {
        return (found.explain)((tensors, options));
    }
    let cure = suggest(operation, names()).map(|name| format!("; did you mean {name:?}?"));
    let message = format!(
        "explain: operation must be one of {}, got {operation:?}{}",
        names().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", "),
        cure.unwrap_or_default()
    );
    Err(new_exception(tensors.py(), "ArgumentError", message))
}

fn explain_matmul((tensors, options): Given<'_, '_>) -> PyResult<Call> {
    if let Some(name) = options.and_then(|options| options.keys().iter().next()) {
        let message = format!("explain: \"matmul\" has no option {}", name.repr()?);
        return Err(PyTypeError::new_err(message));
    }
    let operands = tensors.iter().map(|tensor| {
        let error = || format!("explain: tensors must be Tensors, got {}", tensor.get_type());
        tensor
            .cast::<Tensor>()
            .map(|tensor| tensor.get().0.clone())
            .map_err(|_| PyTypeError::new_err(error()))
    });
    let operands = operands.collect::<PyResult<Vec<_>>>()?;
    let [left, right] = operands.as_slice() else {
        let message = format!("explain: tensors must be 2 Tensors for \"matmul\", got {}", operands.len());
        return Err(PyTypeError::new_err(message));
    };
    left.explain_matmul(right).map(Call).into_py_result(tensors.py())
}

fn explain_conv2d((tensors, options): Given<'_, '_>) -> PyResult<Call> {
    let arguments = wrap_pyfunction!(conv2d_call, tensors.py())?.call(tensors, options)?;
    Ok(Call(arguments.cast::<Call>()?.get().0.clone()))
}

/// Binds arguments as the operation itself does.
#[pyfunction]
#[pyo3(
    name = "conv2d",
    signature = (input, weight, bias = None, stride = [1, 1], padding = ConvPadding::Sizes([0, 0]), dilation = [1, 1], groups = 1)
)]
fn conv2d_call(
    input: &Bound<'_, PyAny>,
    weight: &Bound<'_, PyAny>,
    bias: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = conv::stride)] stride: [i64; 2],
    #[pyo3(from_py_with = conv::padding)] padding: ConvPadding,
    #[pyo3(from_py_with = conv::dilation)] dilation: [i64; 2],
    #[pyo3(from_py_with = conv::groups)] groups: i64,
) -> PyResult<Call> {
    let arguments = ConvArguments::extract([input, weight], bias, stride, padding, dilation, groups)?;
    arguments.explain(input.py()).map(Call)
}

fn explain_attention((tensors, options): Given<'_, '_>) -> PyResult<Call> {
    let arguments = wrap_pyfunction!(attention_call, tensors.py())?.call(tensors, options)?;
    Ok(Call(arguments.cast::<Call>()?.get().0.clone()))
}

/// Binds arguments as the operation itself does.
#[pyfunction]
#[pyo3(
    name = "scaled_dot_product_attention",
    signature = (query, key, value, attn_mask = None, dropout_p = None, is_causal = false, *, scale = None, enable_gqa = false)
)]
#[expect(clippy::too_many_arguments, reason = "the signature is PyTorch's")]
fn attention_call(
    query: &Bound<'_, PyAny>,
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    attn_mask: Option<&Bound<'_, PyAny>>,
    dropout_p: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = switches::scaled_dot_product_attention::is_causal)] is_causal: bool,
    scale: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = switches::scaled_dot_product_attention::enable_gqa)] enable_gqa: bool,
) -> PyResult<Call> {
    let options = [attn_mask, dropout_p, scale];
    let arguments = AttentionArguments::extract([query, key, value], options, is_causal, enable_gqa)?;
    arguments.explain(query.py()).map(Call)
}
