//! The parameters of a declared function.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{
    Attribute, Error, Expr, FnArg, GenericArgument, Ident, Lifetime, Lit, LitStr, Pat, PathArguments, Result,
    Token, Type, parse_quote,
};

/// A parameter that Python passes.
pub struct Parameter {
    pub name: Ident,
    /// The type of the converted argument.
    pub storage: Type,
    /// The function gets a reference to the converted argument.
    is_borrowed: bool,
    pub default: Option<Default>,
    /// It and those after it are passed by name.
    pub is_keyword: bool,
}

/// The default of a parameter.
pub struct Default {
    value: Expr,
    /// As Python shows it.
    pub text: String,
}

impl Parse for Default {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value: Expr = input.parse()?;
        let text = match input.parse::<Option<Token![,]>>()? {
            Some(_) => input.parse::<LitStr>()?.value(),
            None => python_text(&value)?,
        };
        Ok(Default { value, text })
    }
}

/// Returns a literal as Python writes it.
fn python_text(value: &Expr) -> Result<String> {
    let Expr::Lit(literal) = value else {
        return Ok(value.to_token_stream().to_string().replace(' ', ""));
    };
    match &literal.lit {
        Lit::Bool(value) => Ok(if value.value { "True" } else { "False" }.to_owned()),
        Lit::Int(value) => Ok(value.base10_digits().to_owned()),
        Lit::Float(value) => Ok(value.base10_digits().to_owned()),
        _ => Err(Error::new_spanned(value, "a default of another type needs its text in Python")),
    }
}

impl Parameter {
    /// Takes the attributes of a parameter away and returns it.
    pub fn take(argument: &mut FnArg) -> Result<Self> {
        let FnArg::Typed(typed) = argument else {
            return Err(Error::new_spanned(argument, "an operation is no method in Rust"));
        };
        let Pat::Ident(name) = &*typed.pat else {
            return Err(Error::new_spanned(&typed.pat, "a parameter of an operation has a name"));
        };
        let (mut default, mut is_keyword) = (None, false);
        for attribute in std::mem::take(&mut typed.attrs) {
            match attribute.path().get_ident().map(Ident::to_string).as_deref() {
                Some("default") => default = Some(attribute.parse_args()?),
                Some("keyword") => is_keyword = true,
                _ => return Err(unknown(&attribute)),
            }
        }
        let (storage, is_borrowed) = storage_of(&typed.ty);
        if default.is_none() && is_option(&storage) {
            default = Some(Default { value: parse_quote!(None), text: "None".to_owned() });
        }
        Ok(Parameter { name: name.ident.clone(), storage, is_borrowed, default, is_keyword })
    }

    /// Returns the name in Python.
    pub fn shown(&self) -> String {
        self.name.unraw().to_string()
    }

    /// Returns whether None is the default, and no value of its own.
    pub fn is_optional(&self) -> bool {
        is_option(&self.storage)
    }

    /// Returns the type of the converted argument with the lifetime `'a`.
    pub fn storage_with_lifetime(&self) -> TokenStream {
        with_lifetime(self.storage.to_token_stream(), &parse_quote!('a))
    }

    /// Returns the expression that converts the argument, for the form `op`.
    pub fn converted(&self) -> TokenStream {
        let (name, shown) = (&self.name, self.shown());
        let argument = quote!(operation::ArgumentName::new(op, #shown), #name);
        match &self.default {
            None => quote!(operation::required(#argument)?),
            Some(Default { value, .. }) => quote!(operation::defaulted(#argument, #value)?),
        }
    }

    /// Returns the expression that passes the converted argument, a place, to the function.
    pub fn passed(&self, place: &TokenStream) -> TokenStream {
        if self.is_borrowed { quote!(&#place) } else { quote!(#place) }
    }

    /// Returns the parameter of a form of the operation.
    pub fn of_form(&self) -> TokenStream {
        let name = &self.name;
        match self.default {
            None => quote!(#name: operation::Arg<'_, 'py>),
            Some(_) if self.is_optional() => quote!(#name: operation::OptionalArg<'_, 'py>),
            // An explicit None is a value of a wrong type.
            Some(_) => {
                quote!(#[pyo3(from_py_with = operation::given)] #name: operation::OptionalArg<'_, 'py>)
            }
        }
    }
}

fn unknown(attribute: &Attribute) -> Error {
    Error::new_spanned(attribute, "a parameter of an operation has the attributes `default` and `keyword`")
}

/// Returns the type of the converted argument, and whether the function gets a reference to it. A tensor is borrowed from the
/// Python object instead.
fn storage_of(declared: &Type) -> (Type, bool) {
    match declared {
        // What a macro has captured.
        Type::Group(group) => storage_of(&group.elem),
        Type::Reference(reference) if last_name(&reference.elem).as_deref() != Some("CoreTensor") => {
            ((*reference.elem).clone(), true)
        }
        _ => (declared.clone(), false),
    }
}

/// Returns the last name of the path of a type.
pub fn last_name(declared: &Type) -> Option<String> {
    match declared {
        Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
        Type::Group(group) => last_name(&group.elem),
        _ => None,
    }
}

fn is_option(declared: &Type) -> bool {
    last_name(declared).as_deref() == Some("Option")
}

/// Returns the type in `Result<T>` or `PyResult<T>`.
pub fn in_result(declared: &Type) -> Option<&Type> {
    let Type::Path(path) = declared else { return None };
    let PathArguments::AngleBracketed(arguments) = &path.path.segments.last()?.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    }
}

/// Replaces the lifetimes of a type, elided ones also, by another one.
pub fn with_lifetime(tokens: TokenStream, lifetime: &Lifetime) -> TokenStream {
    let mut result = TokenStream::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == '\'' => match tokens.next() {
                Some(name) if name.to_string() == "static" => result.extend([token, name]),
                _ => result.extend(quote!(#lifetime)),
            },
            TokenTree::Punct(punct) if punct.as_char() == '&' => {
                // The lifetime of the reference is replaced next.
                let has_lifetime = tokens.peek().is_some_and(|next| next.to_string() == "'");
                result.extend(if has_lifetime { quote!(&) } else { quote!(&#lifetime) });
            }
            TokenTree::Group(group) => {
                let inner = with_lifetime(group.stream(), lifetime);
                result.extend([TokenTree::Group(Group::new(group.delimiter(), inner))]);
            }
            _ => result.extend([token]),
        }
    }
    result
}

/// Returns a type with elided lifetimes.
pub fn elided(declared: &Type) -> TokenStream {
    with_lifetime(declared.to_token_stream(), &parse_quote!('_))
}
