//! The entries for flags.

use interlock::backends::{self, FlagDecl, FlagSpec, FlagType, InputValue, SourceLocation, Value};
use interlock_core::binding::flags::{self as binding, FlagKind};
use interlock_core::binding::thread::flag_layers_address;
use interlock_sys::*;

use crate::arguments::{
    Sized32, array, check_size, check_zero, flag_bit, optional_text, read_sized, static_text, text, write,
    write_sized,
};
use crate::entry::{Failure, Result, report, run};
use crate::values;

// SAFETY: `size` is the first field, and the rest is plain data.
unsafe impl Sized32 for InterlockFlag {
    const FIRST_SIZE: usize = 56;
}

// SAFETY: `size` is the first field, and the rest is plain data.
unsafe impl Sized32 for InterlockFlagDecl {
    const FIRST_SIZE: usize = 168;
}

pub(crate) unsafe extern "C" fn find(
    name: InterlockText,
    flag: *mut InterlockFlag,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let spec = backends::find(text("flag_find: name", name)?)?;
            write_sized("flag_find: flag", flag, &describe(spec))
        })
    }
}

pub(crate) unsafe extern "C" fn by_id(
    flag: u32,
    found: *mut InterlockFlag,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let spec =
                find_to_read(flag).ok_or_else(|| unknown(flag).within(format_args!("flag_by_id: ")))?;
            write_sized("flag_by_id: found", found, &describe(spec))
        })
    }
}

/// Returns the id of a flag in the table. It is never 0, so that a handle of zeros is no flag.
pub(crate) fn id_of(spec: &'static FlagSpec) -> u32 {
    binding::id_of(spec) + 1
}

/// Returns the flag with an id of the table.
#[inline]
fn find_by_id(id: u32) -> Option<&'static FlagSpec> {
    binding::of_id(id.checked_sub(1)?)
}

/// Like [`find_by_id`], for a read: also a flag that was unregistered.
#[inline]
fn find_to_read(id: u32) -> Option<&'static FlagSpec> {
    binding::of_id_to_read(id.checked_sub(1)?)
}

fn describe(spec: &'static FlagSpec) -> InterlockFlag {
    let word = binding::plain_word(spec);
    InterlockFlag {
        size: size_of::<InterlockFlag>() as u32,
        id: id_of(spec),
        kind: match binding::kind_of(spec) {
            FlagKind::Other => INTERLOCK_KIND_OTHER,
            FlagKind::Bool => INTERLOCK_KIND_BOOL,
            FlagKind::Count => INTERLOCK_KIND_COUNT,
            FlagKind::Integer => INTERLOCK_KIND_INTEGER,
            FlagKind::Float => INTERLOCK_KIND_FLOAT,
            FlagKind::Choice => INTERLOCK_KIND_CHOICE,
            FlagKind::Text => INTERLOCK_KIND_TEXT,
        },
        is_read_only: u32::from(spec.is_read_only()),
        word: word.map_or(std::ptr::null(), |word| word.address),
        open_scopes: flag_layers_address(),
        bias: word.map_or(0, |word| word.bias),
        name: static_text(spec.name()),
    }
}

pub(crate) unsafe extern "C" fn register(
    declaration: *const InterlockFlagDecl,
    flag: *mut InterlockFlag,
    warning: *mut InterlockError,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            // Checked first, so that a call that fails registers nothing.
            check_size("flag_register: flag", flag.cast_const())?;
            let declaration = read_sized("flag_register: declaration", declaration)?;
            check_zero("flag_register: declaration.reserved", declaration.reserved)?;
            let (spec, problems) = backends::register(declaration_from_c(&declaration)?)?;
            write_sized("flag_register: flag", flag, &describe(spec))?;
            match problems.first() {
                Some((source, problem)) => {
                    let code = INTERLOCK_ERROR_FLAG_VALUE;
                    report(warning, code, &format!("{source} is ignored: {problem}"));
                }
                None => report(warning, INTERLOCK_OK, ""),
            }
            Ok(())
        })
    }
}

/// # Safety
/// The texts of the declaration are valid.
unsafe fn declaration_from_c(declaration: &InterlockFlagDecl) -> Result<FlagDecl> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let owned = |name, text| optional_text(name, text).map(|text| text.map(str::to_owned));
        Ok(FlagDecl {
            name: text("flag_register: declaration.name", declaration.name)?.to_owned(),
            flag_type: type_from_c(declaration)?,
            doc: text("flag_register: declaration.doc", declaration.doc)?.to_owned(),
            variable: owned("flag_register: declaration.variable", declaration.variable)?,
            affects: owned("flag_register: declaration.affects", declaration.affects)?,
            validator: None,
        })
    }
}

