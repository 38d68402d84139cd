//! Enums whose variants have names.

/// Declares an enum, a list of its variants, and their names, which `Display` writes and `FromStr` parses: one row for
/// each variant. A later release may add variants.
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
/// assert_eq!("right".parse(), Ok(Side::Right));
/// assert_eq!(Side::ALL.map(|side| side.to_string()), ["left", "right"]);
/// let error = "top".parse::<Side>().unwrap_err();
/// assert_eq!(error.to_string(), "Side must be 'left' or 'right', got \"top\"");
/// ```
#[macro_export]
macro_rules! named_enum {
    ($(#[$meta:meta])* pub enum $enum:ident {
        $($(#[$doc:meta])* $variant:ident $(= $number:expr)? => $name:literal,)+
    }) => {
        $(#[$meta])*
        #[non_exhaustive]
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
        }

        impl ::std::fmt::Display for $enum {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::std::str::FromStr for $enum {
            type Err = $crate::Error;

            fn from_str(name: &str) -> $crate::Result<Self> {
                let found = Self::ALL.into_iter().find(|variant| variant.name() == name);
                found.ok_or_else(|| $crate::Error::UnknownName {
                    of: stringify!($enum),
                    given: name.to_owned(),
                    allowed: $crate::base::quote::one_of(&Self::ALL.map(Self::name)),
                })
            }
        }
    };
}
