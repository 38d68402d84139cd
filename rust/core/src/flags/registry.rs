//! Flags of other libraries, registered at run time: in the same table as interlock's own flags, with the same levels,
//! scopes and freezes. A registered flag exists until it is unregistered.

use once_cell::race::OnceRef;

use super::effect::Effect;
use super::flag::{EnvValue, FlagWord, check_value};
use super::flag_spec::{Backing, FlagSpec, Projection};
use super::flag_type::FlagType;
use super::kind::{Kind, Refusal};
use super::store::STORE;
use super::validator::Validator;
use super::write::SlotWrite;
use super::{InputValue, environment, table};
use crate::base::env;
use crate::base::quote::{one_line, quoted};
use crate::thread::{self, Slot};
use crate::{Error, Result};

/// The declaration of a flag of another library, for [`register`].
///
/// ```
/// use interlock_core::flags::{FlagDecl, FlagType, Value, register};
///
/// let flag_type = FlagType::Count { default: 4, maximum: 64 };
/// let declaration = FlagDecl::new("mylib.threads", flag_type, "How many threads mylib starts.");
/// let (spec, _) = register(declaration)?;
/// assert_eq!(spec.read(), Value::Integer(4));
/// assert_eq!(spec.variables(), ["MYLIB_THREADS"]);
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FlagDecl {
    /// The dotted name, which begins with the name of the library.
    pub name: String,
    /// The type, the range and the default.
    pub flag_type: FlagType,
    /// The documentation, in a sentence. If a flag is declared several times, the first text is used.
    pub doc: String,
    /// The environment variable that sets it, if it is not the name in capitals.
    pub variable: Option<String>,
    /// The operations that the flag affects, for `explain`. If a flag is declared several times, the first text is
    /// used.
    pub affects: Option<String>,
    /// Checks each value, also those of the environment and of a restored snapshot, before it is stored. If a flag is
    /// declared several times, the first validator is used.
    pub validator: Option<Validator>,
}

impl FlagDecl {
    /// Declares a flag with the default variable and effect.
    pub fn new(name: impl Into<String>, flag_type: FlagType, doc: impl Into<String>) -> Self {
        FlagDecl {
            name: name.into(),
            flag_type,
            doc: doc.into(),
            variable: None,
            affects: None,
            validator: None,
        }
    }
}

/// The largest number of flags that are registered at a time.
const MAX_REGISTERED: usize = 1024;

/// The largest number of positions. The position of a flag that was unregistered is used again only by an equal
/// declaration, because states that were captured before refer to it.
const MAX_POSITIONS: usize = 16 * MAX_REGISTERED;

/// Filled in order, under the lock of the process; read without it.
static REGISTERED: [OnceRef<'static, Registered>; MAX_POSITIONS] = [const { OnceRef::new() }; MAX_POSITIONS];

#[derive(Debug)]
struct Registered {
    spec: FlagSpec,
    word: &'static FlagWord,
    declaration: FlagDecl,
}

/// Iterates over the registered flags in the order of registration.
pub(super) fn flag_specs() -> impl Iterator<Item = &'static FlagSpec> {
    registered().map(|registered| &registered.spec)
}

/// Iterates over the registered flags and those that were unregistered, by position.
pub(super) fn all_flag_specs() -> impl Iterator<Item = &'static FlagSpec> {
    positions().map(|registered| &registered.spec)
}

fn registered() -> impl Iterator<Item = &'static Registered> {
    positions().filter(|registered| !registered.word.is_unregistered.get())
}

fn positions() -> impl Iterator<Item = &'static Registered> {
    REGISTERED.iter().map_while(OnceRef::get)
}

/// Returns the word of a flag by its position, also after the flag was unregistered.
pub(super) fn word(number: usize) -> Option<&'static FlagWord> {
    Some(REGISTERED.get(number)?.get()?.word)
}

/// Returns a flag by its position, also after it was unregistered.
#[inline]
pub(super) fn spec(number: usize) -> Option<&'static FlagSpec> {
    Some(&REGISTERED.get(number)?.get()?.spec)
}

