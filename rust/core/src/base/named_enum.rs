//! Enums whose variants have names.

/// Declares an enum, a list of its variants, and their names: one row for each variant.
///
/// ```
/// interlock_core::named_enum! {
///     /// A side.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub enum Side {
///         /// The left one.
///         Left => "left",
///         /// The right one.
///         Right => "right",
///     }
/// }
///
/// assert_eq!(Side::from_name("right"), Some(Side::Right));
/// assert_eq!(Side::ALL.map(Side::name), ["left", "right"]);
/// ```
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
