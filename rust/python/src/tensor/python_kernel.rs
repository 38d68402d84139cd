//! Kernels whose function is written in Python.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use interlock::accelerator::{Device as CoreDevice, DeviceType};
use interlock::autograd::no_grad;
use interlock::backends::flags::{PYTHON_NATIVE_DISABLED_DISPATCH_KEYS, PYTHON_NATIVE_DISABLED_OPERATIONS};
use interlock::dispatch::{DynKernel, KernelError, Numerics, Op, Operation, Reason};
use interlock_core::base::mutex::Mutex;
use interlock_core::base::quote::one_line;
use interlock_core::base::sync::RelaxedBool;
use interlock_core::binding::dispatch::intern_name;
use interlock_tensor::{
    ATTENTION, Attention, AttentionArgs, AttentionCall, AttentionOut, CONV2D, Conv2d, ConvArgs, ConvCall,
    ConvPass, DType as CoreDType, Error, MATMUL, Matmul, MatmulArgs, MatmulCall, Result,
    Tensor as CoreTensor, contiguous_strides,
};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use super::program::call_program;
use super::{ReadTensor, Tensor, dtype};
use crate::accelerator::Device;
use crate::deferred_drop::DeferredDrop;
use crate::detach::{attach, call_with, call_with_keywords};
use crate::errors::new_type_error;
use crate::raise_later;
use crate::switches::try_bool;

/// A property of a call that a kernel accepts, or the reason why it does not.
type Accepted<T> = std::result::Result<T, Reason>;

/// An option of a call.
pub(super) enum OptionValue {
    Switch(bool),
    Number(f64),
    Count(usize),
    Pair([usize; 2]),
}

impl OptionValue {
    fn set(&self, options: &Bound<'_, PyDict>, name: &str) -> PyResult<()> {
        match self {
            OptionValue::Switch(switch) => options.set_item(name, switch),
            OptionValue::Number(number) => options.set_item(name, number),
            OptionValue::Count(count) => options.set_item(name, count),
            OptionValue::Pair([first, second]) => options.set_item(name, (first, second)),
        }
    }
}

