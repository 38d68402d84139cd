//! Common parts of all exported functions: their results, pointer arguments, and the macro that declares them.

use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::errors::{INVALID_VALUE, NOT_PERMITTED, UNKNOWN};
use crate::fake::{self, Fake};
use crate::{counts, hooks, host_functions};

/// A `CUresult`: 0 or an error code. An integer, because a broken device may return any code.
pub type Code = c_int;

/// The handle of a context, stream, event, graph or node: an opaque pointer in C.
pub type Handle = usize;

/// The result of a function of the library.
pub(crate) type Answer<T = ()> = Result<T, Code>;

/// A pointer for a result, or null.
#[repr(transparent)]
pub struct Out<T>(*mut T);

/// A pointer to an argument, or null.
#[repr(transparent)]
pub struct In<T>(*const T);

/// A pointer to an argument that the result replaces, or null.
#[repr(transparent)]
pub struct InOut<T>(*mut T);

impl<T> Out<T> {
    /// A null pointer.
    pub const NULL: Self = Out(std::ptr::null_mut());

    /// Returns a pointer to `value`, which must live until the call returns.
    pub const fn to(value: &mut T) -> Self {
        Out(value)
    }

    /// Returns a pointer to an uninitialized `value`, which must live until the call returns.
    pub const fn to_empty(value: &mut MaybeUninit<T>) -> Self {
        Out(value.as_mut_ptr())
    }

    /// Returns a pointer to an array, which must live until the call returns.
    pub const fn to_all(values: &mut [T]) -> Self {
        Out(values.as_mut_ptr())
    }

    /// Fails for a null pointer.
    pub(crate) fn check(&self) -> Answer {
        if self.0.is_null() { Err(INVALID_VALUE) } else { Ok(()) }
    }

    pub(crate) fn put(&self, value: T) -> Answer {
        self.check()?;
        self.put_if_wanted(value);
        Ok(())
    }

    pub(crate) fn put_if_wanted(&self, value: T) {
        if !self.0.is_null() {
            // SAFETY: callers of the library pass pointers that are valid for writes during the call, or null.
            unsafe { self.0.write(value) };
        }
    }

    /// Writes values to an array.
    pub(crate) fn put_all(&self, values: impl IntoIterator<Item = T>) -> Answer {
        self.check()?;
        for (index, value) in values.into_iter().enumerate() {
            // SAFETY: callers of the library pass an array of the length that they state, and there are no more values.
            unsafe { self.0.add(index).write(value) };
        }
        Ok(())
    }

    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

impl Out<c_char> {
    /// Writes a text and its NUL, truncated to `length` bytes.
    pub(crate) fn put_text(&self, text: &str, length: c_int) -> Answer {
        let room =
            usize::try_from(length).ok().and_then(|length| length.checked_sub(1)).ok_or(INVALID_VALUE)?;
        self.put_all(text.bytes().take(room).chain([0]).map(|byte| byte as c_char))
    }
}

impl<T: Copy> In<T> {
    /// A null pointer.
    pub const NULL: Self = In(std::ptr::null());

    /// Returns a pointer to `value`, which must live until the call returns.
    pub const fn at(value: &T) -> Self {
        In(value)
    }

    /// Returns a pointer to an array, which must live until the call returns.
    pub const fn at_all(values: &[T]) -> Self {
        In(values.as_ptr())
    }

    pub(crate) fn get(&self) -> Answer<T> {
        Ok(*self.get_all(1)?.first().ok_or(INVALID_VALUE)?)
    }

    pub(crate) fn get_all(&self, count: usize) -> Answer<&[T]> {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: callers of the library pass an array of the length that they state, or null.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) })
    }
}

impl<T: Copy> InOut<T> {
    /// Returns a pointer to `value`, which must live until the call returns.
    pub const fn at(value: &mut T) -> Self {
        InOut(value)
    }

    /// Returns the pointer to the argument.
    pub(crate) fn given(&self) -> In<T> {
        In(self.0)
    }

    /// Returns the pointer for the result.
    pub(crate) fn wanted(&self) -> Out<T> {
        Out(self.0)
    }
}

/// Runs the body of an exported function: counts the call, refuses calls from host functions, runs the hook of a test,
/// and catches panics.
pub(crate) fn answer(name: &str, body: impl FnOnce() -> Answer) -> Code {
    counts::count(name);
    if host_functions::is_running_here() {
        return NOT_PERMITTED;
    }
    if let Err(code) = hooks::run(name) {
        return code;
    }
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(code)) => code,
        Err(_) => UNKNOWN,
    }
}

/// Like [`answer`], but fails if the driver was not started in this process.
pub(crate) fn answer_started(name: &str, body: impl FnOnce(&'static Fake) -> Answer) -> Code {
    answer(name, || body(fake::started()?))
}

/// Declares functions of the library. Functions with `|fake|` fail unless the driver was started.
macro_rules! exported {
    ($($(#[$documentation:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(|$fake:ident|)? $body:block)*) => {$(
        $(#[$documentation])*
        ///
        /// # Safety
        /// Pointers are null, or valid as CUDA's documentation requires.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "the names are NVIDIA's")]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $crate::call::Code {
            $crate::call::exported!(@ $name, $(|$fake|)? $body)
        }
    )*};
    (@ $name:ident, |$fake:ident| $body:block) => {
        $crate::call::answer_started(stringify!($name), |$fake| $body)
    };
    (@ $name:ident, $body:block) => {
        $crate::call::answer(stringify!($name), || $body)
    };
}

pub(crate) use exported;
