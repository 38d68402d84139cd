//! The documentation of an operation and of its forms.

use crate::parameter::Argument;
use crate::sentences::{ARGUMENTS, ENTRIES, ERRORS, IMPLIED_ERRORS, IMPLIED_RESULTS, LEAF};

const OUT_OF_RESULTS: &str = "out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. \
    None for new ones.";
const OUT_OF_NEW: &str = "out: The tensor that receives the elements, and is returned; None for a new one. It decides dtype and device.";
const OUT: &str = "out: The tensor that receives the result, and is returned; None for a new one.";
const OUT_ERROR: &str = "RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.";
const EXACT_OUT_ERROR: &str = "DTypeError: `out` has another dtype than the result.";
const NEW_OUT_ERROR: &str = "DTypeError: `dtype` differs from the dtype of `out`.";
const IN_PLACE_ERRORS: [&str; 2] = ["DTypeError: The dtype of the tensor cannot hold the result.", LEAF];

/// The argument `out` of a function.
#[derive(Clone, Copy, Default)]
pub enum Out {
    #[default]
    None,
    /// It receives the result, and `is_exact` if it must have its dtype.
    Result { is_exact: bool },
    /// It is a tensor or two.
    Results,
    /// It receives the elements of a new tensor.
    New,
}

/// A docstring: paragraphs, and sections of indented lines, without the entries of the argument `out`.
#[derive(Default)]
pub struct Docs {
    summary: Vec<String>,
    arguments: Vec<String>,
    returns: Vec<String>,
    raises: Vec<String>,
    example: Vec<String>,
    out: Out,
}

impl Docs {
    /// Parses the documentation of an operation with these arguments. Returns an error unless there is an entry for each of
    /// them, written or derived from its name and type, and for no other.
    pub fn parse(lines: &[String], arguments: &[Argument], out: Out) -> Result<Self, String> {
        let mut docs = Docs { out, ..Docs::default() };
        let mut section = &mut docs.summary;
        // The frequent entries, and the arguments whose entry is a sentence.
        let mut named = Vec::new();
        for line in lines {
            match line.as_str() {
                "Args:" => section = &mut docs.arguments,
                "Returns:" => section = &mut docs.returns,
                "Raises:" => section = &mut docs.raises,
                "Example:" => section = &mut docs.example,
                _ => {
                    named.extend(name_in_braces(line));
                    section.extend(with_entry(line)?);
                }
            }
        }
        for lines in
            [&mut docs.summary, &mut docs.arguments, &mut docs.returns, &mut docs.raises, &mut docs.example]
        {
            while lines.last().is_some_and(String::is_empty) {
                lines.pop();
            }
        }
        let written = entries(&docs.arguments);
        let has_sentence = |argument: &&Argument| written.iter().all(|(name, _)| *name != argument.name);
        named.extend(arguments.iter().filter(has_sentence).map(|argument| argument.name.as_str()));
        docs.arguments = all_arguments(&docs.arguments, arguments)?;
        docs.raises.extend(implied_errors(&docs.raises, &named));
        docs.raises.extend(further_errors(&docs.raises, arguments));
        for (_, sentence) in IMPLIED_RESULTS.iter().filter(|(name, _)| named.contains(name)) {
            docs.returns_by_default(sentence);
        }
        Ok(docs)
    }

    /// Adds the import of a module, such as `nn.functional` of `interlock`, to the example.
    pub fn import(&mut self, module: &str) {
        let (package, name) = match module.rsplit_once('.') {
            Some((package, name)) => (format!("interlock.{package}"), name),
            None => ("interlock".to_owned(), module),
        };
        if !self.example.is_empty() {
            self.example.insert(0, format!("    >>> from {package} import {name}"));
        }
    }

    /// Sets what the operation returns, unless that is written.
    pub fn returns_by_default(&mut self, sentence: &str) {
        if self.returns.is_empty() {
            self.returns.push(format!("    {sentence}"));
        }
    }

