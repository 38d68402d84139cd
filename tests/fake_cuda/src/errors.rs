//! Error codes with their names and descriptions.

use std::ffi::{CStr, c_char};
use std::ptr;

use crate::call::{Answer, Code, Out};
use crate::counts;

macro_rules! errors {
    ($($constant:ident = $number:literal, $name:literal, $text:literal;)*) => {
        $(#[doc = concat!("`", $name, "`: ", $text, ".")] pub const $constant: Code = $number;)*

        /// The code, name and description of each error.
        const ALL: &[(Code, &CStr, &CStr)] = &[$(($number, in_c(concat!($name, "\0")), in_c(concat!($text, "\0")))),*];
    };
}

/// Returns a text that ends with a NUL as a C string.
const fn in_c(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    }
}

errors! {
    SUCCESS = 0, "CUDA_SUCCESS", "nothing failed";
    INVALID_VALUE = 1, "CUDA_ERROR_INVALID_VALUE", "an argument is out of range";
    OUT_OF_MEMORY = 2, "CUDA_ERROR_OUT_OF_MEMORY", "there is not as much memory";
    NOT_INITIALIZED = 3, "CUDA_ERROR_NOT_INITIALIZED", "the driver was not started in this process";
    STUB_LIBRARY = 34, "CUDA_ERROR_STUB_LIBRARY", "a library to link with was loaded in place of the driver";
    NO_DEVICE = 100, "CUDA_ERROR_NO_DEVICE", "no device is to be seen";
    INVALID_DEVICE = 101, "CUDA_ERROR_INVALID_DEVICE", "there is no such device";
    INVALID_CONTEXT = 201, "CUDA_ERROR_INVALID_CONTEXT", "there is no such context, or none is current";
    ECC_UNCORRECTABLE = 214, "CUDA_ERROR_ECC_UNCORRECTABLE", "memory of the device is defective";
    OPERATING_SYSTEM = 304, "CUDA_ERROR_OPERATING_SYSTEM", "the operating system refused";
    INVALID_HANDLE = 400, "CUDA_ERROR_INVALID_HANDLE", "a handle names nothing, or nothing that fits";
    ILLEGAL_STATE = 401, "CUDA_ERROR_ILLEGAL_STATE", "a resource is not in a state for this";
    NOT_READY = 600, "CUDA_ERROR_NOT_READY", "not everything before has ended";
    ILLEGAL_ADDRESS = 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "work reached memory that it may not";
    PEER_ACCESS_ALREADY_ENABLED = 704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "the context reaches the other already";
    TOO_MANY_PEERS = 711, "CUDA_ERROR_TOO_MANY_PEERS", "the device reaches as many others as it can";
    LAUNCH_FAILED = 719, "CUDA_ERROR_LAUNCH_FAILED", "work on the device failed";
    NOT_PERMITTED = 800, "CUDA_ERROR_NOT_PERMITTED", "this may not be done here";
    NOT_SUPPORTED = 801, "CUDA_ERROR_NOT_SUPPORTED", "the device or the driver can't do this";
    CAPTURE_UNSUPPORTED = 900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "this may not be done while a stream captures";
    CAPTURE_INVALIDATED = 901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "an earlier error made the capture useless";
    CAPTURE_MERGE = 902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "two captures would have become one";
    CAPTURE_UNMATCHED = 903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "the capture did not begin on this stream";
    CAPTURE_UNJOINED = 904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "a stream of the capture was not joined with the first";
    CAPTURE_ISOLATION = 905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "work inside of a capture would depend on work outside, or the reverse";
    CAPTURE_IMPLICIT = 906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "the default stream would become part of a capture";
    CAPTURED_EVENT = 907, "CUDA_ERROR_CAPTURED_EVENT", "the event was recorded in a capture";
    CAPTURE_WRONG_THREAD = 908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "another thread began the capture";
    UNKNOWN = 999, "CUDA_ERROR_UNKNOWN", "something failed that has no number";
}

fn look_up(
    code: Code,
    found: impl Fn(&(Code, &'static CStr, &'static CStr)) -> &'static CStr,
) -> Option<&'static CStr> {
    ALL.iter().find(|(number, ..)| *number == code).map(found)
}

fn put(text: Option<&'static CStr>, to: &Out<*const c_char>) -> Answer {
    to.put(text.map_or(ptr::null(), CStr::as_ptr))?;
    text.map(drop).ok_or(INVALID_VALUE)
}

macro_rules! texts {
    ($($(#[$documentation:meta])* $name:ident($entry:pat => $text:ident))*) => {$(
        $(#[$documentation])*
        ///
        /// May be called at any time, even in a host function.
        ///
        /// # Safety
        /// The pointer is null or valid for writes.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "the names are NVIDIA's")]
        pub unsafe extern "C" fn $name(error: Code, text: Out<*const c_char>) -> Code {
            counts::count(stringify!($name));
            put(look_up(error, |$entry| $text), &text).err().unwrap_or(SUCCESS)
        }
    )*};
}

texts! {
    /// Returns the name of an error code.
    cuGetErrorName((_, name, _) => name)

    /// Returns the description of an error code.
    cuGetErrorString((_, _, text) => text)
}
