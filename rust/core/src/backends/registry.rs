//! Flags of other libraries, declared while the program runs: on the same registry as our own, with the same
//! levels, scopes and freeze. What is registered stays until the process ends.

use once_cell::race::OnceRef;

use super::attribute::{Attribute, Part, Target};
use super::effect::Effect;
use super::flag::{FlagWord, FromEnvironment};
use super::kind::Kind;
use super::process::PROCESS;
use super::write::Held;
use super::{Given, table};
use crate::{Error, Result, env};

/// A flag to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The dotted name: that of the library first.
    pub name: String,
    /// What it takes.
    pub takes: Takes,
    /// What it does, in a sentence.
    pub doc: String,
}

/// What a registered flag takes, and its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Takes {
    /// On or off.
    Switch {
        /// While nobody has said anything.
        default: bool,
    },
    /// A whole number from 0 on.
    Count {
        /// While nobody has said anything.
        default: u64,
        /// The largest one.
        maximum: u64,
    },
    /// One of some names.
    Choice {
        /// While nobody has said anything.
        default: String,
        /// All of them.
        names: Vec<String>,
    },
}

/// The largest number that a registered flag may hold.
pub const LARGEST_COUNT: u64 = 1 << 60;

const AT_MOST: usize = 1024;

/// Filled from the front, under the process's lock; read without it.
static REGISTERED: [OnceRef<'static, Registered>; AT_MOST] = [const { OnceRef::new() }; AT_MOST];

static OTHER_LIBRARY: Effect = Effect::elsewhere("the library that registered it");

#[derive(Debug)]
struct Registered {
    attribute: Attribute,
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
    match REGISTERED.get(number)?.get()?.attribute.target {
        Target::Word(word, _) => Some(word),
        _ => None,
    }
}

/// The word and the declaration of a registered flag; `None` for any other attribute.
pub(super) fn word_and_declaration(
    attribute: &'static Attribute,
) -> Option<(&'static FlagWord, &'static Declaration)> {
    let found = registered().find(|registered| std::ptr::eq(&registered.attribute, attribute))?;
    match found.attribute.target {
        Target::Word(word, _) => Some((word, &found.declaration)),
        _ => None,
    }
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

/// Adds a flag. To register the same again does nothing, so that a library may be loaded again.
///
/// Fails where the name is no dotted name, begins like one of ours, or belongs to another declaration, and
/// where the default is none of the values. The second result names the environment variables that were not
/// understood, each with the reason.
pub fn register(declaration: Declaration) -> Result<(&'static Attribute, Vec<(String, Error)>)> {
    declaration.check()?;
    if let Some(known) = declaration.known()? {
        return Ok((known, Vec::new()));
    }
    let kind = declaration.takes.kind();
    // Made and leaked before the lock is taken, which is for a few stores.
    let name: &'static str = declaration.name.clone().leak();
    let doc: &'static str = declaration.doc.clone().leak();
    let (said, mut problems) = from_environment(name, kind);
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
        effect: &OTHER_LIBRARY,
        variables: &[],
        doc,
    };
    let registered: &'static Registered = Box::leak(Box::new(Registered { attribute, declaration }));
    // Nobody else fills places: the lock is held.
    let _ = place.set(registered);
    let held_back = process.held_back.iter().position(|(held_back, _)| held_back == name);
    if let Some((_, given)) = held_back.map(|index| process.held_back.remove(index)) {
        match kind.encode(&given) {
            Ok(payload) => word.set_in_process(Held::Value(payload)),
            Err(_) => problems.push((
                "the value that was restored".to_owned(),
                Error::FlagValue { name: name.to_owned(), given: given.to_string(), allowed: kind.allowed() },
            )),
        }
        process.note_change();
    }
    Ok((&registered.attribute, problems))
}

/// What the environment says of a flag that is being registered, and what of that is not understood.
fn from_environment(name: &str, kind: Kind) -> (Option<FromEnvironment>, Vec<(String, Error)>) {
    let variable = env::in_capitals(name);
    let Some(value) = env::value(&variable) else { return (None, Vec::new()) };
    let text = value.to_string_lossy();
    match kind.encode(&kind.parse(&text)) {
        Ok(payload) => (Some(FromEnvironment { payload, variable: variable.leak() }), Vec::new()),
        Err(_) => {
            let given = Given::Text(text).to_string();
            let error = Error::FlagValue { name: name.to_owned(), given, allowed: kind.allowed_text() };
            (None, vec![(variable, error)])
        }
    }
}

impl Declaration {
    /// The same flag, if it is registered already.
    fn known(&self) -> Result<Option<&'static Attribute>> {
        match registered().find(|registered| registered.attribute.name == self.name) {
            Some(known) if known.declaration == *self => Ok(Some(&known.attribute)),
            Some(_) => Err(self.refused("it is registered already, and differently".to_owned())),
            None => Ok(None),
        }
    }

    fn check(&self) -> Result<()> {
        if library_of(&self.name).is_none() {
            let wanted = "a flag has a dotted name of lower-case words, the first of which is its library's and \
                          none of interlock's own";
            return Err(self.refused(wanted.to_owned()));
        }
        let variable = env::in_capitals(&self.name);
        let other =
            table::attributes().find(|other| other.name != self.name && other.own_variable() == variable);
        if let Some(other) = other {
            return Err(self.refused(format!("its variable {variable} is that of {}", other.name)));
        }
        self.takes.check().map_err(|reason| self.refused(reason))
    }

    fn refused(&self, reason: String) -> Error {
        Error::FlagRegistration { name: self.name.clone(), reason }
    }
}

impl Takes {
    fn check(&self) -> Result<(), String> {
        match self {
            Takes::Switch { .. } => Ok(()),
            Takes::Count { maximum, .. } if *maximum > LARGEST_COUNT => {
                Err(format!("the maximum {maximum} is above {LARGEST_COUNT}"))
            }
            Takes::Count { default, maximum } if default > maximum => {
                Err(format!("the default {default} is above the maximum {maximum}"))
            }
            Takes::Count { .. } => Ok(()),
            Takes::Choice { default, names } if !names.contains(default) => {
                Err(format!("the default '{default}' is none of the choices {names:?}"))
            }
            Takes::Choice { names, .. } => {
                let is_there_before =
                    |(index, name)| names.iter().take(index).any(|other: &String| other == name);
                match names.iter().enumerate().any(is_there_before) {
                    true => Err(format!("a choice is there twice in {names:?}")),
                    false => Ok(()),
                }
            }
        }
    }

    /// What is leaked here stays with the flag.
    fn kind(&self) -> Kind {
        match self {
            Takes::Switch { default } => Kind::Switch { default: *default },
            Takes::Count { default, maximum } => Kind::Count { default: *default, max: *maximum },
            Takes::Choice { default, names } => {
                let default = names.iter().position(|name| name == default).unwrap_or(0) as u64;
                let names: Vec<&'static str> = names.iter().map(|name| &*name.clone().leak()).collect();
                Kind::Choice { names: names.leak(), aliases: &[], default }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FlagScope, Given, Level, Value, assign, find};
    use super::*;

    fn declared(name: &str, takes: Takes) -> Declaration {
        Declaration { name: name.to_owned(), takes, doc: "A flag of a test.".to_owned() }
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
}
