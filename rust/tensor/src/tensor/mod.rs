//! The tensor: a reference-counted view of a storage, and the graph of nodes and saved tensors that it may own. Tensors own
//! nodes and nodes own tensors; what records nodes and what runs them is above.

mod autograd_meta;
mod edge;
mod hooks;
mod identity;
mod node;
mod saved_tensor;

use std::collections::HashMap;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use interlock::accelerator::Device;
use interlock::autograd::is_inference_mode_enabled;
use once_cell::race::OnceBox;

use crate::layout::{Layout, checked_numel, err_stride_count};
use crate::loops::element_bytes;
use crate::storage::append_vec::AppendVec;
use crate::storage::drop_queue::defer;
use crate::storage::fallible_alloc::check_memory;
use crate::storage::fork_rwlock::ForkRwLock;
use crate::storage::{Placement, Storage, TensorOptions};
use crate::{DType, Element, Error, ErrorKind, Result, Scalar};
use autograd_meta::AutogradMeta;
use identity::Identity;

pub(crate) use autograd_meta::{CreationMeta, GradFn, ViewInfo};
#[cfg(test)]
pub(crate) use edge::KEYS;
pub use edge::{AccumulateGrad, NextFunction, VisitedLeaf};
pub(crate) use edge::{Edge, EdgeKey};
pub(crate) use hooks::{Hooks, Lists, Registered, new_id};
pub use hooks::{NodePostHook, NodePreHook, PostAccumulateHook, TensorHook};
pub(crate) use identity::WeakTensor;
pub(crate) use node::{
    BackwardContext, BackwardFn, GradientKind, Gradients, PartOfBase, ResultKind, stream_of,
};
pub use node::{CustomFunction, GradDType, Node};
pub use saved_tensor::PackedTensor;
pub(crate) use saved_tensor::{Content, Producer, SavedTensor, SavedValue};

/// A multi-dimensional array with a single dtype. Clones of the handle refer to the same tensor, until
/// [`set_data`](Tensor::set_data) replaces the data of one of them.
#[derive(Clone)]
pub struct Tensor(ManuallyDrop<Arc<Inner>>);

impl Drop for Tensor {
    // Not inlined, because most functions drop tensors in several places.
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: the handle is not used again.
        unsafe { ManuallyDrop::drop(&mut self.0) };
    }
}

pub(crate) struct Inner {
    storage: Arc<Storage>,
    /// The layout of a tensor that was not resized.
    layout: Layout,
    /// Set when the tensor is resized for the first time.
    resized: OnceBox<Resized>,
    dtype: DType,
    /// The version counter of the result of [`data`](Tensor::data) and of tensors over the same memory that are made from
    /// it, in place of the one of the storage.
    version: Option<Arc<AtomicU32>>,
    /// The metadata, unless the tensor has an `identity`.
    meta: ForkRwLock<AutogradMeta>,
    /// What the handles of the tensor share that have different data.
    identity: OnceBox<Arc<Identity>>,
}

/// The layouts of a tensor that was resized.
///
/// Layouts remain until the tensor is dropped, because references to them may exist. A layout that the tensor had before
/// is used again, so that a tensor that alternates between sizes needs no more memory.
#[derive(Default)]
struct Resized {
    layouts: AppendVec<Layout>,
    /// The position of the current layout in `layouts`, plus 1; 0 is that of the tensor before it was resized.
    current: AtomicUsize,
    /// The values of `current` for the layouts. Locked while the tensor is resized.
    known: ForkRwLock<HashMap<Layout, usize>>,
}

impl Resized {
    /// Returns the current layout, or `None` if the tensor has the one with which it was created. Not inlined, because all
    /// operations read layouts, and few tensors were resized.
    #[cold]
    #[inline(never)]
    fn layout(&self) -> Option<&Layout> {
        self.layouts.get(self.current.load(Ordering::Acquire).checked_sub(1)?)
    }
}

impl Inner {
    fn layout(&self) -> &Layout {
        self.resized.get().and_then(Resized::layout).unwrap_or(&self.layout)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let meta = std::mem::take(&mut *self.meta.write());
        if meta.owns_tensors() {
            defer(meta);
        }
    }
}

impl Tensor {
    fn from_inner(inner: Arc<Inner>) -> Self {
        Tensor(ManuallyDrop::new(inner))
    }

    pub(crate) fn new(storage: Arc<Storage>, dtype: DType, layout: Layout) -> Self {
        Tensor::with_version(storage, dtype, layout, None)
    }

    fn with_version(
        storage: Arc<Storage>,
        dtype: DType,
        layout: Layout,
        version: Option<Arc<AtomicU32>>,
    ) -> Self {
        let (resized, meta, identity) = (OnceBox::new(), ForkRwLock::default(), OnceBox::new());
        Tensor::from_inner(Arc::new(Inner { storage, layout, resized, dtype, version, meta, identity }))
    }

