//! Calls of a generic function through a reference.

/// A function that is called once through a `&mut dyn FnMut()`, and its result.
///
/// The function to which the reference is passed is not generic over the work, so it is compiled once.
///
/// ```
/// use interlock_core::base::once_call::OnceCall;
///
/// fn twice(work: &mut dyn FnMut()) {
///     work();
///     work();
/// }
///
/// let text = "moved into the function".to_owned();
/// let mut call = OnceCall::new(|| text);
/// twice(&mut || call.run());
/// assert_eq!(call.into_result(), "moved into the function");
/// ```
#[derive(Debug)]
pub struct OnceCall<F, T> {
    function: Option<F>,
    result: Option<T>,
}

impl<F, T> OnceCall<F, T> {
    /// Creates a call that has not run yet.
    #[inline]
    pub const fn new(function: F) -> Self {
        OnceCall { function: Some(function), result: None }
    }

    /// Calls the function. Later calls have no effect.
    #[inline]
    pub fn run(&mut self)
    where
        F: FnOnce() -> T,
    {
        if let Some(function) = self.function.take() {
            self.result = Some(function());
        }
    }

    /// Calls a function that may fail. Later calls have no effect.
    ///
    /// # Errors
    /// Returns the error of the function. There is no result then.
    #[inline]
    pub fn try_run<E>(&mut self) -> Result<(), E>
    where
        F: FnOnce() -> Result<T, E>,
    {
        if let Some(function) = self.function.take() {
            self.result = Some(function()?);
        }
        Ok(())
    }

    /// Returns the result. Aborts the process if there is none: if the function was not called, or if it has failed, or
    /// panicked and its caller has caught the panic.
    #[inline]
    pub fn into_result(self) -> T {
        match self.result {
            Some(result) => result,
            None => std::process::abort(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn run_passes_a_panic_on_and_drops_the_function_once() {
        let owned = std::rc::Rc::new(());
        let held = owned.clone();
        let mut call = OnceCall::new(move || {
            let _held = held;
            panic!("of the function");
        });
        assert!(catch_unwind(AssertUnwindSafe(|| call.run())).is_err());
        assert_eq!(std::rc::Rc::strong_count(&owned), 1);
        call.run();
    }
}
