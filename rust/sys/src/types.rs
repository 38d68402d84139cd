//! The constants and types of the C interface.

use std::ffi::{c_char, c_void};

use super::declare::{
    Declaration, Field, FieldKind, Item, Signature, callbacks, constants, handles, records,
};

constants! {
    /// The version of the table. A table of another version has another layout.
    INTERLOCK_API_VERSION: u32 = 1;

    /// Success.
    INTERLOCK_OK: i32 = 0;
    /// An argument is not accepted, or a required pointer is null.
    INTERLOCK_ERROR_ARGUMENT: i32 = 1;
    /// A value of a flag has the wrong type.
    INTERLOCK_ERROR_FLAG_TYPE: i32 = 2;
    /// A value of a flag is not accepted.
    INTERLOCK_ERROR_FLAG_VALUE: i32 = 3;
    /// Flags are frozen.
    INTERLOCK_ERROR_FLAGS_FROZEN: i32 = 4;
    /// A flag cannot be registered.
    INTERLOCK_ERROR_FLAG_REGISTRATION: i32 = 5;
    /// No flag has the name or the id.
    INTERLOCK_ERROR_UNKNOWN_FLAG: i32 = 6;
    /// The flag is read-only.
    INTERLOCK_ERROR_READ_ONLY_FLAG: i32 = 7;
    /// A device is unknown or cannot be used.
    INTERLOCK_ERROR_DEVICE: i32 = 8;
    /// No accelerator is available.
    INTERLOCK_ERROR_NO_ACCELERATOR: i32 = 9;
    /// A device has too little memory.
    INTERLOCK_ERROR_OUT_OF_MEMORY: i32 = 10;
    /// An operation failed on a device, or an asynchronous error is reported.
    INTERLOCK_ERROR_ACCELERATOR: i32 = 11;
    /// A device was lost with its memory.
    INTERLOCK_ERROR_DEVICE_LOST: i32 = 12;
    /// The driver or this process does not support the operation, or the thread-local variables of this thread are
    /// destroyed.
    INTERLOCK_ERROR_UNSUPPORTED: i32 = 13;
    /// The object belongs to the parent of this forked process.
    INTERLOCK_ERROR_FORKED_PROCESS: i32 = 14;
    /// A graph was used in the wrong order.
    INTERLOCK_ERROR_GRAPH: i32 = 15;
    /// The driver of the process is fixed already.
    INTERLOCK_ERROR_DRIVER_IN_USE: i32 = 16;
    /// A wait was interrupted by a signal.
    INTERLOCK_ERROR_INTERRUPTED: i32 = 17;
    /// interlock panicked; the state is unchanged as far as possible.
    INTERLOCK_ERROR_PANIC: i32 = 18;
    /// The interlock of this process cannot be used by this program.
    INTERLOCK_ERROR_IMPORT: i32 = 19;
    /// Any other error.
    INTERLOCK_ERROR_OTHER: i32 = 20;

    /// None. In a declaration: no limit. Nodes of the precision tree refuse it: the text `none` empties a node, and an
    /// empty node reads as that text.
    INTERLOCK_VALUE_NONE: u32 = 0;
    /// A bool: `integer` is 0 or 1.
    INTERLOCK_VALUE_BOOL: u32 = 1;
    /// An integer.
    INTERLOCK_VALUE_INTEGER: u32 = 2;
    /// A float.
    INTERLOCK_VALUE_FLOAT: u32 = 3;
    /// Text, or one of several names.
    INTERLOCK_VALUE_TEXT: u32 = 4;
    /// Two bools: bit 0 and bit 1 of `integer`. Accepted by `cuda.matmul.allow_fp16_reduced_precision_reduction` and
    /// `allow_bf16_reduced_precision_reduction`: whether sums may be reduced in that type, and whether they may be
    /// split.
    INTERLOCK_VALUE_PAIR: u32 = 5;
    /// A list of names. A list that a flag of Python or Rust is set to is read as the texts of its items; a list of
    /// texts, names or paths is also written so.
    INTERLOCK_VALUE_NAMES: u32 = 6;
    /// For a write without a scope: the flag is unset, so that the environment or the default applies.
    INTERLOCK_VALUE_UNSET: u32 = 7;
    /// An integer of 64 bits without a sign, in the bits of `integer`, for numbers above those of a signed one. Flags
    /// of integers refuse it.
    INTERLOCK_VALUE_UNSIGNED: u32 = 8;

    /// The type of a flag without a word of its own, or with another type than those below.
    INTERLOCK_KIND_OTHER: u32 = 0;
    /// On or off.
    INTERLOCK_KIND_BOOL: u32 = 1;
    /// An integer from 0 to at most 2**60.
    INTERLOCK_KIND_COUNT: u32 = 2;
    /// An integer from at least -2**60 to at most 2**60.
    INTERLOCK_KIND_INTEGER: u32 = 3;
    /// A float except NaN.
    INTERLOCK_KIND_FLOAT: u32 = 4;
    /// One of several names.
    INTERLOCK_KIND_CHOICE: u32 = 5;
    /// Any text, or a path.
    INTERLOCK_KIND_TEXT: u32 = 6;

    /// The bits of a flag's word that contain the value; the others contain its level.
    INTERLOCK_PAYLOAD_MASK: u64 = (1 << 62) - 1;

    /// Operations record the autograd graph.
    INTERLOCK_MODE_GRAD: u8 = 1;
    /// New tensors are inference tensors.
    INTERLOCK_MODE_INFERENCE: u8 = 2;
    /// A backward pass may use several threads.
    INTERLOCK_MODE_MULTITHREADING: u8 = 4;
    /// Views are tracked by replaying the operation that created them.
    INTERLOCK_MODE_VIEW_REPLAY: u8 = 8;
    /// An accumulated gradient is converted to the layout of its tensor.
    INTERLOCK_MODE_LAYOUT_POLICY: u8 = 16;
    /// Nodes store the stack of the operation that created them, and failing nodes report it.
    INTERLOCK_MODE_ANOMALY: u8 = 32;
    /// Anomaly mode checks gradients for NaN.
    INTERLOCK_MODE_ANOMALY_CHECK_NAN: u8 = 64;

    /// The CPU. The numbers of device types are those of PyTorch's `c10::DeviceType`, and further ones.
    INTERLOCK_DEVICE_CPU: u32 = 0;
    /// NVIDIA's devices.
    INTERLOCK_DEVICE_CUDA: u32 = 1;
    /// The devices of the host driver.
    INTERLOCK_DEVICE_HOST: u32 = 64;

    /// A flag was written: assigned, unset, restored or reset.
    INTERLOCK_CHANGE_WRITE: u32 = 1;
    /// A scope that sets flags was entered.
    INTERLOCK_CHANGE_ENTER: u32 = 2;
    /// A scope that was reported has ended.
    INTERLOCK_CHANGE_EXIT: u32 = 3;

    /// The default of a flag.
    INTERLOCK_LEVEL_DEFAULT: u32 = 1;
    /// An environment variable.
    INTERLOCK_LEVEL_ENVIRONMENT: u32 = 2;
    /// A value for the process.
    INTERLOCK_LEVEL_PROCESS: u32 = 3;
    /// A scope.
    INTERLOCK_LEVEL_SCOPE: u32 = 4;
}

