//! Stacks of the program, which anomaly mode stores in nodes and reports in errors.

/// The stack of the program when a node was created.
///
/// ```
/// use interlock_tensor::autograd::ForwardStack;
///
/// let stack = ForwardStack::new("train.py:3".to_owned(), "  File \"train.py\", line 3\n".to_owned());
/// assert_eq!(stack.location(), "train.py:3");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardStack {
    location: String,
    text: String,
}

impl ForwardStack {
    /// Creates a stack from the location of its innermost frame and its text, one line for each frame.
    pub fn new(location: String, text: String) -> Self {
        ForwardStack { location, text }
    }

    /// Returns the file and the line of the innermost frame.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// Returns the text, with the outermost frame first.
    pub fn text(&self) -> &str {
        &self.text
    }
}
