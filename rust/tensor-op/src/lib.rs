//! The macro that declares an operation of tensors to Python.

mod declaration;
mod docs;
mod expansion;
mod forms;
mod options;
mod parameter;
mod sentences;
mod signature;

use proc_macro::{Literal, TokenStream, TokenTree};

use declaration::Declaration;

/// Expands to the bit in the length of a name that marks a second name of the argument before, in the texts of a signature.
#[proc_macro]
pub fn second_name_bit(_input: TokenStream) -> TokenStream {
    TokenTree::Literal(Literal::u8_suffixed(signature::IS_SECOND)).into()
}

/// Declares a function as an operation. `#[tensor_op(function, method)]` defines `interlock.NAME` and `Tensor.NAME`, whose
/// arguments are those of the function, and adds a row to the table of operations, from which the stub, a page and tests
/// are made. A function without a body, `fn NAME(x: &CoreTensor, y: i64) -> Result<CoreTensor>;`, calls the method of its
/// name of the first argument, here `x.NAME(y)`.
///
/// The first argument is the tensor of a method. An argument is required, unless its type is `Option`, whose default is
/// None, or it has the attribute `#[default(VALUE)]`; `#[default(VALUE, "TEXT")]` names the text of the default in Python.
/// It and those after it are passed by name if it has the attribute `#[keyword]`, or `#[keyword(default = VALUE)]`, to
/// functions only with `#[keyword(function)]`. Their types implement `FromArgument`; a reference to another type than a
/// tensor borrows the converted argument. `Ints` with the attribute `#[variadic]` may also be passed as separate arguments;
/// with `#[variadic(method)]` to methods only. `NewTensor` with the
/// attribute `#[options]` has the arguments `dtype`, `layout`, `device`, `requires_grad` and `pin_memory`, which are passed
/// by name; with `#[options(out)]` also `out`. Such an operation is called attached to the interpreter.
///
/// The options are:
/// - `function`, `method`, `inplace` (the method `NAME_`) and `inplace_function` (also the function `NAME_`): the forms;
/// - `out`: the function has the argument `out`; `out(exact)`: which must have the dtype of the result; `out(overlap)`:
///   which may share memory with the inputs; `out(check = EXPRESSION)`: a `Result<()>` that is evaluated before the
///   operation, made of `op`, the target `out` and references to the converted arguments. If the result is not `CoreTensor`,
///   its type implements `Results`, and `out` may be two tensors;
/// - `alias(NAME, ...)`: further names with the same forms;
/// - `long`: the operation may take long for few elements;
/// - `view`: the operation takes no time, however many elements its tensors have;
/// - `size = EXPRESSION`: the number of elements that the operation visits, if it may be larger than that of its tensors;
///   made of references to the converted arguments;
/// - `explain = EXPRESSION`: the choice of a kernel, a `Result` made of the parameters; `dispatch.explain` then accepts the
///   operation, and converts the arguments as the operation does;
/// - `or_self`: a result that is the first tensor itself is the Python object of it;
/// - `attached`: the function is called attached to the interpreter, with the token and the name of the called form, and
///   detaches itself;
/// - `name = "NAME"`: the name in Python; by default the name of the function, without the last `_` if the operation only
///   changes tensors in place;
/// - `namespace = "nn.functional"`: the module that has the function, if it is not `interlock`;
/// - `example = "ARGUMENTS"`: arguments for tests, made of the operands that `tools/example_calls.py` defines;
/// - `overloads("SIGNATURE", ...)`: the annotated signatures of the function, if one does not suffice; `{options}` stands for
///   the options of a new tensor.
///
/// The macro takes the documentation of the function and adds:
/// - An argument without an entry in `Args` gets the sentence that its name and type have in `sentences.rs`; if they have
///   none, the declaration is an error.
/// - `Raises` gets the errors that frequent entries and the names and types of arguments imply, unless a written entry says
///   more about one.
/// - `{NAME}` stands for a frequent entry.
/// - The entries of `out`, and imports before the example: of `interlock`, and of the module that has the function.
/// - `Returns` of operations that change tensors in place, return several views, or have an entry that implies it.
///
/// The other forms get what applies to them.
///
/// If the first parameter has the type `WriteTo`, the operation changes tensors in place itself. Else the in-place form
/// replaces the elements by the result.
#[proc_macro_attribute]
pub fn tensor_op(options: TokenStream, item: TokenStream) -> TokenStream {
    let expanded =
        Declaration::parse(options.into(), item.into()).map(|declared| expansion::expand(&declared));
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}
