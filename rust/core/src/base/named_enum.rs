//! Enums whose variants have names.

/// Declares an enum, a list of its variants, and their names: one row for each variant.
macro_rules! named_enum {
    ($(#[$meta:meta])* pub enum $enum:ident {
        $($(#[$doc:meta])* $variant:ident $(= $number:expr)? => $name:literal,)+
    }) => {
        $(#[$meta])*
        pub enum $enum {
            $($(#[$doc])* $variant $(= $number)?,)+
        }

        impl $enum {
            /// Every one, in the order of declaration.
            pub const ALL: [$enum; [$($name),+].len()] = [$($enum::$variant),+];

            /// The name in programs, messages and reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $($enum::$variant => $name,)+
                }
            }
        }
    };
}

pub(crate) use named_enum;
