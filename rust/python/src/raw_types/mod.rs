//! Python classes that PyO3's macros do not support, built with the stable C API: subclasses of `types.ModuleType`, and
//! classes whose `__new__` returns an object of another class.

mod header;
mod heap_type;
mod object_memory;
mod trampoline;

pub(crate) use header::Header;
pub(crate) use heap_type::{HeapType, Method};
pub(crate) use object_memory::ObjectMemory;
pub(crate) use trampoline::{catch_panic, catch_panic_status, ffi_ptr, ffi_status};