    /// Returns a new contiguous CPU tensor whose elements `fill` writes.
    pub(crate) fn build<T: Element>(
        op: &'static str,
        shape: &[usize],
        fill: impl FnOnce(&mut [T]),
    ) -> Result<Self> {
        check_memory()?;
        let count = checked_numel(op, shape, size_of::<T>())?;
        Ok(Tensor::new(Storage::build(count, fill)?, T::DTYPE, Layout::contiguous(shape)))
    }

    /// Returns a 0-d tensor on the CPU with a number, which is converted to an element.
    pub(crate) fn of_scalar(value: Scalar, dtype: DType) -> Result<Self> {
        check_memory()?;
        let bytes = element_bytes(value, dtype);
        let copy = |out: &mut [u8]| out.iter_mut().zip(bytes).for_each(|(out, byte)| *out = byte);
        Ok(Tensor::new(Storage::build(dtype.size(), copy)?, dtype, Layout::contiguous(&[])))
    }

    /// Returns the handle as a pointer, which owns it until [`from_raw`](Tensor::from_raw).
    pub fn into_raw(self) -> *mut () {
        Arc::as_ptr(&ManuallyDrop::new(self).0).cast_mut().cast()
    }

    /// Returns the handle of a pointer.
    ///
    /// # Safety
    /// [`into_raw`](Tensor::into_raw) has returned the pointer, and the program drops the handle once.
    pub unsafe fn from_raw(pointer: *mut ()) -> Self {
        // SAFETY: guaranteed by the caller.
        Tensor::from_inner(unsafe { Arc::from_raw(pointer.cast_const().cast()) })
    }

    /// Returns a tensor over an existing storage. `strides` and `offset` count elements.
    pub fn from_storage(
        storage: Arc<Storage>,
        dtype: DType,
        shape: &[usize],
        strides: &[usize],
        offset: usize,
    ) -> Result<Self> {
        let op = "from_storage";
        check_memory()?;
        checked_numel(op, shape, dtype.size())?;
        Error::when(shape.len() != strides.len(), || err_stride_count(op, shape, strides))?;
        let layout = Layout { shape: shape.to_vec(), strides: strides.to_vec(), offset };
        let capacity = storage.nbytes() / dtype.size();
        if layout.required_len().is_none_or(|end| end > capacity) {
            return Err(layout.err_beyond(op, capacity));
        }
        Ok(Tensor::new(storage, dtype, layout))
    }

    /// Changes the layout, which fits the storage. Each layout that a tensor has had fits it, because storages do not
    /// shrink; but two calls of methods such as `shape` and `strides` may return parts of two layouts while another thread
    /// resizes the tensor. Code that relies on both reads [`layout`](Tensor::layout) once, or an alias.
    pub(crate) fn set_layout(&self, layout: Layout) {
        let resized = self.0.resized.get_or_init(Box::default);
        let mut known = resized.known.write();
        let current = if layout == self.0.layout {
            0
        } else if let Some(&current) = known.get(&layout) {
            current
        } else {
            let current = resized.layouts.push(layout.clone()).saturating_add(1);
            known.insert(layout, current);
            current
        };
        resized.current.store(current, Ordering::Release);
    }

    /// Returns a tensor over the same storage with another layout, without autograd metadata.
    pub(crate) fn alias(&self, layout: Layout) -> Self {
        self.alias_as(self.0.dtype, layout)
    }

    /// Like [`alias`](Tensor::alias), with another element type, for which the layout fits the storage.
    pub(crate) fn alias_as(&self, dtype: DType, layout: Layout) -> Self {
        Tensor::with_version(self.0.storage.clone(), dtype, layout, self.0.version.clone())
    }

    /// Returns a tensor with the same elements, no history and a version counter of its own: `torch.Tensor.data`. A
    /// backward pass does not notice that elements of this tensor were changed through it.
    ///
    /// ```
    /// use interlock_tensor::{DType, Tensor};
    ///
    /// let x = Tensor::ones(&[2], DType::Float32)?;
    /// let data = x.data();
    /// data.select(0, 0)?.mul_(3.0)?;
    /// assert_eq!((x.version()?, data.version()?, x.to_vec::<f32>()?), (0, 1, vec![3.0, 1.0]));
    /// # Ok::<(), interlock_tensor::Error>(())
    /// ```
    pub fn data(&self) -> Tensor {
        let version = (!self.is_inference() || !is_inference_mode_enabled()).then(Arc::default);
        Tensor::with_version(self.0.storage.clone(), self.0.dtype, self.layout().clone(), version)
    }

    /// Returns whether this tensor and another have the same elements in memory.
    pub fn has_memory_of(&self, other: &Tensor) -> bool {
        let is_same_type = self.dtype() == other.dtype() && self.layout() == other.layout();
        is_same_type && Arc::ptr_eq(&self.0.storage, &other.0.storage)
    }

    /// Returns a tensor with the same elements and no history. It shares the storage and the version counter with
    /// this tensor. Outside of inference mode the result for an inference tensor has a version counter of its own.
    pub fn detach(&self) -> Tensor {
        if self.is_inference() { self.data() } else { self.alias(self.layout().clone()) }
    }

    pub(crate) fn storage_handle(&self) -> &Arc<Storage> {
        &self.0.storage
    }

