//! Declarations of operations that differ in their names and examples only.

/// Declares operations on one tensor, which are methods of the core's tensor of the same name, or of the one after `=`. A row has
/// the name, the sentence about the input, the in-place form, the argument and the result of the example, and the example for
/// tests.
macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident $(= $core:ident)? $kind:ident $form:ident $(alias($($alias:ident),+))? $argument:literal => $result:literal, $example:literal;)+) => {
        $($(#[$doc])*
        ///
        /// Args:
        #[doc = concat!("     {", stringify!($kind), "}")]
        ///
        /// Example:
        #[doc = concat!("     >>> interlock.", stringify!($name), "(interlock.tensor(", $argument, "))")]
        #[doc = concat!("     ", $result)]
        #[tensor_op(function, method, $form, out, alias($($($alias),+)?), example = $example)]
        fn $name(input: &CoreTensor) -> Result<CoreTensor> {
            $crate::tensor::ops::elementwise::declare::computed!(input $name $($core)?)
        })+
    };
}

/// Calls the method of an operation on one tensor.
macro_rules! computed {
    ($input:ident $name:ident) => {
        $input.$name()
    };
    ($input:ident $name:ident $core:ident) => {
        $input.$core()
    };
}

/// Declares operations on two operands of these types, which are functions of the core's `elementwise`. A row has the name, the
/// name of the function, the sentence about errors, the in-place form or `method`, the arguments and the result of the example,
/// and the example for tests.
macro_rules! binary {
    ($operands:ident: $left:ty, $right:ty; $($(#[$doc:meta])* $name:ident $core:ident $errors:ident $form:ident $(alias($($alias:ident),+))? $arguments:literal => $result:literal, $example:literal;)+) => {
        $($(#[$doc])*
        ///
        /// Args:
        #[doc = concat!("     {other_", stringify!($operands), "}")]
        ///
        /// Raises:
        #[doc = concat!("     {promoted_", stringify!($errors), "}")]
        ///     {no_broadcast}
        ///
        /// Example:
        #[doc = concat!("     >>> interlock.", stringify!($name), "(", $arguments, ")")]
        #[doc = concat!("     ", $result)]
        #[tensor_op(function, method, $form, out, alias($($($alias),+)?), example = $example)]
        fn $name(input: $left, other: $right) -> Result<CoreTensor> {
            elementwise::$core(input, other)
        })+
    };
}

pub(super) use {binary, computed, unary};
