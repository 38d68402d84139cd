//! Streams, events and queued work.

pub(crate) mod completion;
pub(crate) mod event;
pub(crate) mod event_pool;
pub(crate) mod host_fn;
pub(crate) mod progress;
pub(crate) mod replay_tracker;
#[expect(clippy::module_inception, reason = "the file takes the type's name")]
pub(crate) mod stream;
pub(crate) mod stream_semaphore;
pub(crate) mod submit;
pub(crate) mod sync;
pub(crate) mod table;
pub(crate) mod timeline;
pub(crate) mod workers;
