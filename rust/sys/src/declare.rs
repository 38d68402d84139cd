//! Macros that declare the items of the C interface and describe them, so that the C header and the recorded layout
//! are generated from one definition.

/// The description of an item of the C interface.
///
/// ```
/// use interlock_sys::declarations;
///
/// let table = declarations().find(|declared| declared.name == "InterlockApi");
/// assert!(table.is_some_and(|table| !table.doc.is_empty()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// The lines of the documentation.
    pub doc: &'static [&'static str],
    /// The name in Rust and in C.
    pub name: &'static str,
    /// The definition.
    pub item: Item,
}

/// The definition of an item.
///
/// ```
/// use interlock_sys::{Item, declarations};
///
/// let constants = declarations().filter(|declared| matches!(declared.item, Item::Constant(_)));
/// assert!(constants.map(|constant| constant.name).any(|name| name == "INTERLOCK_API_VERSION"));
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Item {
    /// An integer with a fixed value.
    Constant(u64),
    /// A type of which callers have only pointers.
    Handle,
    /// A type of function pointers that may be null.
    Callback(Signature),
    /// A struct or a union.
    Record {
        /// `struct` or `union`.
        keyword: &'static str,
        /// The size in bytes.
        size: usize,
        /// The alignment in bytes.
        align: usize,
        /// The fields in the order of declaration.
        fields: &'static [Field],
    },
}

/// The parameters and the result of a function.
///
/// ```
/// use interlock_sys::{Item, Signature, declarations};
///
/// let signatures = declarations().filter_map(|declared| match declared.item {
///     Item::Callback(signature) => Some(signature),
///     _ => None,
/// });
/// let without_result = |signature: &Signature| signature.result == "()";
/// assert!(signatures.filter(without_result).count() > 0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The names and types of the parameters.
    pub parameters: &'static [(&'static str, &'static str)],
    /// The type of the result; `()` for none.
    pub result: &'static str,
}

/// A field of a struct or union.
///
/// ```
/// use interlock_sys::{Field, Item, declarations};
///
/// let table = declarations().find(|declared| declared.name == "InterlockApi");
/// let Some(Item::Record { fields, size, .. }) = table.map(|table| table.item) else { unreachable!() };
/// let last: Option<&Field> = fields.last();
/// assert!(last.is_some_and(|last| last.offset < size));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The lines of the documentation.
    pub doc: &'static [&'static str],
    /// The name of the field.
    pub name: &'static str,
    /// The offset in bytes.
    pub offset: usize,
    /// The type.
    pub kind: FieldKind,
}

/// The type of a field.
///
/// ```
/// use interlock_sys::{FieldKind, Item, declarations};
///
/// let table = declarations().find(|declared| declared.name == "InterlockApi");
/// let Some(Item::Record { fields, .. }) = table.map(|table| table.item) else { unreachable!() };
/// let functions = fields.iter().filter(|field| matches!(field.kind, FieldKind::Function(_)));
/// assert!(functions.map(|function| function.name).any(|name| name == "flag_find"));
/// ```
#[derive(Clone, Copy, Debug)]
pub enum FieldKind {
    /// A value of a type, as Rust spells it.
    Value(&'static str),
    /// A pointer to a function, which is never null.
    Function(Signature),
}

/// Declares integers with fixed values.
macro_rules! constants {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $value:expr;)+) => {
        $($(#[doc = $doc])+ pub const $name: $type = $value;)+

        pub(super) const CONSTANTS: &[Declaration] = &[$(
            Declaration { doc: &[$($doc),+], name: stringify!($name), item: Item::Constant($name as u64) }
        ),+];
    };
}

/// Declares types of which callers have only pointers.
macro_rules! handles {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Debug)]
            #[repr(C)]
            pub struct $name {
                _private: [u8; 0],
            }
        )+

        pub(super) const HANDLES: &[Declaration] =
            &[$(Declaration { doc: &[$($doc),+], name: stringify!($name), item: Item::Handle }),+];
    };
}

