//! Python classes that PyO3's macros can't make, built through the stable C interface: classes that
//! derive from `types.ModuleType`, and classes whose `__new__` returns something else.

mod heap_type;
mod trampoline;

pub(crate) use heap_type::{HeapType, Method};
pub(crate) use trampoline::{hot, hot_or_minus_one, or_minus_one, or_null};
