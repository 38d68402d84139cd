//! The streams of a device.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{MutexGuard, Weak};

use once_cell::race::OnceBox;

use interlock_core::base::mutex::Mutex;
use interlock_driver::{KeepAlive, PriorityRange, StreamHandle};

use super::{Stream, StreamHome, StreamInner, StreamKind};
use crate::{Error, Result};

/// The default and pooled streams of a device, and its streams that are in no pool.
#[derive(Default)]
pub(crate) struct StreamTable {
    default: OnceBox<Stream>,
    pools: [StreamPool; StreamPool::PRIORITIES],
    others: Mutex<OtherStreams>,
}

impl StreamTable {
    /// Returns the pooled streams that exist.
    pub(crate) fn pooled(&self) -> impl Iterator<Item = &Stream> {
        self.pools.iter().flat_map(|pool| &pool.streams).filter_map(OnceBox::get)
    }

    /// Returns whether this is the id of an external stream, alive or not, or of a dedicated stream that is not
    /// destroyed yet.
    pub(crate) fn is_registered(&self, id: i64) -> bool {
        self.others().by_id.contains_key(&id)
    }

    /// Removes the dedicated stream with this id, which is being destroyed.
    pub(crate) fn unregister(&self, id: i64) {
        self.others().remove(id);
    }

    /// Returns the id of the dedicated stream that had this handle, if it is among the last that were destroyed.
    pub(crate) fn destroyed_id(&self, handle: StreamHandle) -> Option<i64> {
        let others = self.others();
        others.destroyed.iter().rev().find(|(destroyed, _)| *destroyed == handle).map(|(_, id)| *id)
    }

    fn others(&self) -> MutexGuard<'_, OtherStreams> {
        self.others.lock()
    }
}

impl fmt::Debug for StreamTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamTable({} pooled)", self.pooled().count())
    }
}

/// The dedicated streams that are alive, and the external streams, alive or not.
#[derive(Default)]
struct OtherStreams {
    by_id: HashMap<i64, OtherStream>,
    /// The ids by handle. An external stream has the id of its handle for the rest of the process, because the
    /// allocator caches memory by id: c10 uses the handle for both.
    ids: HashMap<StreamHandle, i64>,
    /// The dedicated streams that were destroyed last, for reports of their work.
    destroyed: VecDeque<(StreamHandle, i64)>,
}

struct OtherStream {
    stream: Weak<StreamInner>,
    handle: StreamHandle,
    kind: StreamKind,
}

impl OtherStreams {
    /// Returns the id of an external handle, which is `new_id` for a new one, and its stream if that is alive.
    fn external(&mut self, handle: StreamHandle, new_id: impl FnOnce() -> i64) -> (i64, Option<Stream>) {
        if let Some(id) = self.ids.get(&handle)
            && let Some(found) = self.by_id.get(id)
        {
            let stream = Stream::upgrade(&found.stream);
            // The handle of a dedicated stream that is being destroyed becomes free.
            if stream.is_some() || found.kind == StreamKind::External {
                return (*id, stream);
            }
        }
        let id = new_id();
        self.ids.insert(handle, id);
        self.by_id.insert(id, OtherStream { stream: Weak::new(), handle, kind: StreamKind::External });
        (id, None)
    }

    fn insert(&mut self, stream: &Stream, handle: StreamHandle) {
        self.destroyed.retain(|(destroyed, _)| *destroyed != handle);
        self.ids.insert(handle, stream.id());
        self.by_id.insert(stream.id(), OtherStream { stream: stream.weak(), handle, kind: stream.kind() });
    }

    /// Removes a dedicated stream.
    fn remove(&mut self, id: i64) {
        /// The number of destroyed streams that are remembered.
        const REMEMBERED: usize = 256;
        let Some(OtherStream { handle, .. }) = self.by_id.remove(&id) else { return };
        if self.destroyed.len() == REMEMBERED {
            self.destroyed.pop_front();
        }
        self.destroyed.push_back((handle, id));
        // Another library may have a stream with this handle.
        if self.ids.get(&handle) == Some(&id) {
            self.ids.remove(&handle);
        }
    }
}

/// Streams of one priority, returned in turn as c10's `getStreamFromPool` does.
#[derive(Default)]
struct StreamPool {
    next: AtomicUsize,
    streams: [OnceBox<Stream>; StreamPool::SIZE],
}

impl StreamPool {
    /// PyTorch's number of streams of each priority.
    const SIZE: usize = 32;
    /// PyTorch's number of priorities.
    const PRIORITIES: usize = 4;
}

/// Creation and search of streams.
impl dyn StreamHome {
    /// Returns the default stream.
    pub(crate) fn default_stream(&'static self) -> Result<Stream> {
        let create = || {
            let handle = self.started().runtime().default_stream(self.index())?;
            Ok(Box::new(Stream::of(self, handle, 0, 0, StreamKind::Default, None)))
        };
        self.streams().default.get_or_try_init(create).cloned()
    }

