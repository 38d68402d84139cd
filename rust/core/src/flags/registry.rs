//! Flags of other libraries, declared while the program runs: on the same registry as our own, with the same
//! levels, scopes and freeze. What is registered stays until the process ends.

use once_cell::race::OnceRef;

use super::attribute::{Attribute, Part, Target};
use super::effect::Effect;
use super::flag::{FlagWord, FromEnvironment};
use super::kind::Kind;
use super::process::PROCESS;
use super::takes::Takes;
use super::write::Held;
use super::{Given, environment, table};
use crate::base::env;
use crate::{Error, Result};

/// The declaration of a flag of another library, for [`register`].
///
/// ```
/// use interlock_core::flags::{Declaration, Takes, Value, register};
///
/// let takes = Takes::Count { default: 4, maximum: 64 };
/// let declaration = Declaration::new("mylib.threads", takes, "How many threads mylib starts.");
/// let (attribute, _) = register(declaration)?;
/// assert_eq!(attribute.read(), Value::Integer(4));
/// assert_eq!(attribute.variables(), ["MYLIB_THREADS"]);
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// The dotted name: that of the library first.
    pub name: String,
    /// What it takes.
    pub takes: Takes,
    /// What it does, in a sentence. Of several declarations of a flag, that of the first counts.
    pub doc: String,
    /// The environment variable that sets it, where that is not the name in capitals.
    pub variable: Option<String>,
    /// What obeys it, for `explain`. Of several declarations of a flag, that of the first counts.
    pub acts_on: Option<String>,
}

impl Declaration {
    /// Declares a flag that the variable of its name sets and its library obeys.
    pub fn new(name: impl Into<String>, takes: Takes, doc: impl Into<String>) -> Self {
        Declaration { name: name.into(), takes, doc: doc.into(), variable: None, acts_on: None }
    }
}

const AT_MOST: usize = 1024;

/// Filled from the front, under the process's lock; read without it.
static REGISTERED: [OnceRef<'static, Registered>; AT_MOST] = [const { OnceRef::new() }; AT_MOST];

#[derive(Debug)]
struct Registered {
    attribute: Attribute,
    word: &'static FlagWord,
    declaration: Declaration,
}

/// What is registered, in that order.
pub(super) fn attributes() -> impl Iterator<Item = &'static Attribute> {
    registered().map(|registered| &registered.attribute)
}

fn registered() -> impl Iterator<Item = &'static Registered> {
    REGISTERED.iter().map_while(OnceRef::get)
}

/// The word of a registered flag, by how many were registered before it.
pub(super) fn word(number: usize) -> Option<&'static FlagWord> {
    Some(REGISTERED.get(number)?.get()?.word)
}

/// The word and the declaration of a registered flag; `None` for any other attribute.
pub(super) fn word_and_declaration(
    attribute: &'static Attribute,
) -> Option<(&'static FlagWord, &'static Declaration)> {
    let found = registered().find(|registered| std::ptr::eq(&registered.attribute, attribute))?;
    Some((found.word, &found.declaration))
}

/// Whether a flag of another library may have this name.
pub(super) fn may_be_registered(name: &str) -> bool {
    library_of(name).is_some()
}

/// The library of a dotted name of lower-case words that is none of ours.
fn library_of(name: &str) -> Option<&str> {
    let is_identifier = |part: &str| {
        let mut letters = part.chars();
        letters.next().is_some_and(|first| first.is_ascii_lowercase() || first == '_')
            && letters.all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
    };
    let (library, _) = name.split_once('.').filter(|_| name.split('.').all(is_identifier))?;
    let is_ours =
        library.starts_with("interlock") || library == "backends" || table::MODULES.contains(&library);
    (!is_ours).then_some(library)
}

