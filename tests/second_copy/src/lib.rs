//! An extension module of Python that links interlock's core, as no extension module should.
//!
//! It declares the parts of Python's stable ABI that it uses, so that it is built without PyO3 and without Python.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::ptr;

use interlock_core::flags::flags::CUDNN_ENABLED;
use libloading::os::unix::Library;

type Object = c_void;
type Function = unsafe extern "C" fn(*mut Object, *mut Object) -> *mut Object;

/// `PyModuleDef`.
#[repr(C)]
struct ModuleDefinition {
    reference_count: isize,
    class: *mut Object,
    /// `m_init`, `m_index` and `m_copy`, which Python writes.
    internal: [usize; 3],
    name: *const c_char,
    documentation: *const c_char,
    state_size: isize,
    methods: *const Method,
    slots_and_hooks: [*mut c_void; 4],
}

/// `PyMethodDef`.
#[repr(C)]
struct Method {
    name: *const c_char,
    function: Option<Function>,
    flags: c_int,
    documentation: *const c_char,
}

// SAFETY: the pointers are those of C strings and functions.
unsafe impl Sync for Method {}

const METH_NOARGS: c_int = 4;

static METHODS: [Method; 2] = [
    Method {
        name: c"disable_cudnn".as_ptr(),
        function: Some(disable_cudnn),
        flags: METH_NOARGS,
        documentation: ptr::null(),
    },
    Method { name: ptr::null(), function: None, flags: 0, documentation: ptr::null() },
];

static mut DEFINITION: ModuleDefinition = ModuleDefinition {
    reference_count: 1,
    class: ptr::null_mut(),
    internal: [0; 3],
    name: c"second_copy".as_ptr(),
    documentation: ptr::null(),
    state_size: 0,
    methods: METHODS.as_ptr(),
    slots_and_hooks: [ptr::null_mut(); 4],
};

/// Assigns a flag of this copy, which acquires its first lock, and returns the value.
unsafe extern "C" fn disable_cudnn(_module: *mut Object, _no_arguments: *mut Object) -> *mut Object {
    _ = CUDNN_ENABLED.set(false);
    // SAFETY: the function has this type in the stable ABI, and the calling thread is attached to the interpreter.
    unsafe {
        Library::this()
            .get::<unsafe extern "C" fn(c_long) -> *mut Object>("PyBool_FromLong")
            .map_or(ptr::null_mut(), |bool_of| bool_of(CUDNN_ENABLED.get().into()))
    }
}

/// Initializes the module.
///
/// # Safety
/// The interpreter calls it once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PyInit_second_copy() -> *mut Object {
    // SAFETY: the function has this type in the stable ABI, and no other code uses the definition.
    unsafe {
        Library::this()
            .get::<unsafe extern "C" fn(*mut ModuleDefinition) -> *mut Object>("PyModuleDef_Init")
            .map_or(ptr::null_mut(), |initialize| initialize(&raw mut DEFINITION))
    }
}