    /// Returns the documentation of the function `name` of an operation that is declared as `declared`.
    ///
    /// `variadic` is the argument that is also passed as separate ones.
    pub fn of_function(&self, declared: &str, name: &str, variadic: Option<&str>) -> String {
        let example =
            self.example.iter().map(|line| line.replace(&format!(".{declared}("), &format!(".{name}(")));
        let (of_out, errors) = match self.out {
            Out::None => (None, [None, None]),
            Out::Result { is_exact } => (Some(OUT), [is_exact.then_some(EXACT_OUT_ERROR), Some(OUT_ERROR)]),
            Out::Results => (Some(OUT_OF_RESULTS), [Some(EXACT_OUT_ERROR), Some(OUT_ERROR)]),
            Out::New => (Some(OUT_OF_NEW), [Some(NEW_OUT_ERROR), Some(OUT_ERROR)]),
        };
        let arguments = with_separate(followed_by(&self.arguments, of_out), variadic);
        let raises = followed_by(&self.raises, errors.into_iter().flatten());
        joined(&self.summary, [&arguments, &self.returns, &raises, &with_import(example)], "")
    }

    /// Returns the documentation of a method that belongs to no function.
    pub fn of_own_method(&self, first: &str, variadic: Option<&str>) -> String {
        let arguments = with_separate(without_entry(&self.arguments, first), variadic);
        let example = with_import(self.example.iter().cloned());
        joined(&self.summary, [&arguments, &self.returns, &self.raises, &example], "")
    }

    /// Returns the documentation of a method, whose tensor is the first argument of the function `function`.
    pub fn of_method(&self, first: &str, function: &str, variadic: Option<&str>) -> String {
        let arguments = with_separate(without_entry(&self.arguments, first), variadic);
        joined(&self.summary, [&arguments, &self.returns, &self.raises, &Vec::new()], &see(function))
    }

    /// Returns the documentation of the in-place form of the function `function`. With `first`, the name of the first
    /// argument, it is the documentation of a method, without it of a function.
    pub fn of_inplace(&self, name: &str, first: Option<&str>, function: &str) -> String {
        let arguments = without_entry(&self.arguments, first.unwrap_or_default());
        let summary = [format!("In-place version of `{name}`.")];
        let itself = if first.is_some() { "The tensor itself." } else { "`input` itself." };
        let returns = followed_by(&[], [itself]);
        let raises = followed_by(&self.raises, IN_PLACE_ERRORS);
        joined(&summary, [&arguments, &returns, &raises, &Vec::new()], &see(function))
    }
}

/// Returns the lines of a section with further entries of one line.
fn followed_by<'a>(lines: &[String], entries: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let entries = entries.into_iter().map(|entry| format!("    {entry}"));
    lines.iter().cloned().chain(entries).collect()
}

/// Returns the lines of an example after the import.
fn with_import(example: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<_> = example.collect();
    if !lines.is_empty() {
        lines.insert(0, "    >>> import interlock".to_owned());
    }
    lines
}

fn see(function: &str) -> String {
    format!("See `{function}`.")
}

fn name_in_braces(line: &str) -> Option<&str> {
    line.trim().strip_prefix('{')?.strip_suffix('}')
}

/// Replaces a line `{NAME}` by the lines of the entry of the name, which may be several or none.
fn with_entry(line: &str) -> Result<Vec<String>, String> {
    let Some(named) = name_in_braces(line) else { return Ok(vec![line.to_owned()]) };
    match ENTRIES.iter().find(|(name, _)| *name == named) {
        Some((_, "")) => Ok(Vec::new()),
        Some((_, entry)) => Ok(format!("    {entry}").lines().map(str::to_owned).collect()),
        None => Err(format!("`{{{named}}}` is no entry in rust/tensor-op/src/sentences.rs")),
    }
}

