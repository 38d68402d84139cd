//! Enums whose variants have names.

/// Declares an enum, a list of its variants, and their names: one row for each variant.
#[doc(hidden)]
#[macro_export]
macro_rules! named_enum {
    ($(#[$meta:meta])* pub enum $enum:ident {
        $($(#[$doc:meta])* $variant:ident $(= $number:expr)? => $name:literal,)+
    }) => {
        $(#[$meta])*
        pub enum $enum {
            $($(#[$doc])* $variant $(= $number)?,)+
        }

        impl $enum {
            /// Every variant, in the order of declaration.
            pub const ALL: [$enum; [$($name),+].len()] = [$($enum::$variant),+];

            /// Returns the name in programs, messages and reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $($enum::$variant => $name,)+
                }
            }

            /// Returns the variant with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|variant| variant.name() == name)
            }
        }
    };
}

pub use named_enum;
