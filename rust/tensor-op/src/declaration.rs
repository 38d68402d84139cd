//! A declared operation.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Block, Error, Expr, ExprLit, FnArg, ItemFn, Lit, Meta, Pat, Result, ReturnType, Signature,
    Token, TraitItemFn, Type, parse_quote,
};

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
        // A function of a trait may lack its body.
        let TraitItemFn { attrs, mut sig, default, .. } = syn::parse2(item)?;
        let takes_target = sig.inputs.first().is_some_and(|first| target_of(first).is_some());
        let skipped = usize::from(takes_target) + if options.is_attached { 2 } else { 0 };
        let parameters = sig.inputs.iter_mut().skip(skipped).map(Parameter::take);
        let mut parameters = parameters.collect::<Result<Vec<_>>>()?;
        if parameters.is_empty() {
            return Err(Error::new_spanned(&sig, "an operation has an argument"));
        }
        let first = parameters.remove(0);
        let result = match &sig.output {
            ReturnType::Type(_, declared) => in_result(declared).cloned(),
            ReturnType::Default => None,
        };
        let Some(result) = result else {
            return Err(Error::new_spanned(&sig, "an operation returns a `Result`"));
        };
        let docs = documentation(&options, &doc_lines(&attrs), &first, &parameters, &result);
        let docs = docs.map_err(|problem| Error::new_spanned(&sig, problem))?;
        let block = default.unwrap_or_else(|| call_of_core(&sig, &first, &parameters, &result));
        let function = parse_quote!(#(#attrs)* #sig #block);
        let declared =
            Declaration { options, docs, function, first, others: parameters, takes_target, result };
        declared.check_order()?;
        Ok(declared)
    }

    /// Returns whether the function is called attached to the interpreter.
    pub fn is_attached(&self) -> bool {
        self.options.is_attached || self.others.iter().any(|one| matches!(one.kind, Kind::Options { .. }))
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

    /// Returns the name in Python, without the `_` of an in-place form.
    pub fn name(&self) -> String {
        let function = self.function.sig.ident.unraw().to_string();
        match (&self.options.name, function.strip_suffix('_')) {
            (Some(name), _) => name.clone(),
            (None, Some(name)) if self.options.forms.is_only_inplace() => name.to_owned(),
            (None, _) => function,
        }
    }

    /// Returns the argument that is also passed as separate ones, to the function or to the method.
    pub fn variadic(&self, is_method: bool) -> Option<String> {
        self.parameters().find(|parameter| parameter.is_variadic(is_method)).map(Parameter::shown)
    }

    /// Returns the name of the module that has the function.
    pub fn namespace(&self) -> String {
        self.options
            .namespace
            .as_ref()
            .map_or_else(|| "interlock".to_owned(), |name| format!("interlock.{name}"))
    }
}

/// Returns the documentation of an operation with these lines.
fn documentation(
    options: &Options,
    lines: &[String],
    first: &Parameter,
    others: &[Parameter],
    result: &Type,
) -> std::result::Result<Docs, String> {
    let has_out_option = others.iter().any(|one| one.kind == Kind::Options { has_out: true });
    let out = match options.forms {
        _ if has_out_option => Out::New,
        Forms { out: false, .. } => Out::None,
        Forms { out_is_exact: is_exact, .. } if is_tensor(result) => Out::Result { is_exact },
        _ => Out::Results,
    };
    let arguments = [first].into_iter().chain(others).flat_map(|parameter| parameter.documented(first));
    let mut docs = Docs::parse(lines, &arguments.collect::<Vec<_>>(), out)?;
    if let Some(module) = &options.namespace {
        docs.import(module);
    }
    if options.forms.is_only_inplace() {
        docs.returns_by_default("The tensor itself.");
    } else if options.is_view && last_name(result).as_deref() == Some("Vec") {
        docs.returns_by_default("A tuple of views.");
    }
    Ok(docs)
}

