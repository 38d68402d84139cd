//! Flags of other libraries, declared while the program runs: on the same registry as our own, with the same
//! levels, scopes and freeze. What is registered stays until the process ends.

use once_cell::race::OnceRef;

use super::attribute::{Attribute, Part, Target};
use super::effect::Effect;
use super::flag::{FlagWord, FromEnvironment};
use super::kind::Kind;
use super::process::PROCESS;
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

/// Adds a flag. To register the same again does nothing, so that a library may be loaded again.
///
/// Fails where the name is no dotted name, begins like one of ours, or belongs to another declaration, and
/// where the default is none of the values. The second result names the environment variables that were not
/// understood, each with the reason.
pub fn register(declaration: Declaration) -> Result<(&'static Attribute, Vec<(String, Error)>)> {
    let kind = declaration.checked()?;
    if let Some(known) = declaration.known()? {
        return Ok((known, Vec::new()));
    }
    // Made and leaked before the lock is taken, which is for a few stores.
    let name: &'static str = declaration.name.clone().leak();
    let doc: &'static str = declaration.doc.clone().leak();
    let (said, problems) = from_environment(name, kind);
    let _process = PROCESS.lock();
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
    Ok((&registered.attribute, problems))
}

/// What the environment says of a flag that is being registered, and what of that is not understood.
fn from_environment(name: &str, kind: Kind) -> (Option<FromEnvironment>, Vec<(String, Error)>) {
    let variable = env::in_capitals(name);
    let Some(text) = env::read(&variable) else { return (None, Vec::new()) };
    match kind.encode(&kind.parse(&text)) {
        Ok(payload) => (Some(FromEnvironment { payload, variable: variable.leak() }), Vec::new()),
        Err(_) => {
            let given = Given::Text((&*text).into()).to_string();
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

    fn checked(&self) -> Result<Kind> {
        let is_identifier = |part: &str| {
            let mut letters = part.chars();
            letters.next().is_some_and(|first| first.is_ascii_lowercase() || first == '_')
                && letters
                    .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
        };
        let Some((library, _)) =
            self.name.split_once('.').filter(|_| self.name.split('.').all(is_identifier))
        else {
            let wanted = "a flag has a dotted name of lower-case words, that of its library first";
            return Err(self.refused(wanted.to_owned()));
        };
        if ["interlock", "backends"].contains(&library) || table::MODULES.contains(&library) {
            return Err(self.refused(format!("names that begin with {library} are interlock's own")));
        }
        self.takes.kind().map_err(|reason| self.refused(reason))
    }

    fn refused(&self, reason: String) -> Error {
        Error::FlagRegistration { name: self.name.clone(), reason }
    }
}

impl Takes {
    fn kind(&self) -> Result<Kind, String> {
        match self {
            Takes::Switch { default } => Ok(Kind::Switch { default: *default }),
            Takes::Count { default, maximum } if default <= maximum && *maximum <= LARGEST_COUNT => {
                Ok(Kind::Count { default: *default, max: *maximum })
            }
            Takes::Count { default, maximum } => Err(format!(
                "the default {default} must be at most the maximum {maximum}, and that at most {LARGEST_COUNT}"
            )),
            Takes::Choice { default, names } => {
                let position = names.iter().position(|name| name == default);
                let Some(position) = position else {
                    return Err(format!("the default '{default}' is none of the choices {names:?}"));
                };
                let names: Vec<&'static str> = names.iter().map(|name| &*name.clone().leak()).collect();
                Ok(Kind::Choice { names: names.leak(), aliases: &[], default: position as u64 })
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
        for name in ["verbose", "cudnn.mine", "mkl.mine", "interlock.mine", "a..b", "a.B", "", "1.a", "a."] {
            assert!(matches!(register(switch(name)), Err(Error::FlagRegistration { .. })), "{name}");
        }
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
