//! The identity of a tensor, which remains when its data is replaced.

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Weak};

use once_cell::race::OnceBox;

use super::autograd_meta::{AutogradMeta, CreationMeta};
use super::{Inner, Tensor};
use crate::storage::drop_queue::defer;
use crate::storage::fork_rwlock::{ForkRwLock, ReadGuard, WriteGuard};
use crate::{Error, Result};

/// What the handles of a tensor share that have different data. A tensor has none until its data is replaced or a weak
/// handle of it is created, and stores its metadata itself.
pub(super) struct Identity {
    /// The tensor that had the identity first. Its address is the id of all handles, so its allocation must remain.
    first: Weak<Inner>,
    meta: ForkRwLock<AutogradMeta>,
    /// The tensor with the current data.
    current: ForkRwLock<Weak<Inner>>,
}

impl Drop for Identity {
    fn drop(&mut self) {
        let meta = std::mem::take(&mut *self.meta.write());
        if meta.owns_tensors() {
            defer(meta);
        }
    }
}

/// A handle that does not keep a tensor alive. It remains valid when the data of the tensor is replaced.
#[derive(Clone)]
pub(crate) struct WeakTensor(Weak<Identity>);

impl WeakTensor {
    /// Returns whether this is a handle of the tensor.
    pub fn refers_to(&self, tensor: &Tensor) -> bool {
        tensor.0.identity.get().is_some_and(|identity| self.0.ptr_eq(&Arc::downgrade(identity)))
    }

    /// Returns the tensor with its current data, if it is alive.
    pub fn upgrade(&self) -> Option<Tensor> {
        self.0.upgrade()?.current()
    }

    /// Changes the metadata of the tensor, if any of its handles is alive.
    pub fn with_meta<R>(&self, change: impl FnOnce(&mut AutogradMeta) -> R) -> Option<R> {
        self.0.upgrade().map(|identity| change(&mut identity.meta.write()))
    }
}

impl Identity {
    fn current(&self) -> Option<Tensor> {
        self.current.read().upgrade().map(Tensor::from_inner)
    }
}

impl Tensor {
    pub(crate) fn meta(&self) -> ReadGuard<'_, AutogradMeta> {
        if let Some(identity) = self.0.identity.get() {
            return identity.meta.read();
        }
        let own = self.0.meta.read();
        // Another thread may have moved the metadata while this one waited for the lock.
        match self.0.identity.get() {
            Some(identity) => identity.meta.read(),
            None => own,
        }
    }

    pub(crate) fn meta_mut(&self) -> WriteGuard<'_, AutogradMeta> {
        if let Some(identity) = self.0.identity.get() {
            return identity.meta.write();
        }
        let own = self.0.meta.write();
        match self.0.identity.get() {
            Some(identity) => identity.meta.write(),
            None => own,
        }
    }

    /// Returns the identity, to which the metadata is moved when it is created.
    fn shared_identity(&self) -> Arc<Identity> {
        if let Some(identity) = self.0.identity.get() {
            return identity.clone();
        }
        let this = Arc::downgrade(&self.0);
        let mut own = self.0.meta.write();
        let identity = self.0.identity.get_or_init(|| {
            let meta = ForkRwLock::new(std::mem::take(&mut *own));
            Box::new(Arc::new(Identity { first: this.clone(), meta, current: ForkRwLock::new(this) }))
        });
        identity.clone()
    }

    pub(crate) fn downgrade(&self) -> WeakTensor {
        WeakTensor(Arc::downgrade(&self.shared_identity()))
    }

    /// Returns the number of handles of this tensor.
    pub(crate) fn handle_count(&self) -> usize {
        let others =
            self.0.identity.get().map_or(0, |identity| Arc::strong_count(identity).saturating_sub(1));
        Arc::strong_count(&self.0).saturating_add(others)
    }

    /// Returns whether both handles refer to the same tensor.
    pub fn is(&self, other: &Tensor) -> bool {
        self.identity() == other.identity()
    }

    /// Returns an id that no other existing tensor has.
    pub fn identity(&self) -> usize {
        let first = self.0.identity.get().map(|identity| identity.first.as_ptr());
        first.unwrap_or(Arc::as_ptr(&self.0)).addr()
    }

    /// Returns whether both are handles of one tensor between two replacements of its data.
    pub(crate) fn has_data_of(&self, other: &Tensor) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the handle of this tensor with its current data, or this handle if no such one is alive.
    pub fn current(&self) -> Tensor {
        self.replaced().unwrap_or_else(|| self.clone())
    }

    /// Returns the handle with the current data, if those of the tensor were replaced and the handle is alive.
    pub(crate) fn replaced(&self) -> Option<Tensor> {
        let identity = self.0.identity.get()?;
        let current = identity.current();
        current.filter(|current| !std::ptr::eq(Arc::as_ptr(&current.0), identity.first.as_ptr()))
    }

    /// Replaces the storage, layout, dtype and device of this tensor by those of another one: an assignment to
    /// `torch.Tensor.data`. The tensor keeps its autograd metadata and its version. Other handles of it keep the old data,
    /// also those that a graph has saved.
    ///
    /// ```
    /// use interlock_tensor::{DType, Tensor};
    ///
    /// let mut x = Tensor::ones(&[2], DType::Float32)?;
    /// x.set_requires_grad(true)?;
    /// let square = x.mul(&x)?;
    /// x.set_data(&Tensor::from_slice(&[5.0f32, 7.0], &[2])?)?;
    /// square.sum(None, false)?.backward()?;
    /// assert_eq!(x.to_vec::<f32>()?, [5.0, 7.0]);
    /// assert_eq!(x.grad().map(|grad| grad.to_vec::<f32>()), Some(Ok(vec![2.0, 2.0])));
    /// # Ok::<(), interlock_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails without effect if the tensor requires grad and `data` is not of a floating-point dtype.
    pub fn set_data(&mut self, data: &Tensor) -> Result<()> {
        if self.requires_grad() && !data.dtype().is_floating_point() {
            let error = Error::dtype("Tensor.data", "the tensor", "floating point", data.dtype());
            return Err(error.with_hint("; the tensor with these data requires grad"));
        }
        if self.has_memory_of(data) {
            return Ok(());
        }
        let identity = self.shared_identity();
        let own_version = || Arc::new(AtomicU32::new(self.current_version()));
        let version = self.0.version.clone().unwrap_or_else(own_version);
        let replaced = Tensor::from_inner(Arc::new(Inner {
            storage: data.0.storage.clone(),
            layout: data.layout().clone(),
            resized: OnceBox::new(),
            dtype: data.dtype(),
            version: Some(version),
            meta: ForkRwLock::default(),
            identity: OnceBox::with_value(Box::new(identity.clone())),
        }));
        if let Some(view) = &mut identity.meta.write().view {
            view.creation_meta = CreationMeta::Replaced;
        }
        *identity.current.write() = Arc::downgrade(&replaced.0);
        *self = replaced;
        Ok(())
    }
}
