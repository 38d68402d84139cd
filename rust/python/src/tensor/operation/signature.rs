//! The arguments that a form takes, and the errors for calls with others, in the words of Python's own functions.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::shown;

/// The largest number of arguments of a form, with the tensor of a method.
pub(in crate::tensor) const MAX_ARGUMENTS: usize = 16;

/// The bit in the length of a name that marks another name of the argument before.
const IS_SECOND: u8 = interlock_tensor_op::second_name_bit!();

/// The arguments that a form takes, without the tensor of a method.
pub(in crate::tensor) struct Signature {
    /// The name of the form, the names of the arguments and the docstring, each with a zero byte at its end: one address to
    /// relocate when the library is loaded. The name of an argument follows a character whose code is its length; with
    /// [`IS_SECOND`] it is a second name of the argument before.
    pub texts: &'static str,
    pub function_length: u8,
    pub names_length: u8,
    /// The number of arguments that may be passed by position.
    pub positional: u8,
    /// The number of arguments that must be passed, which are the first ones.
    pub required: u8,
    /// Further positions are separate arguments of the parameter after those that may be passed by position.
    pub is_variadic: bool,
    /// The form is a method.
    pub is_method: bool,
}

/// A name of an argument.
pub(super) struct Name {
    pub position: usize,
    text: &'static str,
    /// The argument has another name before.
    is_second: bool,
}

impl Signature {
    /// Returns the name of the form.
    pub fn function(&self) -> &'static str {
        self.text(0, self.function_length)
    }

    /// Returns the docstring with the signature, and its zero byte.
    pub fn doc(&self) -> &'static str {
        let start = usize::from(self.function_length) + usize::from(self.names_length) + 2;
        self.texts.split_at(start).1
    }

    /// Returns the number of arguments that may be passed by position.
    pub fn positional(&self) -> usize {
        usize::from(self.positional)
    }

    /// Returns the number of arguments that must be passed.
    pub fn required(&self) -> usize {
        usize::from(self.required)
    }

    /// Returns the position of the first argument after the tensor of a method.
    pub fn own(&self) -> usize {
        usize::from(self.is_method)
    }

    /// Returns one of the texts.
    fn text(&self, start: usize, length: u8) -> &'static str {
        let text = self.texts.get(start..start + usize::from(length));
        debug_assert!(text.is_some(), "the lengths are those of the texts");
        text.unwrap_or_default()
    }

    /// Returns the names of the arguments, in order.
    fn names(&self) -> impl Iterator<Item = Name> {
        let names = self.text(usize::from(self.function_length) + 1, self.names_length);
        let (mut rest, mut next) = (names, 0);
        std::iter::from_fn(move || {
            let (&code, _) = rest.as_bytes().split_first()?;
            let is_second = code & IS_SECOND != 0;
            let (text, others) = rest.get(1..)?.split_at_checked(usize::from(code & !IS_SECOND))?;
            rest = others;
            next += usize::from(!is_second);
            Some(Name { position: next - 1, text, is_second })
        })
    }

    /// Returns the argument with a name.
    pub(super) fn find(&self, given: &str) -> Option<Name> {
        self.names().find(|name| name.text == given)
    }

    /// Returns the first name of an argument.
    fn first_name(&self, position: usize) -> &'static str {
        let found = self.names().find(|name| name.position == position);
        debug_assert!(found.is_some(), "each argument has a name");
        found.map_or("", |name| name.text)
    }

    /// Returns the exception of a call, with the name of the form as Python has it in errors.
    #[cold]
    fn error(&self, text: &str) -> PyErr {
        let class = if self.is_method { "Tensor." } else { "" };
        PyTypeError::new_err(format!("{class}{}() {text}", self.function()))
    }

    /// Returns the exception for more arguments than the form takes by position.
    #[cold]
    pub fn too_many(&self, given: usize) -> PyErr {
        let most = self.positional();
        let least = self.required().min(most);
        let taken = if least == most { most.to_string() } else { format!("from {least} to {most}") };
        let plural = if least == 1 && most == 1 { "" } else { "s" };
        let were = if given == 1 { "was" } else { "were" };
        self.error(&format!("takes {taken} positional argument{plural} but {given} {were} given"))
    }

    /// Returns the exception for a name that no argument has.
    #[cold]
    pub fn unexpected(&self, name: &Bound<'_, PyString>) -> PyErr {
        match shown(name) {
            Ok(name) => self.error(&format!("got an unexpected keyword argument {name}")),
            Err(error) => error,
        }
    }

    /// Returns the exception for an argument that is passed a second time, by a name, after `count` arguments by position.
    #[cold]
    pub(super) fn passed_twice(&self, given: &Name, count: usize) -> PyErr {
        let first = self.first_name(given.position);
        let second = self.names().find(|name| name.position == given.position && name.is_second);
        match second {
            Some(second) if given.is_second || given.position >= count => {
                let message = format!("{}: {first} must not be passed with {}", self.function(), second.text);
                PyTypeError::new_err(message)
            }
            _ => self.error(&format!("got multiple values for argument '{first}'")),
        }
    }

    /// Returns the exception for a call without required arguments. `is_passed` says whether an argument was passed. Those
    /// that are passed by name are reported once the others are there, as in Python.
    #[cold]
    pub fn missing(&self, is_passed: impl Fn(usize) -> bool) -> PyErr {
        let absent = (0..self.required()).filter(|position| !is_passed(*position));
        let (by_position, by_name): (Vec<_>, Vec<_>) =
            absent.partition(|position| *position < self.positional());
        let (kind, absent) =
            if by_position.is_empty() { ("keyword-only", by_name) } else { ("positional", by_position) };
        let missing: Vec<_> =
            absent.into_iter().map(|position| format!("'{}'", self.first_name(position))).collect();
        debug_assert!(!missing.is_empty(), "an argument is missing");
        let list = match &missing[..] {
            [first @ .., last] if first.len() > 1 => format!("{}, and {last}", first.join(", ")),
            all => all.join(" and "),
        };
        let plural = if missing.len() == 1 { "" } else { "s" };
        self.error(&format!("missing {} required {kind} argument{plural}: {list}", missing.len()))
    }
}
