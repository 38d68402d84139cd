//! The code that a declaration stands for.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};

use crate::declaration::Declaration;
use crate::parameter::{Parameter, elided};

/// Returns the function itself, the forms of the operation under each of its names, and its row in the table.
pub fn expand(declared: &Declaration) -> TokenStream {
    let (function, name) = (&declared.function, declared.name());
    let (convert, compute) = (convert_others(declared), compute(declared));
    let mut forms = TokenStream::new();
    let mut functions = Vec::new();
    for name in [&name].into_iter().chain(&declared.options.aliases) {
        let (form, names) = forms_of(declared, name);
        forms.extend(form);
        functions.extend(names);
    }
    let row = row(declared, &name, &functions);
    quote! {
        #function

        const _: () = {
            use pyo3::prelude::*;

            use crate::tensor::{Tensor as PyTensor, operation};

            #convert
            #compute
            #forms
            #row
        };
    }
}

/// Returns the function that converts all arguments but the first.
fn convert_others(declared: &Declaration) -> TokenStream {
    let parameters = declared.others.iter().map(argument);
    let types = declared.others.iter().map(Parameter::storage_with_lifetime);
    let converted = declared.others.iter().map(Parameter::converted);
    quote! {
        #[allow(clippy::unused_unit, clippy::unnecessary_wraps, reason = "an operation may have one argument")]
        fn convert_others<'a, 'py>(op: &'static str, #(#parameters),*) -> PyResult<(#(#types,)*)> {
            Ok((#(#converted,)*))
        }
    }
}

/// Returns the function that computes the result for the function and the method of a name.
fn compute(declared: &Declaration) -> TokenStream {
    let (first, parameters) = (declared.first.storage_with_lifetime(), declared.others.iter().map(argument));
    let (names, inputs) = (names(declared), inputs(declared));
    let out = declared.options.forms.out.then(|| quote!(out: operation::OptionalArg<'_, 'py>));
    let body = called(declared, &quote!(first), &quote!(operation::WriteTo::Copy));
    let size = if declared.options.is_long { quote!(.long()) } else { TokenStream::new() };
    let computed = if declared.options.is_attached {
        quote!(operation::IntoPython::into_python(#body?, py, op))
    } else if declared.options.forms.out {
        let exact = declared.options.forms.out_is_exact;
        quote!(operation::compute_into(operation::Call::new(py, op, &inputs)#size, out, #exact, &mut || #body))
    } else {
        quote!(operation::compute(operation::Call::new(py, op, &inputs)#size, || #body))
    };
    let inputs = (!declared.options.is_attached)
        .then(|| quote!(let inputs = [operation::tensor_of(&first), #inputs];));
    quote! {
        fn compute<'a, 'py>(
            py: Python<'py>,
            op: &'static str,
            first: #first,
            #(#parameters,)*
            #out
        ) -> PyResult<Bound<'py, PyAny>> {
            let others = convert_others(op, #(#names),*)?;
            #inputs
            #computed
        }
    }
}

/// Returns the forms of an operation under one of its names, and the functions among them.
fn forms_of(declared: &Declaration, name: &str) -> (TokenStream, Vec<Ident>) {
    let (forms, namespace) = (declared.options.forms, declared.namespace());
    let (names, parameters): (Vec<_>, Vec<_>) =
        declared.others.iter().map(|parameter| (&parameter.name, parameter.of_form())).unzip();
    let (first, first_storage) = (&declared.first.name, elided(&declared.first.storage));
    let (shown_first, converted_first) = (declared.first.shown(), declared.first.converted());
    let mut functions = Vec::new();
    let mut expanded = TokenStream::new();
    let mut methods = TokenStream::new();
    let dotted = format!("{namespace}.{name}");
    if forms.function {
        let function = format_ident!("function_{name}");
        let (signature, text) = signature(declared, true, forms.out);
        let doc = declared.docs.of_function(&declared.name(), name);
        let parameter = declared.first.of_form();
        let out = forms.out.then(|| quote!(out: operation::OptionalArg<'_, 'py>));
        let passed_out = forms.out.then(|| quote!(out));
        expanded.extend(quote! {
            #[pyfunction]
            #[doc = #doc]
            #[pyo3(name = #name, signature = #signature, text_signature = #text)]
            #[allow(clippy::too_many_arguments, reason = "those of the operation")]
            fn #function<'py>(py: Python<'py>, #parameter, #(#parameters,)* #out) -> PyResult<Bound<'py, PyAny>> {
                let op = #name;
                let first = #converted_first;
                compute(py, op, first, #(#names,)* #passed_out)
            }
        });
        functions.push(function);
    }
    if forms.method {
        let (signature, text) = signature(declared, false, false);
        let (method, doc) = (format_ident!("method_{name}"), declared.docs.of_method(&shown_first, &dotted));
        let passed_out = forms.out.then(|| quote!(None));
        methods.extend(quote! {
            #[doc = #doc]
            #[pyo3(name = #name, signature = #signature, text_signature = #text)]
            fn #method<'py>(slf: &Bound<'py, Self>, #(#parameters,)*) -> PyResult<Bound<'py, PyAny>> {
                let (op, #first) = (#name, slf.as_any());
                let first = #converted_first;
                compute(slf.py(), op, first, #(#names,)* #passed_out)
            }
        });
    }
    if forms.inplace {
        let inplace_name = format!("{name}_");
        let (signature, text) = signature(declared, false, false);
        let (method, doc) =
            (format_ident!("inplace_{name}"), declared.docs.of_inplace(name, Some(&shown_first), &dotted));
        let inputs = inputs(declared);
        let target = quote!(<#first_storage>::from(target));
        let body = called(declared, &target, &quote!(operation::WriteTo::InPlace));
        let update = if declared.takes_target { quote!(update) } else { quote!(replace) };
        methods.extend(quote! {
            #[doc = #doc]
            #[pyo3(name = #inplace_name, signature = #signature, text_signature = #text)]
            fn #method<'py>(slf: Bound<'py, Self>, #(#parameters,)*) -> PyResult<Bound<'py, PyTensor>> {
                let op = #inplace_name;
                let others = convert_others(op, #(#names),*)?;
                operation::#update(op, slf, &[#inputs], &|target| #body)
            }
        });
        if forms.inplace_function {
            let function = format_ident!("function_{name}_");
            let (signature, text) = self::signature(declared, true, false);
            let doc = declared.docs.of_inplace(name, None, &dotted);
            expanded.extend(quote! {
                #[pyfunction]
                #[doc = #doc]
                #[pyo3(name = #inplace_name, signature = #signature, text_signature = #text)]
                fn #function<'py>(#first: operation::Arg<'_, 'py>, #(#parameters,)*) -> PyResult<Bound<'py, PyTensor>> {
                    let target = operation::target(operation::ArgumentName::new(#inplace_name, #shown_first), #first)?;
                    PyTensor::#method(target, #(#names),*)
                }
            });
            functions.push(function);
        }
    }
    if !methods.is_empty() {
        expanded.extend(quote! {
            #[pymethods]
            impl PyTensor {
                #methods
            }
        });
    }
    (expanded, functions)
}

/// Returns the row in the table of operations, which registers the functions.
fn row(declared: &Declaration, name: &str, functions: &[Ident]) -> TokenStream {
    let (forms, namespace) = (declared.options.forms.names(), declared.namespace());
    let (aliases, example) = (declared.options.aliases.join(" "), &declared.options.example);
    let parameters = [&declared.first].into_iter().chain(&declared.others);
    let mut parts = Vec::new();
    let mut separator = "(";
    let mut has_keywords = false;
    for parameter in parameters {
        if parameter.is_keyword && !has_keywords {
            has_keywords = true;
            parts.push(format!("{separator}*").to_token_stream());
            separator = ", ";
        }
        parts.push(format!("{separator}{}: ", parameter.shown()).to_token_stream());
        separator = ", ";
        let storage = elided(&parameter.storage);
        parts.push(quote!(<#storage as operation::FromArgument<'_, '_>>::ANNOTATION));
        parts.push(quote!(operation::or_none(<#storage as operation::FromArgument<'_, '_>>::IS_OPTIONAL)));
        if let Some(default) = &parameter.default {
            parts.push(format!(" = {}", default.text).to_token_stream());
        }
    }
    parts.push(")".to_token_stream());
    let overloads = &declared.options.overloads;
    let signature = if overloads.is_empty() {
        quote!(operation::joined!(#(#parts),*))
    } else {
        overloads.join("\n").to_token_stream()
    };
    let result = elided(&declared.result);
    quote! {
        pyo3::inventory::submit! {
            operation::Operation {
                name: #name,
                forms: #forms,
                namespace: #namespace,
                aliases: #aliases,
                signature: #signature,
                result: <#result as operation::IntoPython>::ANNOTATION,
                example: #example,
                family: module_path!(),
                register: |module| {
                    #(operation::add_function(module, wrap_pyfunction!(#functions, module)?, #namespace)?;)*
                    Ok(())
                },
            }
        }
    }
}

/// Returns the call of the declared function; `others` are the converted arguments but the first.
fn called(declared: &Declaration, first: &TokenStream, target: &TokenStream) -> TokenStream {
    let function = &declared.function.sig.ident;
    let others = declared.others.iter().enumerate().map(|(position, parameter)| {
        let position = Literal::usize_unsuffixed(position);
        parameter.passed(&quote!(others.#position))
    });
    let target = declared.takes_target.then(|| quote!(#target,));
    let attached = declared.options.is_attached.then(|| quote!(py, op,));
    quote!(#function(#target #attached #first, #(#others),*))
}

/// Returns the tensors among the converted arguments but the first.
fn inputs(declared: &Declaration) -> TokenStream {
    let inputs = (0..declared.others.len()).map(|position| {
        let position = Literal::usize_unsuffixed(position);
        quote!(operation::tensor_of(&others.#position))
    });
    quote!(#(#inputs),*)
}

fn names(declared: &Declaration) -> Vec<&Ident> {
    declared.others.iter().map(|parameter| &parameter.name).collect()
}

/// Returns the parameter of a function that converts an argument.
fn argument(parameter: &Parameter) -> TokenStream {
    let name = &parameter.name;
    match parameter.default {
        None => quote!(#name: operation::Arg<'a, 'py>),
        Some(_) => quote!(#name: operation::OptionalArg<'a, 'py>),
    }
}

/// Returns the signature of a form for PyO3, and its text in Python.
fn signature(declared: &Declaration, has_first: bool, has_out: bool) -> (TokenStream, String) {
    let (mut tokens, mut texts) = (Vec::new(), Vec::new());
    let mut has_keywords = false;
    let first = has_first.then_some(&declared.first);
    if !has_first {
        texts.push("$self".to_owned());
    }
    for parameter in first.into_iter().chain(&declared.others) {
        if parameter.is_keyword && !has_keywords {
            has_keywords = true;
            tokens.push(quote!(*));
            texts.push("*".to_owned());
        }
        let (name, shown) = (&parameter.name, parameter.shown());
        match &parameter.default {
            None => {
                tokens.push(quote!(#name));
                texts.push(shown);
            }
            Some(default) => {
                tokens.push(quote!(#name = None));
                texts.push(format!("{shown}={}", default.text));
            }
        }
    }
    if has_out {
        if !has_keywords {
            tokens.push(quote!(*));
            texts.push("*".to_owned());
        }
        tokens.push(quote!(out = None));
        texts.push("out=None".to_owned());
    }
    (quote!((#(#tokens),*)), format!("({})", texts.join(", ")))
}
