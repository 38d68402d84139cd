//! Values whose absence is a bug of interlock.

/// Access to a value that an invariant guarantees.
pub trait UnwrapOrAssert<T> {
    /// Returns the value. Debug builds panic with `invariant` if it is absent. Other builds return `fallback`: a panic
    /// must not reach the program.
    fn unwrap_or_assert(self, fallback: T, invariant: &str) -> T;
}

impl<T> UnwrapOrAssert<T> for Option<T> {
    #[inline]
    #[track_caller]
    fn unwrap_or_assert(self, fallback: T, invariant: &str) -> T {
        debug_assert!(self.is_some(), "{invariant}");
        self.unwrap_or(fallback)
    }
}
