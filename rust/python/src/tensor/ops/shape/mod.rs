//! Operations that change the shape of tensors, the order of their elements, or take parts of them.

mod diagonals;
mod dims;
mod flips;
mod join;
mod parts;
mod repeats;
mod resizing;
mod transposes;
mod views;
