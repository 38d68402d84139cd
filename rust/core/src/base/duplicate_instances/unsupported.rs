//! Systems whose loader is not queried: no copy is found.

use super::LoadedFile;

pub(super) fn for_each(_visit: &mut dyn FnMut(&LoadedFile)) {}
