//! Error messages, as a table.

/// Implements `Display` for an enum: one row for each pattern, with the format string of its message.
///
/// ```
/// enum Problem {
///     Missing(&'static str),
///     Full,
/// }
///
/// interlock_core::messages! { Problem {
///     Problem::Missing(name) => "{name} is missing";
///     Problem::Full => "the list is full";
/// }}
///
/// assert_eq!(Problem::Missing("cuda").to_string(), "cuda is missing");
/// assert_eq!(Problem::Full.to_string(), "the list is full");
/// ```
#[macro_export]
macro_rules! messages {
    ($type:ty { $($pattern:pat => $format:literal $(, $argument:expr)*;)+ }) => {
        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $($pattern => write!(f, $format $(, $argument)*),)+
                }
            }
        }
    };
}
