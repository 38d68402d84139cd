//! oneDNN, which is found at run time: its C interface of version 3, as declared in `oneapi/dnnl/dnnl.h`.

mod convolution;
mod matmul;
mod primitive;

use std::error::Error;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use interlock::libraries::{Library, LibraryFunctions, ONEDNN};

pub(crate) use convolution::convolve;
pub(crate) use matmul::OneDnnMatmul;
pub(crate) use primitive::Attributes;

use super::one_thread::{OneThread, Threads};

/// An object of oneDNN: an engine, a stream, a description, a primitive, attributes or memory.
type Object = *mut c_void;
/// `dnnl_status_t`. 0 is success.
type Status = c_int;
/// `dnnl_invalid_arguments`.
const INVALID: Status = 2;
/// `dnnl_dims_t`.
type Dims = [i64; 12];

/// `dnnl_exec_arg_t`: an argument of a primitive.
#[repr(C)]
struct Argument {
    role: c_int,
    memory: Object,
}

/// `dnnl_version_t`.
#[repr(C)]
struct Version {
    major: c_int,
    _minor_and_patch: [c_int; 2],
    _hash: *const c_void,
    cpu_runtime: c_uint,
    _gpu_runtime: c_uint,
}

type Create = unsafe extern "C" fn(*mut Object) -> Status;
type CreateFrom = unsafe extern "C" fn(*mut Object, Object) -> Status;
type Destroy = unsafe extern "C" fn(Object) -> Status;
type SetInt = unsafe extern "C" fn(Object, c_int) -> Status;

/// Declares the functions with their C names.
macro_rules! functions {
    ($($field:ident = $name:literal: $function:ty;)+) => {
        struct Functions {
            $($field: $function,)+
            /// Absent before version 3.4: calls on one thread are deterministic without it.
            set_deterministic: Option<SetInt>,
            /// Those of the library's OpenMP runtime, if it has one.
            threads: Option<Threads>,
            /// The engine of the CPU.
            engine: Object,
        }

        impl Functions {
            fn load(library: &Library) -> Result<Self, Box<dyn Error>> {
                let functions = Functions {
                    // SAFETY: the functions have the types that the header declares.
                    $($field: unsafe { library.function($name, "matmul") }?,)+
                    // SAFETY: as above.
                    set_deterministic: unsafe { library.function(c"dnnl_primitive_attr_set_deterministic", "matmul") }.ok(),
                    threads: threads_of(library),
                    engine: ptr::null_mut(),
                };
                Ok(functions.with_engine()?)
            }
        }
    };
}

functions! {
    version = c"dnnl_version": unsafe extern "C" fn() -> *const Version;
    effective_isa = c"dnnl_get_effective_cpu_isa": unsafe extern "C" fn() -> c_int;
    create_engine = c"dnnl_engine_create": unsafe extern "C" fn(*mut Object, c_int, usize) -> Status;
    create_stream = c"dnnl_stream_create": unsafe extern "C" fn(*mut Object, Object, c_uint) -> Status;
    wait_stream = c"dnnl_stream_wait": Destroy;
    destroy_stream = c"dnnl_stream_destroy": Destroy;
    describe_memory = c"dnnl_memory_desc_create_with_strides":
        unsafe extern "C" fn(*mut Object, c_int, *const Dims, c_int, *const Dims) -> Status;
    describe_any = c"dnnl_memory_desc_create_with_tag":
        unsafe extern "C" fn(*mut Object, c_int, *const Dims, c_int, c_int) -> Status;
    clone_description = c"dnnl_memory_desc_clone": CreateFrom;
    are_equal = c"dnnl_memory_desc_equal": unsafe extern "C" fn(Object, Object) -> c_int;
    size_of_memory = c"dnnl_memory_desc_get_size": unsafe extern "C" fn(Object) -> usize;
    destroy_description = c"dnnl_memory_desc_destroy": Destroy;
    create_memory = c"dnnl_memory_create": unsafe extern "C" fn(*mut Object, Object, Object, *mut c_void) -> Status;
    destroy_memory = c"dnnl_memory_destroy": Destroy;
    create_attributes = c"dnnl_primitive_attr_create": Create;
    set_fpmath_mode = c"dnnl_primitive_attr_set_fpmath_mode": SetInt;
    set_scratchpad_mode = c"dnnl_primitive_attr_set_scratchpad_mode": SetInt;
    set_post_operations = c"dnnl_primitive_attr_set_post_ops": unsafe extern "C" fn(Object, Object) -> Status;
    destroy_attributes = c"dnnl_primitive_attr_destroy": Destroy;
    create_post_operations = c"dnnl_post_ops_create": Create;
    append_sum = c"dnnl_post_ops_append_sum": unsafe extern "C" fn(Object, f32, i32, c_int) -> Status;
    destroy_post_operations = c"dnnl_post_ops_destroy": Destroy;
    plan_matmul = c"dnnl_matmul_primitive_desc_create":
        unsafe extern "C" fn(*mut Object, Object, Object, Object, Object, Object, Object) -> Status;
    plan_reorder = c"dnnl_reorder_primitive_desc_create":
        unsafe extern "C" fn(*mut Object, Object, Object, Object, Object, Object) -> Status;
    plan_convolution = c"dnnl_convolution_forward_primitive_desc_create": unsafe extern "C" fn(
        *mut Object, Object, c_int, c_int, Object, Object, Object, Object, *const Dims, *const Dims, *const Dims, *const Dims,
        Object,
    ) -> Status;
    plan_input_gradient = c"dnnl_convolution_backward_data_primitive_desc_create": unsafe extern "C" fn(
        *mut Object, Object, c_int, Object, Object, Object, *const Dims, *const Dims, *const Dims, *const Dims, Object, Object,
    ) -> Status;
    plan_weight_gradient = c"dnnl_convolution_backward_weights_primitive_desc_create": unsafe extern "C" fn(
        *mut Object, Object, c_int, Object, Object, Object, Object, *const Dims, *const Dims, *const Dims, *const Dims, Object,
        Object,
    ) -> Status;
    memory_of_plan = c"dnnl_primitive_desc_query_md": unsafe extern "C" fn(Object, c_int, c_int) -> Object;
    destroy_plan = c"dnnl_primitive_desc_destroy": Destroy;
    create_primitive = c"dnnl_primitive_create": CreateFrom;
    execute = c"dnnl_primitive_execute": unsafe extern "C" fn(Object, Object, c_int, *const Argument) -> Status;
    destroy_primitive = c"dnnl_primitive_destroy": Destroy;
}

