//! Formatting of tensors in the style of PyTorch's `repr`.

use std::fmt;

use interlock::accelerator::check_interrupts;

use super::print_options::PrintOptions;
use crate::error::Tuple;
use crate::layout::signed;
use crate::storage::fallible_alloc;
use crate::{DType, Result, Scalar, Tensor};

/// The notation of the numbers of one tensor.
enum Style {
    Plain,
    Whole,
    Fixed,
    Scientific,
}

struct Format {
    style: Style,
    width: usize,
    precision: usize,
}

/// Formats a number in scientific notation with an exponent of at least two digits, as C and Python do.
fn scientific(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
            format!("{digits}e{sign}{exponent:0>2}")
        }
        None => text,
    }
}

impl Format {
    fn new(values: &[Scalar], options: &PrintOptions) -> Result<Self> {
        let precision = options.precision;
        let mut format = Format { style: Style::Plain, width: 0, precision };
        let Some(Scalar::Float(_)) = values.first() else {
            let width = values.iter().map(|value| format.write(*value).len()).max().unwrap_or(1);
            return Ok(Format { width, ..format });
        };
        let numbers = values.iter().map(|value| value.cast::<f64>());
        let numbers = numbers.filter(|value| value.is_finite() && *value != 0.0);
        let numbers = fallible_alloc::try_collect(values.len(), numbers)?;
        let smallest = numbers.iter().fold(f64::INFINITY, |so_far, value| so_far.min(value.abs()));
        let largest = numbers.iter().fold(0.0f64, |so_far, value| so_far.max(value.abs()));
        let whole = numbers.iter().all(|value| value.fract() == 0.0);
        let needs_exponent = || largest / smallest > 1000.0 || largest > 1e8 || (!whole && smallest < 1e-4);
        format.style = match whole {
            _ if !numbers.is_empty() && options.sci_mode.unwrap_or_else(needs_exponent) => Style::Scientific,
            true => Style::Whole,
            false => Style::Fixed,
        };
        format.width =
            numbers.iter().map(|&value| format.write(Scalar::Float(value)).len()).max().unwrap_or(1);
        Ok(format)
    }

    fn write(&self, value: Scalar) -> String {
        let text = match (value, &self.style) {
            (Scalar::Bool(value), _) => if value { "True" } else { "False" }.to_owned(),
            (Scalar::Int(value), _) => value.to_string(),
            (Scalar::Float(value), _) if value.is_nan() => "nan".to_owned(),
            (Scalar::Float(value), _) if value.is_infinite() => {
                if value > 0.0 { "inf" } else { "-inf" }.to_owned()
            }
            (Scalar::Float(value), Style::Scientific) => scientific(value, self.precision),
            (Scalar::Float(value), Style::Fixed) => {
                format!("{value:.precision$}", precision = self.precision)
            }
            (Scalar::Float(value), _) => format!("{value:.0}."),
        };
        format!("{text:>width$}", width = self.width)
    }
}

/// How a tensor is printed.
struct Printer<'a> {
    options: &'a PrintOptions,
    /// Items are omitted.
    summarize: bool,
}

