//! Warnings of operations, for the program.

use std::io::Write;

use once_cell::race::OnceBox;

/// A function that receives the warnings of operations, on the thread that calls the operation.
pub type WarningHandler = fn(&str);

static HANDLER: OnceBox<WarningHandler> = OnceBox::new();

/// Sets the function that receives warnings. Without one they are written to standard error. Later calls have no
/// effect.
///
/// ```
/// interlock_tensor::set_warning_handler(|message| println!("{message}"));
/// ```
pub fn set_warning_handler(handler: WarningHandler) {
    let _ = HANDLER.set(Box::new(handler));
}

/// Issues a warning.
pub(crate) fn warn(message: &str) {
    match HANDLER.get() {
        Some(handler) => handler(message),
        // If standard error is closed, nothing can show the warning.
        None => _ = writeln!(std::io::stderr(), "interlock: {message}"),
    }
}
