//! The folders in which the system's loader looks.

use std::fs;
use std::path::{Path, PathBuf};

/// Where glibc is told of folders beyond its own; absent on other systems.
const CONFIGURATION: &str = "/etc/ld.so.conf";

/// Folders that no configuration has to name.
const BUILT_IN: &[&str] = if cfg!(target_os = "macos") {
    &["/usr/local/lib", "/opt/homebrew/lib", "/usr/lib"]
} else {
    &["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"]
};

/// How deep files may include each other; deeper, they go round in a circle.
const DEEPEST: u32 = 8;

pub(super) fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    read(Path::new(CONFIGURATION), DEEPEST, &mut folders);
    folders.extend(BUILT_IN.iter().map(PathBuf::from));
    folders
}

/// Adds the folders that a file of configuration names. What can't be read names none.
fn read(file: &Path, depth: u32, folders: &mut Vec<PathBuf>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let Ok(text) = fs::read_to_string(file) else { return };
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        match line.split_once(char::is_whitespace) {
            Some(("include", pattern)) => {
                // A relative name is one beside the file.
                let pattern = file.parent().unwrap_or(Path::new("/")).join(pattern.trim());
                matching(&pattern).iter().for_each(|included| read(included, depth, folders));
            }
            None if !line.is_empty() => folders.push(PathBuf::from(line)),
            _ => {}
        }
    }
}

/// The files of a name with at most one `*`, which is all that such configurations use, in the order of
/// their names.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (pattern.parent(), pattern.file_name().and_then(|name| name.to_str()))
    else {
        return Vec::new();
    };
    let Some((start, end)) = name.split_once('*') else { return vec![pattern.to_owned()] };
    let is_meant = |file: &PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).filter(is_meant).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own for one test, removed at its end.
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
        read(file, DEEPEST, &mut folders);
        folders
    }

    #[test]
    fn a_configuration_names_folders_and_files_with_more_of_them() {
        let folder = Folder::new("configuration");
        folder.file("b.conf", "/second\n");
        folder.file("a.conf", "# a remark\n  /first  # another\n\n");
        folder.file("ignored.text", "/ignored\n");
        let file = folder.file("main", "/zeroth\ninclude *.conf\n/last\nhwcap 1 nosegneg\n");
        assert_eq!(folders_of(&file), ["/zeroth", "/first", "/second", "/last"].map(PathBuf::from));
    }

    #[test]
    fn a_configuration_that_includes_itself_comes_to_an_end() {
        let folder = Folder::new("circle");
        let file = folder.file("main", "include main\n/once\n");
        assert_eq!(folders_of(&file).len(), DEEPEST as usize);
    }

    #[test]
    fn what_is_missing_names_no_folder() {
        assert!(folders_of(Path::new("/nonexistent/ld.so.conf")).is_empty());
        assert!(matching(Path::new("/nonexistent/*.conf")).is_empty());
    }
}
