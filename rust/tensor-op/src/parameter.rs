//! The parameters of a declared function.

use proc_macro2::{Group, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{
    Attribute, Error, Expr, FnArg, GenericArgument, Ident, Lifetime, Lit, LitStr, Meta, Pat, PathArguments,
    Result, Token, Type, parse_quote,
};

/// A parameter that Python passes.
pub struct Parameter {
    pub name: Ident,
    /// The type of the converted argument.
    pub storage: Type,
    /// The type in the declaration.
    pub declared: Type,
    /// The function gets a reference to the converted argument.
    is_borrowed: bool,
    /// The function gets a view of the converted argument: `operation::Held`.
    pub is_held: bool,
    pub default: Option<Default>,
    keyword: Keyword,
    pub kind: Kind,
}

/// The forms in which an argument and those after it are passed by name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keyword {
    None,
    Functions,
    All,
}

impl Keyword {
    /// Parses what stands in the parentheses of the attribute: `function`, or `default =` and the default.
    fn parse(input: ParseStream<'_>) -> Result<(Self, Option<Default>)> {
        let word: Ident = input.call(Ident::parse_any)?;
        match word.to_string().as_str() {
            "function" => Ok((Keyword::Functions, None)),
            "default" => {
                input.parse::<Token![=]>()?;
                Ok((Keyword::All, Some(input.parse()?)))
            }
            _ => Err(Error::new(word.span(), format!("`{word}` is no option of `keyword`"))),
        }
    }
}

/// How Python passes an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Plain,
    /// Ints as separate arguments, or as one tuple or list.
    Variadic {
        /// Only methods accept separate arguments.
        of_methods: bool,
    },
    /// The options of a new tensor.
    Options {
        /// Among them is the argument `out`.
        has_out: bool,
    },
}

/// An argument, as the documentation knows it.
pub struct Argument {
    pub name: String,
    /// The text of the type without references and lifetimes, such as `Option<Ints>`, after `*` if there may be separate
    /// arguments. For options of a new tensor it is `NewTensor`, or `NewTensorLike` for one that is like the first argument.
    pub kind: String,
}

impl Argument {
    /// Returns whether this argument has a name and, by this text, a type. No type stands for any.
    pub fn is(&self, name: &str, kind: &str, own_kind: &str) -> bool {
        self.name == name && (kind.is_empty() || kind == own_kind)
    }

    /// Returns the type without `Option` and `*`.
    pub fn inner(&self) -> &str {
        let kind = self.kind.trim_start_matches('*');
        kind.strip_prefix("Option<").and_then(|kind| kind.strip_suffix('>')).unwrap_or(kind)
    }
}

/// A parameter in a form of an operation.
#[derive(Default)]
pub struct InForm {
    /// The names of its arguments.
    pub names: Vec<String>,
    /// The name that NumPy has for the argument, which is also accepted.
    pub second_name: Option<&'static str>,
    /// The argument must be passed.
    pub is_required: bool,
    /// It takes several arguments; those after it are passed by name.
    pub is_variadic: bool,
    /// The arguments as Python shows them.
    pub texts: Vec<String>,
    /// The parts of the annotated signature: expressions of type `&str`.
    pub annotated: Vec<TokenStream>,
}

