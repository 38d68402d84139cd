//! Declared operations: the table of all, the conversion of their arguments and results, and how they run. `tensor_op`
//! declares one.

mod argument;
mod arguments;
mod called;
mod choice;
mod lists;
mod new_tensor;
mod result;
mod run;
mod table;

pub(super) use argument::{
    ArgumentName, FromArgument, defaulted, given, or_none, required, target, tensor_of,
};
pub(super) use arguments::{
    Count, Data, Float, IntOrInts, IntOrTensor, Ints, Number, Object, Sections, Sizes, SizesOrDType, variadic,
};
pub(super) use called::Called;
pub(super) use choice::Choice;
pub(super) use interlock_tensor::WriteTo;
pub(super) use interlock_tensor_op::tensor_op;
pub(super) use lists::{Indices, Tensors};
pub(super) use new_tensor::{NewTensor, build};
pub(super) use result::{IntoPython, NamedPair, OneOrMore};
pub(super) use run::{Call, compute, compute_into, compute_or_self, compute_tensor, replace, update};
pub(super) use table::{Operation, add_function, join, joined, length_of, register};

pub(super) use super::args::{Arg, OptionalArg};
