//! What runs queued work: the scheduler, its commands, threads and copy engines, and waits for it.

pub(crate) mod async_error;
pub(crate) mod chains;
pub(crate) mod command;
pub(crate) mod copy_engines;
pub(crate) mod deferred_drop;
pub(crate) mod inner;
pub(crate) mod scheduler;
pub(crate) mod shared;
pub(crate) mod sync;
pub(crate) mod worker;
