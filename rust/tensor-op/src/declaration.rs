//! A declared operation.

use proc_macro2::TokenStream;
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, ExprLit, FnArg, ItemFn, Lit, Meta, Result, ReturnType, Token, Type};

use crate::docs::{Docs, Out};
use crate::forms::Forms;
use crate::options::Options;
use crate::parameter::{Kind, Parameter, in_result, last_name};

/// A function with the attribute.
pub struct Declaration {
    pub options: Options,
    pub docs: Docs,
    /// The function without the attributes of its parameters.
    pub function: ItemFn,
    /// The first parameter that Python passes: the tensor of a method.
    pub first: Parameter,
    pub others: Vec<Parameter>,
    /// The function gets `WriteTo` first.
    pub takes_target: bool,
    /// The type of the result without `Result`.
    pub result: Type,
}

impl Declaration {
    pub fn parse(options: TokenStream, item: TokenStream) -> Result<Self> {
        let options: Options = syn::parse2(options)?;
        let mut function: ItemFn = syn::parse2(item)?;
        let takes_target = function.sig.inputs.first().is_some_and(is_target);
        let skipped = usize::from(takes_target) + if options.is_attached { 2 } else { 0 };
        let parameters = function.sig.inputs.iter_mut().skip(skipped).map(Parameter::take);
        let mut parameters = parameters.collect::<Result<Vec<_>>>()?;
        if parameters.is_empty() {
            return Err(Error::new_spanned(&function.sig, "an operation has an argument"));
        }
        let first = parameters.remove(0);
        let result = match &function.sig.output {
            ReturnType::Type(_, declared) => in_result(declared).cloned(),
            ReturnType::Default => None,
        };
        let Some(result) = result else {
            return Err(Error::new_spanned(&function.sig, "an operation returns a `Result`"));
        };
        let has_out_option = parameters.iter().any(|one| one.kind == Kind::Options { has_out: true });
        let out = match options.forms {
            _ if has_out_option => Out::New,
            Forms { out: false, .. } => Out::None,
            Forms { out_is_exact: is_exact, .. } if is_tensor(&result) => Out::Result { is_exact },
            _ => Out::Results,
        };
        let docs = Docs::parse(&doc_lines(&function.attrs), out);
        let declared =
            Declaration { options, docs, function, first, others: parameters, takes_target, result };
        declared.check_order()?;
        Ok(declared)
    }

    /// Returns an error if an argument that must be passed follows one with a default.
    fn check_order(&self) -> Result<()> {
        for is_method in [false, true] {
            let required: Vec<_> = self.parameters().map(|one| one.in_form(is_method).is_required).collect();
            if !required.is_sorted_by(|a, b| a >= b) {
                let message = "an argument without a default precedes those with one";
                return Err(Error::new_spanned(&self.function.sig, message));
            }
        }
        Ok(())
    }

    /// Returns the parameters that Python passes.
    pub fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        [&self.first].into_iter().chain(&self.others)
    }

    /// Returns the parameters after the first, with the positions of their first arguments.
    pub fn others(&self) -> impl Iterator<Item = (usize, &Parameter)> {
        let mut next = self.first.arguments();
        self.others.iter().map(move |parameter| {
            let position = next;
            next += parameter.arguments();
            (position, parameter)
        })
    }

    /// Returns the position of `out`, which follows the other arguments.
    pub fn out_position(&self) -> usize {
        self.parameters().map(Parameter::arguments).sum()
    }

    /// Returns the name in Python.
    pub fn name(&self) -> String {
        self.options.name.clone().unwrap_or_else(|| self.function.sig.ident.unraw().to_string())
    }

    /// Returns the argument that is also passed as separate ones, to the function or to the method.
    pub fn variadic(&self, is_method: bool) -> Option<String> {
        self.others.iter().find(|parameter| parameter.is_variadic(is_method)).map(Parameter::shown)
    }

    /// Returns the name of the module that has the function.
    pub fn namespace(&self) -> String {
        self.options
            .namespace
            .as_ref()
            .map_or_else(|| "interlock".to_owned(), |name| format!("interlock.{name}"))
    }
}

fn is_target(argument: &FnArg) -> bool {
    match argument {
        FnArg::Typed(typed) => last_name(&typed.ty).as_deref() == Some("WriteTo"),
        FnArg::Receiver(_) => false,
    }
}

/// Returns whether a result is one tensor.
pub fn is_tensor(result: &Type) -> bool {
    last_name(result).as_deref() == Some("CoreTensor")
}

/// Returns the lines of the documentation.
fn doc_lines(attributes: &[Attribute]) -> Vec<String> {
    let mut lines = Vec::new();
    for attribute in attributes {
        if let Meta::NameValue(meta) = &attribute.meta
            && meta.path.is_ident("doc")
            && let Some(text) = text_of(&meta.value)
        {
            lines.extend(text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned()));
            if text.is_empty() {
                lines.push(String::new());
            }
        }
    }
    lines
}

/// Returns the text of a literal, or of `concat!` and `stringify!`, which macros write.
fn text_of(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        Expr::Group(group) => text_of(&group.expr),
        Expr::Macro(call) if call.mac.path.is_ident("stringify") => Some(call.mac.tokens.to_string()),
        Expr::Macro(call) if call.mac.path.is_ident("concat") => {
            let parts = call.mac.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated).ok()?;
            parts.iter().map(text_of).collect()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(options: &str, item: &str) -> String {
        let parsed = Declaration::parse(options.parse().unwrap(), item.parse().unwrap());
        parsed.err().map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn declaration_names_its_parts() {
        let (options, item) = (
            "function, method, out(exact), alias(b, c)",
            "fn a(to: WriteTo, x: &CoreTensor, #[keyword] d: Option<i64>) -> Result<CoreTensor> {}",
        );
        let declared = Declaration::parse(options.parse().unwrap(), item.parse().unwrap()).ok().unwrap();
        assert_eq!((declared.name(), declared.namespace()), ("a".to_owned(), "interlock".to_owned()));
        assert_eq!((declared.first.shown(), declared.others.len()), ("x".to_owned(), 1));
        assert!(declared.takes_target && declared.options.forms.out_is_exact);
        assert_eq!(declared.options.aliases, ["b", "c"]);
    }

    #[test]
    fn wrong_declarations_are_named() {
        let item = "fn a(x: &CoreTensor) -> Result<CoreTensor> {}";
        assert_eq!(error("", item), "an operation has a form, such as `function` or `method`");
        assert_eq!(error("function, fast", item), "`fast` is no option of an operation");
        assert_eq!(error("function, out(wide)", item), "`wide` is no option of `out`");
        assert_eq!(error("function", "fn a() -> Result<A> {}"), "an operation has an argument");
        assert_eq!(error("function", "fn a(x: A) {}"), "an operation returns a `Result`");
        assert_eq!(error("function", "fn a(self) -> Result<A> {}"), "an operation is no method in Rust");
        let order = "an argument without a default precedes those with one";
        assert_eq!(error("function", "fn a(x: Option<A>, y: A) -> Result<A> {}"), order);
        assert_eq!(error("function", "fn a(x: A, #[keyword] y: Option<A>, z: A) -> Result<A> {}"), order);
        let unknown = error("function", "fn a(#[short] x: A) -> Result<A> {}");
        assert!(unknown.starts_with("a parameter of an operation has no attribute but"), "{unknown}");
    }
}