// SAFETY: the functions may be called by any thread, and an engine may be used by all.
unsafe impl Send for Functions {}
// SAFETY: as above.
unsafe impl Sync for Functions {}

static FUNCTIONS: LibraryFunctions<Functions> = LibraryFunctions::new(&ONEDNN, Functions::load);

/// Returns why oneDNN cannot be used, if it cannot.
pub(crate) fn check() -> Result<(), &'static str> {
    FUNCTIONS.get().map(|_| ())
}

/// Returns why oneDNN's products of `uint8` and `int8` are not exact, if they are not.
pub(crate) fn check_integers() -> Result<(), &'static str> {
    /// The bits of AVX2-VNNI and AVX512-VNNI in `dnnl_cpu_isa_t`.
    const VNNI: c_int = 0x48;
    let functions = FUNCTIONS.get()?;
    // SAFETY: the function has no parameter, and reads what the library knows of the CPU.
    let isa = unsafe { (functions.effective_isa)() };
    if isa & VNNI == 0 { Err("needs VNNI: without it oneDNN's 16-bit sums saturate") } else { Ok(()) }
}

impl Functions {
    /// Creates the engine, unless the library starts threads that this crate cannot limit.
    fn with_engine(mut self) -> Result<Self, String> {
        /// `dnnl_cpu`.
        const CPU: c_int = 1;
        /// `DNNL_RUNTIME_SEQ` and `DNNL_RUNTIME_OMP`.
        const SEQUENTIAL: c_uint = 1;
        const OPENMP: c_uint = 2;
        // SAFETY: the library returns a structure that it never frees, of at least these fields.
        let &Version { major, cpu_runtime, .. } = unsafe { &*(self.version)() };
        if major != 3 {
            return Err(format!("needs version 3, got {major}"));
        }
        let is_limited = cpu_runtime == SEQUENTIAL || (cpu_runtime == OPENMP && self.threads.is_some());
        if !is_limited {
            return Err(format!(
                "needs a build with a usable OpenMP runtime or without threads, got CPU runtime {cpu_runtime}"
            ));
        }
        // SAFETY: the engine is written by the call; it exists as long as the process.
        let status = unsafe { (self.create_engine)(&raw mut self.engine, CPU, 0) };
        match status {
            0 => Ok(self),
            _ => Err(format!("oneDNN has no engine for this CPU: {}", name_of(status))),
        }
    }
}

/// Returns the functions of the OpenMP runtime to which a library was linked.
fn threads_of(library: &Library) -> Option<Threads> {
    // SAFETY: the functions have the types that OpenMP's specification declares.
    unsafe {
        let get = library.function(c"omp_get_max_threads", "matmul").ok()?;
        Some(Threads::Regions(get, library.function(c"omp_set_num_threads", "matmul").ok()?))
    }
}

/// Returns the name of a status that is no success.
fn name_of(status: Status) -> &'static str {
    match status {
        1 => "out of memory",
        2 => "invalid arguments",
        3 => "unimplemented",
        4 => "no further implementation",
        5 => "runtime error",
        _ => "an unknown error",
    }
}
