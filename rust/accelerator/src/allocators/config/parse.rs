//! PyTorch's text format: `key:value,key:value`, with lists in brackets. Whitespace around words is ignored; if a key
//! occurs twice, the later value is used.

use std::fmt;
use std::str::FromStr;

use interlock_core::base::quote::quoted;
use interlock_core::base::suggest::suggest;

use super::keys::{AllocatorConfig, KEYS, Key};
use crate::{Error, Result};

impl FromStr for AllocatorConfig {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut config = AllocatorConfig::default();
        for entry in entries(text)? {
            let (name, word) = entry.split_once(':').map_or((entry, ""), |(name, word)| (name, word.trim()));
            find(name.trim())?.parse(&mut config, word)?;
        }
        config.check()?;
        Ok(config)
    }
}

/// Splits a text at the commas outside brackets. A comma at the end is allowed.
fn entries(text: &str) -> Result<Vec<&str>> {
    let (mut is_in_list, mut is_balanced) = (false, true);
    let separates = |symbol| {
        if matches!(symbol, '[' | ']') {
            is_balanced &= is_in_list != (symbol == '[');
            is_in_list = symbol == '[';
        }
        symbol == ',' && !is_in_list
    };
    let mut parts: Vec<_> = text.split(separates).map(str::trim).collect();
    if is_in_list || !is_balanced {
        return Err(syntax_error(text, "text in which one ] follows each ["));
    }
    if parts.last().is_some_and(|last| last.is_empty()) {
        parts.pop();
    }
    match parts.iter().any(|part| part.is_empty()) {
        true => Err(syntax_error(text, "key:value pairs with commas between")),
        false => Ok(parts),
    }
}

fn syntax_error(text: &str, allowed: &str) -> Error {
    Error::argument("config", quoted(text), allowed)
}

/// The name of the text in messages.
fn find(name: &str) -> Result<&'static Key> {
    let keys = || KEYS.iter().filter(|key| key.in_conf_string);
    keys().find(|key| key.name == name).ok_or_else(|| {
        let known: Vec<_> = keys().map(|key| key.name).collect();
        Error::UnknownKey { key: name.to_owned(), suggestion: suggest(name, known.iter().copied()), known }
    })
}

/// Writes the text format of the values that differ from the defaults, in the order of the keys.
impl fmt::Display for AllocatorConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = AllocatorConfig::default();
        let mut comma = "";
        for key in KEYS.iter().filter(|key| key.in_conf_string) {
            let value = key.value(self);
            if value != key.value(&default) {
                write!(f, "{comma}{}:{value}", key.name)?;
                comma = ",";
            }
        }
        Ok(())
    }
}
