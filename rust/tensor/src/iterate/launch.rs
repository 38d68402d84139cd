//! Work on the memory of tensors: at once on the CPU, or queued on the current stream of a device.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use interlock::accelerator::driver::Owners;
use interlock::accelerator::{Device, HostFn, Stream, check_interrupts, current_stream};
use interlock::num_threads;

use super::copy::copy_as;
use crate::layout::Layout;
use crate::storage::{KernelArg, Placement, RawSlice, Span, Storage};
use crate::{Error, Result, Tensor};

/// The size of a new result, in bytes, from which on the thread is detached from the interpreter while it is computed, or a
/// chunk of it.
pub(super) const LONG_RESULT: usize = 32 << 10;

/// The storage that work writes.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) storage: &'a Arc<Storage>,
    /// The storage is not visible to other threads, and not initialized.
    pub(super) is_new: bool,
}

impl<'a> Target<'a> {
    /// Returns a storage of a new result.
    pub(super) fn new_result(storage: &'a Arc<Storage>) -> Self {
        Target { storage, is_new: true }
    }

    /// Returns the storage of a tensor that is changed in place.
    pub(super) fn of(tensor: &'a Tensor) -> Self {
        Target { storage: tensor.storage_handle(), is_new: false }
    }

    fn raw_slice(&self) -> Option<RawSlice<'a>> {
        let slice = self.storage.raw_slice()?;
        // SAFETY: a new storage is not visible to any other thread.
        Some(if self.is_new { unsafe { slice.unlocked() } } else { slice })
    }

    /// Returns whether to detach from the interpreter while a kernel computes the target: few input elements may have many
    /// results.
    pub(super) fn is_long(&self) -> bool {
        self.is_new && self.storage.nbytes() >= LONG_RESULT
    }
}

/// Work that is queued: it gets the memory of targets and sources.
pub(super) type QueuedWork = dyn Fn(&[Span]) -> Result<()> + Send + Sync;

/// Work on some of numbered items.
type PartWork<'a> = dyn FnMut(Range<usize>, &[Span]) -> Result<()> + 'a;

/// Work that writes the memory of targets and reads the memory of sources. No source shares memory with a target.
#[derive(Clone, Copy)]
pub(super) struct Launch<'a> {
    /// The operation that errors name.
    pub(super) op: &'static str,
    pub(super) targets: &'a [Target<'a>],
    /// The memory of the targets is zeroed before the work.
    pub(super) is_zeroed: bool,
    pub(super) sources: &'a [&'a Tensor],
}

