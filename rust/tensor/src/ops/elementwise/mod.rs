//! Elementwise operations and their in-place forms.

pub(crate) mod arithmetic;
pub(crate) mod bitwise;
pub(crate) mod closeness;
pub(crate) mod comparison;
pub(crate) mod functions;
pub(crate) mod operand;
pub(crate) mod pairs;
pub(crate) mod pointwise;
pub(crate) mod power;
pub(crate) mod remainder;
pub(crate) mod rounded_division;
pub(crate) mod rounding;
pub(crate) mod selection;
pub(crate) mod sign;
pub(crate) mod writing;
