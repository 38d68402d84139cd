//! Queries of library versions.

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
    /// The vendor's version number, if there is one: 92800 of cuDNN 9.28.0.
    pub number: Option<u64>,
    /// The version as text: `9.28.0`.
    pub text: String,
}

/// The query of a library's version. `function` is the library's own [function](Library).
#[derive(Debug)]
pub(super) enum VersionQuery {
    /// No version is queried.
    None,
    /// A function that returns the number: `size_t function(void)`.
    Size,
    /// A function that writes the number: `int function(int *version)`. It returns 0 on success.
    Number,
    /// A function that writes two parts: `int function(int *major, int *minor)`. It returns 0 on success.
    Pair,
    /// A function that writes one part: `int function(int property, int *value)`. It returns 0 on success; the
    /// properties 0 to 2 are major, minor and patch. The version number is the sum of the parts times these weights, if
    /// any.
    Properties(Option<[u64; 3]>),
    /// NVML: `int nvmlSystemGetNVMLVersion(char *text, unsigned length)`, after `int nvmlInit_v2(void)`. Both return 0
    /// on success.
    Nvml,
    /// MKL: `void MKL_Get_Version_String(char *text, int length)`. The first call of MKL selects the OpenMP runtime of
    /// the process and loads it.
    Mkl,
    /// OpenBLAS: `char *openblas_get_config(void)`, under the name that the build gives to it.
    OpenBlas,
    /// oneDNN: `const dnnl_version_t *dnnl_version(void)`.
    OneDnn,
}

/// The first fields of oneDNN's `dnnl_version_t`.
#[repr(C)]
struct OneDnnVersion {
    major: c_int,
    minor: c_int,
    patch: c_int,
}

impl VersionQuery {
    /// Returns whether the query has no side effects on a library that other code has loaded.
    pub(super) const fn is_pure(&self) -> bool {
        // The function of cuDNN loads its sublibraries.
        !matches!(self, VersionQuery::Mkl | VersionQuery::Nvml | VersionQuery::Size)
    }

    /// Queries a loaded library. `None` if the query fails.
    pub(super) fn query(&self, library: &Library, loaded: &Loaded) -> Option<Version> {
        let name = library.function;
        // SAFETY: every release of the libraries declares the functions with these signatures, and they need no call
        // before them.
        unsafe {
            match self {
                VersionQuery::None => None,
                VersionQuery::Size => {
                    let function: unsafe extern "C" fn() -> usize = loaded.function(name).ok()?;
                    Version::from_number(u64::try_from(function()).ok()?)
                }
                VersionQuery::Number => {
                    let function: unsafe extern "C" fn(*mut c_int) -> c_int = loaded.function(name).ok()?;
                    let mut number = 0;
                    succeeded(function(&raw mut number))?;
                    Version::from_number(u64::try_from(number).ok()?)
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
                    Version::from_properties(parts, *weights)
                }
                VersionQuery::Nvml => {
                    type Function = unsafe extern "C" fn(*mut c_char, c_uint) -> c_int;
                    let initialise: unsafe extern "C" fn() -> c_int = loaded.function(name).ok()?;
                    let function: Function = loaded.function(c"nvmlSystemGetNVMLVersion").ok()?;
                    // Later calls only increment a count. If it fails, the next function may still succeed.
                    initialise();
                    let mut status = 0;
                    let text = read_text(|text, length| status = function(text, length))?;
                    succeeded(status)?;
                    Some(Version { number: None, text })
                }
                VersionQuery::Mkl => {
                    type Function = unsafe extern "C" fn(*mut c_char, c_int);
                    let function: Function = loaded.function(c"MKL_Get_Version_String").ok()?;
                    let text = read_text(|text, length| function(text, length as c_int))?;
                    Version::from_text(&text)
                }
                VersionQuery::OpenBlas => {
                    let mut functions = library.functions().map(|name| loaded.function(name));
                    let function: unsafe extern "C" fn() -> *const c_char = functions.find_map(Result::ok)?;
                    let text = CStr::from_ptr(function().as_ref()?).to_string_lossy().into_owned();
                    let text = text.strip_prefix("OpenBLAS ")?.split(' ').next()?.to_owned();
                    Some(Version { number: None, text })
                }
                VersionQuery::OneDnn => {
                    let function: unsafe extern "C" fn() -> *const OneDnnVersion =
                        loaded.function(c"dnnl_version").ok()?;
                    let version = function().as_ref()?;
                    Some(Version {
                        number: None,
                        text: joined([version.major, version.minor, version.patch]),
                    })
                }
            }
        }
    }
}

impl Version {
    /// Decodes the version number of cuDNN and NCCL, which have three digits below the major version in older releases
    /// and four in newer ones: 8906 is 8.9.6, 92800 is 9.28.0.
    fn from_number(number: u64) -> Option<Self> {
        let below = if number < 10_000 { 1000 } else { 10_000 };
        let text = joined([number / below, number % below / 100, number % 100]);
        Some(Version { number: Some(number), text })
    }

    /// Extracts the version from the text of MKL: "... Library Version 2026.2-Product Build ...".
    fn from_text(sentence: &str) -> Option<Self> {
        let (_, after) = sentence.split_once("Version ")?;
        let end = after.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(after.len());
        let text = after.get(..end).filter(|text| !text.is_empty())?.to_owned();
        Some(Version { number: None, text })
    }

    /// Returns a version of three parts, with a number if the weights are known.
    fn from_properties(parts: [c_int; 3], weights: Option<[u64; 3]>) -> Option<Self> {
        let mut number = 0;
        for (part, weight) in parts.into_iter().zip(weights.unwrap_or_default()) {
            number += u64::try_from(part).ok()? * weight;
        }
        Some(Version { number: weights.map(|_| number), text: joined(parts) })
    }
}

/// Returns the text that a function writes to a buffer.
fn read_text(write: impl FnOnce(*mut c_char, c_uint)) -> Option<String> {
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
    fn from_number_decodes_both_formats() {
        for (number, text) in [(8906, "8.9.6"), (92_800, "9.28.0"), (2804, "2.8.4"), (23_007, "2.30.7")] {
            assert_eq!(Version::from_number(number).unwrap().text, text);
        }
    }

    #[test]
    fn from_text_extracts_the_version() {
        for (sentence, text) in [
            ("Intel(R) oneAPI Math Kernel Library Version 2026.2-Product Build 20260915", Some("2026.2")),
            ("Intel(R) Math Kernel Library Version 2020.0.4 Product Build 20200917", Some("2020.0.4")),
            ("Version 7", Some("7")),
            ("Version unknown", None),
            ("", None),
        ] {
            assert_eq!(
                Version::from_text(sentence).map(|version| version.text).as_deref(),
                text,
                "{sentence}"
            );
        }
    }

    #[test]
    fn from_properties_computes_the_number_of_the_header() {
        let weights = Some([1_000_000, 100, 1]);
        let version = Version::from_properties([0, 6, 2], weights).unwrap();
        assert_eq!((version.number, version.text.as_str()), (Some(602), "0.6.2"));
        assert_eq!(Version::from_properties([13, 1, 0], None).unwrap().number, None);
        assert_eq!(Version::from_properties([-1, 0, 0], weights), None);
    }
}
