//! Error messages, as a table.

/// Implements `Display` for an enum: one row for each pattern, with the format string of its message.
#[doc(hidden)]
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
