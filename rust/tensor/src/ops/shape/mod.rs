//! Views, and copies with another shape.

pub(crate) mod as_strided;
pub(crate) mod diagonals;
pub(crate) mod dims;
pub(crate) mod flips;
pub(crate) mod join;
pub(crate) mod parts;
pub(crate) mod repeats;
pub(crate) mod resizing;
pub(crate) mod view_dtype;
pub(crate) mod views;