/// Returns the word and the declaration of a registered flag; `None` for other flags.
pub(super) fn word_and_decl(spec: &'static FlagSpec) -> Option<(&'static FlagWord, &'static FlagDecl)> {
    let found = positions().find(|registered| std::ptr::eq(&registered.spec, spec))?;
    Some((found.word, &found.declaration))
}

/// Returns whether a flag of another library may have this name.
pub(super) fn may_be_registered(name: &str) -> bool {
    library_of(name).is_some()
}

/// Returns the library of a dotted name of lower-case words, unless the name is reserved for interlock.
fn library_of(name: &str) -> Option<&str> {
    let is_identifier = |part: &str| {
        let mut letters = part.chars();
        letters.next().is_some_and(|first| first.is_ascii_lowercase() || first == '_')
            && letters.all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
    };
    let (library, _) = name.split_once('.').filter(|_| name.split('.').all(is_identifier))?;
    (!is_reserved(library)).then_some(library)
}

/// Returns whether names that begin with this word are those of interlock's flags.
fn is_reserved(library: &str) -> bool {
    library.starts_with("interlock")
        || ["backends", "state"].contains(&library)
        || table::MODULES.contains(&library)
}

/// Registers a flag. Registering an equal declaration again has no effect, so that a library may be loaded again; the
/// documentation and `affects` may differ.
///
/// Fails if the name is not a dotted name, is reserved for interlock or belongs to another declaration, or if the
/// default is not one of the values. The second result lists the environment variables that could not be parsed, each
/// with the error.
pub fn register(declaration: FlagDecl) -> Result<(&'static FlagSpec, Vec<(String, Error)>)> {
    let mut problems = Vec::new();
    let spec = register_and_report(declaration, &mut |source, error| {
        problems.push((source, error));
        Ok(())
    })?;
    Ok((spec, problems))
}

/// Registers a flag like [`register`], and calls a function for each value of the environment or of a snapshot that
/// was refused, with its source. If the function fails, the flag is not registered.
pub fn register_and_report(
    declaration: FlagDecl,
    report: &mut dyn FnMut(String, Error) -> Result<()>,
) -> Result<&'static FlagSpec> {
    declaration.check()?;
    if let Some(known) = declaration.known()? {
        return Ok(known);
    }
    // What an equal flag has leaked is used again.
    let kind = match positions().find(|earlier| earlier.declaration == declaration) {
        Some(earlier) => earlier.word.kind,
        None => declaration.flag_type.kind().map_err(|reason| declaration.refused(reason))?,
    };
    let (name, validator) = (declaration.name.as_str(), declaration.validator.as_ref());
    check_value(name, validator, kind.decode(kind.default()))
        .map_err(|error| Error::FlagDefault { name: name.to_owned(), error: Box::new(error) })?;
    let variable = declaration.own_variable();
    let mut refused_variable = None;
    let env_payload = env_payload_of(name, &variable, kind, validator).or_else(|error| {
        refused_variable = Some(error.clone());
        report(variable, error).map(|()| None)
    })?;
    let restored = restored_payload(name, kind, validator)
        .or_else(|error| report("the value that was restored".to_owned(), error).map(|()| None))?;
    let mut store = STORE.lock();
    if let Some(known) = declaration.known()? {
        return Ok(known);
    }
    let registered_before = declaration.unregistered(env_payload);
    if registered().count() >= MAX_REGISTERED {
        return Err(declaration.refused(format!("a process can register at most {MAX_REGISTERED} flags")));
    }
    let number = positions().count();
    let free = REGISTERED.get(number);
    if registered_before.is_none() && free.is_none() {
        return Err(declaration.refused(format!(
            "a process can register at most {MAX_POSITIONS} different flags, those that were unregistered included"
        )));
    }
    store.deferred_restores.retain(|(deferred, _)| deferred != name);
    store.refused_variables.extend(refused_variable.map(|error| (name.to_owned(), error)));
    if let Some(Registered { spec, word, .. }) = registered_before {
        word.is_unregistered.set(false);
        restored.iter().for_each(|payload| word.set_in_process(SlotWrite::Set(*payload)));
        store.advance_epoch();
        return Ok(spec);
    }
    let name: &'static str = declaration.name.clone().leak();
    let operations = declaration.describe_effect().leak();
    let env_value =
        env_payload.map(|payload| EnvValue { payload, variable: declaration.own_variable().leak() });
    let word: &'static FlagWord = Box::leak(Box::new(FlagWord::registered(
        name,
        table::first_registered_id() + number as u16,
        kind,
        env_value,
        declaration.validator.clone().map(|validator| &*Box::leak(Box::new(validator))),
    )));
    let spec = FlagSpec {
        name,
        backing: Backing::Word(word, Projection::Whole),
        effect: Box::leak(Box::new(Effect::of_registered_flag(operations))),
        own_variable: declaration.variable.clone().map(|variable| &*variable.leak()),
        variables: &[],
        doc: declaration.doc.clone().leak(),
    };
    let registered: &'static Registered = Box::leak(Box::new(Registered { spec, word, declaration }));
    debug_assert!(
        free.is_some_and(|slot| slot.get().is_none()),
        "no other thread fills positions under the lock"
    );
    let _ = free.map(|slot| slot.set(registered));
    if let Some(payload) = restored {
        word.set_in_process(SlotWrite::Set(payload));
        store.advance_epoch();
    }
    Ok(&registered.spec)
}

