//! The options of a declaration.

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::token::Paren;
use syn::{Error, Expr, Ident, LitStr, Result, Token, parenthesized};

use crate::forms::Forms;

/// What stands in the parentheses of the attribute.
#[derive(Default)]
pub struct Options {
    pub forms: Forms,
    /// The operation may take long for few elements.
    pub is_long: bool,
    /// The operation takes no time, however many elements its tensors have.
    pub is_view: bool,
    /// The number of elements that the operation visits, if it may be larger than that of its tensors.
    pub size: Option<Expr>,
    /// What is checked of `out` before the operation.
    pub out_check: Option<Expr>,
    /// The choice of a kernel, made of the parameters.
    pub explain: Option<Expr>,
    /// A result that is the first tensor itself is the Python object of it.
    pub returns_self: bool,
    /// The function is called attached to the interpreter.
    pub is_attached: bool,
    pub name: Option<String>,
    pub namespace: Option<String>,
    pub aliases: Vec<String>,
    pub example: String,
    pub overloads: Vec<String>,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Options::default();
        while !input.is_empty() {
            options.parse_one(input)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        if options.forms.is_empty() {
            return Err(Error::new(
                Span::call_site(),
                "an operation has a form, such as `function` or `method`",
            ));
        }
        Ok(options)
    }
}

impl Options {
    fn parse_one(&mut self, input: ParseStream<'_>) -> Result<()> {
        let option: Ident = input.parse()?;
        let text = option.to_string();
        match text.as_str() {
            "out" => {
                self.forms.out = true;
                if input.peek(Paren) {
                    let content;
                    parenthesized!(content in input);
                    while !content.is_empty() {
                        self.parse_out(&content)?;
                        if !content.is_empty() {
                            content.parse::<Token![,]>()?;
                        }
                    }
                }
            }
            "long" => self.is_long = true,
            "view" => self.is_view = true,
            "size" => self.size = Some(expression(input)?),
            "explain" => self.explain = Some(expression(input)?),
            "or_self" => self.returns_self = true,
            "attached" => self.is_attached = true,
            "alias" => self.aliases = names(input)?,
            "overloads" => {
                let content;
                parenthesized!(content in input);
                let texts = Punctuated::<LitStr, Token![,]>::parse_terminated(&content)?;
                self.overloads = texts.iter().map(LitStr::value).collect();
            }
            "name" => self.name = Some(value(input)?),
            "namespace" => self.namespace = Some(value(input)?),
            "example" => self.example = value(input)?,
            form if self.forms.add(form) => {}
            _ => return Err(Error::new(option.span(), format!("`{text}` is no option of an operation"))),
        }
        Ok(())
    }

    /// Parses what stands in the parentheses of `out`.
    fn parse_out(&mut self, input: ParseStream<'_>) -> Result<()> {
        let option: Ident = input.parse()?;
        match option.to_string().as_str() {
            "exact" => self.forms.out_is_exact = true,
            "overlap" => self.forms.out_may_overlap = true,
            "check" => self.out_check = Some(expression(input)?),
            other => return Err(Error::new(option.span(), format!("`{other}` is no option of `out`"))),
        }
        Ok(())
    }
}

/// Parses names in parentheses.
fn names(input: ParseStream<'_>) -> Result<Vec<String>> {
    let content;
    parenthesized!(content in input);
    let names =
        content.parse_terminated(syn::ext::IdentExt::parse_any as fn(ParseStream<'_>) -> _, Token![,])?;
    Ok(names.iter().map(|name: &Ident| name.to_string()).collect())
}

/// Parses `= EXPRESSION`.
fn expression(input: ParseStream<'_>) -> Result<Expr> {
    input.parse::<Token![=]>()?;
    input.parse()
}

/// Parses `= "TEXT"`.
fn value(input: ParseStream<'_>) -> Result<String> {
    input.parse::<Token![=]>()?;
    Ok(input.parse::<LitStr>()?.value())
}