handles! {
    /// Values of flags that threads enter as a scope. May be used on any thread, by several at once.
    InterlockScope;
    /// A captured state. May be used on any thread, by several at once.
    InterlockState;
    /// A stream. May be used on any thread, by several at once.
    InterlockStream;
    /// Functions of the caller that interlock calls until the registration is freed.
    InterlockRegistration;
}

records! {
    /// UTF-8 text, which need not end with a null byte. As an argument it is copied. As a result it is valid until the
    /// process exits, unless the entry says otherwise.
    struct InterlockText {
        /// The first byte; may be null if `bytes` is 0.
        data: *const c_char,
        /// The number of bytes.
        bytes: usize,
    }

    /// An error, which the caller owns. The caller sets `size`; the call sets the rest if it fails, and nothing if it
    /// succeeds. Each parameter of this type may be null.
    struct InterlockError {
        /// The size of the struct in bytes.
        size: u32,
        /// One of `INTERLOCK_ERROR_*`: the result of the call.
        code: i32,
        /// The message, which ends with a null byte. A longer message is cut.
        text: [c_char; 1016],
    }

    /// A list of names.
    struct InterlockNames {
        /// The first name.
        items: *const InterlockText,
        /// The number of names.
        count: usize,
    }

    /// The contents of a value; its kind selects the field.
    union InterlockData {
        /// A bool, an integer or a pair.
        integer: i64,
        /// A float.
        number: f64,
        /// Text.
        text: InterlockText,
        /// A list of names.
        names: InterlockNames,
    }

    /// A value of a flag.
    struct InterlockValue {
        /// One of `INTERLOCK_VALUE_*`.
        kind: u32,
        /// Zero.
        reserved: u32,
        /// The contents; unused for None and for unset.
        data: InterlockData,
    }

    /// A flag. The caller sets `size`; the call sets the rest. It remains valid until the process exits.
    struct InterlockFlag {
        /// The size of the struct in bytes.
        size: u32,
        /// The id, which is valid in this process and its forked children. Never 0, so that the functions refuse a flag
        /// of zeros.
        id: u32,
        /// One of `INTERLOCK_KIND_*`.
        kind: u32,
        /// 1 if the flag cannot be written.
        is_read_only: u32,
        /// The word of the process, if the flag is plain: a bool or an integer that has a word of its own. Otherwise
        /// null, and `flag_read` returns the value.
        word: *const u64,
        /// The number of scopes of all threads that set flags. While it is 0, `word` has the value of the flag.
        open_scopes: *const u64,
        /// The difference between the bits of a plain integer and its value. For the header only.
        bias: i64,
        /// The dotted name.
        name: InterlockText,
    }

    /// The declaration of a flag of another library.
    struct InterlockFlagDecl {
        /// The size of the struct in bytes.
        size: u32,
        /// One of `INTERLOCK_KIND_*`, except `INTERLOCK_KIND_OTHER`.
        kind: u32,
        /// 1 if the flag also accepts None, else 0.
        is_optional: u32,
        /// Zero.
        reserved: u32,
        /// The dotted name, which begins with the name of the library.
        name: InterlockText,
        /// The documentation, in a sentence.
        doc: InterlockText,
        /// The environment variable that sets the flag; null data for the name in capitals.
        variable: InterlockText,
        /// The operations that the flag affects, for `explain`; null data for none.
        affects: InterlockText,
        /// The default.
        default_value: InterlockValue,
        /// The smallest number that is accepted. `INTERLOCK_VALUE_NONE` means the smallest of all: 0 for a count,
        /// -2**60 for an integer, which cannot be smaller.
        minimum: InterlockValue,
        /// The largest number that is accepted. `INTERLOCK_VALUE_NONE` means the largest of all: 2**60 for a count or
        /// an integer, which cannot be larger.
        maximum: InterlockValue,
        /// The names that a choice accepts.
        choices: InterlockNames,
    }

    /// A write of a flag.
    struct InterlockWrite {
        /// The id of the flag.
        flag: u32,
        /// Zero.
        reserved: u32,
        /// The new value.
        value: InterlockValue,
    }

    /// A change of flags. It is valid until the function that receives it returns.
    struct InterlockFlagChange {
        /// The size of the struct in bytes.
        size: u32,
        /// One of `INTERLOCK_CHANGE_*`.
        kind: u32,
        /// Identifies the scope that was entered or has ended, or in which a flag was written; 0 for none.
        layer: u64,
        /// The id of a flag that was written; otherwise 0.
        flag: u32,
        /// Where it was written: one of `INTERLOCK_LEVEL_*`; otherwise 0.
        level: u32,
        /// The value before a write.
        old_value: InterlockValue,
        /// The value after a write.
        new_value: InterlockValue,
        /// The flags that an entered scope sets.
        values: *const InterlockWrite,
        /// The number of these flags.
        values_count: usize,
    }

    /// A scope, mode, state, device or stream that a thread has entered. Only that thread exits it: an exit on another
    /// thread has effect the next time that the thread enters or exits a scope, or writes a mode or flag. A call that
    /// enters overwrites the guard: if the guard was not exited, nothing can exit the first entry any more.
    struct InterlockGuard {
        /// Identifies what was entered; 0 for nothing, so that an exit has no effect.
        layer: u64,
        /// Identifies the thread or task.
        owner: u64,
    }

    /// A device.
    struct InterlockDevice {
        /// The number of the type: `INTERLOCK_DEVICE_*`, and others of `c10::DeviceType`.
        kind: u32,
        /// The index; -1 for the current device of the type.
        index: i32,
    }

    /// Facts about a stream. The caller sets `size`; the call sets the rest.
    struct InterlockStreamInfo {
        /// The size of the struct in bytes.
        size: u32,
        /// The priority; smaller numbers run first.
        priority: i32,
        /// The device of the stream.
        device: InterlockDevice,
        /// Identifies the stream on its device; 0 for the default stream.
        id: i64,
        /// The handle that the vendor's libraries use: for CUDA a `cudaStream_t`.
        native: u64,
    }
}