type Options = Vec<(&'static str, OptionValue)>;

/// The properties of a call, as a condition receives them.
pub(super) struct Facts {
    device: CoreDevice,
    dtype: CoreDType,
    shapes: Vec<Vec<usize>>,
    options: Options,
}

/// An operation that runs kernels whose functions are written in Python.
pub(super) trait PythonOperation: Operation<Error = Error> + Sized {
    /// Returns the operation.
    fn op() -> &'static Op<Self>;
    /// Returns the properties of a call, or the reason why no function of Python can run it.
    fn facts(call: &Self::Call) -> Accepted<Facts>;
    /// Returns the positional arguments of the function.
    fn operands<'a>(args: &'a Self::Args<'_>) -> Vec<Option<&'a CoreTensor>>;
    /// Returns the keyword arguments of the function, besides that of [`mask`](PythonOperation::mask).
    fn options(call: &Self::Call, args: &Self::Args<'_>) -> Options;
    /// Returns the name and value of a keyword argument that is a tensor or None.
    fn mask<'a>(_args: &'a Self::Args<'_>) -> Option<(&'static str, Option<&'a CoreTensor>)> {
        None
    }
    /// Returns the shape that the function has to return.
    fn result_shape(call: &Self::Call, args: &Self::Args<'_>) -> Accepted<Vec<usize>>;
    /// Returns the shape of the result of the operation, if it differs from that of the function.
    fn final_shape<'a>(_args: &'a Self::Args<'_>) -> Option<&'a [usize]> {
        None
    }
    /// Converts what the function returned.
    fn result(out: CoreTensor, args: &Self::Args<'_>) -> Result<Self::Out>;
}

impl PythonOperation for Matmul {
    fn op() -> &'static Op<Self> {
        &MATMUL
    }

    fn facts(call: &MatmulCall) -> Accepted<Facts> {
        let shapes = call.shapes().map(<[usize]>::to_vec).to_vec();
        Ok(Facts { device: call.device(), dtype: call.dtype(), shapes, options: Vec::new() })
    }

    fn operands<'a>(args: &'a MatmulArgs<'_>) -> Vec<Option<&'a CoreTensor>> {
        vec![Some(args.a), Some(args.b)]
    }

    fn options(_: &MatmulCall, _: &MatmulArgs<'_>) -> Options {
        Vec::new()
    }

    fn result_shape(call: &MatmulCall, args: &MatmulArgs<'_>) -> Accepted<Vec<usize>> {
        let [[.., rows, _], [.., columns]] = call.shapes() else {
            return Err(Reason::from("needs matrices"));
        };
        Ok([args.batch, &[*rows, *columns]].concat())
    }

    fn final_shape<'a>(args: &'a MatmulArgs<'_>) -> Option<&'a [usize]> {
        Some(args.shape)
    }

    fn result(out: CoreTensor, args: &MatmulArgs<'_>) -> Result<CoreTensor> {
        out.cast(args.dtype)
    }
}

impl PythonOperation for Attention {
    fn op() -> &'static Op<Self> {
        &ATTENTION
    }

    fn facts(call: &AttentionCall) -> Accepted<Facts> {
        let switch = |name, value| (name, OptionValue::Switch(value));
        Ok(Facts {
            device: call.device(),
            dtype: call.dtype(),
            shapes: call.shapes().map(<[usize]>::to_vec).to_vec(),
            options: vec![
                switch("has_mask", call.has_mask()),
                switch("is_causal", call.is_causal()),
                switch("enable_gqa", call.enable_gqa()),
            ],
        })
    }

    fn operands<'a>(args: &'a AttentionArgs<'_>) -> Vec<Option<&'a CoreTensor>> {
        vec![Some(args.query), Some(args.key), Some(args.value)]
    }

    fn options(_: &AttentionCall, args: &AttentionArgs<'_>) -> Options {
        vec![
            ("is_causal", OptionValue::Switch(args.is_causal)),
            ("scale", OptionValue::Number(args.scale)),
            ("enable_gqa", OptionValue::Switch(args.enable_gqa)),
        ]
    }

    fn mask<'a>(args: &'a AttentionArgs<'_>) -> Option<(&'static str, Option<&'a CoreTensor>)> {
        Some(("attn_mask", args.mask))
    }

    fn result_shape(call: &AttentionCall, _: &AttentionArgs<'_>) -> Accepted<Vec<usize>> {
        call.output_shape()
    }

    fn result(out: CoreTensor, _: &AttentionArgs<'_>) -> Result<AttentionOut> {
        Ok(out.into())
    }
}

impl PythonOperation for Conv2d {
    fn op() -> &'static Op<Self> {
        &CONV2D
    }

    fn facts(call: &ConvCall) -> Accepted<Facts> {
        if call.pass() != ConvPass::Forward {
            return Err(Reason::from("needs the output, got a gradient"));
        }
        if !has_equal_padding(call) {
            return Err(Reason::from(
                "needs as many zeros after the last row and column as before the first",
            ));
        }
        let shapes = vec![call.input_shape().to_vec(), call.weight_shape().to_vec()];
        Ok(Facts { device: call.device(), dtype: call.dtype(), shapes, options: conv_options(call) })
    }

    fn operands<'a>(args: &'a ConvArgs<'_>) -> Vec<Option<&'a CoreTensor>> {
        let [input, weight] = args.operands;
        vec![Some(input), Some(weight), args.bias]
    }

    fn options(call: &ConvCall, _: &ConvArgs<'_>) -> Options {
        conv_options(call)
    }

    fn result_shape(call: &ConvCall, _: &ConvArgs<'_>) -> Accepted<Vec<usize>> {
        Ok(call.output_shape().to_vec())
    }

    fn result(out: CoreTensor, _: &ConvArgs<'_>) -> Result<CoreTensor> {
        Ok(out)
    }
}

fn conv_options(call: &ConvCall) -> Options {
    vec![
        ("stride", OptionValue::Pair(call.stride())),
        ("padding", OptionValue::Pair(call.padding())),
        ("dilation", OptionValue::Pair(call.dilation())),
        ("groups", OptionValue::Count(call.groups())),
    ]
}

