//! Enums whose variants have names in PyTorch's texts.

/// Declares such an enum.
macro_rules! named_enum {
    ($(#[$attribute:meta])* pub enum $type:ident {$(
        $(#[$doc:meta])* $variant:ident = $name:literal,
    )+}) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $type {$($(#[$doc])* $variant,)+}

        impl $type {
            /// Every variant.
            pub const ALL: &[Self] = &[$($type::$variant),+];

            /// The name in PyTorch's texts.
            pub const fn name(self) -> &'static str {
                match self {$($type::$variant => $name,)+}
            }

            /// The variant with this name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|variant| variant.name() == name)
            }
        }
    };
}
pub(super) use named_enum;