/// Removes a registered flag. Its name may then be registered again, also with another type.
///
/// Open scopes and captured states that set the flag remain valid and no longer set it. Its handles keep their reads,
/// which return what they did, and refuse writes. Freezing does not prevent it.
///
/// ```
/// use interlock_core::flags::{FlagDecl, FlagType, find, register, unregister};
///
/// let flag_type = FlagType::Switch { default: false };
/// register(FlagDecl::new("mylib.verbose", flag_type, "Whether mylib prints what it does."))?;
/// unregister("mylib.verbose")?;
/// assert!(find("mylib.verbose").is_err());
/// # Ok::<(), interlock_core::Error>(())
/// ```
///
/// # Errors
/// Fails if there is no flag of this name, and for a flag of interlock.
pub fn unregister(name: &str) -> Result<()> {
    let spec = table::find(name)?;
    let Some((word, _)) = word_and_decl(spec) else {
        return Err(Error::FlagUnregistration { name: spec.name().to_owned() });
    };
    // A scope of this context would set a flag that is registered again at the same position.
    let is_scoped = thread::scoped_flag(word.id).is_some();
    let mut store = STORE.lock();
    word.is_unregistered.set(true);
    if is_scoped {
        word.is_abandoned.set(true);
    }
    word.set_in_process(SlotWrite::Clear);
    store.sites.retain(|(noted, _)| *noted != Slot::Flag(word.id));
    store.refused_variables.retain(|(refused, _)| refused != name);
    store.advance_epoch();
    Ok(())
}

/// Returns the error of the environment's value of a flag, if it was refused when the flag was registered.
pub(super) fn refused_variable(name: &str) -> Option<Error> {
    let store = STORE.lock();
    store.refused_variables.iter().find(|(refused, _)| refused == name).map(|(_, error)| error.clone())
}

/// Returns the payload of a value that was restored before the flag is registered.
fn restored_payload(name: &str, kind: Kind, validator: Option<&Validator>) -> Result<Option<u64>> {
    let restored = {
        let store = STORE.lock();
        store.deferred_restores.iter().find(|(deferred, _)| deferred == name).map(|(_, given)| given.clone())
    };
    let Some(given) = restored else { return Ok(None) };
    let refused = |refusal: Refusal| refusal.error(name.to_owned(), given.to_string(), kind.accepted());
    let payload = kind.encode(&given).map_err(refused)?;
    check_value(name, validator, kind.decode(payload))?;
    Ok(Some(payload))
}

/// Returns the payload of the value that the environment sets for a flag that is being registered.
fn env_payload_of(
    name: &str,
    variable: &str,
    kind: Kind,
    validator: Option<&Validator>,
) -> Result<Option<u64>> {
    let Some(value) = env::value(variable) else { return Ok(None) };
    let text = value.to_string_lossy();
    let refused = |refusal: Refusal| {
        refusal.error(name.to_owned(), InputValue::Text(text.clone()).to_string(), kind.accepted_text())
    };
    let payload = kind.encode(&kind.parse(&text)).map_err(refused)?;
    check_value(name, validator, kind.decode(payload))?;
    Ok(Some(payload))
}