/// Returns whether the output has the shape that follows from equal padding on both sides.
fn has_equal_padding(call: &ConvCall) -> bool {
    let ([_, _, rows, columns], [_, _, height, width]) = (call.input_shape(), call.weight_shape());
    let [_, _, out_rows, out_columns] = call.output_shape();
    let (stride, padding, dilation) = (call.stride(), call.padding(), call.dilation());
    let output = |size: usize, kernel: usize, stride: usize, padding: usize, dilation: usize| {
        let covered = dilation.checked_mul(kernel.checked_sub(1)?)?.checked_add(1)?;
        size.checked_add(padding.checked_mul(2)?)?.checked_sub(covered)?.checked_div(stride)?.checked_add(1)
    };
    output(rows, height, stride[0], padding[0], dilation[0]) == Some(out_rows)
        && output(columns, width, stride[1], padding[1], dilation[1]) == Some(out_columns)
}

/// A call as passed to the condition of a kernel that `register_kernel` has registered.
#[pyclass(frozen, get_all, module = "interlock.dispatch")]
pub(super) struct KernelCall {
    /// The name of the operation.
    operation: &'static str,
    /// The device of the result.
    device: Py<PyAny>,
    /// The dtype of the operands.
    dtype: Py<PyAny>,
    /// The shapes of the operands.
    shapes: Py<PyTuple>,
    /// The options: of ``"scaled_dot_product_attention"`` has_mask, is_causal and enable_gqa, of ``"conv2d"`` stride,
    /// padding, dilation and groups.
    options: Py<PyDict>,
}

#[pymethods]
impl KernelCall {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let KernelCall { operation, device, dtype, shapes, options } = self;
        let (device, dtype) = (device.bind(py).str()?, dtype.bind(py).repr()?);
        let (shapes, options) = (shapes.bind(py).repr()?, options.bind(py).repr()?);
        Ok(format!("<interlock.dispatch.KernelCall: {operation} {device} {dtype} {shapes} {options}>"))
    }
}

impl KernelCall {
    fn new(py: Python<'_>, operation: &'static str, facts: &Facts) -> PyResult<Self> {
        let shapes =
            facts.shapes.iter().map(|shape| PyTuple::new(py, shape)).collect::<PyResult<Vec<_>>>()?;
        let options = PyDict::new(py);
        facts.options.iter().try_for_each(|(name, value)| value.set(&options, name))?;
        Ok(KernelCall {
            operation,
            device: Bound::new(py, Device::of(facts.device))?.into_any().unbind(),
            dtype: dtype::object(py, facts.dtype)?.unbind(),
            shapes: PyTuple::new(py, shapes)?.unbind(),
            options: options.unbind(),
        })
    }
}

/// The Python functions of a registration.
pub(super) struct Functions {
    pub function: DeferredDrop,
    pub condition: Option<DeferredDrop>,
    /// The names of both, if they have some.
    pub declared_by: Option<String>,
}

/// A kernel with functions of Python. It is never freed; the functions are, when it is removed.
pub(super) struct PythonKernel {
    name: &'static str,
    is_registered: RelaxedBool,
    functions: Mutex<Option<Arc<Functions>>>,
}

