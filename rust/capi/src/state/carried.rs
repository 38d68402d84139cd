//! Values of another library that captured states and tasks carry.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::null_mut;

use crate::import::api;
use crate::raw::{caught, drop_owned, owned, text};
use crate::sys::*;
use crate::{Registration, Result};

/// A value that another library stores for each thread.
///
/// ```no_run
/// use std::cell::Cell;
///
/// use interlock_capi::state::{Carried, ThreadState, register_carried};
///
/// thread_local!(static VERBOSITY: Cell<u8> = const { Cell::new(0) });
///
/// struct Verbosity;
///
/// impl Carried for Verbosity {
///     type Value = u8;
///
///     fn save(&self) -> u8 {
///         VERBOSITY.get()
///     }
///
///     fn restore(&self, value: &u8) {
///         VERBOSITY.set(*value);
///     }
/// }
///
/// let registration = register_carried("mylib.verbosity", Verbosity)?;
/// VERBOSITY.set(2);
/// let state = ThreadState::capture()?;
/// let seen = std::thread::spawn(move || (state.run(|| VERBOSITY.get()), VERBOSITY.get()));
/// # drop((registration, seen.join()));
/// # Ok::<(), interlock_capi::Error>(())
/// ```
pub trait Carried: Send + Sync + 'static {
    /// The type of the value.
    type Value: Send + Sync + 'static;

    /// Returns the value of this thread. If it panics, nothing is saved, and nothing is restored from that.
    fn save(&self) -> Self::Value;

    /// Makes a value that [`save`](Carried::save) has returned, on any thread, the one of this thread.
    fn restore(&self, value: &Self::Value);
}

/// Registers a value of another library, until the registration is dropped: from now on captured states and tasks have
/// it. Values are saved and restored in the order of registrations.
///
/// # Errors
/// Fails with [`ErrorCode::Argument`](crate::ErrorCode::Argument) if the name is registered.
pub fn register_carried<C: Carried>(name: &str, carried: C) -> Result<Registration> {
    let carried = InterlockCarried {
        save: Some(Calls::<C>::save),
        restore: Some(Calls::<C>::restore),
        drop_value: Some(Calls::<C>::drop_value),
        data: owned(carried),
        drop: Some(drop_owned::<C>),
    };
    // SAFETY: the functions are those of the data, which the call owns, and the text and the places are valid.
    Registration::new(|out, error| unsafe { (api().carried_register)(text(name), carried, out, error) })
}

/// The functions of an `InterlockCarried`. The data is a `C`, and a value is a `C::Value`, or null if saving it
/// panicked.
struct Calls<C>(PhantomData<C>);

impl<C: Carried> Calls<C> {
    unsafe extern "C" fn save(data: *mut c_void) -> *mut c_void {
        // SAFETY: `register_carried` has passed the data.
        let carried = unsafe { &*data.cast::<C>() };
        caught(|| carried.save()).map_or(null_mut(), owned)
    }

    unsafe extern "C" fn restore(data: *mut c_void, value: *mut c_void) {
        // SAFETY: `register_carried` has passed the data, and `save` has returned the value.
        let (carried, value) = unsafe { (&*data.cast::<C>(), value.cast::<C::Value>().as_ref()) };
        if let Some(value) = value {
            caught(|| carried.restore(value));
        }
    }

    unsafe extern "C" fn drop_value(value: *mut c_void) {
        if !value.is_null() {
            // SAFETY: `save` has returned the value, and interlock drops it once.
            unsafe { drop_owned::<C::Value>(value) };
        }
    }
}
