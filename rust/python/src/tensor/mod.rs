//! The Python class `Tensor`, and the registration of the module `interlock._core.tensor`.

mod args;
mod attributes;
mod autograd;
mod call;
mod copy;
mod current;
mod dlpack;
mod dtype;
mod errors;
mod fallible_alloc;
mod foreign_memory;
mod formats;
mod from_data;
mod generator;
mod identity;
mod iterator;
mod numpy;
mod op_warnings;
mod operation;
mod ops;
mod pickling;
mod print_options;
mod program;
mod python_kernel;
mod quantized_tensor;
mod register_kernel;
mod scalars;
mod subscript;
mod to;
mod transposes;
mod type_info;

use interlock_tensor::Tensor as CoreTensor;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::submodule::submodule;
pub(crate) use autograd::saved_tensors_hooks::traverse_hooks;
use current::{Current, TensorRef};

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    interlock_tensor::announce_operations();
    op_warnings::install();
    register_kernel::register(parent)?;
    let module = submodule(parent, "tensor")?;
    autograd::register(&module)?;
    generator::register(&module)?;
    pickling::register(&module)?;
    // `__all__` lists the names that the package `interlock` has. Those before are of its submodules.
    module.setattr("__all__", PyList::empty(module.py()))?;
    module.add_class::<Tensor>()?;
    dtype::register(&module)?;
    formats::register(&module)?;
    generator::register_public(&module)?;
    print_options::register(&module)?;
    quantized_tensor::register(&module)?;
    type_info::register(&module)?;
    ops::register(&module)?;
    operation::register(&module)
}

/// A multi-dimensional array with a single dtype.
///
/// Created by `interlock.tensor`, `interlock.zeros` and similar functions. Operations are recorded if an operand
/// requires grad; `backward` then computes gradients. Results of operations on a subclass are plain tensors.
///
/// Args:
///     data: The tensor whose memory the new one shares, without its history.
///
/// Raises:
///     TypeError: `data` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([1.0, 2.0], requires_grad=True)
///     >>> (x * 3).sum().backward()
///     >>> x.grad
///     tensor([3., 3.])
#[pyclass(frozen, dict, weakref, subclass, module = "interlock", name = "Tensor")]
pub(crate) struct Tensor(Current);

impl Tensor {
    /// Returns the core tensor. It stays the same while the reference exists, also if `data` is assigned meanwhile.
    #[inline]
    fn core(&self, py: Python<'_>) -> TensorRef<'_> {
        self.0.read(py)
    }

    /// Replaces the data by those of another tensor.
    fn replace(&self, py: Python<'_>, data: &CoreTensor) -> interlock_tensor::Result<()> {
        let mut tensor = self.core(py).clone();
        tensor.set_data(data)?;
        self.0.replace(py, tensor);
        Ok(())
    }

    /// Returns the core tensor of a value that is no object of Python.
    fn into_core(self) -> CoreTensor {
        self.0.into_inner()
    }
}

impl From<CoreTensor> for Tensor {
    fn from(tensor: CoreTensor) -> Self {
        Tensor(Current::new(tensor))
    }
}

/// Access to the core tensor of a Python object.
trait ReadTensor {
    /// Returns the core tensor, as [`Tensor::core`] does.
    fn core(&self) -> TensorRef<'_>;
}

impl ReadTensor for Bound<'_, Tensor> {
    #[inline]
    fn core(&self) -> TensorRef<'_> {
        self.get().core(self.py())
    }
}
