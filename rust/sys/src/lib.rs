//! The C interface: the table that the capsule `interlock._core._C_API` contains, and its types.
//!
//! The C header `interlock.h` is generated from these declarations. The interface only grows: a release appends entries
//! to [`InterlockApi`] and fields to structs that have a `size`, and changes nothing else. `interlock-capi` has safe
//! functions over the table, and `interlock-capi-table` implements it.

mod declare;
mod kernels;
mod table;
mod types;

pub use declare::{Declaration, Field, FieldKind, Item, Signature};
pub use kernels::*;
pub use table::InterlockApi;
pub use types::*;

/// Every item, in an order in which C can read them.
pub fn declarations() -> impl Iterator<Item = &'static Declaration> {
    let before = [types::CONSTANTS, types::HANDLES, types::RECORDS, types::CALLBACKS, types::LATE_RECORDS];
    let kernels = [kernels::CONSTANTS, kernels::RECORDS, kernels::CALLBACKS, kernels::LATE_RECORDS];
    before.into_iter().chain(kernels).chain([table::TABLE]).flatten()
}

/// The example of the package's page, as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