thread_local! {
    /// The addresses of the kernels whose functions run on this thread.
    static RUNNING: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Lists a kernel in [`RUNNING`].
struct Running;

impl Running {
    fn new(kernel: &PythonKernel) -> Self {
        RUNNING.with_borrow_mut(|running| running.push(std::ptr::from_ref(kernel) as usize));
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.with_borrow_mut(|running| running.pop());
    }
}

impl PythonKernel {
    pub fn new(name: &'static str) -> Self {
        PythonKernel { name, is_registered: RelaxedBool::new(false), functions: Mutex::new(None) }
    }

    pub fn is_registered(&self) -> bool {
        self.is_registered.get()
    }

    /// Begins a registration, and returns a reference that identifies it.
    pub fn set(&self, functions: Functions) -> Weak<Functions> {
        let functions = Arc::new(functions);
        let registration = Arc::downgrade(&functions);
        let replaced = self.functions.lock().replace(functions);
        self.is_registered.set(true);
        // Without the lock, because the destructor of a function may run code of the program.
        drop(replaced);
        registration
    }

    /// Returns whether the functions of the current registration have the names of others, whose module may have been
    /// imported again.
    pub fn is_declared_by(&self, others: &Functions) -> bool {
        let functions = self.functions.lock();
        functions.as_ref().is_some_and(|functions| {
            functions.declared_by.is_some() && functions.declared_by == others.declared_by
        })
    }

    /// Returns whether a registration is the current one.
    pub fn has(&self, registration: &Weak<Functions>) -> bool {
        is_current(&self.functions.lock(), registration)
    }

    /// Ends a registration, if it is the current one.
    pub fn remove(&self, registration: &Weak<Functions>) {
        let mut functions = self.functions.lock();
        let removed = if is_current(&functions, registration) { self.take(&mut functions) } else { None };
        drop(functions);
        // Without the lock, because the destructor of a function may run code of the program.
        drop(removed);
    }

    /// Ends the current registration.
    pub fn clear(&self) {
        let removed = self.take(&mut self.functions.lock());
        drop(removed);
    }

    fn take(&self, functions: &mut Option<Arc<Functions>>) -> Option<Arc<Functions>> {
        self.is_registered.set(false);
        functions.take()
    }

    fn functions(&self) -> Accepted<Arc<Functions>> {
        self.functions.lock().clone().ok_or_else(|| Reason::from("was removed"))
    }

    fn is_running(&self) -> bool {
        let address = std::ptr::from_ref(self) as usize;
        RUNNING.with_borrow(|running| running.contains(&address))
    }

    /// Calls the condition.
    fn check_condition(
        &self,
        operation: &'static str,
        facts: &Facts,
        condition: &DeferredDrop,
    ) -> Accepted<()> {
        let call = |py: Python<'_>| -> PyResult<Accepted<()>> {
            let call = Bound::new(py, KernelCall::new(py, operation, facts)?)?;
            call_with(condition.bind(py), (call,)).and_then(|given| verdict(&given))
        };
        let refused = |py: Python<'_>, error: PyErr| {
            if !error.is_instance_of::<PyException>(py) {
                // `run` returns it, if the call reaches the kernel.
                raise_later::raise_later(py, error);
                return Ok(());
            }
            let text = format!("its condition raised {error}");
            Err(Reason::from(one_line(&text).into_owned()))
        };
        let outcome = attach(|py| {
            let _running = Running::new(self);
            let _barrier = interlock::autograd::scope_barrier();
            call(py).unwrap_or_else(|error| refused(py, error))
        });
        outcome.unwrap_or_else(|| Err(Reason::from("needs an interpreter")))
    }
}

fn is_current(functions: &Option<Arc<Functions>>, registration: &Weak<Functions>) -> bool {
    functions.as_ref().is_some_and(|current| Weak::ptr_eq(&Arc::downgrade(current), registration))
}

/// Converts the result of a condition: True and None accept the call, False and a reason refuse it.
fn verdict(given: &Bound<'_, PyAny>) -> PyResult<Accepted<()>> {
    if let Some(accepts) = try_bool(given)? {
        let refused = || Err(Reason::from("its condition returned False"));
        return Ok(if accepts { Ok(()) } else { refused() });
    }
    if let Ok(reason) = given.cast::<PyString>() {
        let reason = reason.to_string_lossy();
        let shown = if reason.trim().is_empty() { "its condition returned an empty text" } else { &reason };
        return Ok(Err(Reason::from(one_line(shown).into_owned())));
    }
    if given.is_none() {
        return Ok(Ok(()));
    }
    Err(new_type_error("the result", "a bool, a str or None", given))
}

/// Returns the name under which `disable_dispatch_keys` knows a device.
fn dispatch_key(device: CoreDevice) -> &'static str {
    match device.kind() {
        DeviceType::Cpu => "CPU",
        DeviceType::Cuda => "CUDA",
        kind => intern_name(&kind.name().to_uppercase()),
    }
}