/// Returns the environment variables that are set, that no registered flag reads and whose names resemble those of a
/// library's flags, each with the suggested variable and the values that it accepts. A flag that is registered later
/// may read one of them, so call this after the last registration of the library.
pub fn misspelt_variables(library: &str) -> Vec<(String, Error)> {
    let prefix = format!("{}_", env::to_env_name(library));
    let known: Vec<(String, String)> = flag_specs()
        .map(|spec| (spec.own_variable(), spec.accepted_text()))
        .filter(|(variable, _)| variable.starts_with(&prefix))
        .collect();
    let is_known = |name: &str| flag_specs().any(|spec| spec.own_variable() == name);
    let misspelt = |name: String| {
        // The library may read other variables with this prefix, so only near misses are reported.
        let edit_distance = |(variable, _): &&(String, String)| {
            let (intended, given) = (variable.strip_prefix(&prefix)?, name.strip_prefix(&prefix)?);
            let edits = strsim::damerau_levenshtein(intended, given);
            (edits <= 1 + usize::from(intended.len() > 5)).then_some(edits)
        };
        let intended =
            known.iter().filter(|known| edit_distance(known).is_some()).min_by_key(edit_distance)?.clone();
        Some((name.clone(), Error::UnreadVariable { name, suggestion: intended }))
    };
    let set = env::all().into_keys().filter(|name| name.starts_with(&prefix) && !is_known(name));
    set.filter_map(misspelt).collect()
}

