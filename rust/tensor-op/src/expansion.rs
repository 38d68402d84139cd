//! The code that a declaration stands for.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};

use crate::declaration::Declaration;
use crate::parameter::{InForm, Kind, Parameter, elided, last_name};

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
    let (row, explain) = (row(declared, &name, &functions), explain(declared, &name));
    quote! {
        #function

        const _: () = {
            use pyo3::prelude::*;

            use crate::tensor::{Tensor as PyTensor, operation};

            #convert
            #compute
            #forms
            #row
            #explain
        };
    }
}

/// Returns the function that converts all arguments but the first.
fn convert_others(declared: &Declaration) -> TokenStream {
    let parameters = declared.others.iter().map(Parameter::argument);
    let types = declared.others.iter().map(Parameter::storage_with_lifetime);
    let converted = declared.others.iter().map(Parameter::converted);
    quote! {
        #[allow(
            clippy::too_many_arguments,
            clippy::unused_unit,
            clippy::unnecessary_wraps,
            reason = "the operation has one argument, or many"
        )]
        fn convert_others<'a, 'py>(op: &'static str, #(#parameters),*) -> PyResult<(#(#types,)*)> {
            Ok((#(#converted,)*))
        }
    }
}

/// Returns the function that computes the result for the function and the method of a name.
fn compute(declared: &Declaration) -> TokenStream {
    let (first, parameters) =
        (declared.first.storage_with_lifetime(), declared.others.iter().map(Parameter::argument));
    let (names, inputs) = (names(declared), inputs(declared));
    let out = declared.options.forms.out.then(|| quote!(out: operation::OptionalArg<'_, 'py>));
    let object = declared.options.returns_self.then(|| quote!(object: operation::Arg<'_, 'py>));
    let first_passed = declared.first.passed(&quote!(first));
    let body = run(declared, &first_passed, &quote!(operation::WriteTo::Copy));
    let call = quote!(operation::Call::new(py, op, &[operation::tensor_of(&first), #inputs]));
    let call = sized(declared, call, &quote!(first));
    let computed = if declared.options.is_attached {
        quote!(operation::IntoPython::into_python(#body?, py, op))
    } else if declared.options.forms.out {
        let exact = declared.options.forms.out_is_exact;
        quote!(operation::compute_into(#call, out, #exact, &mut || #body))
    } else if declared.options.returns_self {
        quote!(operation::compute_or_self(#call, object, &mut || #body))
    } else if last_name(&declared.result).as_deref() == Some("CoreTensor") {
        quote!(operation::compute_tensor(#call, &mut || #body))
    } else {
        quote!(operation::compute(#call, || #body))
    };
    quote! {
        #[allow(clippy::too_many_arguments, reason = "those of the operation")]
        fn compute<'a, 'py>(
            py: Python<'py>,
            op: &'static str,
            first: #first,
            #(#parameters,)*
            #out
            #object
        ) -> PyResult<Bound<'py, PyAny>> {
            let others = convert_others(op, #(#names),*)?;
            #computed
        }
    }
}

/// Returns the forms of an operation under one of its names, and the functions among them.
fn forms_of(declared: &Declaration, name: &str) -> (TokenStream, Vec<Ident>) {
    let forms = declared.options.forms;
    let mut functions = Vec::new();
    let (mut expanded, mut methods) = (TokenStream::new(), TokenStream::new());
    if forms.function {
        functions.push(format_ident!("function_{name}"));
        expanded.extend(function(declared, name));
    }
    if forms.method {
        methods.extend(method(declared, name));
    }
    if forms.inplace {
        methods.extend(inplace_method(declared, name));
    }
    if forms.inplace_function {
        functions.push(format_ident!("function_{name}_"));
        expanded.extend(inplace_function(declared, name));
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

/// Returns the function of an operation.
fn function(declared: &Declaration, name: &str) -> TokenStream {
    let form = Form::new(declared, true, declared.options.forms.out);
    let Form { parameters, signature, text, conversions, .. } = &form;
    let (function, names) = (format_ident!("function_{name}"), names(declared));
    let variadic = declared.variadic(false);
    let doc = declared.docs.of_function(&declared.name(), name, variadic.as_deref());
    let first = declared.first.converted();
    let (out, mut passed_out) = match declared.options.forms.out {
        true => (quote!(out: operation::OptionalArg<'_, 'py>), quote!(out)),
        false => (TokenStream::new(), TokenStream::new()),
    };
    if declared.options.returns_self {
        passed_out = declared.first.name.to_token_stream();
    }
    quote! {
        #[pyfunction]
        #[doc = #doc]
        #[pyo3(name = #name, signature = #signature, text_signature = #text)]
        #[allow(clippy::too_many_arguments, reason = "those of the operation")]
        fn #function<'py>(py: Python<'py>, #parameters #out) -> PyResult<Bound<'py, PyAny>> {
            let op = #name;
            #conversions
            let first = #first;
            compute(py, op, first, #(#names,)* #passed_out)
        }
    }
}

/// Returns the method of an operation.
fn method(declared: &Declaration, name: &str) -> TokenStream {
    let Form { parameters, signature, text, conversions, .. } = &Form::new(declared, false, false);
    let (method, names) = (format_ident!("method_{name}"), names(declared));
    let (first_name, first) = (&declared.first.name, declared.first.converted());
    let (first_shown, variadic) = (declared.first.shown(), declared.variadic(true));
    let doc = match declared.options.forms.function {
        true => declared.docs.of_method(&first_shown, &dotted(declared, name), variadic.as_deref()),
        false => declared.docs.of_own_method(&first_shown, variadic.as_deref()),
    };
    let passed_out = declared.options.forms.out.then(|| quote!(None));
    let object = declared.options.returns_self.then_some(first_name);
    quote! {
        #[doc = #doc]
        #[pyo3(name = #name, signature = #signature, text_signature = #text)]
        #[allow(clippy::too_many_arguments, reason = "those of the operation")]
        fn #method<'py>(slf: &Bound<'py, Self>, #parameters) -> PyResult<Bound<'py, PyAny>> {
            let op = #name;
            #conversions
            let #first_name = slf.as_any();
            let first = #first;
            compute(slf.py(), op, first, #(#names,)* #passed_out #object)
        }
    }
}

/// Returns the in-place method of an operation.
fn inplace_method(declared: &Declaration, name: &str) -> TokenStream {
    let Form { parameters, signature, text, conversions, .. } = &Form::new(declared, false, false);
    let (method, names, inplace_name) =
        (format_ident!("inplace_{name}"), names(declared), format!("{name}_"));
    let forms = declared.options.forms;
    let doc = match forms.function || forms.method {
        true => declared.docs.of_inplace(name, Some(&declared.first.shown()), &dotted(declared, name)),
        false => declared.docs.of_own_method(&declared.first.shown(), declared.variadic(true).as_deref()),
    };
    let (first, inputs) = (elided(&declared.first.storage), inputs(declared));
    let body = run(declared, &quote!(<#first>::from(target)), &quote!(operation::WriteTo::InPlace));
    let change = if declared.takes_target { quote!(update) } else { quote!(replace) };
    let call = quote!(operation::Call::new(slf.py(), op, &[#inputs]));
    let call = sized(declared, call, &quote!(<#first>::from(&slf.get().0)));
    quote! {
        #[doc = #doc]
        #[pyo3(name = #inplace_name, signature = #signature, text_signature = #text)]
        fn #method<'py>(slf: Bound<'py, Self>, #parameters) -> PyResult<Bound<'py, PyTensor>> {
            let op = #inplace_name;
            #conversions
            let others = convert_others(op, #(#names),*)?;
            operation::#change(#call, slf, &|target| #body)
        }
    }
}

/// Returns the function that calls the in-place method of an operation.
fn inplace_function(declared: &Declaration, name: &str) -> TokenStream {
    let Form { parameters, signature, text, renamed, .. } = &Form::new(declared, true, false);
    let (function, method) = (format_ident!("function_{name}_"), format_ident!("inplace_{name}"));
    let (first, shown, names) = (&declared.first.name, declared.first.shown(), names(declared));
    let (inplace_name, forms) = (format!("{name}_"), declared.options.forms);
    let doc = match forms.function || forms.method {
        true => declared.docs.of_inplace(name, None, &dotted(declared, name)),
        false => declared.docs.of_function(name, name, None),
    };
    quote! {
        #[pyfunction]
        #[doc = #doc]
        #[pyo3(name = #inplace_name, signature = #signature, text_signature = #text)]
        fn #function<'py>(#parameters) -> PyResult<Bound<'py, PyTensor>> {
            let target = operation::target(operation::ArgumentName::new(#inplace_name, #shown), #first)?;
            PyTensor::#method(target, #(#names,)* #renamed)
        }
    }
}

/// Returns the row in the table of operations, which registers the functions.
fn row(declared: &Declaration, name: &str, functions: &[Ident]) -> TokenStream {
    let (forms, namespace) = (declared.options.forms.names(), declared.namespace());
    let (aliases, example) = (declared.options.aliases.join(" "), &declared.options.example);
    let overloads = &declared.options.overloads;
    let signature = match overloads[..] {
        [] => Form::new(declared, true, false).annotated(),
        _ => overloads.join("\n").to_token_stream(),
    };
    let differs = declared.others.iter().any(Parameter::differs_in_methods);
    let method_signature = match overloads[..] {
        [] if declared.options.forms.method && differs => Form::new(declared, false, false).annotated(),
        _ => "".to_token_stream(),
    };
    let result = elided(&declared.result);
    quote! {
        pyo3::inventory::submit! {
            operation::Operation {
                texts: operation::joined!(
                    #name, "\t", #forms, "\t", #namespace, "\t", #aliases, "\t", #signature, "\t", #method_signature, "\t",
                    <#result as operation::IntoPython>::ANNOTATION, "\t", #example, "\t", module_path!()
                ),
                register: |module| {
                    #(operation::add_function(module, wrap_pyfunction!(#functions, module)?, #namespace)?;)*
                    Ok(())
                },
            }
        }
    }
}

/// Returns the function that `dispatch.explain` calls with the arguments of an operation whose choice of a kernel can be
/// explained.
fn explain(declared: &Declaration, name: &str) -> Option<TokenStream> {
    let Form { parameters, signature, conversions, .. } = &Form::new(declared, true, false);
    let (names, first) = (names(declared), declared.first.converted());
    let choice = declared.options.explain.as_ref()?;
    let inputs = declared.function.sig.inputs.iter().skip(usize::from(declared.takes_target));
    let result =
        if declared.options.is_attached { quote!(PyResult) } else { quote!(interlock_tensor::Result) };
    let call = called(declared, &quote!(choice), None, &declared.first.passed(&quote!(first)));
    Some(quote! {
        #[allow(clippy::too_many_arguments, unused_variables, reason = "those of the operation")]
        fn choice(#(#inputs),*) -> #result<interlock::dispatch::Call> {
            #choice
        }

        #[pyfunction]
        #[pyo3(name = #name, signature = #signature)]
        #[allow(clippy::too_many_arguments, reason = "those of the operation")]
        fn explain<'py>(py: Python<'py>, #parameters) -> PyResult<crate::dispatch::Call> {
            let op = #name;
            #conversions
            let first = #first;
            let others = convert_others(op, #(#names),*)?;
            crate::dispatch::explain::converted(py, #call)
        }

        pyo3::inventory::submit! {
            crate::dispatch::explain::Explained { name: #name, function: |py| wrap_pyfunction!(explain, py) }
        }
    })
}

/// Returns the call of the declared function.
fn run(declared: &Declaration, first: &TokenStream, target: &TokenStream) -> TokenStream {
    let target = declared.takes_target.then(|| quote!(#target,));
    called(declared, &declared.function.sig.ident, target, first)
}

/// Returns the call of a function with the converted arguments; `others` are those but the first.
fn called(
    declared: &Declaration,
    function: &impl ToTokens,
    target: Option<TokenStream>,
    first: &TokenStream,
) -> TokenStream {
    let others = declared.others.iter().enumerate().map(|(position, parameter)| {
        let position = Literal::usize_unsuffixed(position);
        parameter.passed(&quote!(others.#position))
    });
    let attached = declared.options.is_attached.then(|| quote!(py, op,));
    quote!(#function(#target #attached #first, #(#others),*))
}

/// Returns the expression of a call with what the declaration says about its duration.
fn sized(declared: &Declaration, call: TokenStream, first: &TokenStream) -> TokenStream {
    let options = &declared.options;
    if options.is_view {
        return quote!(#call.view());
    }
    if options.is_long {
        return quote!(#call.long());
    }
    let Some(size) = &options.size else { return call };
    let (first_name, names) = (&declared.first.name, names(declared));
    let positions = (0..names.len()).map(Literal::usize_unsuffixed);
    quote! {
        #call.at_least({
            #[allow(unused_variables, reason = "the size depends on some arguments")]
            let (#first_name, #(#names),*) = (&#first, #(&others.#positions),*);
            #size
        })
    }
}

/// Returns the tensors among the converted arguments but the first.
fn inputs(declared: &Declaration) -> TokenStream {
    let others = declared.others.iter().enumerate();
    let inputs = others.filter(|(_, parameter)| parameter.kind != Kind::Options).map(|(position, _)| {
        let position = Literal::usize_unsuffixed(position);
        quote!(operation::tensor_of(&others.#position))
    });
    quote!(#(#inputs),*)
}

fn names(declared: &Declaration) -> Vec<&Ident> {
    declared.others.iter().map(|parameter| &parameter.name).collect()
}

/// Returns the name of the function with its module.
fn dotted(declared: &Declaration, name: &str) -> String {
    format!("{}.{name}", declared.namespace())
}

/// The arguments of a form.
struct Form {
    /// The parameters of the Rust function, each with a comma.
    parameters: TokenStream,
    /// For PyO3.
    signature: TokenStream,
    /// As Python shows it.
    text: String,
    /// The expressions of the annotated arguments, whose texts are joined.
    annotated: Vec<TokenStream>,
    /// The statements that convert what several arguments make.
    conversions: TokenStream,
    /// The dict of arguments with other names, which is passed on; empty if there is none.
    renamed: TokenStream,
}

impl Form {
    /// Returns the arguments of a function, or of a method, whose tensor is no argument; with `out` or without it.
    fn new(declared: &Declaration, is_function: bool, has_out: bool) -> Self {
        let first = is_function.then_some(&declared.first);
        let (mut signature, mut texts) = (Vec::new(), Vec::new());
        let (mut parameters, mut conversions) = (TokenStream::new(), TokenStream::new());
        let mut annotated = vec![if is_function { "(" } else { "(self" }.to_token_stream()];
        let mut separator = if is_function { "" } else { ", " };
        if !is_function {
            texts.push("$self".to_owned());
        }
        let mut is_by_name = false;
        let mut unchecked = Vec::new();
        for parameter in first.into_iter().chain(&declared.others) {
            // Those that follow such a parameter may not be required for PyO3 either.
            let is_unchecked =
                parameter.is_required() && (parameter.numpy_name().is_some() || !unchecked.is_empty());
            let in_form: InForm =
                if is_unchecked { parameter.unchecked() } else { parameter.in_form(!is_function) };
            if is_unchecked {
                unchecked.push(parameter);
            }
            let is_keyword = parameter.is_keyword(!is_function);
            if is_keyword && !is_by_name {
                signature.push(quote!(*));
                texts.push("*".to_owned());
                annotated.push(format!("{separator}*").to_token_stream());
                separator = ", ";
            }
            is_by_name |= is_keyword || in_form.is_variadic;
            annotated.push(separator.to_token_stream());
            separator = ", ";
            parameters.extend(in_form.declared);
            conversions.extend(in_form.conversion);
            signature.extend(in_form.signature);
            texts.extend(in_form.texts);
            annotated.extend(in_form.annotated);
        }
        if has_out {
            if !is_by_name {
                signature.push(quote!(*));
                texts.push("*".to_owned());
            }
            signature.push(quote!(out = None));
            texts.push("out=None".to_owned());
        }
        let numpy: Vec<_> =
            declared.others.iter().filter(|parameter| parameter.numpy_name().is_some()).collect();
        let mut renamed = TokenStream::new();
        if !numpy.is_empty() {
            signature.push(quote!(**renamed));
            parameters.extend(quote!(renamed: Option<&Bound<'py, pyo3::types::PyDict>>,));
            renamed = quote!(renamed);
            conversions = [numpy_names(&numpy, !is_function), check(&unchecked, !is_function), conversions]
                .into_iter()
                .collect();
        }
        annotated.push(")".to_token_stream());
        let (signature, text) = (quote!((#(#signature),*)), format!("({})", texts.join(", ")));
        Form { parameters, signature, text, annotated, conversions, renamed }
    }

    /// Returns the expression of the annotated signature.
    fn annotated(&self) -> TokenStream {
        let parts = &self.annotated;
        quote!(operation::joined!(#(#parts),*))
    }
}

/// Returns the statements that take arguments with the names of NumPy.
fn numpy_names(parameters: &[&Parameter], is_method: bool) -> TokenStream {
    let names: Vec<_> = parameters.iter().map(|parameter| &parameter.name).collect();
    let shown = parameters.iter().map(|parameter| parameter.shown());
    let numpy = parameters.iter().filter_map(|parameter| parameter.numpy_name());
    let positions = (0..names.len()).map(Literal::usize_unsuffixed);
    quote! {
        let called = operation::Called { op, is_method: #is_method };
        let numpy_names = called.numpy_names(renamed, [#((#shown, #numpy, #names.is_some())),*])?;
        #(let #names = #names.or(numpy_names[#positions].as_ref());)*
    }
}

/// Returns the statement that refuses a call without some arguments.
fn check(parameters: &[&Parameter], is_method: bool) -> TokenStream {
    if parameters.is_empty() {
        return TokenStream::new();
    }
    let names: Vec<_> = parameters.iter().map(|parameter| &parameter.name).collect();
    let shown = parameters.iter().map(|parameter| parameter.shown());
    quote! {
        let (#(Some(#names),)*) = (#(#names,)*) else {
            let called = operation::Called { op, is_method: #is_method };
            return Err(called.missing(&[#((#shown, #names.is_some())),*]));
        };
    }
}
