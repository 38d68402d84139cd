//! What every function does, whatever it is for, and the pointers that they are given.

use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::errors::{INVALID_VALUE, NOT_PERMITTED, UNKNOWN};
use crate::fake::{self, Fake};
use crate::{counts, host_functions};

/// What a function returns: 0, or the number of an error. A number and not an enum, because a broken device may answer
/// with any.
pub type Code = c_int;

/// What names a context, stream, event, graph or node. In C it is a pointer to nothing that one may look at.
pub type Handle = usize;

/// What a function of the library comes to.
pub(crate) type Answer<T = ()> = Result<T, Code>;

/// Where the caller wants a result, or null.
#[repr(transparent)]
pub struct Out<T>(*mut T);

/// Where the caller put an argument, or null.
#[repr(transparent)]
pub struct In<T>(*const T);

/// Where the caller put an argument and wants a result, or null.
#[repr(transparent)]
pub struct InOut<T>(*mut T);

impl<T> Out<T> {
    /// No result is wanted.
    pub const NULL: Self = Out(std::ptr::null_mut());

    /// The result goes to `place`, which must live until the call returns.
    pub const fn to(place: &mut T) -> Self {
        Out(place)
    }

    /// The result goes to a `place` without a value, which must live until the call returns.
    pub const fn to_empty(place: &mut MaybeUninit<T>) -> Self {
        Out(place.as_mut_ptr())
    }

    /// Results go to `places`, which must live until the call returns.
    pub const fn to_all(places: &mut [T]) -> Self {
        Out(places.as_mut_ptr())
    }

    /// Fails where the caller wants no result.
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
            // SAFETY: callers of the library pass pointers that can be written to during the call, or null.
            unsafe { self.0.write(value) };
        }
    }

    /// Fills as many places as there are values.
    pub(crate) fn put_all(&self, values: impl IntoIterator<Item = T>) -> Answer {
        self.check()?;
        for (place, value) in values.into_iter().enumerate() {
            // SAFETY: as above, for as many places as the caller said that there are, and no more values are given.
            unsafe { self.0.add(place).write(value) };
        }
        Ok(())
    }

    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

impl Out<c_char> {
    /// Writes a text and the zero that ends it, cut to `length` bytes in all.
    pub(crate) fn put_text(&self, text: &str, length: c_int) -> Answer {
        let room =
            usize::try_from(length).ok().and_then(|length| length.checked_sub(1)).ok_or(INVALID_VALUE)?;
        self.put_all(text.bytes().take(room).chain([0]).map(|byte| byte as c_char))
    }
}

impl<T: Copy> In<T> {
    /// No argument.
    pub const NULL: Self = In(std::ptr::null());

    /// The argument is at `place`, which must live until the call returns.
    pub const fn at(place: &T) -> Self {
        In(place)
    }

    /// The arguments are at `places`, which must live until the call returns.
    pub const fn at_all(places: &[T]) -> Self {
        In(places.as_ptr())
    }

    pub(crate) fn get(&self) -> Answer<T> {
        Ok(*self.get_all(1)?.first().ok_or(INVALID_VALUE)?)
    }

    pub(crate) fn get_all(&self, count: usize) -> Answer<&[T]> {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: callers of the library pass pointers to as many values as they say, or null.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) })
    }
}

impl<T: Copy> InOut<T> {
    /// The argument is at `place`, which must live until the call returns.
    pub const fn at(place: &mut T) -> Self {
        InOut(place)
    }

    /// The place of the argument.
    pub(crate) fn given(&self) -> In<T> {
        In(self.0)
    }

    /// The place of the result.
    pub(crate) fn wanted(&self) -> Out<T> {
        Out(self.0)
    }
}

/// Runs what a function is for: counts the call, refuses it to host functions, and lets no panic into C.
pub(crate) fn answer(name: &str, body: impl FnOnce() -> Answer) -> Code {
    counts::count(name);
    if host_functions::is_running_here() {
        return NOT_PERMITTED;
    }
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(code)) => code,
        Err(_) => UNKNOWN,
    }
}

/// As [`answer`], for what needs the driver to have started in this process.
pub(crate) fn answer_started(name: &str, body: impl FnOnce(&'static Fake) -> Answer) -> Code {
    answer(name, || body(fake::started()?))
}

/// Declares functions of the library. What takes the driver as `|fake|` needs it to have started.
macro_rules! exported {
    ($($(#[$documentation:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(|$fake:ident|)? $body:block)*) => {$(
        $(#[$documentation])*
        ///
        /// # Safety
        /// Pointers are null, or to as much as the documentation of CUDA asks for.
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