/// Returns the body of a function without one: the call of the method of its name.
fn call_of_core(sig: &Signature, first: &Parameter, others: &[Parameter], result: &Type) -> Block {
    let target = sig.inputs.first().and_then(target_of).map(|target| quote!(#target,));
    let (name, object) = (&sig.ident, &first.name);
    let arguments = others.iter().map(Parameter::as_core_argument);
    let converted = (!is_tensor(result)).then(|| quote!(.map(Into::into)));
    parse_quote!({ #object.#name(#target #(#arguments),*) #converted })
}

/// Returns the name of a parameter of type `WriteTo`.
fn target_of(parameter: &FnArg) -> Option<&Pat> {
    match parameter {
        FnArg::Typed(typed) if last_name(&typed.ty).as_deref() == Some("WriteTo") => Some(&typed.pat),
        _ => None,
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
            "/// Args:\n///     x: X.\n///     d: D.\n
            fn a(to: WriteTo, x: &CoreTensor, #[keyword] d: Option<i64>) -> Result<CoreTensor> {}",
        );
        let declared = Declaration::parse(options.parse().unwrap(), item.parse().unwrap()).ok().unwrap();
        assert_eq!((declared.name(), declared.namespace()), ("a".to_owned(), "interlock".to_owned()));
        assert_eq!((declared.first.shown(), declared.others.len()), ("x".to_owned(), 1));
        assert!(declared.takes_target && declared.options.forms.out_is_exact);
        assert_eq!(declared.options.aliases, ["b", "c"]);
    }

    #[test]
    fn function_without_a_body_calls_the_method_of_its_name() {
        let item = "fn a(to: WriteTo, input: &CoreTensor, dim: &Option<Ints>, #[default(false)] keepdim: bool) -> Result<Pair>;";
        let declared = Declaration::parse("method".parse().unwrap(), item.parse().unwrap()).ok().unwrap();
        let body = quote!({ input.a(to, dim.as_deref(), keepdim).map(Into::into) });
        let block = &declared.function.block;
        assert_eq!(quote!(#block).to_string(), body.to_string());
    }

    #[test]
    fn wrong_declarations_are_named() {
        let item = "fn a(input: &CoreTensor) -> Result<CoreTensor> {}";
        assert_eq!(error("", item), "an operation has a form, such as `function` or `method`");
        assert_eq!(error("function, fast", item), "`fast` is no option of an operation");
        assert_eq!(error("function, out(wide)", item), "`wide` is no option of `out`");
        assert_eq!(error("function", "fn a() -> Result<A> {}"), "an operation has an argument");
        assert_eq!(error("function", "fn a(x: A) {}"), "an operation returns a `Result`");
        assert_eq!(error("function", "fn a(self) -> Result<A> {}"), "an operation is no method in Rust");
        let order = "an argument without a default precedes those with one";
        let item = "fn a(generator: Option<GivenGenerator>, dim: i64) -> Result<A> {}";
        assert_eq!(error("function", item), order);
        let item = "fn a(dim: i64, #[keyword(default = true)] stable: bool, A: &CoreTensor) -> Result<A> {}";
        assert_eq!(error("function", item), order);
        let item = "fn a(dim: A) -> Result<A> {}";
        let no_entry = "the argument `dim` has no entry in `Args`, and its name and type have none in \
                        rust/tensor-op/src/sentences.rs";
        assert_eq!(error("function", item), no_entry);
        let item = "/// Args:\n///     n: N.\nfn a(dim: i64) -> Result<A> {}";
        assert_eq!(error("function", item), "`Args` has an entry for `n`, which is no argument");
        let item = "/// {no_a}\nfn a(dim: i64) -> Result<A> {}";
        assert_eq!(error("function", item), "`{no_a}` is no entry in rust/tensor-op/src/sentences.rs");
        let item = "fn a(#[keyword(short)] dim: i64) -> Result<A> {}";
        assert_eq!(error("function", item), "`short` is no option of `keyword`");
        let unknown = error("function", "fn a(#[short] x: A) -> Result<A> {}");
        assert!(unknown.starts_with("a parameter of an operation has no attribute but"), "{unknown}");
    }
}
