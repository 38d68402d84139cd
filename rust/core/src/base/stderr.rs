//! Lines on the standard error.

/// Writes a line that begins with `interlock:` with one system call. A lock of the stream could be held by a thread that
/// a forked child lacks.
pub fn print(text: &str) {
    let line = format!("interlock: {text}\n");
    // SAFETY: the pointer and the length are those of the line. A failed write has no effect.
    unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
}