impl<O: PythonOperation> DynKernel<O> for PythonKernel {
    fn is_registered(&self) -> bool {
        self.is_registered()
    }

    fn check(&self, call: &O::Call) -> Accepted<()> {
        if PYTHON_NATIVE_DISABLED_OPERATIONS.get().contains(O::NAME) {
            let name = PYTHON_NATIVE_DISABLED_OPERATIONS.name();
            return Err(Reason::Listed { name, item: O::NAME });
        }
        let facts = O::facts(call)?;
        let key = dispatch_key(facts.device);
        if PYTHON_NATIVE_DISABLED_DISPATCH_KEYS.get().contains(key) {
            return Err(Reason::Listed { name: PYTHON_NATIVE_DISABLED_DISPATCH_KEYS.name(), item: key });
        }
        if self.is_running() {
            return Err(Reason::from("runs already on this thread"));
        }
        raise_later::forget();
        let functions = self.functions()?;
        let condition = functions.condition.as_ref();
        condition.map_or(Ok(()), |condition| self.check_condition(O::NAME, &facts, condition))
    }

    fn run(
        &self,
        call: &O::Call,
        _: Numerics,
        args: &O::Args<'_>,
    ) -> std::result::Result<O::Out, KernelError<Error>> {
        let functions = self.functions().map_err(KernelError::Declined)?;
        let expected = O::result_shape(call, args).map_err(KernelError::Declined)?;
        let facts = O::facts(call).map_err(KernelError::Declined)?;
        let operands = O::operands(args);
        let returned = call_program(|py| {
            // The condition has raised it.
            if let Some(exception) = raise_later::take(py) {
                return Err(exception);
            }
            let object = |tensor: &CoreTensor| Bound::new(py, Tensor::from(tensor.detach()));
            let optional = |tensor: Option<&CoreTensor>| match tensor {
                Some(tensor) => Ok(object(tensor)?.into_any()),
                None => Ok(py.None().into_bound(py)),
            };
            let arguments = operands.iter().copied().map(optional).collect::<PyResult<Vec<_>>>()?;
            let keywords = PyDict::new(py);
            if let Some((name, mask)) = O::mask(args) {
                keywords.set_item(name, optional(mask)?)?;
            }
            O::options(call, args).iter().try_for_each(|(name, value)| value.set(&keywords, name))?;
            let _running = Running::new(self);
            // The operation records the history of the result.
            let _mode = no_grad();
            let function = functions.function.bind(py);
            let out = call_with_keywords(function, &PyTuple::new(py, arguments)?, Some(&keywords))?;
            if out.is(py.NotImplemented()) {
                return Ok(None);
            }
            match out.cast::<Tensor>() {
                Ok(out) => Ok(Some(out.core().detach())),
                Err(_) => {
                    let what = format!("{}: the result of the kernel {}", O::NAME, self.name);
                    Err(new_type_error(&what, "a Tensor or NotImplemented", &out))
                }
            }
        })?;
        let Some(out) = returned else {
            return Err(KernelError::Declined(Reason::from("returned NotImplemented")));
        };
        let wanted = (&*expected, facts.dtype, facts.device);
        let given = (out.shape(), out.dtype(), out.device());
        if given != wanted {
            return Err(Error::kernel_result(O::NAME, self.name, wanted, given).into());
        }
        // A write to the result must not change an operand.
        let is_shared = |operand: &&CoreTensor| Arc::ptr_eq(&operand.storage(), &out.storage());
        let operands = operands.into_iter().flatten().chain(O::mask(args).and_then(|(_, mask)| mask));
        let out = if { operands }.any(|operand| is_shared(&operand)) { out.contiguous_copy()? } else { out };
        let out = out.contiguous()?;
        // A tensor of its own, because the function's is a view that was created without gradients.
        let shape = O::final_shape(args).unwrap_or(&expected);
        let own = CoreTensor::from_storage(
            out.storage(),
            out.dtype(),
            shape,
            &contiguous_strides(shape),
            out.storage_offset(),
        )?;
        Ok(O::result(own, args)?)
    }
}