/// Returns the entries of a section, each with its name and its lines.
fn entries(lines: &[String]) -> Vec<(&str, Vec<String>)> {
    let mut entries: Vec<(&str, Vec<String>)> = Vec::new();
    for line in lines {
        let entry = line.strip_prefix("    ").filter(|entry| !entry.starts_with(' '));
        if let Some((name, _)) = entry.and_then(|entry| entry.split_once(':')) {
            entries.push((name, Vec::new()));
        }
        if let Some((_, lines)) = entries.last_mut() {
            lines.push(line.clone());
        }
    }
    entries
}

/// Returns the lines of a section without the entry of a name.
fn without_entry(lines: &[String], name: &str) -> Vec<String> {
    entries(lines).into_iter().filter(|(other, _)| *other != name).flat_map(|(_, lines)| lines).collect()
}

/// Returns the entries of all arguments in the order of the signature: the written ones, and the sentences of others.
fn all_arguments(written: &[String], arguments: &[Argument]) -> Result<Vec<String>, String> {
    let mut written = entries(written);
    let mut all = Vec::new();
    for argument in arguments {
        let sentence = ARGUMENTS.iter().find(|(name, kind, _)| argument.is(name, kind, &argument.kind));
        match (written.iter().position(|(name, _)| *name == argument.name), sentence) {
            (Some(position), _) => all.extend(written.remove(position).1),
            (None, Some((name, _, sentence))) => all.push(format!("    {name}: {sentence}")),
            (None, None) => {
                return Err(format!(
                    "the argument `{}` has no entry in `Args`, and its name and type have none in \
                     rust/tensor-op/src/sentences.rs",
                    argument.name
                ));
            }
        }
    }
    match written.first() {
        Some((name, _)) => Err(format!("`Args` has an entry for `{name}`, which is no argument")),
        None => Ok(all),
    }
}

/// Returns the entries of the errors that entries and sentences with these names imply, unless one of the same error is written.
fn implied_errors(written: &[String], named: &[&str]) -> Vec<String> {
    let written = entries(written);
    let is_written = |error: &str| written.iter().any(|(name, _)| error.starts_with(&format!("{name}:")));
    let implied = IMPLIED_ERRORS.iter().filter(|(name, error)| named.contains(name) && !is_written(error));
    implied.map(|(_, error)| format!("    {error}")).collect()
}

/// Returns the entries of the errors that follow from the arguments, unless a written entry of the error mentions the
/// argument.
fn further_errors(written: &[String], arguments: &[Argument]) -> Vec<String> {
    let written = entries(written);
    let is_written = |error: &str, argument: &str| {
        let of_error = written.iter().filter(|(name, _)| error.starts_with(&format!("{name}:")));
        let mut words = of_error
            .flat_map(|(_, lines)| lines)
            .flat_map(|line| line.split(|letter: char| !letter.is_alphanumeric() && letter != '_'));
        words.any(|word| word == argument)
    };
    let mut lines = Vec::new();
    for argument in arguments {
        for (_, _, error) in ERRORS.iter().filter(|(name, kind, _)| argument.is(name, kind, argument.inner()))
        {
            if !is_written(error, &argument.name) {
                lines.extend(format!("    {error}").lines().map(str::to_owned));
            }
        }
    }
    lines
}

/// Adds an entry for `*args` before the entry of the argument `variadic`, whose ints may be passed as separate arguments.
fn with_separate(mut lines: Vec<String>, variadic: Option<&str>) -> Vec<String> {
    if let Some(name) = variadic
        && let Some(at) = lines.iter().position(|line| line.starts_with(&format!("    {name}:")))
    {
        lines.insert(at, format!("    args: `{name}`, as separate ints or as one tuple or list."));
    }
    lines
}

/// Returns a docstring of a summary, a last sentence of it, and sections, of which empty ones are left out.
fn joined(summary: &[String], sections: [&Vec<String>; 4], sentence: &str) -> String {
    let mut text = summary.join("\n");
    if !sentence.is_empty() {
        text += &format!("\n\n{sentence}");
    }
    for (title, lines) in ["Args", "Returns", "Raises", "Example"].into_iter().zip(sections) {
        if !lines.is_empty() {
            text += &format!("\n\n{title}:\n{}", lines.join("\n"));
        }
    }
    text
}