/// # Safety
/// The texts of the declaration are valid.
unsafe fn type_from_c(declaration: &InterlockFlagDecl) -> Result<FlagType> {
    // SAFETY: guaranteed by the caller.
    let from_c = |value| unsafe { values::from_c(value) };
    let value = |field, value| {
        from_c(value).map_err(|failure| failure.within(format_args!("flag_register: declaration.{field}.")))
    };
    let default = value("default_value", &declaration.default_value)?;
    let default_is_none = matches!(default, Some(InputValue::None));
    let optional = flag_bit("flag_register: declaration.is_optional", declaration.is_optional)?;
    let default = default.filter(|_| !(optional && default_is_none));
    let minimum = value("minimum", &declaration.minimum)?;
    let maximum = value("maximum", &declaration.maximum)?;
    let has_limits =
        matches!(declaration.kind, INTERLOCK_KIND_COUNT | INTERLOCK_KIND_INTEGER | INTERLOCK_KIND_FLOAT);
    for (field, limit) in [("minimum", &minimum), ("maximum", &maximum)] {
        if let Some(limit) = limit
            && !has_limits
            && !matches!(limit, InputValue::None)
        {
            return Err(wrong(field, "unset for a flag of this kind", limit));
        }
    }
    let flag_type = match declaration.kind {
        INTERLOCK_KIND_BOOL => FlagType::Switch { default: boolean(default)? },
        INTERLOCK_KIND_COUNT => FlagType::Count {
            default: count("default_value", &declaration.default_value, default, 0)?,
            maximum: count("maximum", &declaration.maximum, maximum, backends::MAX_INTEGER)?,
        },
        INTERLOCK_KIND_INTEGER => {
            const LARGEST: i64 = backends::MAX_INTEGER as i64;
            let minimum = integer("minimum", minimum, -LARGEST)?;
            let maximum = integer("maximum", maximum, LARGEST)?;
            FlagType::Integer { default: integer("default_value", default, minimum)?, minimum, maximum }
        }
        INTERLOCK_KIND_FLOAT => {
            let minimum = float("minimum", minimum, f64::NEG_INFINITY)?;
            let maximum = float("maximum", maximum, f64::INFINITY)?;
            // The default of a flag whose default is None must be accepted, too.
            let any = if minimum.is_finite() { minimum } else { maximum.min(0.0) };
            FlagType::Float { default: float("default_value", default, any)?, minimum, maximum }
        }
        INTERLOCK_KIND_CHOICE => {
            // SAFETY: guaranteed by the caller.
            let names =
                unsafe { values::names_from_c("flag_register: declaration.choices", declaration.choices)? };
            let first = names.first().copied().unwrap_or_default();
            let default = words(default, first)?;
            FlagType::Choice { default, names: names.into_iter().map(str::to_owned).collect() }
        }
        INTERLOCK_KIND_TEXT => FlagType::Text { default: words(default, "")? },
        other => {
            let allowed = "one of INTERLOCK_KIND_* except INTERLOCK_KIND_OTHER";
            return Err(Failure::argument("flag_register: declaration.kind", allowed, other));
        }
    };
    Ok(if optional {
        FlagType::Optional { flag_type: Box::new(flag_type), default_is_none }
    } else {
        flag_type
    })
}

fn wrong(field: &str, allowed: &str, given: &InputValue) -> Failure {
    Failure::argument(&format!("flag_register: declaration.{field}"), allowed, given)
}

/// Returns a number of the declaration, or `otherwise` if it is none.
fn integer(field: &str, given: Option<InputValue>, otherwise: i64) -> Result<i64> {
    match given {
        None => Ok(otherwise),
        Some(InputValue::None) if field != "default_value" => Ok(otherwise),
        Some(InputValue::Integer(number)) => Ok(number),
        Some(other) => Err(wrong(field, "an integer", &other)),
    }
}

fn count(field: &str, raw: &InterlockValue, given: Option<InputValue>, otherwise: u64) -> Result<u64> {
    if let Some(number) = values::unsigned(raw) {
        return Ok(number);
    }
    let number = integer(field, given, otherwise as i64)?;
    u64::try_from(number).map_err(|_| wrong(field, "non-negative", &InputValue::Integer(number)))
}