/// Adds a flag. To register the same again does nothing, so that a library may be loaded again; the documentation
/// and `acts_on` may differ.
///
/// Fails where the name is no dotted name, begins like one of ours, or belongs to another declaration, and
/// where the default is none of the values. The second result names the environment variables that were not
/// understood, each with the reason.
pub fn register(declaration: Declaration) -> Result<(&'static Attribute, Vec<(String, Error)>)> {
    declaration.check()?;
    if let Some(known) = declaration.known()? {
        return Ok((known, Vec::new()));
    }
    let kind = declaration.takes.kind().map_err(|reason| declaration.refused(reason))?;
    // Made and leaked before the lock is taken, which is for a few stores.
    let name: &'static str = declaration.name.clone().leak();
    let doc: &'static str = declaration.doc.clone().leak();
    let own_variable = declaration.variable.clone().map(|variable| &*variable.leak());
    let effect: &'static Effect =
        Box::leak(Box::new(Effect::of_another_library(declaration.consumer().leak())));
    let (said, mut problems) = from_environment(name, declaration.own_variable(), kind);
    let mut process = PROCESS.lock();
    if let Some(known) = declaration.known()? {
        return Ok((known, problems));
    }
    let number = registered().count();
    let place = REGISTERED
        .get(number)
        .ok_or_else(|| declaration.refused(format!("there are {AT_MOST} registered flags already")))?;
    let word: &'static FlagWord =
        Box::leak(Box::new(FlagWord::registered(name, table::first_free() + number as u16, kind, said)));
    let attribute = Attribute {
        name,
        target: Target::Word(word, Part::Whole),
        effect,
        own_variable,
        variables: &[],
        doc,
    };
    let registered: &'static Registered = Box::leak(Box::new(Registered { attribute, word, declaration }));
    // Nobody else fills places: the lock is held.
    let _ = place.set(registered);
    let held_back = process.held_back.iter().position(|(held_back, _)| held_back == name);
    if let Some((_, given)) = held_back.map(|index| process.held_back.remove(index)) {
        match kind.encode(&given) {
            Ok(payload) => word.set_in_process(Held::Value(payload)),
            Err(refusal) => problems.push((
                "the value that was restored".to_owned(),
                refusal.error(name.to_owned(), given.to_string(), kind.allowed()),
            )),
        }
        process.note_change();
    }
    Ok((&registered.attribute, problems))
}

/// What the environment says of a flag that is being registered, and what of that is not understood.
fn from_environment(
    name: &str,
    variable: String,
    kind: Kind,
) -> (Option<FromEnvironment>, Vec<(String, Error)>) {
    let Some(value) = env::value(&variable) else { return (None, Vec::new()) };
    let text = value.to_string_lossy();
    match kind.encode(&kind.parse(&text)) {
        Ok(payload) => (Some(FromEnvironment { payload, variable: variable.leak() }), Vec::new()),
        Err(refusal) => {
            let given = Given::Text(text).to_string();
            let error = refusal.error(name.to_owned(), given, kind.allowed_text());
            (None, vec![(variable, error)])
        }
    }
}

/// The environment variables that are set, that no registered flag reads and that are nearly those of a library's flags,
/// each with the variable that may be meant and what that takes. A flag that is registered later may read one of them,
/// so call this after the last registration of the library.
pub fn misspelt_variables(library: &str) -> Vec<(String, Error)> {
    let prefix = format!("{}_", env::in_capitals(library));
    let known: Vec<(String, String)> = attributes()
        .map(|attribute| (attribute.own_variable(), attribute.allowed_text()))
        .filter(|(variable, _)| variable.starts_with(&prefix))
        .collect();
    let is_known = |name: &str| attributes().any(|attribute| attribute.own_variable() == name);
    let misspelt = |name: String| {
        // Other variables with this prefix are the library's own business, so only a slip counts.
        let slips = |(variable, _): &&(String, String)| {
            let (meant, given) = (variable.strip_prefix(&prefix)?, name.strip_prefix(&prefix)?);
            let edits = strsim::damerau_levenshtein(meant, given);
            (edits <= 1 + usize::from(meant.len() > 5)).then_some(edits)
        };
        let meant = known.iter().filter(|known| slips(known).is_some()).min_by_key(slips)?.clone();
        Some((name.clone(), Error::UnreadVariable { name, meant }))
    };
    let set = env::all().into_keys().filter(|name| name.starts_with(&prefix) && !is_known(name));
    set.filter_map(misspelt).collect()
}

