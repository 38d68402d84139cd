//! Texts of callers and of other libraries in messages and records: on one line, without control characters, and
//! bounded in length.

use std::borrow::Cow;
use std::path::Path;

/// The largest number of characters of an argument that a message repeats.
const LONGEST_ARGUMENT: usize = 100;

/// The largest number of characters of a path and of a text of another library.
const LONGEST_LINE: usize = 1000;

/// Returns an argument for a message, in double quotes.
pub fn quoted(text: &str) -> String {
    format!("{:?}", shortened(text))
}

/// Formats names as `'a', 'b' or 'c'`.
pub fn one_of(names: &[&str]) -> String {
    enumerated(names, "or")
}

/// Formats names as `'a', 'b' and 'c'`.
pub fn all_of(names: &[&str]) -> String {
    enumerated(names, "and")
}

fn enumerated(names: &[&str], word: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} {word} {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// Returns a path for a message, in double quotes.
pub fn quoted_path(path: &Path) -> String {
    format!("{:?}", cut(&path.to_string_lossy(), LONGEST_LINE))
}

/// Returns the beginning of an argument, with three dots if it is longer than a message shows. The result may contain
/// control characters.
pub fn shortened(text: &str) -> Cow<'_, str> {
    cut(text, LONGEST_ARGUMENT)
}

/// Returns an argument as the program shows it, such as its `repr`, for a message.
pub fn shown(text: &str) -> Cow<'_, str> {
    escaped(shortened(text))
}

/// Returns a text of another library for a line of a record, a message or a terminal.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(cut(text, LONGEST_LINE))
}

fn cut(text: &str, longest: usize) -> Cow<'_, str> {
    match text.char_indices().nth(longest).and_then(|(end, _)| text.get(..end)) {
        None => text.into(),
        Some(begin) => format!("{begin}...").into(),
    }
}

/// Escapes control characters and the separators that end a line.
fn escaped(text: Cow<'_, str>) -> Cow<'_, str> {
    let is_unsafe = |letter: char| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    if !text.contains(is_unsafe) {
        return text;
    }
    let escape = |letter: char| {
        if is_unsafe(letter) { letter.escape_debug().to_string() } else { letter.to_string() }
    };
    text.chars().map(escape).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_escapes_and_shortens() {
        assert_eq!(quoted("a\n\"b\""), r#""a\n\"b\"""#);
        assert_eq!(quoted(&"é".repeat(100)), format!("\"{}\"", "é".repeat(100)));
        assert_eq!(quoted(&"é".repeat(101)), format!("\"{}...\"", "é".repeat(100)));
    }

    #[test]
    fn one_line_escapes_only_what_ends_a_line_or_controls_a_terminal() {
        assert_eq!(
            one_line("first\nsecond \x1b[31m\u{9b}\u{2028}\r"),
            r"first\nsecond \u{1b}[31m\u{9b}\u{2028}\r"
        );
        assert!(matches!(one_line("\"日本\" \\ é"), Cow::Borrowed("\"日本\" \\ é")));
        assert_eq!(one_line(&"x".repeat(5000)).len(), LONGEST_LINE + 3);
        assert_eq!(shown(&"\n".repeat(200)), format!("{}...", "\\n".repeat(100)));
    }
}