impl FlagDecl {
    /// Returns the flag if an equal declaration is registered.
    fn known(&self) -> Result<Option<&'static FlagSpec>> {
        let Some(known) = registered().find(|registered| registered.spec.name == self.name) else {
            return Ok(None);
        };
        let differences = self.differences(&known.declaration);
        if differences.is_empty() {
            return Ok(Some(&known.spec));
        }
        let reason = format!("the flag is registered already, and differently: {}", differences.join("; "));
        Err(self.refused(reason))
    }

    /// Returns an equal flag that was unregistered, whose position this declaration may use again: no scope of this
    /// context sets it, and its variable has the same value. The caller holds the lock of the process.
    fn unregistered(&self, env_payload: Option<u64>) -> Option<&'static Registered> {
        positions().find(|known| {
            known.word.is_unregistered.get()
                && !known.word.is_abandoned.get()
                && known.declaration == *self
                && known.word.env_value.map(|env_value| env_value.payload) == env_payload
        })
    }

    /// Describes the differences to a registered declaration.
    fn differences(&self, registered: &FlagDecl) -> Vec<String> {
        let parts = self.flag_type.parts().into_iter().zip(registered.flag_type.parts());
        let variables = (("variable", self.own_variable()), ("variable", registered.own_variable()));
        parts
            .chain([variables])
            .filter(|(given, known)| given != known)
            // Where one of the types has no range, the types differ, and are named.
            .filter(|((_, given), (_, known))| !given.is_empty() && !known.is_empty())
            .map(|((part, given), (_, known))| format!("the {part} is {known}, not {given}"))
            .collect()
    }

    /// Returns the environment variable that sets the flag.
    fn own_variable(&self) -> String {
        self.variable.clone().unwrap_or_else(|| env::to_env_name(&self.name))
    }

    /// Describes what the flag affects.
    fn describe_effect(&self) -> String {
        let library = library_of(&self.name).unwrap_or(&self.name);
        match &self.affects {
            Some(affects) => format!("{} in {library}", one_line(affects)),
            None => format!("{library}, which registered it"),
        }
    }

    fn check(&self) -> Result<()> {
        if library_of(&self.name).is_none() {
            return Err(self.refused(match self.name.split_once('.') {
                Some((package, _)) if is_reserved(package) => {
                    format!(
                        "name must begin with the name of your package, and {} is reserved for interlock",
                        quoted(package)
                    )
                }
                _ => "name must be \"<package>.<flag>\" in lower case, for example \"mylib.verbose\""
                    .to_owned(),
            }));
        }
        self.check_variable().map_err(|reason| self.refused(reason))?;
        self.flag_type.check().map_err(|reason| self.refused(reason))
    }

    fn check_variable(&self) -> Result<(), String> {
        let variable = self.own_variable();
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let is_name =
            variable.chars().all(is_word) && !variable.starts_with(|first: char| first.is_ascii_digit());
        if variable.is_empty() || !is_name {
            return Err(format!(
                "variable must be a name of letters, digits and underscores, got {}",
                InputValue::Text(variable.into())
            ));
        }
        if variable.starts_with(env::PREFIX) || environment::variables().contains(&variable) {
            return Err(format!("variable must not be one that interlock reads, got {variable}"));
        }
        let other = flag_specs().find(|other| other.name != self.name && other.own_variable() == variable);
        other.map_or(Ok(()), |other| {
            Err(format!(
                "variable must not belong to another flag, got {variable}, which sets {}",
                other.name
            ))
        })
    }

    fn refused(&self, reason: String) -> Error {
        Error::FlagRegistration { name: self.name.clone(), reason }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ffi::id_of;
    use super::super::{FlagScope, Float, InputValue, Level, Value, assign, find};
    use super::super::{MAX_INTEGER, MAX_TEXT_BYTES};
    use super::*;

    fn declared(name: &str, flag_type: FlagType) -> FlagDecl {
        FlagDecl::new(name, flag_type, "A flag of a test.")
    }

    fn switch(name: &str) -> FlagDecl {
        declared(name, FlagType::Switch { default: false })
    }

    #[test]
    fn register_adds_a_flag_with_levels_and_scopes() {
        let (flag, problems) = register(switch("registry_test.verbose")).unwrap();
        assert!(problems.is_empty() && std::ptr::eq(find("registry_test.verbose").unwrap(), flag));
        assert_eq!(flag.read(), Value::Bool(false));
        {
            let _scope = FlagScope::new([(flag, InputValue::Bool(true))], None).unwrap().guard();
            assert_eq!((flag.read(), flag.explain().level), (Value::Bool(true), Level::Scope));
        }
        assign(&[(flag, Some(InputValue::Bool(true)))], None).unwrap();
        assert_eq!(flag.explain().level, Level::Process);
        assign(&[(flag, None)], None).unwrap();
        assert_eq!((flag.read(), flag.explain().level), (Value::Bool(false), Level::Default));
        assert!(assign(&[(flag, Some(InputValue::Integer(1)))], None).is_err());
    }

    #[test]
    fn register_again_returns_the_flag_or_refuses_a_difference() {
        let (flag, _) = register(switch("registry_test.twice")).unwrap();
        assert!(std::ptr::eq(register(switch("registry_test.twice")).unwrap().0, flag));
        let other = declared("registry_test.twice", FlagType::Switch { default: true });
        assert!(matches!(register(other), Err(Error::FlagRegistration { .. })));
    }

    #[test]
    fn register_refuses_reserved_and_malformed_names() {
        for name in [
            "verbose",
            "cudnn.mine",
            "mkl.mine",
            "state.grad",
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
    fn register_refuses_a_variable_of_another_flag() {
        register(switch("registry_test.solver.mode")).unwrap();
        let error = register(switch("registry_test.solver_mode")).unwrap_err().to_string();
        assert!(error.contains("REGISTRY_TEST_SOLVER_MODE, which sets registry_test.solver.mode"), "{error}");
    }

    #[test]
    fn register_refuses_a_default_that_is_not_a_value() {
        let names = || vec!["one".to_owned(), "two".to_owned()];
        let refused = [
            FlagType::Count { default: 3, maximum: 2 },
            FlagType::Count { default: 0, maximum: MAX_INTEGER + 1 },
            FlagType::Choice { default: "three".to_owned(), names: names() },
        ];
        for flag_type in refused {
            assert!(register(declared("registry_test.refused", flag_type)).is_err());
        }
        let flag_type = FlagType::Choice { default: "two".to_owned(), names: names() };
        let (flag, _) = register(declared("registry_test.choice", flag_type)).unwrap();
        assert_eq!(flag.read(), Value::Name("two"));
    }

    fn optional(flag_type: FlagType) -> FlagType {
        FlagType::Optional { flag_type: Box::new(flag_type), default_is_none: true }
    }

    #[test]
    fn assign_and_scope_store_values_of_every_kind() {
        const LARGEST: i64 = MAX_INTEGER as i64;
        let integer = FlagType::Integer { default: -3, minimum: -LARGEST, maximum: LARGEST };
        let float = FlagType::Float { default: 0.1, minimum: -f64::INFINITY, maximum: f64::INFINITY };
        let text = FlagType::Text { default: "é".to_owned() };
        let integers =
            [-LARGEST, -1, 0, LARGEST].map(|number| (InputValue::Integer(number), Value::Integer(number)));
        let numbers = [0.0, -0.0, 1e-300, -1e300, f64::INFINITY, f64::MIN_POSITIVE / 8.0, 1.0 / 3.0];
        let floats = numbers.map(|number| (InputValue::Float(number), Value::Float(Float::new(number))));
        let texts =
            ["", "none", "a\0b", "日本"].map(|text| (InputValue::Text(text.into()), Value::Text(text)));
        for (name, flag_type, default, values) in [
            ("integer", integer, Value::Integer(-3), integers.to_vec()),
            ("float", float, Value::Float(Float::new(0.1)), floats.to_vec()),
            ("text", text, Value::Text("é"), texts.to_vec()),
        ] {
            let (flag, _) = register(declared(&format!("registry_kinds.{name}"), flag_type.clone())).unwrap();
            let (maybe, _) =
                register(declared(&format!("registry_kinds.maybe_{name}"), optional(flag_type))).unwrap();
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
            assert!(assign(&[(flag, Some(InputValue::None))], None).is_err());
            assign(&[(maybe, Some(InputValue::None))], None).unwrap();
            assert_eq!((maybe.read(), maybe.explain().level), (Value::None, Level::Process));
        }
    }

    #[test]
    fn assign_refuses_values_out_of_range() {
        let integer = FlagType::Integer { default: 0, minimum: -2, maximum: 2 };
        let float = FlagType::Float { default: 0.5, minimum: 0.0, maximum: 1.0 };
        let wrong = [
            (
                "integer",
                integer,
                vec![InputValue::Integer(3), InputValue::Integer(-3), InputValue::Integer(i64::MIN)],
            ),
            (
                "float",
                float,
                vec![InputValue::Float(1.1), InputValue::Float(f64::NAN), InputValue::Integer(-1)],
            ),
            (
                "text",
                FlagType::Text { default: String::new() },
                vec![InputValue::Text("x".repeat(MAX_TEXT_BYTES + 1).into())],
            ),
        ];
        for (name, flag_type, values) in wrong {
            let (flag, _) = register(declared(&format!("registry_range.{name}"), flag_type)).unwrap();
            for given in values {
                let error = assign(&[(flag, Some(given))], None).unwrap_err();
                assert!(matches!(error, Error::FlagValue { .. }), "{error}");
            }
            assert_eq!((flag.read(), flag.explain().level), (flag.default(), Level::Default));
        }
    }

    #[test]
    fn register_again_ignores_documentation_and_names_differences() {
        let mut first =
            declared("registry_test.same", FlagType::Integer { default: 1, minimum: -1, maximum: 9 });
        first.affects = Some("retries".to_owned());
        let (flag, _) = register(first.clone()).unwrap();
        let other = FlagDecl { doc: "Another text.".to_owned(), affects: None, ..first.clone() };
        assert!(std::ptr::eq(register(other).unwrap().0, flag));
        assert_eq!((flag.doc(), flag.affects().as_str()), ("A flag of a test.", "retries in registry_test"));
        let flag_type = FlagType::Integer { default: 2, minimum: -1, maximum: 9 };
        let other = FlagDecl { flag_type, variable: Some("REGISTRY_OTHER".to_owned()), ..first };
        let error = register(other).unwrap_err().to_string();
        assert!(
            error.contains("the default is 1, not 2; the variable is REGISTRY_TEST_SAME, not REGISTRY_OTHER"),
            "{error}"
        );
    }

    #[test]
    fn register_checks_the_declared_variable() {
        for (variable, reason) in [
            ("", "letters, digits and underscores"),
            ("1A", "letters, digits and underscores"),
            ("A=B", "letters, digits and underscores"),
            ("INTERLOCK_MINE", "one that interlock reads"),
            ("CUBLAS_WORKSPACE_CONFIG", "one that interlock reads"),
            ("REGISTRY_TEST_VARIABLE_TAKEN", "which sets registry_test.variable.taken"),
        ] {
            register(switch("registry_test.variable.taken")).unwrap();
            let mut declaration = switch("registry_test.variable.other");
            declaration.variable = Some(variable.to_owned());
            let error = register(declaration).unwrap_err().to_string();
            assert!(error.contains(reason), "{variable}: {error}");
        }
    }

    fn list(default: Vec<InputValue<'static>>, item: FlagType) -> FlagType {
        FlagType::List { default, item: Box::new(item) }
    }

    #[test]
    fn lists_and_paths_are_stored_and_refused_by_item() {
        let item = FlagType::Count { default: 0, maximum: 9 };
        let one = InputValue::Integer(1);
        let (numbers, _) =
            register(declared("registry_list.numbers", list(vec![one.clone()], item.clone()))).unwrap();
        assert_eq!(numbers.read(), Value::List(&[Value::Integer(1)]));
        let given = InputValue::List(vec![InputValue::Integer(3), one]);
        assign(&[(numbers, Some(given))], None).unwrap();
        let stored = Value::List(&[Value::Integer(3), Value::Integer(1)]);
        assert_eq!((numbers.read(), numbers.read().to_string().as_str()), (stored, "(3, 1)"));
        for wrong in [InputValue::Integer(10), InputValue::Bool(true)] {
            assert!(assign(&[(numbers, Some(InputValue::List(vec![wrong])))], None).is_err());
        }
        let many = vec![InputValue::Integer(0); super::super::MAX_LIST_ITEMS + 1];
        assert!(assign(&[(numbers, Some(InputValue::List(many)))], None).is_err());
        assert_eq!(numbers.read(), stored);
        for nested in [list(vec![], item.clone()), optional(item)] {
            assert!(register(declared("registry_list.nested", list(vec![], nested))).is_err());
        }
        let (path, _) =
            register(declared("registry_list.path", FlagType::Path { default: "a".to_owned() })).unwrap();
        for given in [InputValue::Path("b".into()), InputValue::Text("b".into())] {
            assign(&[(path, Some(given))], None).unwrap();
            assert_eq!(path.read(), Value::Path("b"));
        }
        for wrong in ["", "a\0"] {
            assert!(assign(&[(path, Some(InputValue::Path(wrong.into())))], None).is_err());
        }
    }

    #[test]
    fn validator_refuses_writes_of_every_kind() {
        let mut declaration = declared("registry_validator.even", FlagType::Count { default: 0, maximum: 9 });
        declaration.validator = Some(Validator::new("is_even", |value| match value {
            Value::Integer(number) if number % 2 != 0 => Err("it must be even".to_owned()),
            _ => Ok(()),
        }));
        let (even, _) = register(declaration.clone()).unwrap();
        let handle = even.handle::<u64>().unwrap();
        handle.set(2).unwrap();
        let three = || InputValue::Integer(3);
        let errors = [
            handle.set(3).unwrap_err(),
            handle.scope(3).unwrap_err(),
            assign(&[(even, Some(three()))], None).unwrap_err(),
            FlagScope::new([(even, three())], None).unwrap_err(),
            super::super::restore(&[("registry_validator.even", three())], None).unwrap_err(),
        ];
        for error in errors {
            let text = "registry_validator.even: is_even refused 3: it must be even";
            assert_eq!(error.to_string(), text);
        }
        assert_eq!((handle.get(), even.validator()), (2, Some("is_even")));
        let flag_type = FlagType::Count { default: 1, maximum: 9 };
        let wrong = FlagDecl { name: "registry_validator.odd".to_owned(), flag_type, ..declaration };
        assert!(matches!(register(wrong), Err(Error::FlagDefault { .. })));
    }

    #[test]
    fn unregister_removes_the_flag_from_everything_but_its_handles() {
        let name = "registry_unregister.flag";
        let (flag, _) = register(switch(name)).unwrap();
        let handle = flag.handle::<bool>().unwrap();
        let scope = FlagScope::new([(flag, InputValue::Bool(true))], None).unwrap();
        let guard = scope.guard();
        let state = thread::ThreadState::capture();
        drop(guard);
        handle.set(true).unwrap();
        unregister(name).unwrap();
        assert!(flag.is_unregistered() && find(name).is_err() && !handle.get());
        assert!(matches!(handle.set(true), Err(Error::UnregisteredFlag { .. })));
        assert!(matches!(assign(&[(flag, None)], None), Err(Error::UnregisteredFlag { .. })));
        assert!(matches!(unregister(name), Err(Error::UnknownFlag { .. })));
        assert!(matches!(unregister("cudnn.enabled"), Err(Error::FlagUnregistration { .. })));
        assert_eq!((state.flags(), scope.values()), (vec![], vec![]));
        let (other, _) = register(declared(name, FlagType::Count { default: 3, maximum: 9 })).unwrap();
        assert_eq!(state.run(|| other.read()), Value::Integer(3));
        assert_ne!(id_of(flag), id_of(other));
    }

    #[test]
    fn equal_declaration_takes_the_place_of_the_flag_unless_a_scope_sets_it() {
        let name = "registry_unregister.again";
        let (first, _) = register(switch(name)).unwrap();
        first.handle::<bool>().unwrap().set(true).unwrap();
        unregister(name).unwrap();
        let (second, _) = register(switch(name)).unwrap();
        assert!(std::ptr::eq(first, second) && second.read() == Value::Bool(false));
        let _guard = second.handle::<bool>().unwrap().scope(true).unwrap().guard();
        unregister(name).unwrap();
        let (third, _) = register(switch(name)).unwrap();
        assert!(!std::ptr::eq(second, third));
        assert_eq!((third.read(), third.explain().level), (Value::Bool(false), Level::Default));
        let validator = Some(Validator::new("any", |_| Ok(())));
        let with_validator =
            || FlagDecl { validator: validator.clone(), ..switch("registry_unregister.validated") };
        let (first, _) = register(with_validator()).unwrap();
        unregister(first.name()).unwrap();
        assert!(std::ptr::eq(first, register(with_validator()).unwrap().0));
    }

    #[test]
    fn register_and_report_registers_nothing_if_the_function_fails() {
        let even = Validator::new("is_even", |value| match value {
            Value::Integer(number) if number % 2 != 0 => Err("it must be even".to_owned()),
            _ => Ok(()),
        });
        let name = "registry_report.even";
        super::super::restore(&[(name, InputValue::Integer(3))], None).unwrap();
        let flag_type = FlagType::Count { default: 2, maximum: 9 };
        let declaration = FlagDecl { validator: Some(even), ..declared(name, flag_type) };
        let mut sources = Vec::new();
        let refused = register_and_report(declaration.clone(), &mut |source, error| {
            sources.push(source);
            Err(error)
        });
        assert!(matches!(refused, Err(Error::FlagRefused { .. })) && find(name).is_err());
        assert_eq!(sources, ["the value that was restored"]);
        let (flag, problems) = register(declaration).unwrap();
        assert_eq!((flag.read(), problems.len()), (Value::Integer(2), 1));
        assert_eq!(flag.refused_variable(), None, "no variable was refused");
    }

    #[test]
    fn on_change_of_reports_only_changes_of_the_flag() {
        use std::sync::{Arc, Mutex};

        use super::super::{FlagChange, on_change_of};

        let [(flag, _), (other, _)] =
            ["registry_change.flag", "registry_change.other"].map(|name| register(switch(name)).unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = seen.clone();
        let hook = on_change_of(flag, move |change| {
            noted.lock().unwrap().push(match change {
                FlagChange::Write { .. } => "write",
                FlagChange::Enter { .. } => "enter",
                FlagChange::Exit { .. } => "exit",
            });
        });
        let set = |flag: &'static FlagSpec| flag.handle::<bool>().unwrap().set(true).unwrap();
        let enter =
            |flag: &'static FlagSpec| drop(flag.handle::<bool>().unwrap().scope(true).unwrap().guard());
        for flag in [other, flag] {
            set(flag);
            enter(flag);
        }
        drop(hook);
        set(flag);
        assert_eq!(*seen.lock().unwrap(), ["write", "enter", "exit"]);
    }
}
