//! Flags by id, as plain words, and scopes that are built value by value.

#[cfg(not(loom))]
pub use crate::flags::ffi::plain_word;
pub use crate::flags::ffi::{
    FlagKind, PlainValue, PlainWord, id_of, kind_of, of_id, of_id_to_read, plain_payload, plain_value,
};
pub use crate::flags::freeze::flags_frozen_at;
pub use crate::flags::kind::interned_text;
pub use crate::flags::registry::register_and_report;
pub use crate::flags::scope::{FlagScopeBuilder, Purpose};
pub use crate::flags::write::{parse_count, write_unless_frozen};
