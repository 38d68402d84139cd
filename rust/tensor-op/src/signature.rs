//! The arguments of a form of an operation.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::declaration::Declaration;
use crate::parameter::InForm;

/// The bit in the length of a name that marks a second name of the argument before.
pub const IS_SECOND: u8 = 64;

/// The arguments of a form.
pub struct Signature {
    is_method: bool,
    /// Each name after a character whose code is its length.
    names: String,
    positional: u8,
    required: u8,
    is_variadic: bool,
    /// As Python shows it.
    text: String,
    /// The expressions of the annotated arguments, whose texts are joined.
    annotated: Vec<TokenStream>,
}

impl Signature {
    /// Returns the arguments of a function, or of a method, whose tensor is no argument; with `out` or without it.
    pub fn new(declared: &Declaration, is_method: bool, has_out: bool) -> Self {
        let start = if is_method { "(self" } else { "(" };
        let mut signature = Signature {
            is_method,
            names: String::new(),
            positional: 0,
            required: 0,
            is_variadic: false,
            text: String::new(),
            annotated: vec![start.to_token_stream()],
        };
        let mut texts = if is_method { vec!["$self".to_owned()] } else { Vec::new() };
        let mut separator = if is_method { ", " } else { "" };
        let mut is_by_name = false;
        for parameter in declared.parameters().skip(usize::from(is_method)) {
            let in_form = parameter.in_form(is_method);
            if parameter.is_keyword(is_method) && !is_by_name {
                is_by_name = true;
                texts.push("*".to_owned());
                signature.annotated.push(format!("{separator}*").to_token_stream());
                separator = ", ";
            }
            is_by_name |= in_form.is_variadic;
            signature.annotated.push(separator.to_token_stream());
            separator = ", ";
            signature.add(&in_form, is_by_name);
            texts.extend(in_form.texts);
            signature.annotated.extend(in_form.annotated);
        }
        if has_out {
            if !is_by_name {
                texts.push("*".to_owned());
            }
            signature.add_name("out", false);
            texts.push("out=None".to_owned());
        }
        signature.annotated.push(")".to_token_stream());
        signature.text = format!("({})", texts.join(", "));
        signature
    }

    /// Adds the arguments of a parameter.
    fn add(&mut self, in_form: &InForm, is_by_name: bool) {
        for name in &in_form.names {
            self.add_name(name, false);
            self.positional += u8::from(!is_by_name);
        }
        if let Some(second) = in_form.second_name {
            self.add_name(second, true);
        }
        self.required += u8::from(in_form.is_required);
        self.is_variadic |= in_form.is_variadic;
    }

    fn add_name(&mut self, name: &str, is_second: bool) {
        let length = name.len() as u8;
        assert!(length < IS_SECOND && self.names.len() < 192, "the lengths of names are one byte");
        self.names.push(char::from(if is_second { length | IS_SECOND } else { length }));
        self.names.push_str(name);
    }

    /// Returns the expression of the `operation::Signature` of a form with a name and documentation.
    pub fn of_form(&self, name: &str, doc: &str) -> TokenStream {
        let Signature { is_method, names, positional, required, is_variadic, text, .. } = self;
        let texts = format!("{name}\0{names}\0{name}{text}\n--\n\n{doc}\0");
        let (name_length, names_length) = (name.len() as u8, names.len() as u8);
        quote! {
            operation::Signature {
                texts: #texts,
                function_length: #name_length,
                names_length: #names_length,
                positional: #positional,
                required: #required,
                is_variadic: #is_variadic,
                is_method: #is_method,
            }
        }
    }

    /// Returns the expression of the annotated signature.
    pub fn annotated(&self) -> TokenStream {
        let parts = &self.annotated;
        quote!(operation::joined!(#(#parts),*))
    }
}
