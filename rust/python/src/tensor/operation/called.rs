//! Arguments that a form of an operation checks by itself, because they have a second name: `dim` is `axis` in NumPy, and
//! `keepdim` is `keepdims`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::shown;

/// The form that was called.
#[derive(Clone, Copy)]
pub(in crate::tensor) struct Called {
    pub op: &'static str,
    pub is_method: bool,
}

impl Called {
    /// Returns the arguments that are passed by the names of NumPy: the second ones. The third says whether the argument has
    /// also been passed by the first name.
    #[inline]
    pub fn numpy_names<'py, const N: usize>(
        self,
        renamed: Option<&Bound<'py, PyDict>>,
        names: [(&str, &str, bool); N],
    ) -> PyResult<[Option<Bound<'py, PyAny>>; N]> {
        let mut found = [const { None }; N];
        if let Some(renamed) = renamed {
            self.find_renamed(renamed, &names, &mut found)?;
        }
        Ok(found)
    }

    #[cold]
    fn find_renamed<'py>(
        self,
        renamed: &Bound<'py, PyDict>,
        names: &[(&str, &str, bool)],
        found: &mut [Option<Bound<'py, PyAny>>],
    ) -> PyResult<()> {
        for (given, value) in renamed.iter() {
            let text = given.str()?;
            let slots = names.iter().zip(&mut *found);
            let Some((&(name, numpy, is_passed), slot)) =
                slots.into_iter().find(|((_, numpy, _), _)| text == *numpy)
            else {
                let message =
                    format!("{} got an unexpected keyword argument {}", self.text(), shown(&given)?);
                return Err(PyTypeError::new_err(message));
            };
            if is_passed {
                let message = format!("{}: {name} must not be passed with {numpy}", self.op);
                return Err(PyTypeError::new_err(message));
            }
            *slot = Some(value);
        }
        Ok(())
    }

    /// Returns the exception for a call without some arguments. The flag of each says whether it was passed.
    #[cold]
    pub fn missing(self, required: &[(&str, bool)]) -> PyErr {
        let missing =
            required.iter().filter(|(_, is_passed)| !is_passed).map(|(name, _)| format!("'{name}'"));
        let missing: Vec<_> = missing.collect();
        let list = match &missing[..] {
            [one] => one.clone(),
            [one, other] => format!("{one} and {other}"),
            [first @ .., last] => format!("{}, and {last}", first.join(", ")),
            [] => String::new(),
        };
        debug_assert!(!missing.is_empty(), "an argument is missing");
        let plural = if missing.len() == 1 { "" } else { "s" };
        let message =
            format!("{} missing {} required positional argument{plural}: {list}", self.text(), missing.len());
        PyTypeError::new_err(message)
    }

    /// Returns the form as Python names it in errors of calls.
    fn text(self) -> String {
        format!("{}{}()", if self.is_method { "Tensor." } else { "" }, self.op)
    }
}