impl Printer<'_> {
    /// Returns whether items along the first dimension are omitted.
    fn omits(&self, tensor: &Tensor) -> bool {
        let size = tensor.shape().first().copied().unwrap_or(0);
        self.summarize && size > self.options.edgeitems.saturating_mul(2)
    }

    /// Returns the number of shown items along the first dimension, including the one for the omitted items.
    fn shown_len(&self, tensor: &Tensor) -> usize {
        let size = tensor.shape().first().copied().unwrap_or(0);
        if self.omits(tensor) { 2 * self.options.edgeitems + 1 } else { size }
    }

    /// Returns one of the [`shown_len`](Printer::shown_len) items, or `None` for the omitted ones.
    fn shown_item(&self, tensor: &Tensor, at: usize) -> Result<Option<Tensor>> {
        let (size, edge) = (tensor.shape().first().copied().unwrap_or(0), self.options.edgeitems);
        let index = match at {
            at if at < edge || !self.omits(tensor) => at,
            at if at == edge => return Ok(None),
            at => size - (2 * edge + 1 - at),
        };
        tensor.select(0, signed(index)).map(Some)
    }

    /// Appends the shown elements to `into`.
    fn collect_shown(&self, tensor: &Tensor, into: &mut Vec<Scalar>) -> Result<()> {
        if tensor.ndim() == 0 {
            return fallible_alloc::try_push(into, tensor.item()?);
        }
        for at in 0..self.shown_len(tensor) {
            if let Some(part) = self.shown_item(tensor, at)? {
                self.collect_shown(&part, into)?;
            }
        }
        // No lock is held here, so a signal handler may use the tensor.
        Ok(check_interrupts()?)
    }

    fn write(&self, tensor: &Tensor, indent: usize, format: &Format, into: &mut String) -> Result<()> {
        if tensor.ndim() == 0 {
            return fallible_alloc::try_push_str(into, &format.write(tensor.item()?));
        }
        let line = |count: usize| format!(",{}{}", "\n".repeat(count), " ".repeat(indent + 1));
        let (between, next_line) = match tensor.ndim() {
            1 => (", ".to_owned(), line(1)),
            ndim => (line(ndim - 1), line(ndim - 1)),
        };
        let per_line = (self.options.linewidth.saturating_sub(indent) / (format.width + 2)).max(1);
        let is_row = tensor.ndim() == 1;
        fallible_alloc::try_push_str(into, "[")?;
        for at in 0..self.shown_len(tensor) {
            if at > 0 {
                fallible_alloc::try_push_str(into, if at % per_line == 0 { &next_line } else { &between })?;
            }
            match self.shown_item(tensor, at)? {
                Some(part) if is_row => fallible_alloc::try_push_str(into, &format.write(part.item()?))?,
                Some(part) => self.write(&part, indent + 1, format, into)?,
                None => fallible_alloc::try_push_str(into, if is_row && at > 0 { " ..." } else { "..." })?,
            }
        }
        check_interrupts()?;
        fallible_alloc::try_push_str(into, "]")
    }
}

fn values(tensor: &Tensor, indent: usize, options: &PrintOptions) -> Result<String> {
    if tensor.numel() == 0 {
        return Ok("[]".to_owned());
    }
    let printer = Printer { options, summarize: tensor.numel() > options.threshold };
    let numbers = if printer.summarize {
        let mut numbers = Vec::new();
        printer.collect_shown(tensor, &mut numbers)?;
        numbers
    } else {
        tensor.to_scalars()?
    };
    let mut text = String::new();
    printer.write(tensor, indent, &Format::new(&numbers, options)?, &mut text)?;
    Ok(text)
}

impl Tensor {
    /// Formats the tensor as PyTorch's `repr`, with the [`PrintOptions`] of the process. For a device tensor this waits for the elements, and returns an error
    /// if they cannot be copied.
    pub fn text(&self) -> Result<String> {
        let prefix = "tensor(";
        let indent = prefix.len();
        let options = PrintOptions::of_process();
        let body = values(&self.to_cpu().map_err(|error| error.during("repr"))?.detach(), indent, &options)?;
        let mut suffixes = Vec::new();
        let dtype = self.dtype();
        let is_default = matches!(dtype, DType::Int64 | DType::Bool) && self.numel() > 0;
        let is_evident = dtype == DType::DEFAULT_FLOAT || is_default;
        if self.is_on_device() {
            suffixes.push(format!("device='{}'", self.device()));
        }
        if (self.numel() == 0 && self.ndim() != 1) || (self.numel() > 0 && options.edgeitems == 0) {
            suffixes.push(format!("size={}", Tuple(self.shape())));
        }
        if !is_evident {
            suffixes.push(format!("dtype=interlock.{}", self.dtype()));
        }
        match self.grad_fn() {
            Ok(Some(node)) => suffixes.push(format!("grad_fn=<{}>", node.name())),
            Ok(None) if self.requires_grad() => suffixes.push("requires_grad=True".to_owned()),
            Ok(None) => {}
            Err(_) => suffixes.push("grad_fn=<Invalid>".to_owned()),
        }
        let mut text = String::new();
        fallible_alloc::try_push_str(&mut text, prefix)?;
        fallible_alloc::try_push_str(&mut text, &body)?;
        // PyTorch counts so.
        let mut line = match body.rfind('\n') {
            Some(start) => body.len() - start + 1,
            None => prefix.len() + body.len() + 2,
        };
        for suffix in suffixes {
            if line + suffix.len() + 2 > options.linewidth {
                fallible_alloc::try_push_str(&mut text, &format!(",\n{}{suffix}", " ".repeat(indent)))?;
                line = indent + suffix.len();
            } else {
                fallible_alloc::try_push_str(&mut text, &format!(", {suffix}"))?;
                line += suffix.len() + 2;
            }
        }
        fallible_alloc::try_push_str(&mut text, ")")?;
        Ok(text)
    }
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            Ok(text) => f.write_str(&text),
            Err(error) => write!(f, "{self:?}, elements unavailable: {error}"),
        }
    }
}