impl Declaration {
    /// The same flag, if it is registered already.
    fn known(&self) -> Result<Option<&'static Attribute>> {
        let Some(known) = registered().find(|registered| registered.attribute.name == self.name) else {
            return Ok(None);
        };
        let differences = self.differences(&known.declaration);
        if differences.is_empty() {
            return Ok(Some(&known.attribute));
        }
        let reason = format!("it is registered already, and differently: {}", differences.join("; "));
        Err(self.refused(reason))
    }

    /// Where another declaration is not that of the same flag, in words.
    fn differences(&self, registered: &Declaration) -> Vec<String> {
        let parts = self.takes.parts().into_iter().zip(registered.takes.parts());
        let variables = (("variable", self.own_variable()), ("variable", registered.own_variable()));
        parts
            .chain([variables])
            .filter(|(given, known)| given != known)
            .map(|((part, given), (_, known))| format!("the {part} is {known}, not {given}"))
            .collect()
    }

    /// The environment variable that sets the flag.
    fn own_variable(&self) -> String {
        self.variable.clone().unwrap_or_else(|| env::in_capitals(&self.name))
    }

    /// What obeys the flag, in words.
    fn consumer(&self) -> String {
        let library = library_of(&self.name).unwrap_or(&self.name);
        match &self.acts_on {
            Some(acts_on) => format!("{acts_on} in {library}"),
            None => format!("{library}, which registered it"),
        }
    }

    fn check(&self) -> Result<()> {
        if library_of(&self.name).is_none() {
            let wanted = "a flag has a dotted name of lower-case words, the first of which is its library's and \
                          none of interlock's own";
            return Err(self.refused(wanted.to_owned()));
        }
        self.check_variable().map_err(|reason| self.refused(reason))?;
        self.takes.check().map_err(|reason| self.refused(reason))
    }

    fn check_variable(&self) -> Result<(), String> {
        let variable = self.own_variable();
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let is_name =
            variable.chars().all(is_word) && !variable.starts_with(|first: char| first.is_ascii_digit());
        if variable.is_empty() || !is_name {
            return Err(format!(
                "its variable must be a name of letters, digits and underscores, got {}",
                Given::Text(variable.into())
            ));
        }
        if variable.starts_with(env::PREFIX) || environment::variables().contains(&variable) {
            return Err(format!("its variable {variable} is one that interlock reads itself"));
        }
        let other = attributes().find(|other| other.name != self.name && other.own_variable() == variable);
        other.map_or(Ok(()), |other| Err(format!("its variable {variable} is that of {}", other.name)))
    }

    fn refused(&self, reason: String) -> Error {
        Error::FlagRegistration { name: self.name.clone(), reason }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FlagScope, Float, Given, Level, Value, assign, find};
    use super::super::{LARGEST_COUNT, LONGEST_TEXT};
    use super::*;

    fn declared(name: &str, takes: Takes) -> Declaration {
        Declaration::new(name, takes, "A flag of a test.")
    }

    fn switch(name: &str) -> Declaration {
        declared(name, Takes::Switch { default: false })
    }

    #[test]
    fn a_registered_flag_has_the_levels_and_scopes_of_our_own() {
        let (flag, problems) = register(switch("registry_test.verbose")).unwrap();
        assert!(problems.is_empty() && std::ptr::eq(find("registry_test.verbose").unwrap(), flag));
        assert_eq!(flag.read(), Value::Bool(false));
        {
            let _scope = FlagScope::new([(flag, Given::Bool(true))], None).unwrap().guard();
            assert_eq!((flag.read(), flag.explain().level), (Value::Bool(true), Level::Scope));
        }
        assign(&[(flag, Some(Given::Bool(true)))], None).unwrap();
        assert_eq!(flag.explain().level, Level::Process);
        assign(&[(flag, None)], None).unwrap();
        assert_eq!((flag.read(), flag.explain().level), (Value::Bool(false), Level::Default));
        assert!(assign(&[(flag, Some(Given::Integer(1)))], None).is_err());
    }

    #[test]
    fn the_same_declaration_gives_the_same_flag_and_another_one_is_refused() {
        let (flag, _) = register(switch("registry_test.twice")).unwrap();
        assert!(std::ptr::eq(register(switch("registry_test.twice")).unwrap().0, flag));
        let other = declared("registry_test.twice", Takes::Switch { default: true });
        assert!(matches!(register(other), Err(Error::FlagRegistration { .. })));
    }

    #[test]
    fn names_that_are_ours_or_no_dotted_names_are_refused() {
        for name in [
            "verbose",
            "cudnn.mine",
            "mkl.mine",
            "interlock_cudnn.enabled",
            "interlock.mine",
            "a..b",
            "a.B",
            "",
            "1.a",
            "a.",
        ] {
            assert!(matches!(register(switch(name)), Err(Error::FlagRegistration { .. })), "{name}");
        }
    }

    #[test]
    fn two_flags_do_not_share_a_variable() {
        register(switch("registry_test.solver.mode")).unwrap();
        let error = register(switch("registry_test.solver_mode")).unwrap_err().to_string();
        assert!(error.contains("REGISTRY_TEST_SOLVER_MODE is that of registry_test.solver.mode"), "{error}");
    }

    #[test]
    fn a_default_that_is_no_value_is_refused() {
        let names = || vec!["one".to_owned(), "two".to_owned()];
        let refused = [
            Takes::Count { default: 3, maximum: 2 },
            Takes::Count { default: 0, maximum: LARGEST_COUNT + 1 },
            Takes::Choice { default: "three".to_owned(), names: names() },
        ];
        for takes in refused {
            assert!(register(declared("registry_test.refused", takes)).is_err());
        }
        let takes = Takes::Choice { default: "two".to_owned(), names: names() };
        let (flag, _) = register(declared("registry_test.choice", takes)).unwrap();
        assert_eq!(flag.read(), Value::Name("two"));
    }

    fn optional(takes: Takes) -> Takes {
        Takes::Optional { takes: Box::new(takes), default_is_none: true }
    }

    #[test]
    fn every_kind_holds_its_values_in_the_process_and_in_scopes() {
        const LARGEST: i64 = LARGEST_COUNT as i64;
        let integer = Takes::Integer { default: -3, minimum: -LARGEST, maximum: LARGEST };
        let float = Takes::Float { default: 0.1, minimum: -f64::INFINITY, maximum: f64::INFINITY };
        let text = Takes::Text { default: "é".to_owned() };
        let integers =
            [-LARGEST, -1, 0, LARGEST].map(|number| (Given::Integer(number), Value::Integer(number)));
        let numbers = [0.0, -0.0, 1e-300, -1e300, f64::INFINITY, f64::MIN_POSITIVE / 8.0, 1.0 / 3.0];
        let floats = numbers.map(|number| (Given::Float(number), Value::Float(Float::new(number))));
        let texts = ["", "none", "a\0b", "日本"].map(|text| (Given::Text(text.into()), Value::Text(text)));
        for (name, takes, default, values) in [
            ("integer", integer, Value::Integer(-3), integers.to_vec()),
            ("float", float, Value::Float(Float::new(0.1)), floats.to_vec()),
            ("text", text, Value::Text("é"), texts.to_vec()),
        ] {
            let (flag, _) = register(declared(&format!("registry_kinds.{name}"), takes.clone())).unwrap();
            let (maybe, _) =
                register(declared(&format!("registry_kinds.maybe_{name}"), optional(takes))).unwrap();
            assert_eq!((flag.read(), flag.default(), maybe.read()), (default, default, Value::None));
            for (given, read) in &values {
                for flag in [flag, maybe] {
                    assign(&[(flag, Some(given.clone()))], None).unwrap();
                    assert_eq!(flag.read(), *read);
                    assign(&[(flag, None)], None).unwrap();
                    let _scope = FlagScope::new([(flag, given.clone())], None).unwrap().guard();
                    assert_eq!(flag.read(), *read);
                }
            }
            assert_eq!(flag.read(), default);
            assert!(assign(&[(flag, Some(Given::None))], None).is_err());
            assign(&[(maybe, Some(Given::None))], None).unwrap();
            assert_eq!((maybe.read(), maybe.explain().level), (Value::None, Level::Process));
        }
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let integer = Takes::Integer { default: 0, minimum: -2, maximum: 2 };
        let float = Takes::Float { default: 0.5, minimum: 0.0, maximum: 1.0 };
        let wrong = [
            ("integer", integer, vec![Given::Integer(3), Given::Integer(-3), Given::Integer(i64::MIN)]),
            ("float", float, vec![Given::Float(1.1), Given::Float(f64::NAN), Given::Integer(-1)]),
            (
                "text",
                Takes::Text { default: String::new() },
                vec![Given::Text("x".repeat(LONGEST_TEXT + 1).into())],
            ),
        ];
        for (name, takes, values) in wrong {
            let (flag, _) = register(declared(&format!("registry_range.{name}"), takes)).unwrap();
            for given in values {
                let error = assign(&[(flag, Some(given))], None).unwrap_err();
                assert!(matches!(error, Error::FlagValue { .. }), "{error}");
            }
            assert_eq!((flag.read(), flag.explain().level), (flag.default(), Level::Default));
        }
    }

    #[test]
    fn another_documentation_is_the_same_flag_and_a_difference_is_named() {
        let mut first =
            declared("registry_test.same", Takes::Integer { default: 1, minimum: -1, maximum: 9 });
        first.acts_on = Some("retries".to_owned());
        let (flag, _) = register(first.clone()).unwrap();
        let other = Declaration { doc: "Another text.".to_owned(), acts_on: None, ..first.clone() };
        assert!(std::ptr::eq(register(other).unwrap().0, flag));
        assert_eq!(
            (flag.doc(), flag.explain().acts_on.as_str()),
            ("A flag of a test.", "retries in registry_test")
        );
        let takes = Takes::Integer { default: 2, minimum: -1, maximum: 9 };
        let other = Declaration { takes, variable: Some("REGISTRY_OTHER".to_owned()), ..first };
        let error = register(other).unwrap_err().to_string();
        assert!(
            error.contains("the default is 1, not 2; the variable is REGISTRY_TEST_SAME, not REGISTRY_OTHER"),
            "{error}"
        );
    }

    #[test]
    fn a_variable_of_another_name_is_checked() {
        for (variable, reason) in [
            ("", "letters, digits and underscores"),
            ("1A", "letters, digits and underscores"),
            ("A=B", "letters, digits and underscores"),
            ("INTERLOCK_MINE", "interlock reads itself"),
            ("CUBLAS_WORKSPACE_CONFIG", "interlock reads itself"),
            ("REGISTRY_TEST_VARIABLE_TAKEN", "is that of registry_test.variable.taken"),
        ] {
            register(switch("registry_test.variable.taken")).unwrap();
            let mut declaration = switch("registry_test.variable.other");
            declaration.variable = Some(variable.to_owned());
            let error = register(declaration).unwrap_err().to_string();
            assert!(error.contains(reason), "{variable}: {error}");
        }
    }
}
