//! Stacks of the program, which anomaly mode stores in nodes and reports in errors.

use std::borrow::Cow;
use std::sync::Arc;

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
    created_by: Option<Creator>,
}

/// The node whose backward function created another node, for a gradient of a gradient.
///
/// ```
/// use interlock_tensor::autograd::{Creator, ForwardStack};
///
/// let creator = Creator { node: "MulBackward".into(), stack: None };
/// let stack = ForwardStack::new("train.py:9".to_owned(), String::new()).created_by(Some(creator));
/// assert_eq!(stack.creator().map(|creator| &*creator.node), Some("MulBackward"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creator {
    /// The name of the node.
    pub node: Cow<'static, str>,
    /// The stack of its forward operation, if it ran in anomaly mode.
    pub stack: Option<Arc<ForwardStack>>,
}

impl ForwardStack {
    /// Creates a stack from the location of its innermost frame and its text, one line for each frame.
    pub fn new(location: String, text: String) -> Self {
        ForwardStack { location, text, created_by: None }
    }

    /// Adds the node whose backward function ran.
    pub fn created_by(self, created_by: Option<Creator>) -> Self {
        ForwardStack { created_by, ..self }
    }

    /// Returns the node whose backward function ran.
    pub fn creator(&self) -> Option<&Creator> {
        self.created_by.as_ref()
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