impl Launch<'_> {
    /// Returns the device on whose stream the work is queued; `None` on the CPU.
    pub(super) fn device(&self) -> Option<Device> {
        let storage = self.targets.first().map(|target| target.storage);
        storage.filter(|storage| storage.is_on_device()).map(|storage| storage.device())
    }

    /// Calls `work` with the memory of the targets and then of the sources, whose locks are held. The thread is detached
    /// from the interpreter meanwhile if the work `is_long`.
    pub(super) fn run_on_cpu(
        &self,
        is_long: bool,
        work: &mut dyn FnMut(&[Span]) -> Result<()>,
    ) -> Result<()> {
        let targets = self.targets.iter().map(Target::raw_slice).collect::<Option<Vec<_>>>();
        let sources = self.sources.iter().map(|source| source.storage_handle().raw_slice());
        let sources = sources.collect::<Option<Vec<_>>>();
        let (Some(targets), Some(sources)) = (targets, sources) else { return Err(self.err_cross_device()) };
        let mut result = Ok(());
        let is_done = RawSlice::access(&targets, self.is_zeroed, &sources, is_long, &mut |spans| {
            result = work(spans);
        });
        if is_done { result } else { Err(err_aliased(self.op)) }
    }

    /// Calls `work` like [`run_on_cpu`](Launch::run_on_cpu), with about `chunk` of `count` items at a time. No lock is held
    /// between two calls, because a signal handler that runs there may use the same tensors.
    pub(super) fn run_in_chunks(
        mut self,
        is_long: bool,
        (count, chunk): (usize, usize),
        work: &mut PartWork<'_>,
    ) -> Result<()> {
        let mut first = 0usize;
        loop {
            let part = first..count.min(first.saturating_add(chunk));
            first = part.end;
            self.run_on_cpu(is_long, &mut |spans| work(part.clone(), spans))?;
            if first == count {
                return Ok(());
            }
            self.is_zeroed = false;
            check_interrupts()?;
        }
    }

    /// Queues `work`, which gets the memory that [`run_on_cpu`](Launch::run_on_cpu) describes. A graph that captured it can
    /// run it several times, so the work owns what it uses and computes the same result each time.
    pub(super) fn enqueue(&self, device: Device, work: Box<QueuedWork>) -> Result<()> {
        if self.targets.iter().all(|target| target.storage.nbytes() == 0) {
            return Ok(());
        }
        let (op, is_zeroed) = (self.op, self.is_zeroed);
        for target in self.targets {
            target.storage.current_process_bytes()?;
        }
        let stream = current_stream(Some(device))?;
        let mut owners = Owners::default();
        let mut arg = |storage: &Arc<Storage>| kernel_arg(op, storage, &stream, &mut owners);
        let targets = self.targets.iter().map(|target| arg(target.storage)).collect::<Result<Vec<_>>>()?;
        let sources = self.sources.iter().map(|source| arg(source.storage_handle()));
        let sources = sources.collect::<Result<Vec<_>>>()?;
        let work = HostFn::new(op, move || {
            let targets: Vec<_> = targets.iter().map(KernelArg::raw_slice).collect();
            let sources: Vec<_> = sources.iter().map(KernelArg::raw_slice).collect();
            let mut result = Ok(());
            let is_done = RawSlice::access(&targets, is_zeroed, &sources, false, &mut |spans| {
                result = work(spans);
            });
            let result = if is_done { result } else { Err(err_aliased(op)) };
            result.map_err(|error| reason(op, &error).into())
        });
        Ok(stream.launch(work.with_owners(owners)).map_err(|error| error.during(op))?)
    }

    /// Returns the error for sources that are not on the device of the targets.
    fn err_cross_device(&self) -> Error {
        let device = self.targets.first().map_or(Device::CPU, |target| target.storage.device());
        let other = self.sources.iter().map(|source| source.device()).find(|other| *other != device);
        Error::devices(self.op, device, other.unwrap_or(device))
    }
}

/// Returns the message of an error of a kernel without the name of the operation, which the stream reports.
fn reason(op: &str, error: &Error) -> String {
    let message = error.to_string();
    let without = message.strip_prefix(op).and_then(|rest| rest.strip_prefix(": "));
    without.map(str::to_owned).unwrap_or(message)
}

/// Returns a storage as a kernel argument, or `Unsupported` if the CPU cannot access its memory. Adds its owners.
fn kernel_arg(
    op: &'static str,
    storage: &Arc<Storage>,
    stream: &Stream,
    owners: &mut Owners,
) -> Result<KernelArg> {
    let refused = || interlock::accelerator::Error::Unsupported { operation: op, device: storage.device() };
    Ok(storage.kernel_arg(stream, owners)?.ok_or_else(refused)?)
}

/// Returns the error for a source that shares memory with the target.
fn err_aliased(op: &'static str) -> Error {
    Error::aliased(op, "the result")
}

/// Returns the number of threads for a kernel with this amount of work: one if it is less than `least`, and one on
/// devices, whose streams run on their own threads.
pub(crate) fn threads_on(placement: Placement, work: usize, least: usize) -> usize {
    match placement {
        Placement::Cpu | Placement::Pinned if work >= least => num_threads().get(),
        _ => 1,
    }
}

/// Returns the placement of the result of an operation on two tensors.
pub(crate) fn result_placement(a: &Tensor, b: &Tensor) -> Placement {
    if a.is_on_device() { a.placement() } else { b.placement() }
}

/// Returns `source` as a kernel with this placement can read it: unchanged if it is there, or a copy of a CPU tensor
/// without dimensions, whose value is fixed when the operation is called.
pub(crate) fn on_device_of<'a>(
    op: &'static str,
    placement: Placement,
    source: &'a Tensor,
) -> Result<Cow<'a, Tensor>> {
    let on = match (placement, source.is_on_device()) {
        (Placement::Cpu | Placement::Pinned, false) => return Ok(Cow::Borrowed(source)),
        (Placement::Device(device), true) if source.device() == device => return Ok(Cow::Borrowed(source)),
        (Placement::Device(_), false) if source.ndim() == 0 => {
            return copy_as("clone", source, Layout::contiguous(source.shape())).map(Cow::Owned);
        }
        (Placement::Device(device), _) => device,
        (Placement::Cpu | Placement::Pinned, true) => Device::CPU,
    };
    Err(Error::devices(op, on, source.device()))
}
