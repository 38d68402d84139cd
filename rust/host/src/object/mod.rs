//! The objects of a driver: devices, streams, events, captures and graphs.

pub(crate) mod capture;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod graph;
pub(crate) mod graph_exec;
pub(crate) mod stream;

use interlock_driver::Error;

/// Returns the error for the id of an object that was released or never existed.
pub(crate) fn err_released(operation: &'static str, number: u64, what: &str) -> Error {
    Error::argument(
        format!("{operation}: the handle"),
        number.to_string(),
        format!("the id of {what} that was not released"),
    )
}