    pub(crate) fn layout(&self) -> &Layout {
        self.0.layout()
    }

    /// Returns whether no other tensor shares the storage.
    pub(crate) fn owns_storage(&self) -> bool {
        Arc::strong_count(&self.0.storage) == 1
    }

    /// Returns the storage, which all views share.
    pub fn storage(&self) -> Arc<Storage> {
        self.0.storage.clone()
    }

    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    /// Returns the device of the elements.
    pub fn device(&self) -> Device {
        self.0.storage.device()
    }

    /// Returns whether the elements are on a device, where operations are queued on streams.
    pub fn is_on_device(&self) -> bool {
        self.0.storage.is_on_device()
    }

    /// Returns the placement of results of operations on this tensor.
    pub(crate) fn placement(&self) -> Placement {
        if self.is_on_device() { Placement::Device(self.device()) } else { Placement::Cpu }
    }

    /// Returns whether the elements are in pinned (page-locked) CPU memory.
    pub fn is_pinned(&self) -> bool {
        self.0.storage.is_pinned()
    }

    /// Returns the element type and placement, for new tensors like this one.
    pub fn options(&self) -> TensorOptions {
        TensorOptions { dtype: self.dtype(), placement: self.placement() }
    }

    /// Returns the sizes of the dimensions.
    pub fn shape(&self) -> &[usize] {
        &self.0.layout().shape
    }

    /// Returns the stride of each dimension in elements.
    pub fn strides(&self) -> &[usize] {
        &self.0.layout().strides
    }

    /// Returns the offset of the first element in the storage, in elements.
    pub fn storage_offset(&self) -> usize {
        self.0.layout().offset
    }

    /// Returns the number of dimensions.
    pub fn ndim(&self) -> usize {
        self.shape().len()
    }

    /// Returns the number of elements.
    pub fn numel(&self) -> usize {
        self.layout().numel()
    }

    /// Returns whether the elements are stored in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        self.layout().is_contiguous()
    }

    /// Returns the address of the first element; on a device an address in the device's address space.
    pub fn data_ptr(&self) -> *mut u8 {
        self.0.storage.pointer().wrapping_add(self.storage_offset().wrapping_mul(self.dtype().size()))
    }

    /// Returns whether the tensor was created in inference mode. Inference tensors have no version counter, except those
    /// that [`detach`](Tensor::detach) and [`data`](Tensor::data) return outside of that mode, and cannot be saved for
    /// backward.
    pub fn is_inference(&self) -> bool {
        self.0.storage.is_inference()
    }

    /// Returns the version counter, which in-place operations increment. Tensors that share memory share it, except those
    /// that [`data`](Tensor::data) returns.
    pub fn version(&self) -> Result<u32> {
        if self.is_inference() && self.0.version.is_none() {
            let message = "an inference tensor has no version counter; clone() returns a normal tensor";
            return Err(Error::new(ErrorKind::State, "version", message));
        }
        Ok(self.current_version())
    }

    /// Returns the version, 0 for an inference tensor.
    pub(crate) fn current_version(&self) -> u32 {
        match &self.0.version {
            Some(own) => own.load(Ordering::Acquire),
            None => self.0.storage.version(),
        }
    }

    /// Increments the version, unless this is an inference tensor.
    pub(crate) fn bump_version(&self) {
        match &self.0.version {
            Some(own) => drop(own.fetch_add(1, Ordering::AcqRel)),
            None => self.0.storage.bump_version(),
        }
    }

    /// Sets the version counter. In-place changes of tensors that were saved before are no longer detected.
    pub fn set_version(&self, version: u32) -> Result<()> {
        self.version()?;
        match &self.0.version {
            Some(own) => own.store(version, Ordering::Release),
            None => self.0.storage.set_version(version),
        }
        Ok(())
    }

    /// Returns whether gradients are computed for this tensor.
    pub fn requires_grad(&self) -> bool {
        let meta = self.meta();
        if meta.requires_grad || meta.grad_fn.is_some() {
            return true;
        }
        let base = meta.view.as_ref().map(|view| view.base.clone());
        drop(meta);
        base.is_some_and(|base| base.requires_grad())
    }

    /// Returns the gradient that backward passes have accumulated.
    pub fn grad(&self) -> Option<Tensor> {
        self.meta().grad.clone()
    }

    /// Replaces the gradient, which must be another tensor of the same shape, type and device.
    pub fn set_grad(&self, grad: Option<Tensor>) -> Result<()> {
        let (op, argument) = ("Tensor.grad", "the gradient");
        if let Some(grad) = &grad {
            if grad.is(self) {
                let expected = "be another tensor, such as a detach() or clone()";
                return Err(Error::value(op, argument, expected, "the tensor itself"));
            }
            GradientKind::of(self).check(op, argument, grad)?;
        }
        // The old gradient is dropped after the lock is released: it may own a graph.
        let old = std::mem::replace(&mut self.meta_mut().grad, grad);
        drop(old);
        Ok(())
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({}, shape {:?}, strides {:?})", self.dtype(), self.shape(), self.strides())
    }
}
