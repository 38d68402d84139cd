//! The tensor: a handle to a view of a storage and to what differentiation knows about it.

use std::fmt;
use std::sync::{Arc, Weak};

use interlock::accelerator::Device;
use interlock::autograd::is_inference_mode_enabled;

use crate::autograd::{AutogradMeta, Node};
use crate::drop_queue::Deferred;
use crate::fallible_alloc::check_memory;
use crate::fork_rwlock::{ForkRwLock, ReadGuard, WriteGuard};
use crate::shape::{Layout, checked_numel};
use crate::storage::{Placement, Storage, TensorOptions};
use crate::{DType, Element, Error, Result};

/// A strided view of elements in memory. Cloning the handle gives the same tensor again.
#[derive(Clone)]
pub struct Tensor(Arc<Inner>);

pub(crate) struct Inner {
    storage: Arc<Storage>,
    dtype: DType,
    layout: Layout,
    meta: ForkRwLock<AutogradMeta>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        let meta = std::mem::take(&mut *self.meta.write());
        if meta.owns_tensors() {
            Deferred::Tensor { _meta: meta }.push();
        }
    }
}

impl Tensor {
    pub(crate) fn new(storage: Arc<Storage>, dtype: DType, layout: Layout) -> Self {
        Tensor(Arc::new(Inner { storage, dtype, layout, meta: ForkRwLock::default() }))
    }

    /// A new contiguous tensor on the processor, that `fill` writes at once.
    pub(crate) fn build<T: Element>(shape: &[usize], fill: impl FnOnce(&mut [T])) -> Result<Self> {
        check_memory()?;
        let count = checked_numel(shape, size_of::<T>())?;
        Ok(Tensor::new(Storage::build(count, fill)?, T::DTYPE, Layout::contiguous(shape)))
    }

    /// A tensor over memory that exists already; `strides` and `offset` count elements.
    pub fn from_storage(
        storage: Arc<Storage>,
        dtype: DType,
        shape: &[usize],
        strides: &[usize],
        offset: usize,
    ) -> Result<Self> {
        let op = "from_storage";
        check_memory()?;
        checked_numel(shape, dtype.size())?;
        if shape.len() != strides.len() {
            return Err(Error::Count { what: "strides", given: strides.len(), needed: shape.len() });
        }
        let layout = Layout { shape: shape.to_vec(), strides: strides.to_vec(), offset };
        let capacity = storage.nbytes() / dtype.size();
        if layout.required_len().is_none_or(|end| end > capacity) {
            let expected =
                format!("strides {strides:?} from {offset} leave a storage of {capacity} elements");
            return Err(Error::Shape { op, given: layout.shape, expected });
        }
        Ok(Tensor::new(storage, dtype, layout))
    }

    /// Another view of the same memory, without any history.
    pub(crate) fn alias(&self, layout: Layout) -> Self {
        Tensor::new(self.0.storage.clone(), self.0.dtype, layout)
    }

    pub(crate) fn storage_handle(&self) -> &Arc<Storage> {
        &self.0.storage
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.0.layout
    }

