//! How a library is asked for its version.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::fmt::Display;

use super::Library;
use super::loader::Loaded;

/// The version of a library.
///
/// ```
/// use interlock_core::libraries::NCCL;
///
/// // Loads the library if there is one.
/// if let Some(version) = NCCL.version()? {
///     println!("{} {}", NCCL.title(), version.text);
/// }
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// In its makers' own counting, where that is one number: 92800 of cuDNN 9.28.0.
    pub number: Option<u64>,
    /// For people: `9.28.0`.
    pub text: String,
}

/// How a library is asked for its version. `function` is the library's own [function](Library).
#[derive(Debug)]
pub(super) enum VersionQuery {
    /// Nothing that anybody asks.
    None,
    /// `size_t function(void)`.
    Size,
    /// `int function(int *version)`, which answers 0.
    Number,
    /// `int function(int *major, int *minor)`, which answers 0.
    Pair,
    /// `int function(int property, int *value)`, which answers 0, of the properties major, minor and patch; and what
    /// each counts for in the number of its header, for a library of which that is asked.
    Properties(Option<[u64; 3]>),
    /// `int nvmlSystemGetNVMLVersion(char *text, unsigned length)`, which answers 0 after `int nvmlInit_v2(void)`.
    Nvml,
    /// `void MKL_Get_Version_String(char *text, int length)`. As MKL's first function it decides for the process
    /// which OpenMP runtime MKL uses, and loads that.
    Mkl,
    /// `const dnnl_version_t *dnnl_version(void)`.
    OneDnn,
}

/// The beginning of oneDNN's `dnnl_version_t`.
#[repr(C)]
struct OneDnnVersion {
    major: c_int,
    minor: c_int,
    patch: c_int,
}

impl VersionQuery {
    /// Whether asking a library that somebody else has loaded leaves it as it is.
    pub(super) const fn is_pure(&self) -> bool {
        // The function of cuDNN loads more of it.
        !matches!(self, VersionQuery::Mkl | VersionQuery::Nvml | VersionQuery::Size)
    }

    /// Asks a library that is there. `None` where it does not answer.
    pub(super) fn query(&self, library: &Library, loaded: &Loaded) -> Option<Version> {
        let name = library.function;
        // SAFETY: every release of the libraries declares the functions so, and they need no call before them.
        unsafe {
            match self {
                VersionQuery::None => None,
                VersionQuery::Size => {
                    let function: unsafe extern "C" fn() -> usize = loaded.function(name).ok()?;
                    Version::of_number(u64::try_from(function()).ok()?)
                }
                VersionQuery::Number => {
                    let function: unsafe extern "C" fn(*mut c_int) -> c_int = loaded.function(name).ok()?;
                    let mut number = 0;
                    succeeded(function(&raw mut number))?;
                    Version::of_number(u64::try_from(number).ok()?)
                }
                VersionQuery::Pair => {
                    type Function = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
                    let function: Function = loaded.function(name).ok()?;
                    let (mut major, mut minor) = (0, 0);
                    succeeded(function(&raw mut major, &raw mut minor))?;
                    Some(Version { number: None, text: joined([major, minor]) })
                }
                VersionQuery::Properties(weights) => {
                    let function: unsafe extern "C" fn(c_int, *mut c_int) -> c_int =
                        loaded.function(name).ok()?;
                    let mut parts = [0; 3];
                    for (property, value) in (0..).zip(&mut parts) {
                        succeeded(function(property, value))?;
                    }
                    Version::of_properties(parts, *weights)
                }
                VersionQuery::Nvml => {
                    type Function = unsafe extern "C" fn(*mut c_char, c_uint) -> c_int;
                    let initialise: unsafe extern "C" fn() -> c_int = loaded.function(name).ok()?;
                    let function: Function = loaded.function(c"nvmlSystemGetNVMLVersion").ok()?;
                    // It only counts from the second time on. Where it fails the next function may answer all the same.
                    initialise();
                    let mut status = 0;
                    let text = written(|text, length| status = function(text, length))?;
                    succeeded(status)?;
                    Some(Version { number: None, text })
                }
                VersionQuery::Mkl => {
                    type Function = unsafe extern "C" fn(*mut c_char, c_int);
                    let function: Function = loaded.function(c"MKL_Get_Version_String").ok()?;
                    let text = written(|text, length| function(text, length as c_int))?;
                    Version::in_sentence(&text)
                }
                VersionQuery::OneDnn => {
                    let function: unsafe extern "C" fn() -> *const OneDnnVersion =
                        loaded.function(c"dnnl_version").ok()?;
                    let current = function().as_ref()?;
                    Some(Version { number: None, text: joined([current.major, current.minor, current.patch]) })
                }
            }
        }
    }
}