/// The options of a new tensor: the names of the arguments, which are those of the fields of `operation::NewTensor`, the
/// annotations, and the defaults as Python shows them, which are those of the types in Rust.
const OPTIONS: [(&str, &str, &str); 6] = [
    ("out", "Tensor | None", "None"),
    ("dtype", "_DType | None", "None"),
    ("layout", "_Layout | None", "None"),
    ("device", "_Device | None", "None"),
    ("requires_grad", "builtins.bool", "False"),
    ("pin_memory", "builtins.bool", "False"),
];

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
        let (mut default, mut keyword, mut kind) = (None, Keyword::None, Kind::Plain);
        for attribute in std::mem::take(&mut typed.attrs) {
            match attribute.path().get_ident().map(Ident::to_string).as_deref() {
                Some("default") => default = Some(attribute.parse_args()?),
                Some("keyword") => match attribute.meta {
                    Meta::List(_) => attribute.parse_args_with(|input: ParseStream<'_>| {
                        (keyword, default) = Keyword::parse(input)?;
                        Ok(())
                    })?,
                    _ => keyword = Keyword::All,
                },
                Some("variadic") => {
                    let of_methods = match &attribute.meta {
                        Meta::List(_) => attribute.parse_args::<Ident>()? == "method",
                        _ => false,
                    };
                    kind = Kind::Variadic { of_methods };
                }
                Some("options") => {
                    let has_out = match &attribute.meta {
                        Meta::List(_) => attribute.parse_args::<Ident>()? == "out",
                        _ => false,
                    };
                    (kind, keyword) = (Kind::Options { has_out }, Keyword::All);
                }
                _ => return Err(unknown(&attribute)),
            }
        }
        let (storage, is_borrowed) = storage_of(&typed.ty);
        let is_held = held(&typed.ty).is_some();
        if default.is_none() && is_option(&storage) {
            default = Some(Default { value: parse_quote!(None), text: "None".to_owned() });
        }
        let (name, declared) = (name.ident.clone(), (*typed.ty).clone());
        Ok(Parameter { name, storage, declared, is_borrowed, is_held, default, keyword, kind })
    }

    /// Returns whether it and those after it are passed by name, to a method or to a function.
    pub fn is_keyword(&self, is_method: bool) -> bool {
        match self.keyword {
            Keyword::None => false,
            Keyword::Functions => !is_method,
            Keyword::All => true,
        }
    }

    /// Returns its arguments, as the documentation knows them; `first` is the first parameter of the operation. `out` is
    /// documented elsewhere.
    pub fn documented(&self, first: &Parameter) -> Vec<Argument> {
        let argument = |name: &str, kind: String| Argument { name: name.to_owned(), kind };
        match self.kind {
            Kind::Options { .. } => {
                let is_like = type_text(&first.declared) == "CoreTensor";
                let kind = if is_like { "NewTensorLike" } else { "NewTensor" };
                options(false).iter().map(|(name, ..)| argument(name, kind.to_owned())).collect()
            }
            Kind::Variadic { .. } => vec![argument(&self.shown(), format!("*{}", type_text(&self.declared)))],
            Kind::Plain => vec![argument(&self.shown(), type_text(&self.declared))],
        }
    }

    /// Returns the name in Python.
    pub fn shown(&self) -> String {
        self.name.unraw().to_string()
    }

    /// Returns the type of the converted argument with the lifetime `'a`.
    pub fn storage_with_lifetime(&self) -> TokenStream {
        with_lifetime(self.storage.to_token_stream(), &parse_quote!('a))
    }

    /// Returns the expression that converts the argument at a position of `call`.
    pub fn converted(&self, position: usize) -> TokenStream {
        let (first, position, shown) = (position, Literal::usize_unsuffixed(position), self.shown());
        match (self.kind, &self.default) {
            (Kind::Options { has_out }, _) => {
                let options = options(has_out);
                let names = options.iter().map(|(name, ..)| Ident::new(name, Span::call_site()));
                let texts = options.iter().map(|(name, ..)| name);
                let positions = (0..options.len()).map(|index| Literal::usize_unsuffixed(first + index));
                let out = (!has_out).then(|| quote!(out: None,));
                // By name, and evaluated in the order of the signature.
                quote!(operation::NewTensor {
                    py: call.py(), op: call.op(), #out #(#names: call.defaulted(#positions, #texts, Default::default())?),*
                })
            }
            (Kind::Variadic { .. }, _) => quote!(call.variadic(#position, #shown)?),
            (Kind::Plain, None) => quote!(call.required(#position, #shown)?),
            (Kind::Plain, Some(Default { value, .. })) => quote!(call.defaulted(#position, #shown, #value)?),
        }
    }

    /// Returns the expression that converts `held`, a place with the converted argument, to what is passed on.
    pub fn viewed(&self, held: &TokenStream) -> TokenStream {
        if self.is_held { quote!(operation::Held::view(&#held)) } else { quote!(#held) }
    }

    /// Returns the number of its arguments.
    pub fn arguments(&self) -> usize {
        match self.kind {
            Kind::Options { has_out } => options(has_out).len(),
            _ => 1,
        }
    }

    /// Returns the expression that passes the converted argument, a place, to the function.
    pub fn passed(&self, place: &TokenStream) -> TokenStream {
        if self.is_borrowed { quote!(&#place) } else { quote!(#place) }
    }

    /// Returns the expression that passes the parameter on to a method of the core.
    pub fn as_core_argument(&self) -> TokenStream {
        let name = &self.name;
        match type_text(&self.declared).as_str() {
            "Float" | "Count" => quote!(#name.get()),
            "Option<Ints>" => quote!(#name.as_deref()),
            _ => quote!(#name),
        }
    }

    /// Returns the parameter in a function or a method.
    pub fn in_form(&self, is_method: bool) -> InForm {
        match self.kind {
            Kind::Plain => self.plain(),
            Kind::Variadic { of_methods: true } if !is_method => self.sizes(),
            Kind::Variadic { .. } => self.variadic(),
            Kind::Options { has_out } => in_form_of_options(has_out),
        }
    }

    /// Returns whether methods have the argument in another way than functions.
    pub fn differs_in_methods(&self) -> bool {
        self.is_variadic(true) != self.is_variadic(false) || self.is_keyword(true) != self.is_keyword(false)
    }

    fn plain(&self) -> InForm {
        let (shown, storage) = (self.shown(), elided(&self.storage));
        let annotation = quote!(<#storage as operation::FromArgument<'_, '_>>::ANNOTATION);
        let none = quote!(operation::or_none(<#storage as operation::FromArgument<'_, '_>>::IS_OPTIONAL));
        let mut annotated = vec![format!("{shown}: ").to_token_stream(), annotation, none];
        let mut text = shown.clone();
        if let Some(default) = &self.default {
            annotated.push(format!(" = {}", default.text).to_token_stream());
            text = format!("{shown}={}", default.text);
        }
        let second_name = match shown.as_str() {
            "dim" => Some("axis"),
            "keepdim" => Some("keepdims"),
            _ => None,
        };
        InForm {
            names: vec![shown],
            second_name,
            is_required: self.default.is_none(),
            texts: vec![text],
            annotated,
            ..InForm::default()
        }
    }

    /// Ints as one argument.
    fn sizes(&self) -> InForm {
        let shown = self.shown();
        InForm {
            annotated: vec![format!("{shown}: _Dims").to_token_stream()],
            texts: vec![shown.clone()],
            names: vec![shown],
            is_required: true,
            ..InForm::default()
        }
    }

    /// Returns the annotated options of a new tensor, if the argument stands for them.
    pub fn annotated_options(&self) -> Option<String> {
        let Kind::Options { has_out } = self.kind else { return None };
        let annotated = options(has_out)
            .iter()
            .map(|(name, annotation, default)| format!("{name}: {annotation} = {default}"))
            .collect::<Vec<_>>();
        Some(annotated.join(", "))
    }

    /// Returns whether a function or a method accepts the argument as separate ones.
    pub fn is_variadic(&self, is_method: bool) -> bool {
        matches!(self.kind, Kind::Variadic { of_methods } if is_method || !of_methods)
    }

    fn variadic(&self) -> InForm {
        let shown = self.shown();
        let annotated = format!("*args: SupportsIndex | _Sizes, {shown}: _Sizes | None = None");
        InForm {
            texts: vec!["*args".to_owned(), format!("{shown}=None")],
            annotated: vec![annotated.to_token_stream()],
            names: vec![shown],
            is_variadic: true,
            ..InForm::default()
        }
    }
}

/// Returns the options of a new tensor, with `out` or without it.
fn options(has_out: bool) -> &'static [(&'static str, &'static str, &'static str)] {
    if has_out { &OPTIONS } else { OPTIONS.split_first().map_or(&[], |(_, others)| others) }
}

fn in_form_of_options(has_out: bool) -> InForm {
    let mut found = InForm::default();
    for (name, annotation, default) in options(has_out) {
        let separator = if found.names.is_empty() { "" } else { ", " };
        found.annotated.push(format!("{separator}{name}: {annotation} = {default}").to_token_stream());
        found.texts.push(format!("{name}={default}"));
        found.names.push((*name).to_owned());
    }
    found
}

fn unknown(attribute: &Attribute) -> Error {
    Error::new_spanned(
        attribute,
        "a parameter of an operation has no attribute but those that `tensor_op` describes",
    )
}

/// Returns the text of a type without references and lifetimes.
fn type_text(declared: &Type) -> String {
    match (declared, last_name(declared).as_deref()) {
        (Type::Group(group), _) => type_text(&group.elem),
        (Type::Reference(reference), _) => type_text(&reference.elem),
        (_, Some("Option")) => format!("Option<{}>", in_result(declared).map(type_text).unwrap_or_default()),
        (_, name) => name.unwrap_or_default().to_owned(),
    }
}

/// Returns the type of the converted argument, and whether the function gets a reference to it.
fn storage_of(declared: &Type) -> (Type, bool) {
    match (declared, held(declared)) {
        // What a macro has captured.
        (Type::Group(group), _) => storage_of(&group.elem),
        (_, Some(held)) => (held, false),
        (Type::Reference(reference), None) => ((*reference.elem).clone(), true),
        (_, None) => (declared.clone(), false),
    }
}

/// Returns the type of the converted argument if it borrows a tensor from its Python object.
fn held(declared: &Type) -> Option<Type> {
    match declared {
        Type::Group(group) => held(&group.elem),
        Type::Reference(reference) if last_name(&reference.elem)? == "CoreTensor" => {
            Some(parse_quote!(crate::tensor::operation::TensorRef<'_>))
        }
        _ => match last_name(declared)?.as_str() {
            "Operand" => Some(parse_quote!(crate::tensor::operation::HeldOperand<'_>)),
            "Option" => held(in_result(declared)?).map(|inner| parse_quote!(Option<#inner>)),
            _ => None,
        },
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

/// Returns the type in `Result<T>`, `PyResult<T>` or `Option<T>`.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(declared: &str) -> String {
        let tokens: TokenStream = declared.parse().unwrap();
        with_lifetime(tokens, &parse_quote!('a)).to_string().replace(' ', "")
    }

    #[test]
    fn lifetimes_are_replaced_and_added() {
        assert_eq!(replaced("&Tensor"), "&'aTensor");
        assert_eq!(replaced("&'b Tensor"), "&'aTensor");
        assert_eq!(replaced("Option<Operand<'_>>"), "Option<Operand<'a>>");
        assert_eq!(replaced("(&A, [B<'py>; 2], &'static str)"), "(&'aA,[B<'a>;2],&'staticstr)");
    }

    #[test]
    fn types_have_texts() {
        let text = |declared: &str| type_text(&syn::parse_str(declared).unwrap());
        assert_eq!(text("&CoreTensor"), "CoreTensor");
        assert_eq!(text("&Option<operation::Ints>"), "Option<Ints>");
        assert_eq!(text("Option<GivenGenerator<'_>>"), "Option<GivenGenerator>");
    }

    #[test]
    fn defaults_are_shown_as_in_python() {
        let text = |value: &str| syn::parse_str::<Default>(value).map(|default| default.text);
        assert_eq!(text("false").unwrap(), "False");
        assert_eq!(text("-1").unwrap(), "-1");
        assert_eq!(text("1e-5").unwrap(), "1e-5");
        assert_eq!(text("Reduction::Mean, \"'mean'\"").unwrap(), "'mean'");
        assert!(text("\"text\"").is_err());
    }
}
