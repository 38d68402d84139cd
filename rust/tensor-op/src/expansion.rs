//! The code that a declaration stands for.

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote};
use syn::Expr;

use crate::declaration::{Declaration, is_tensor};
use crate::parameter::{Kind, Parameter, elided};
use crate::signature::Signature;

/// Returns the function itself, the forms of the operation under each of its names, and its row in the table.
pub fn expand(declared: &Declaration) -> TokenStream {
    let (function, name) = (&declared.function, declared.name());
    let names = [&name].into_iter().chain(&declared.options.aliases);
    let forms: Vec<_> = names.flat_map(|name| forms(declared, name)).collect();
    let forms = forms.iter().enumerate().map(|(index, (signature, run))| {
        let index = Literal::usize_unsuffixed(index);
        quote!(operation::Form::new::<Declared, #index>(#signature, #run))
    });
    let arguments = Literal::usize_unsuffixed(declared.out_position());
    let (convert_others, compute, change) = (convert_others(declared), compute(declared), change(declared));
    let (row, explain) = (row(declared, &name), explain(declared, &name));
    quote! {
        #function

        const _: () = {
            use pyo3::prelude::*;

            use crate::tensor::operation;

            const _: () = assert!(#arguments < operation::MAX_ARGUMENTS, "arguments and `out` have a place each");

            struct Declared;

            impl operation::Declared for Declared {
                const FORMS: &'static [operation::Form] = FORMS;
            }

            static FORMS: &[operation::Form] = &[#(#forms),*];

            #convert_others
            #compute
            #change
            #row
            #explain
        };
    }
}

/// Returns the signatures of the forms of an operation under one of its names, each with the function that runs it.
fn forms(declared: &Declaration, name: &str) -> Vec<(TokenStream, TokenStream)> {
    let (forms, docs, first) = (declared.options.forms, &declared.docs, declared.first.shown());
    let (dotted, in_place) = (format!("{}.{name}", declared.namespace()), format!("{name}_"));
    let variadic = |is_method| declared.variadic(is_method);
    let mut found = Vec::new();
    if forms.function {
        let doc = docs.of_function(&declared.name(), name, variadic(false).as_deref());
        let signature = Signature::new(declared, false, forms.out);
        found.push((signature.of_form(name, &doc), quote!(compute)));
    }
    if forms.method {
        let doc = match forms.function {
            true => docs.of_method(&first, &dotted, variadic(true).as_deref()),
            false => docs.of_own_method(&first, variadic(true).as_deref()),
        };
        found.push((Signature::new(declared, true, false).of_form(name, &doc), quote!(compute)));
    }
    let is_own = forms.is_only_inplace();
    if forms.inplace {
        let doc = match is_own {
            true => docs.of_own_method(&first, variadic(true).as_deref()),
            false => docs.of_inplace(name, Some(&first), &dotted),
        };
        found.push((Signature::new(declared, true, false).of_form(&in_place, &doc), quote!(change)));
    }
    if forms.inplace_function {
        let doc = match is_own {
            true => docs.of_function(name, name, None),
            false => docs.of_inplace(name, None, &dotted),
        };
        found.push((Signature::new(declared, false, false).of_form(&in_place, &doc), quote!(change)));
    }
    found
}

/// Returns the function that converts all arguments but the first.
fn convert_others(declared: &Declaration) -> TokenStream {
    let types = declared.others.iter().map(Parameter::storage_with_lifetime);
    let converted = declared.others().map(|(position, parameter)| parameter.converted(position));
    quote! {
        #[allow(
            clippy::unused_unit,
            clippy::unnecessary_wraps,
            unused_variables,
            reason = "the operation may have one argument"
        )]
        fn convert_others<'a, 'py>(call: &'a operation::Arguments<'_, 'py>) -> operation::Outcome<(#(#types,)*)> {
            Ok((#(#converted,)*))
        }
    }
}

/// Returns the statements that convert the arguments, to `first` and to the fields of `others`.
fn converted(declared: &Declaration) -> TokenStream {
    let (first_type, first) = (elided(&declared.first.storage), declared.first.converted(0));
    let (viewed, others) = (declared.first.viewed(&quote!(held_first)), views(declared));
    quote! {
        let held_first: #first_type = #first;
        let held = convert_others(call)?;
        let first = #viewed;
        #others
    }
}

/// Returns the statement that passes the converted arguments but the first on, some as views.
fn views(declared: &Declaration) -> TokenStream {
    let views = declared.others.iter().enumerate().map(|(position, parameter)| {
        let position = Literal::usize_unsuffixed(position);
        parameter.viewed(&quote!(held.#position))
    });
    quote!(#[allow(clippy::let_unit_value, reason = "the operation may have one argument")] let others = (#(#views,)*);)
}

/// Returns the function that computes a result.
fn compute(declared: &Declaration) -> Option<TokenStream> {
    let (options, forms) = (&declared.options, declared.options.forms);
    if forms.is_only_inplace() {
        return None;
    }
    let (converted, inputs) = (converted(declared), inputs(declared));
    let body = run(declared, &declared.first.passed(&quote!(first)), &quote!(operation::WriteTo::Copy));
    let first = if declared.first.is_held { quote!(&held_first) } else { quote!(&first) };
    let running = quote!(operation::Call::new(py, op, &[operation::tensors_of(#first), #inputs]));
    let running = sized(declared, running, &quote!(first));
    let is_tensor = is_tensor(&declared.result);
    let computed = if declared.is_attached() {
        quote!(Ok(operation::IntoPython::into_python(#body?, py, op)?))
    } else if forms.out && !is_tensor {
        let position = Literal::usize_unsuffixed(declared.out_position());
        quote!(operation::compute_results(#running, call.optional(#position), || #body))
    } else if forms.out {
        let position = Literal::usize_unsuffixed(declared.out_position());
        let (exact, overlap, check) = (forms.out_is_exact, forms.out_may_overlap, out_check(declared));
        quote! {
            let rules = operation::OutRules { is_exact: #exact, may_overlap: #overlap, check: #check };
            operation::compute_into(#running, call.optional(#position), rules, &mut || #body)
        }
    } else if options.returns_self {
        quote!(operation::compute_or_self(#running, call.object()?, &mut || #body))
    } else if is_tensor {
        quote!(operation::compute_tensor(#running, &mut || #body))
    } else {
        quote!(operation::compute(#running, || #body))
    };
    Some(quote! {
        fn compute<'py>(call: &operation::Arguments<'_, 'py>) -> operation::Outcome<Bound<'py, PyAny>> {
            let (py, op) = (call.py(), call.op());
            #converted
            #computed
        }
    })
}

/// Returns the function that changes the first tensor in place.
fn change(declared: &Declaration) -> Option<TokenStream> {
    if !declared.options.forms.inplace {
        return None;
    }
    let (first, shown) = (elided(&declared.first.declared), declared.first.shown());
    let body = run(declared, &quote!(<#first>::from(target)), &quote!(operation::WriteTo::InPlace));
    let change = if declared.takes_target { quote!(update) } else { quote!(replace) };
    let (inputs, others) = (inputs(declared), views(declared));
    let running = quote!(operation::Call::new(call.py(), call.op(), &[#inputs]));
    let running = sized(declared, running, &quote!(<#first>::from(&*held_target)));
    Some(quote! {
        fn change<'py>(call: &operation::Arguments<'_, 'py>) -> operation::Outcome<Bound<'py, PyAny>> {
            let target = call.target(#shown)?;
            let held_target = operation::ReadTensor::core(&target);
            let held = convert_others(call)?;
            #others
            operation::#change(#running, &held_target, &|target| #body)?;
            drop(held_target);
            Ok(target.into_any())
        }
    })
}

/// Returns the row in the table of operations, which registers the forms.
fn row(declared: &Declaration, name: &str) -> TokenStream {
    let (forms, namespace) = (declared.options.forms.names(), declared.namespace());
    let (aliases, example) = (declared.options.aliases.join(" "), &declared.options.example);
    let options = declared.others.iter().find_map(Parameter::annotated_options).unwrap_or_default();
    let overloads: Vec<String> =
        declared.options.overloads.iter().map(|text| text.replace("{options}", &options)).collect();
    let signature = match overloads[..] {
        [] => Signature::new(declared, false, false).annotated(),
        _ => overloads.join("\n").to_token_stream(),
    };
    let differs = declared.others.iter().any(Parameter::differs_in_methods);
    let method_signature = match overloads[..] {
        [] if declared.options.forms.method && differs => Signature::new(declared, true, false).annotated(),
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
                forms: FORMS,
            }
        }
    }
}

/// Returns the function that `dispatch.explain` calls with the arguments of an operation whose choice of a kernel can be
/// explained.
fn explain(declared: &Declaration, name: &str) -> Option<TokenStream> {
    let choice = declared.options.explain.as_ref()?;
    // Errors name both functions.
    let signature = Signature::new(declared, false, false).of_form(&format!("explain: {name}"), "");
    let converted = converted(declared);
    let inputs = declared.function.sig.inputs.iter().skip(usize::from(declared.takes_target));
    let result = if declared.is_attached() { quote!(PyResult) } else { quote!(interlock_tensor::Result) };
    let chosen = called(declared, &quote!(choice), None, &declared.first.passed(&quote!(first)));
    let during = (!declared.is_attached()).then(|| quote!(.map_err(|error| error.during(op))));
    Some(quote! {
        #[allow(clippy::too_many_arguments, unused_variables, reason = "those of the operation")]
        fn choice(#(#inputs),*) -> #result<interlock::dispatch::Call> {
            #choice
        }

        static EXPLANATION: operation::Signature = #signature;

        #[allow(unused_variables, reason = "the choice depends on some arguments")]
        fn explain<'py>(call: &operation::Arguments<'_, 'py>) -> operation::Outcome<Bound<'py, PyAny>> {
            let (py, op) = (call.py(), call.op());
            #converted
            Ok(crate::dispatch::explain::converted(py, #chosen #during)?)
        }

        pyo3::inventory::submit! {
            crate::dispatch::explain::Explained {
                name: #name,
                function: |args, named| operation::call_function(&EXPLANATION, explain, args, named),
            }
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
    let size = of_arguments(declared, size, first);
    quote!(#call.at_least(#size))
}

/// Returns the check of `out` before the operation.
fn out_check(declared: &Declaration) -> TokenStream {
    let Some(check) = &declared.options.out_check else { return quote!(None) };
    let check = of_arguments(declared, check, &quote!(first));
    quote!(Some(&|out| #check))
}

/// Returns an expression made of references to the converted arguments.
fn of_arguments(declared: &Declaration, expression: &Expr, first: &TokenStream) -> TokenStream {
    let first_name = &declared.first.name;
    let names: Vec<_> = declared.others.iter().map(|parameter| &parameter.name).collect();
    let positions = (0..names.len()).map(Literal::usize_unsuffixed);
    quote! {{
        #[allow(unused_variables, reason = "the expression depends on some arguments")]
        let (#first_name, #(#names),*) = (&#first, #(&others.#positions),*);
        #expression
    }}
}

/// Returns the tensors among the converted arguments but the first.
fn inputs(declared: &Declaration) -> TokenStream {
    let others = declared.others.iter().enumerate();
    let inputs = others.filter(|(_, parameter)| !matches!(parameter.kind, Kind::Options { .. })).map(
        |(position, parameter)| {
            let place = if parameter.is_held { quote!(held) } else { quote!(others) };
            let position = Literal::usize_unsuffixed(position);
            quote!(operation::tensors_of(&#place.#position))
        },
    );
    quote!(#(#inputs),*)
}
