//! Declared operations: the table of all, the conversion of their arguments and results, and how they run. `tensor_op`
//! declares one.

mod argument;
mod arguments;
mod choice;
mod form;
mod ints;
mod lists;
mod new_tensor;
mod numbers;
mod objects;
mod raised;
mod result;
mod run;
mod signature;
mod table;

pub(super) use argument::{
    ArgumentName, FromArgument, Held, defaulted, given, or_none, required, tensors_of,
};
pub(super) use arguments::Arguments;
pub(super) use choice::Choice;
pub(super) use form::{Declared, Form, call_function};
pub(super) use interlock_tensor::WriteTo;
pub(super) use interlock_tensor_op::tensor_op;
pub(super) use ints::{Count, IntOrInts, IntOrTensor, Ints, Sections, Sizes, SizesOrDType, is_list};
pub(super) use lists::{Indices, Tensors};
pub(super) use new_tensor::{NewTensor, build};
pub(super) use numbers::{Float, HeldOperand, Number};
pub(super) use objects::{Data, Object};
pub(super) use raised::Outcome;
pub(super) use result::{
    IntoPython, LinalgPair, LinalgTriple, NamedPair, OneOrMore, Results, err_out_is_one, err_out_is_two,
};
pub(super) use run::{
    Call, OutRules, check_out, compute, compute_into, compute_or_self, compute_results, compute_tensor,
    replace, update,
};
pub(super) use signature::{MAX_ARGUMENTS, Signature};
pub(super) use table::{Operation, join, joined, length_of, register};

pub(super) use super::args::{Arg, OptionalArg};
pub(super) use super::{ReadTensor, TensorRef};
