//! Operations on each element, or on elements of several tensors at the same position.

mod arithmetic;
mod bitwise;
mod comparison;
mod declare;
mod functions;
mod limits;
mod operators;
mod rounding;
mod selection;
mod writing;