impl Version {
    /// Of cuDNN and NCCL, which went from three digits below the major version to four: 8906 is 8.9.6, 92800 is
    /// 9.28.0.
    fn of_number(number: u64) -> Option<Self> {
        let below = if number < 10_000 { 1000 } else { 10_000 };
        let text = joined([number / below, number % below / 100, number % 100]);
        Some(Version { number: Some(number), text })
    }

    /// Of MKL, which tells it in a sentence: "... Library Version 2026.2-Product Build ...".
    fn in_sentence(sentence: &str) -> Option<Self> {
        let (_, after) = sentence.split_once("Version ")?;
        let end = after.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(after.len());
        let text = after.get(..end).filter(|text| !text.is_empty())?.to_owned();
        Some(Version { number: None, text })
    }

    /// Of three parts; in one number only where it is known how the library counts.
    fn of_properties(parts: [c_int; 3], weights: Option<[u64; 3]>) -> Option<Self> {
        let mut number = 0;
        for (part, weight) in parts.into_iter().zip(weights.unwrap_or_default()) {
            number += u64::try_from(part).ok()? * weight;
        }
        Some(Version { number: weights.map(|_| number), text: joined(parts) })
    }
}

/// The text that a function writes, which gets a buffer and how long that is.
fn written(write: impl FnOnce(*mut c_char, c_uint)) -> Option<String> {
    const LENGTH: usize = 256;
    let mut text: [c_char; LENGTH] = [0; LENGTH];
    write(text.as_mut_ptr(), LENGTH as c_uint);
    let text = text.map(|letter| letter as u8);
    Some(CStr::from_bytes_until_nul(&text).ok()?.to_string_lossy().into_owned())
}

fn joined<T: Display, const N: usize>(parts: [T; N]) -> String {
    parts.map(|part| part.to_string()).join(".")
}

fn succeeded(status: c_int) -> Option<()> {
    (status == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_is_taken_apart_in_both_countings() {
        for (number, text) in [(8906, "8.9.6"), (92_800, "9.28.0"), (2804, "2.8.4"), (23_007, "2.30.7")] {
            assert_eq!(Version::of_number(number).unwrap().text, text);
        }
    }

    #[test]
    fn a_sentence_tells_of_a_version() {
        for (sentence, text) in [
            ("Intel(R) oneAPI Math Kernel Library Version 2026.2-Product Build 20260915", Some("2026.2")),
            ("Intel(R) Math Kernel Library Version 2020.0.4 Product Build 20200917", Some("2020.0.4")),
            ("Version 7", Some("7")),
            ("Version unknown", None),
            ("", None),
        ] {
            assert_eq!(
                Version::in_sentence(sentence).map(|version| version.text).as_deref(),
                text,
                "{sentence}"
            );
        }
    }

    #[test]
    fn properties_make_the_number_of_the_header() {
        let weights = Some([1_000_000, 100, 1]);
        let version = Version::of_properties([0, 6, 2], weights).unwrap();
        assert_eq!((version.number, version.text.as_str()), (Some(602), "0.6.2"));
        assert_eq!(Version::of_properties([13, 1, 0], None).unwrap().number, None);
        assert_eq!(Version::of_properties([-1, 0, 0], weights), None);
    }
}
