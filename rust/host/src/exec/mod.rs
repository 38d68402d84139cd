//! Execution of queued work: the scheduler, commands, worker threads, copy engines and waits.

pub(crate) mod async_error;
pub(crate) mod chains;
pub(crate) mod command;
pub(crate) mod copy_engines;
pub(crate) mod deferred_drop;
pub(crate) mod fault_plan;
pub(crate) mod inner;
pub(crate) mod scheduler;
pub(crate) mod shared;
pub(crate) mod sync;
pub(crate) mod worker;