    pub(crate) fn meta(&self) -> ReadGuard<'_, AutogradMeta> {
        self.0.meta.read()
    }

    pub(crate) fn meta_mut(&self) -> WriteGuard<'_, AutogradMeta> {
        self.0.meta.write()
    }

    pub(crate) fn downgrade(&self) -> Weak<Inner> {
        Arc::downgrade(&self.0)
    }

    pub(crate) fn upgrade(weak: &Weak<Inner>) -> Option<Self> {
        weak.upgrade().map(Tensor)
    }

    /// How many handles to this tensor exist.
    pub(crate) fn handle_count(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// Whether no other tensor views the same memory.
    pub(crate) fn owns_storage(&self) -> bool {
        Arc::strong_count(&self.0.storage) == 1
    }

    /// Whether both handles are of the same tensor.
    pub fn is(&self, other: &Tensor) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A number that no other living tensor has.
    pub fn identity(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// The memory, shared by all views.
    pub fn storage(&self) -> Arc<Storage> {
        self.0.storage.clone()
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    /// Where the elements lie.
    pub fn device(&self) -> Device {
        self.0.storage.device()
    }

    /// Whether the elements lie on a device, and so operations are queued.
    pub fn is_on_device(&self) -> bool {
        self.0.storage.is_on_device()
    }

    /// Where what is made of it lies.
    pub(crate) fn placement(&self) -> Placement {
        if self.is_on_device() { Placement::Device(self.device()) } else { Placement::Cpu }
    }

    /// Whether the elements lie in memory of the processor that devices reach without a detour.
    pub fn is_pinned(&self) -> bool {
        self.0.storage.is_pinned()
    }

    /// Element type and device: what a new tensor beside this one has.
    pub fn options(&self) -> TensorOptions {
        TensorOptions { dtype: self.dtype(), placement: self.placement() }
    }

    /// The sizes.
    pub fn shape(&self) -> &[usize] {
        &self.0.layout.shape
    }

    /// For each dimension, the distance of neighbours in elements.
    pub fn strides(&self) -> &[usize] {
        &self.0.layout.strides
    }

    /// The position of the first element in the storage, in elements.
    pub fn storage_offset(&self) -> usize {
        self.0.layout.offset
    }

    /// How many dimensions there are.
    pub fn ndim(&self) -> usize {
        self.shape().len()
    }

    /// How many elements there are.
    pub fn numel(&self) -> usize {
        self.layout().numel()
    }

    /// Whether the elements lie in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        self.layout().is_contiguous()
    }

    /// The address of the first element; on a device in the device's own counting.
    pub fn data_ptr(&self) -> *mut u8 {
        self.0.storage.pointer().wrapping_add(self.storage_offset().wrapping_mul(self.dtype().size()))
    }

    /// Whether it was made in inference mode: such tensors have no version and take part in no graph.
    pub fn is_inference(&self) -> bool {
        self.0.storage.is_inference()
    }

    /// How often the memory was changed in place.
    pub fn version(&self) -> Result<u32> {
        if self.is_inference() {
            return Err(Error::Inference { action: "reading a version, which they do not have," });
        }
        Ok(self.0.storage.version())
    }

    /// Overwrites the version: what was saved before cannot tell any more that it was changed.
    pub fn set_version(&self, version: u32) -> Result<()> {
        self.version()?;
        self.0.storage.set_version(version);
        Ok(())
    }

    /// Whether it takes part in differentiation.
    pub fn requires_grad(&self) -> bool {
        let meta = self.meta();
        if meta.requires_grad || meta.grad_fn.is_some() {
            return true;
        }
        let base = meta.view.as_ref().map(|view| view.base.clone());
        drop(meta);
        base.is_some_and(|base| base.requires_grad())
    }

    /// Marks a leaf as something to differentiate by, or takes the mark away.
    pub fn set_requires_grad(&self, requires_grad: bool) -> Result<()> {
        if !requires_grad && !self.is_leaf()? {
            return Err(Error::NotLeaf { action: "switching requires_grad off" });
        }
        if requires_grad && !self.dtype().is_floating_point() {
            return Err(Error::RequiresGradType { given: self.dtype() });
        }
        if requires_grad && self.is_inference() && !is_inference_mode_enabled() {
            return Err(Error::Inference { action: "requiring grad" });
        }
        if !requires_grad || self.is_leaf()? {
            self.meta_mut().requires_grad = requires_grad;
        }
        Ok(())
    }

    /// Whether no recorded operation made it. Fails where [`grad_fn`](Tensor::grad_fn) does.
    pub fn is_leaf(&self) -> Result<bool> {
        Ok(self.grad_fn()?.is_none())
    }

    /// The gradient that backward passes have added up.
    pub fn grad(&self) -> Option<Tensor> {
        self.meta().grad.clone()
    }

    /// Replaces the gradient; it must be another tensor of the same shape and type.
    pub fn set_grad(&self, grad: Option<Tensor>) -> Result<()> {
        if let Some(grad) = &grad {
            if grad.is(self) {
                let message = "a tensor cannot be its own gradient; detach() or clone() it".to_owned();
                return Err(Error::Value { op: "grad", message });
            }
            if grad.shape() != self.shape() {
                return Err(Error::Shapes {
                    op: "grad",
                    left: grad.shape().to_vec(),
                    right: self.shape().to_vec(),
                    expected: "a gradient has the shape of its tensor",
                });
            }
            if grad.dtype() != self.dtype() {
                return Err(Error::ResultType { op: "grad", result: grad.dtype(), target: self.dtype() });
            }
            if grad.device() != self.device() {
                return Err(Error::Devices { op: "grad", left: self.device(), right: grad.device() });
            }
        }
        // The old gradient is dropped after the lock: it may own a graph.
        let old = std::mem::replace(&mut self.meta_mut().grad, grad);
        drop(old);
        Ok(())
    }

    /// The node that made it, if a recorded operation did. For a view whose base has changed in place
    /// this is a new node; it fails if the view was made where its history was not recorded.
    pub fn grad_fn(&self) -> Result<Option<Arc<Node>>> {
        crate::autograd::grad_fn(self)
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({}, shape {:?}, strides {:?})", self.dtype(), self.shape(), self.strides())
    }
}