fn float(field: &str, given: Option<InputValue>, otherwise: f64) -> Result<f64> {
    match given {
        None => Ok(otherwise),
        Some(InputValue::None) if field != "default_value" => Ok(otherwise),
        Some(given) => given.as_float().ok_or_else(|| wrong(field, "a number", &given)),
    }
}

fn boolean(given: Option<InputValue>) -> Result<bool> {
    match given {
        None => Ok(false),
        Some(InputValue::Bool(on)) => Ok(on),
        Some(other) => Err(wrong("default_value", "a bool", &other)),
    }
}

fn words(given: Option<InputValue>, otherwise: &str) -> Result<String> {
    match given {
        None => Ok(otherwise.to_owned()),
        Some(InputValue::Text(text)) => Ok(text.into_owned()),
        Some(other) => Err(wrong("default_value", "text", &other)),
    }
}

pub(crate) unsafe extern "C" fn read(
    flag: u32,
    value: *mut InterlockValue,
    error: *mut InterlockError,
) -> i32 {
    // Plain flags are read most often. Their read is a few loads, which need no frame that catches panics.
    if !value.is_null()
        && let Some(plain) = find_to_read(flag).and_then(binding::plain_value)
    {
        // SAFETY: the contract of the table.
        unsafe { value.write(values::plain_to_c(plain)) };
        return INTERLOCK_OK;
    }
    // SAFETY: the contract of the table.
    unsafe { read_with("flag_read", flag, value, error, FlagSpec::read) }
}

pub(crate) unsafe extern "C" fn read_effective(
    flag: u32,
    value: *mut InterlockValue,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe { read_with("flag_read_effective", flag, value, error, FlagSpec::effective) }
}

/// # Safety
/// The contract of the table.
#[inline(always)]
unsafe fn read_with(
    entry: &'static str,
    flag: u32,
    value: *mut InterlockValue,
    error: *mut InterlockError,
    read: impl FnOnce(&FlagSpec) -> Value,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            if value.is_null() {
                return Err(Failure::argument(&format!("{entry}: value"), "a pointer", "null"));
            }
            let spec = find_to_read(flag).ok_or_else(|| unknown(flag).within(format_args!("{entry}: ")))?;
            write("value", value, values::to_c(read(spec)))
        })
    }
}

#[cold]
fn unknown(flag: u32) -> Failure {
    Failure::unknown_flag("flag", "an id that flag_find or flag_register has set in this process", flag)
}

pub(crate) unsafe extern "C" fn payload(flag: u32) -> u64 {
    // A contract of the table: the header asks only for plain flags.
    find_to_read(flag).and_then(binding::plain_payload).unwrap_or(0)
}

pub(crate) unsafe extern "C" fn write_all(
    writes: *const InterlockWrite,
    count: usize,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let writes = writes_from_c("flags_write", writes, count)?;
            Ok(backends::assign(&writes, SourceLocation::current())?)
        })
    }
}

/// # Safety
/// The texts of the write are valid during `'a`.
unsafe fn write_from_c<'a>(write: &InterlockWrite) -> Result<(&'static FlagSpec, Option<InputValue<'a>>)> {
    let spec = find_by_id(write.flag).ok_or_else(|| unknown(write.flag))?;
    check_zero("reserved", write.reserved)?;
    // SAFETY: guaranteed by the caller.
    let value = unsafe { values::from_c(&write.value) };
    Ok((spec, value.map_err(|failure| failure.within(format_args!("value.")))?))
}

/// Returns the flags and values of writes, which an entry of the table receives.
///
/// # Safety
/// The writes and their texts are valid during `'a`.
pub(crate) unsafe fn writes_from_c<'a>(
    entry: &str,
    writes: *const InterlockWrite,
    count: usize,
) -> Result<Vec<(&'static FlagSpec, Option<InputValue<'a>>)>> {
    // SAFETY: guaranteed by the caller.
    let writes = unsafe { array("writes", writes, count) }
        .map_err(|failure| failure.within(format_args!("{entry}: ")))?;
    let resolve = |(index, write): (usize, &InterlockWrite)| {
        // SAFETY: guaranteed by the caller.
        unsafe { write_from_c(write) }
            .map_err(|failure| failure.within(format_args!("{entry}: writes[{index}].")))
    };
    writes.iter().enumerate().map(resolve).collect()
}

pub(crate) unsafe extern "C" fn epoch() -> u64 {
    backends::epoch()
}

pub(crate) unsafe extern "C" fn layer_epoch() -> u64 {
    backends::layer_epoch()
}
