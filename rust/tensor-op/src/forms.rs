//! The forms in which Python has an operation.

/// The forms of an operation.
#[derive(Clone, Copy, Default)]
pub struct Forms {
    pub function: bool,
    pub method: bool,
    pub inplace: bool,
    pub inplace_function: bool,
    /// The function has the argument `out`.
    pub out: bool,
    /// `out` must have the dtype of the result.
    pub out_is_exact: bool,
    /// `out` may share memory with the inputs.
    pub out_may_overlap: bool,
}

impl Forms {
    /// Adds the form of this name. Returns whether there is one.
    pub fn add(&mut self, name: &str) -> bool {
        match name {
            "function" => self.function = true,
            "method" => self.method = true,
            "inplace" => self.inplace = true,
            "inplace_function" => (self.inplace, self.inplace_function) = (true, true),
            _ => return false,
        }
        true
    }

    pub fn is_empty(self) -> bool {
        !(self.function || self.method || self.inplace)
    }

    /// Returns whether the operation only changes tensors in place.
    pub fn is_only_inplace(self) -> bool {
        !(self.function || self.method)
    }

    /// Returns the names of the forms, as the table of operations has them.
    pub fn names(self) -> String {
        let named = [
            (self.function, "function"),
            (self.method, "method"),
            (self.inplace, "inplace"),
            (self.inplace_function, "inplace_function"),
            (self.out, "out"),
        ];
        named.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect::<Vec<_>>().join(" ")
    }
}