/// Declares types of function pointers that may be null.
macro_rules! callbacks {
    ($($(#[doc = $doc:literal])+ $name:ident($($parameter:ident: $type:ty),*) -> $result:ty;)+) => {
        $(
            $(#[doc = $doc])+
            pub type $name = Option<unsafe extern "C" fn($($parameter: $type),*) -> $result>;
        )+

        pub(super) const CALLBACKS: &[Declaration] = &[$(
            Declaration {
                doc: &[$($doc),+],
                name: stringify!($name),
                item: Item::Callback(Signature {
                    parameters: &[$((stringify!($parameter), stringify!($type))),*],
                    result: stringify!($result),
                }),
            }
        ),+];
    };
}

/// Declares structs and unions whose fields are values.
macro_rules! records {
    ($(
        $(#[doc = $doc:literal])+
        $(#[derive($($derived:ident),+)])?
        $keyword:ident $name:ident { $($(#[doc = $field_doc:literal])+ $field:ident: $type:ty,)+ }
    )+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Clone, Copy $($(, $derived)+)?)]
            #[repr(C)]
            pub $keyword $name { $($(#[doc = $field_doc])+ pub $field: $type,)+ }
        )+

        pub(super) const RECORDS: &[Declaration] = &[$(
            Declaration {
                doc: &[$($doc),+],
                name: stringify!($name),
                item: Item::Record {
                    keyword: stringify!($keyword),
                    size: size_of::<$name>(),
                    align: align_of::<$name>(),
                    fields: &[$(
                        Field {
                            doc: &[$($field_doc),+],
                            name: stringify!($field),
                            offset: std::mem::offset_of!($name, $field),
                            kind: FieldKind::Value(stringify!($type)),
                        }
                    ),+],
                },
            }
        ),+];
    };
}

/// Returns the sentence about the interpreter for an entry of the table.
macro_rules! interpreter_rule {
    (never_blocks) => {
        " Interpreter: not needed. Never blocks."
    };
    (detaches) => {
        " Interpreter: not needed. May block, so a thread that holds the GIL releases it meanwhile."
    };
    (attached) => {
        " Interpreter: the thread must hold the GIL."
    };
}

/// Declares the table: values first, then functions, each with its rule about the interpreter.
macro_rules! table {
    (
        $(#[doc = $doc:literal])+
        struct $name:ident {
            values {
                $($(#[doc = $value_doc:literal])+ $value:ident: $value_type:ty,)+
            }
            functions {
                $(
                    $(#[doc = $entry_doc:literal])+
                    $rule:ident fn $entry:ident($($parameter:ident: $type:ty),* $(,)?) -> $result:ty;
                )+
            }
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug)]
        #[repr(C)]
        pub struct $name {
            $($(#[doc = $value_doc])+ pub $value: $value_type,)+
            $(
                $(#[doc = $entry_doc])+
                #[doc = ""]
                #[doc = interpreter_rule!($rule)]
                pub $entry: unsafe extern "C" fn($($parameter: $type),*) -> $result,
            )+
        }

        pub(super) const TABLE: &[Declaration] = &[Declaration {
            doc: &[$($doc),+],
            name: stringify!($name),
            item: Item::Record {
                keyword: "struct",
                size: size_of::<$name>(),
                align: align_of::<$name>(),
                fields: &[
                    $(
                        Field {
                            doc: &[$($value_doc),+],
                            name: stringify!($value),
                            offset: std::mem::offset_of!($name, $value),
                            kind: FieldKind::Value(stringify!($value_type)),
                        },
                    )+
                    $(
                        Field {
                            doc: &[$($entry_doc,)+ "", interpreter_rule!($rule)],
                            name: stringify!($entry),
                            offset: std::mem::offset_of!($name, $entry),
                            kind: FieldKind::Function(Signature {
                                parameters: &[$((stringify!($parameter), stringify!($type))),*],
                                result: stringify!($result),
                            }),
                        },
                    )+
                ],
            },
        }];
    };
}

pub(super) use {callbacks, constants, handles, interpreter_rule, records, table};
