//! Operations that change the shape of tensors, the order of their elements, or take parts of them.

pub(super) mod broadcasting;
mod diagonals;
mod dims;
mod flips;
mod join;
mod parts;
mod repeats;
mod resizing;
mod transposes;
mod views;
