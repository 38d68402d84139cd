//! The search path of the system's loader.

use std::fs;
use std::path::{Path, PathBuf};

use crate::base::short_sort::sort_short_by;

/// The configuration of glibc's loader; absent on other systems.
const CONFIGURATION: &str = "/etc/ld.so.conf";

/// The default folders of the loader.
const BUILT_IN: &[&str] = if cfg!(target_os = "macos") {
    &["/usr/local/lib", "/opt/homebrew/lib", "/usr/lib"]
} else {
    &["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"]
};

/// The maximum depth of includes, which stops files that include each other.
const MAX_DEPTH: u32 = 8;

pub(super) fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    read(Path::new(CONFIGURATION), MAX_DEPTH, &mut folders);
    folders.extend(BUILT_IN.iter().map(PathBuf::from));
    folders
}

/// Adds the folders that a configuration file names. A file that cannot be read names none.
fn read(file: &Path, depth: u32, folders: &mut Vec<PathBuf>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let Ok(text) = fs::read_to_string(file) else { return };
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        match line.split_once(char::is_whitespace) {
            Some(("include", pattern)) => {
                // A relative name is relative to the folder of the file.
                let pattern = file.parent().unwrap_or(Path::new("/")).join(pattern.trim());
                glob(&pattern).iter().for_each(|included| read(included, depth, folders));
            }
            None if !line.is_empty() => folders.push(PathBuf::from(line)),
            _ => {}
        }
    }
}

/// Returns the files that match a name with at most one `*`, the only pattern that these files use, sorted by name.
pub(super) fn glob(pattern: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (pattern.parent(), pattern.file_name().and_then(|name| name.to_str()))
    else {
        return Vec::new();
    };
    let Some((start, end)) = name.split_once('*') else { return vec![pattern.to_owned()] };
    let is_match = |file: &PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).filter(is_match).collect();
    sort_short_by(&mut files, PathBuf::le);
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A temporary folder for one test, removed when it is dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("interlock-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn file(&self, name: &str, text: &str) -> PathBuf {
            let path = self.0.join(name);
            fs::write(&path, text).unwrap();
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn folders_of(file: &Path) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        read(file, MAX_DEPTH, &mut folders);
        folders
    }

    #[test]
    fn read_returns_folders_of_a_file_and_its_includes() {
        let folder = Folder::new("configuration");
        folder.file("b.conf", "/second\n");
        folder.file("a.conf", "# a remark\n  /first  # another\n\n");
        folder.file("ignored.text", "/ignored\n");
        let file = folder.file("main", "/zeroth\ninclude *.conf\n/last\nhwcap 1 nosegneg\n");
        assert_eq!(folders_of(&file), ["/zeroth", "/first", "/second", "/last"].map(PathBuf::from));
    }

    #[test]
    fn read_of_a_file_that_includes_itself_ends() {
        let folder = Folder::new("circle");
        let file = folder.file("main", "include main\n/once\n");
        assert_eq!(folders_of(&file).len(), MAX_DEPTH as usize);
    }

    #[test]
    fn read_of_a_missing_file_returns_no_folder() {
        assert!(folders_of(Path::new("/nonexistent/ld.so.conf")).is_empty());
        assert!(glob(Path::new("/nonexistent/*.conf")).is_empty());
    }
}