    /// Returns the next stream of the pool for a priority. Numbers below the greatest priority mean the greatest one,
    /// as in PyTorch: programs request -1 on any device.
    pub(crate) fn pooled_stream(&'static self, priority: i32) -> Result<Stream> {
        let priority = self.checked_priority(priority)?;
        let level = priority.saturating_neg().clamp(0, StreamPool::PRIORITIES as i32 - 1);
        let turn = |pool: &StreamPool| pool.next.fetch_add(1, Ordering::Relaxed) % StreamPool::SIZE;
        let found = self.streams().pools.get(level as usize).and_then(|pool| {
            let position = turn(pool);
            Some((position, pool.streams.get(position)?))
        });
        let Some((position, stream)) = found else {
            debug_assert!(false, "no pooled stream of the level {level}");
            return Err(Error::argument("Stream: priority", priority.to_string(), "the priority of a pool"));
        };
        let id = 1 + i64::from(level) * StreamPool::SIZE as i64 + position as i64;
        if let Some(stream) = stream.get() {
            return Ok(stream.clone());
        }
        let runtime = self.started().runtime();
        let handle = runtime.create_stream(self.index(), -level)?;
        let new = Stream::of(self, handle, id, -level, StreamKind::Pooled, None);
        if stream.set(Box::new(new.clone())).is_err() {
            // Another thread has created it in the meantime.
            runtime.destroy_stream(handle);
        }
        Ok(stream.get().cloned().unwrap_or(new))
    }

    /// Creates a stream that is in no pool.
    pub(crate) fn dedicated_stream(&'static self, priority: i32) -> Result<Stream> {
        let priority = self.checked_priority(priority)?;
        let handle = self.started().runtime().create_stream(self.index(), priority)?;
        let stream = Stream::of(self, handle, self.new_id(), priority, StreamKind::Dedicated, None);
        self.streams().others().insert(&stream, handle);
        Ok(stream)
    }

    /// Returns the stream with a raw handle: one of this device, or a stream that another library created. While that
    /// is alive, each call with its handle returns the same stream.
    ///
    /// # Safety
    /// As for [`Stream::external`].
    pub(crate) unsafe fn external_stream(
        &'static self,
        raw: u64,
        owner: Option<KeepAlive>,
    ) -> Result<Stream> {
        // SAFETY: guaranteed by the caller.
        let handle = unsafe { self.started().runtime().wrap_external_stream(self.index(), raw)? };
        let default = self.default_stream()?;
        let mut shared = std::iter::once(&default).chain(self.streams().pooled());
        if let Some(stream) = shared.find(|stream| stream.handle() == Ok(handle)) {
            return Ok(stream.clone());
        }
        // Another thread that wraps the stream at the same time gets the same id.
        let (id, known) = self.streams().others().external(handle, || self.new_id());
        if let Some(stream) = known {
            stream.set_owner(owner);
            return Ok(stream);
        }
        let new = Stream::of(self, handle, id, 0, StreamKind::External, owner.clone());
        self.on_external_stream_wrapped(&new)?;
        let mut others = self.streams().others();
        if let (_, Some(stream)) = others.external(handle, || id) {
            // The other thread was first. `new` is dropped without the lock.
            drop(others);
            stream.set_owner(owner);
            return Ok(stream);
        }
        others.insert(&new, handle);
        Ok(new)
    }

    /// Returns the stream with this id, if it is alive.
    pub(crate) fn stream_of_id(&'static self, id: i64) -> Result<Option<Stream>> {
        if id == 0 {
            return self.default_stream().map(Some);
        }
        if let Some(stream) = self.streams().pooled().find(|stream| stream.id() == id) {
            return Ok(Some(stream.clone()));
        }
        let others = self.streams().others();
        Ok(others.by_id.get(&id).and_then(|found| Stream::upgrade(&found.stream)))
    }

    /// Returns the stream with this handle, if it is alive.
    pub(crate) fn stream_of_handle(&'static self, handle: StreamHandle) -> Option<Stream> {
        let default = self.default_stream().ok()?;
        let has_handle = |stream: &&Stream| stream.handle() == Ok(handle);
        let shared = std::iter::once(&default).chain(self.streams().pooled()).find(has_handle).cloned();
        shared.or_else(|| {
            let others = self.streams().others();
            let id = others.ids.get(&handle)?;
            others.by_id.get(id).and_then(|found| Stream::upgrade(&found.stream))
        })
    }

    /// Returns the id of a new stream that is in no pool. No other device has a stream with the same id.
    fn new_id(&self) -> i64 {
        (StreamPool::PRIORITIES * StreamPool::SIZE) as i64 + self.started().next_stream_id()
    }

    fn checked_priority(&self, priority: i32) -> Result<i32> {
        let range = self.started().runtime().priority_range(self.index());
        let PriorityRange { least, greatest } = range.map_err(|error| error.during("Stream"))?;
        if priority > least {
            return Err(Error::Argument {
                name: "Stream: priority".into(),
                given: priority.to_string(),
                allowed: format!("from {greatest}, the first to run, to {least}"),
            });
        }
        Ok(priority.max(greatest))
    }
}