callbacks! {
    /// A function of the caller. Returns `INTERLOCK_OK`, or another code after it has set the text of the error. It
    /// must not throw and not unwind. It may take the GIL only if the program waits for the work before the interpreter
    /// ends.
    InterlockRun(data: *mut c_void, error: *mut InterlockError) -> i32;
    /// Releases the data of the caller.
    InterlockDrop(data: *mut c_void) -> ();
    /// Receives a change of flags. May be called on any thread, by several at once.
    InterlockFlagHook(data: *mut c_void, change: *const InterlockFlagChange) -> ();
    /// Receives the modes that were set on this thread, and those that are set now: for each bit in `mask`, the mode is
    /// on if the bit is also set in `modes`. May be called on any thread, by several at once.
    InterlockModeHook(data: *mut c_void, old_mask: u8, old_modes: u8, new_mask: u8, new_modes: u8) -> ();
    /// Returns a value of this thread, which `drop_value` releases.
    InterlockSave(data: *mut c_void) -> *mut c_void;
    /// Makes a value that `save` has returned, on any thread, the one of this thread.
    InterlockRestore(data: *mut c_void, value: *mut c_void) -> ();
}

/// Records that contain callbacks, which C must read after them.
mod late {
    use super::super::declare::{Declaration, Field, FieldKind, Item, records};
    use super::{InterlockDrop, InterlockRestore, InterlockRun, InterlockSave, c_void};

    records! {
        /// Work: a function of the caller, its data, and the function that releases the data. The work owns the data
        /// from the call that accepts the work, also if that call fails. Each function may be called on any thread.
        struct InterlockWork {
            /// Called once, or with each replay of a graph that recorded it.
            run: InterlockRun,
            /// Passed to both functions.
            data: *mut c_void,
            /// Called once, after the last call of `run`; may be null. For work that is queued when the process exits
            /// it may not be called.
            drop: InterlockDrop,
        }

        /// A value of another library that belongs to a thread there. Each function may be called on any thread, by
        /// several at once.
        struct InterlockCarried {
            /// Called where a state is captured.
            save: InterlockSave,
            /// Called where a captured state is applied, and where it ends.
            restore: InterlockRestore,
            /// Called once with each value; may be null.
            drop_value: InterlockDrop,
            /// Passed to `save`, `restore` and `drop`.
            data: *mut c_void,
            /// Called once, when neither a registration nor a captured state needs the data; may be null.
            drop: InterlockDrop,
        }
    }

    pub(in super::super) const LATE_RECORDS: &[Declaration] = RECORDS;
}

pub(super) use late::LATE_RECORDS;
pub use late::{InterlockCarried, InterlockWork};
