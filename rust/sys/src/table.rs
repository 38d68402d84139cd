//! The table of functions.

use std::ffi::{c_char, c_void};

use super::declare::{Declaration, Field, FieldKind, Item, Signature, interpreter_rule, table};
use super::kernels::InterlockKernel;
use super::types::*;

table! {
    /// The functions through which extension modules reach the state of interlock. The capsule `interlock._core._C_API`
    /// contains a pointer to the table, which is valid until the process exits.
    ///
    /// Each function may be called on any thread, also on one that Python does not know, in a forked child, and while
    /// the interpreter finalizes. A function that returns `int32_t` returns `INTERLOCK_OK` or the code of the error. A
    /// call that fails has had no effect, and sets no result.
    ///
    /// Scopes of Python code belong to the current Python context, guards of the table to their thread. A write without
    /// a scope (`flags_write`, `modes_write`) changes the innermost guard or scope that sets the slot. If there is
    /// none, a flag is written for the process. A mode is written in the base of the current context if the caller
    /// holds the GIL, else in the base of the thread, which lies below the context. A caller without the GIL cannot
    /// change a scope of Python code: a write of a slot that such a scope sets fails with
    /// `INTERLOCK_ERROR_UNSUPPORTED`.
    ///
    /// An extension works on the device and the stream that its caller has made current, and on tensors that it
    /// receives through DLPack. Programs create streams, events and memory through the interfaces of Python and Rust.
    struct InterlockApi {
        values {
            /// `INTERLOCK_API_VERSION` of interlock.
            version: u32,
            /// The size of interlock's table in bytes. An entry exists if it ends within the size.
            size: u32,
            /// The version of interlock, which ends with a null byte.
            release: *const c_char,
        }
        functions {
            /// Raises the Python exception of an error: the class of `interlock.errors` for its code, with its text.
            /// Raises the exception of a Python signal handler that ended a wait, or of a Python function registered
            /// with `on_oom`, if that caused the error.
            attached fn error_raise(error: *const InterlockError) -> ();

            /// Finds a flag by its dotted name, which may begin with `backends.`.
            never_blocks fn flag_find(name: InterlockText, flag: *mut InterlockFlag, error: *mut InterlockError) -> i32;
            /// Registers a flag of another library. An equal declaration may be registered again. If the environment
            /// variable of the flag cannot be parsed, the call succeeds and sets `warning`, whose code is
            /// `INTERLOCK_OK` otherwise.
            never_blocks fn flag_register(
                declaration: *const InterlockFlagDecl,
                flag: *mut InterlockFlag,
                warning: *mut InterlockError,
                error: *mut InterlockError,
            ) -> i32;
            /// Reads the value that is active on this thread.
            never_blocks fn flag_read(flag: u32, value: *mut InterlockValue, error: *mut InterlockError) -> i32;
            /// Reads the effective value: the active one, unless another flag or an environment variable overrides it.
            /// An operation obeys this value.
            never_blocks fn flag_read_effective(
                flag: u32,
                value: *mut InterlockValue,
                error: *mut InterlockError,
            ) -> i32;
            /// Returns the bits of a plain flag that are active on this thread; 0 for other flags and for an id of no
            /// flag. For the header only, which calls it while a scope is open.
            never_blocks fn flag_payload(flag: u32) -> u64;
            /// Writes flags without a scope, all or none.
            never_blocks fn flags_write(
                writes: *const InterlockWrite,
                count: usize,
                error: *mut InterlockError,
            ) -> i32;
            /// Returns a count that changes with every write of a flag of the process. With `layer_epoch` it is a key
            /// for caching results that depend on flags: read both before the flags.
            never_blocks fn epoch() -> u64;
            /// Returns a count that changes when the flags that scopes of this thread set change.
            never_blocks fn layer_epoch() -> u64;

            /// Creates a scope of flags, which has no effect until it is entered. `scope_free` frees it.
            never_blocks fn scope_new(
                writes: *const InterlockWrite,
                count: usize,
                scope: *mut *mut InterlockScope,
                error: *mut InterlockError,
            ) -> i32;
            /// Enters a scope on this thread until `guard_exit`. A scope may be entered several times.
            never_blocks fn scope_enter(
                scope: *const InterlockScope,
                guard: *mut InterlockGuard,
                error: *mut InterlockError,
            ) -> i32;
            /// Frees a scope. Threads that have entered it are not affected.
            never_blocks fn scope_free(scope: *mut InterlockScope) -> ();
            /// Exits what the guard has entered, and sets the guard to zero. Guards may be exited in any order. Has no
            /// effect for null and for a guard that is zero.
            never_blocks fn guard_exit(guard: *mut InterlockGuard) -> ();

            /// Returns the address of this thread's mode word: the bits `INTERLOCK_MODE_*` of the modes that are on. It
            /// is valid on this thread until the thread ends. The header caches it for each thread.
            never_blocks fn mode_word_address() -> *const u8;
            /// Sets modes of this thread until `guard_exit`. For each bit in `mask`, the mode is on if the bit is also
            /// set in `modes`, else off.
            never_blocks fn modes_enter(
                mask: u8,
                modes: u8,
                guard: *mut InterlockGuard,
                error: *mut InterlockError,
            ) -> i32;
            /// Enters inference mode on this thread, or with 0 leaves it inside such a block, until `guard_exit`.
            never_blocks fn inference_mode_enter(
                is_on: u8,
                guard: *mut InterlockGuard,
                error: *mut InterlockError,
            ) -> i32;
            /// Writes modes without a scope. For each bit in `mask`, the mode is on if the bit is also set in `modes`,
            /// else off.
            never_blocks fn modes_write(mask: u8, modes: u8, error: *mut InterlockError) -> i32;

            /// Captures the state of this thread: modes, flags of its scopes, current device and streams. With
            /// `is_pinned` the state also contains every flag of the process. `state_free` frees it.
            never_blocks fn state_capture(
                is_pinned: u8,
                state: *mut *mut InterlockState,
                error: *mut InterlockError,
            ) -> i32;
            /// Applies a captured state on this thread, above all open scopes, until `guard_exit`.
            never_blocks fn state_enter(
                state: *const InterlockState,
                guard: *mut InterlockGuard,
                error: *mut InterlockError,
            ) -> i32;
            /// Sets a captured state as the base of this thread, below all open scopes, until the thread ends.
            never_blocks fn state_install(state: *const InterlockState, error: *mut InterlockError) -> i32;
            /// Frees a captured state. Threads on which it is applied are not affected.
            detaches fn state_free(state: *mut InterlockState) -> ();

            /// Parses the name of a device, such as `cuda:0`. A name without an index, such as `host`, has the index
            /// -1.
            never_blocks fn device_parse(
                name: InterlockText,
                device: *mut InterlockDevice,
                error: *mut InterlockError,
            ) -> i32;
            /// Returns the current device of this thread. The first use of a device in a process starts the driver.
            detaches fn device_current(device: *mut InterlockDevice, error: *mut InterlockError) -> i32;
            /// Makes a device the current one of this thread, until `guard_exit`.
            detaches fn device_enter(
                device: InterlockDevice,
                guard: *mut InterlockGuard,
                error: *mut InterlockError,
            ) -> i32;
            /// Waits for all work that is queued on a device. A null device is the current one.
            detaches fn device_synchronize(device: *const InterlockDevice, error: *mut InterlockError) -> i32;

            /// Returns the current stream of a device on this thread. A null device is the current one. `stream_free`
            /// frees the handle.
            detaches fn stream_current(
                device: *const InterlockDevice,
                stream: *mut *mut InterlockStream,
                error: *mut InterlockError,
            ) -> i32;
            /// Returns facts about a stream, with the native handle.
            never_blocks fn stream_info(
                stream: *const InterlockStream,
                info: *mut InterlockStreamInfo,
                error: *mut InterlockError,
            ) -> i32;
            /// Makes a stream the current one of its device, and the device the current one of this thread, until
            /// `guard_exit`.
            never_blocks fn stream_enter(
                stream: *const InterlockStream,
                guard: *mut InterlockGuard,
                error: *mut InterlockError,
            ) -> i32;
            /// Waits for all work that is queued on a stream now. Reports asynchronous errors. A signal handler that
            /// raises ends the wait.
            detaches fn stream_synchronize(stream: *const InterlockStream, error: *mut InterlockError) -> i32;
            /// Queues a function of the CPU, like `cuLaunchHostFunc`. It runs on a thread of the driver with the state
            /// that this thread has now, and must not wait for this stream. Its error is reported asynchronously, by
            /// the next wait for the stream, as an `AcceleratorError`. `name` appears in error messages.
            detaches fn stream_launch(
                stream: *const InterlockStream,
                name: InterlockText,
                work: InterlockWork,
                error: *mut InterlockError,
            ) -> i32;
            /// Frees a handle of a stream. Queued work still runs.
            detaches fn stream_free(stream: *mut InterlockStream) -> ();

            /// Registers a kernel of `matmul` or `scaled_dot_product_attention`, which is tried before interlock's own
            /// and cannot be removed. Its functions must be callable until the process exits. A second kernel of the
            /// operation with one name is refused.
            never_blocks fn kernel_register(
                operation: InterlockText,
                kernel: *const InterlockKernel,
                error: *mut InterlockError,
            ) -> i32;

            /// Looks at the state of the current Python context, so that later reads of modes, flags, devices and
            /// streams on this thread are exact until it switches to another context. Needed before CPython 3.14, and
            /// after a switch of greenlets, by a function that reads before it calls interlock's Python functions.
            attached fn sync() -> ();

            /// Registers a function that is called after each change of a flag, on the thread that made it and outside
            /// of all locks. The call owns `data`, also if it fails, and `drop` releases it. Freeing the registration
            /// removes the function; a registration that is never freed lasts until the process exits.
            never_blocks fn flags_on_change(
                hook: InterlockFlagHook,
                data: *mut c_void,
                drop: InterlockDrop,
                registration: *mut *mut InterlockRegistration,
                error: *mut InterlockError,
            ) -> i32;
            /// Registers a function that is called on a thread after the modes that are set on it have changed;
            /// otherwise like `flags_on_change`. A thread that has modes set already reports them as a change from
            /// none.
            never_blocks fn modes_on_change(
                hook: InterlockModeHook,
                data: *mut c_void,
                drop: InterlockDrop,
                registration: *mut *mut InterlockRegistration,
                error: *mut InterlockError,
            ) -> i32;
            /// Registers a value of another library that captured states and tasks carry, under a name that no other
            /// has. The call owns the data, also if it fails.
            never_blocks fn carried_register(
                name: InterlockText,
                carried: InterlockCarried,
                registration: *mut *mut InterlockRegistration,
                error: *mut InterlockError,
            ) -> i32;
            /// Frees a registration and removes its functions. A call on another thread that has begun may still run.
            never_blocks fn registration_free(registration: *mut InterlockRegistration) -> ();

            /// Describes the flag that has an id, such as the flag of a change, with its name; also a flag that was
            /// unregistered.
            never_blocks fn flag_by_id(flag: u32, found: *mut InterlockFlag, error: *mut InterlockError) -> i32;
        }
    }
}
