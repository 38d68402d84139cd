//! Equations of einsum: the labels of each operand and of the result.

use std::collections::BTreeMap;

use crate::error::Tuple;
use crate::{Error, Result, Tensor};

pub(super) const OP: &str = "einsum";

/// The name of a dimension in an equation: a letter, or a dimension that an ellipsis covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Label {
    /// The dimensions of an ellipsis, counted from the last one, so that ellipses of different lengths are broadcast.
    /// They come first in the result of an equation without an output.
    Ellipsis(std::cmp::Reverse<usize>),
    /// A letter.
    Letter(char),
}

/// The labels of each operand and of the result.
pub(super) struct Equation {
    pub inputs: Vec<Vec<Label>>,
    pub output: Vec<Label>,
}

/// A part of an equation before ellipses have a length.
enum Subscript {
    Letter(char),
    Ellipsis,
}

impl Equation {
    /// Parses an equation such as `"ij,jk->ik"` for these operands.
    ///
    /// Without `->`, the result has the dimensions of ellipses, then the labels that appear once, in alphabetical
    /// order.
    pub fn parse(equation: &str, operands: &[Tensor]) -> Result<Self> {
        let parts = equation.split_once("->");
        let (inputs, output) = parts.map_or((equation, None), |(inputs, output)| (inputs, Some(output)));
        let groups: Vec<_> = inputs.split(',').collect();
        if groups.len() != operands.len() {
            let expected = format!("have one group of labels for each of the {} operands", operands.len());
            return Err(Error::value(OP, "equation", expected, groups.len()));
        }
        let labelled = groups.iter().zip(operands).enumerate();
        let inputs = labelled
            .map(|(index, (group, operand))| labels_of_operand(index, &subscripts(group)?, operand))
            .collect::<Result<Vec<_>>>()?;
        let output = match output {
            Some(output) => labels_of_output(&subscripts(output)?, &inputs)?,
            None => implicit_output(&inputs),
        };
        Ok(Equation { inputs, output })
    }

    /// Returns an error unless dimensions with the same label have the same size. Between operands, sizes of 1 are broadcast.
    pub fn check_sizes(&self, operands: &[Tensor]) -> Result<()> {
        let mut sizes: BTreeMap<Label, usize> = BTreeMap::new();
        for (index, (labels, operand)) in self.inputs.iter().zip(operands).enumerate() {
            let dims = || labels.iter().zip(operand.shape());
            for (position, (&label, &size)) in dims().enumerate() {
                if dims().take(position).any(|(&known, &other)| known == label && other != size) {
                    let expected = format!("have one size in all dimensions with label {label}");
                    return Err(err_operand(index, expected, operand));
                }
                let known = sizes.entry(label).or_insert(size);
                if *known == 1 {
                    *known = size;
                } else if size != 1 && size != *known {
                    let expected = format!("have size {known} or 1 in dimensions with label {label}");
                    return Err(err_operand(index, expected, operand));
                }
            }
        }
        Ok(())
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Label::Letter(letter) => letter.fmt(f),
            Label::Ellipsis(_) => f.write_str("..."),
        }
    }
}

/// Splits a group of labels. Spaces have no meaning.
fn subscripts(group: &str) -> Result<Vec<Subscript>> {
    let err_syntax = || {
        let expected = "consist of letters, one ellipsis (...) per group, commas and at most one ->";
        Error::value(OP, "equation", expected, format!("{group:?}"))
    };
    let mut found = Vec::new();
    let mut rest = group.trim();
    while let Some(first) = rest.chars().next() {
        let (subscript, length) = match first {
            'a'..='z' | 'A'..='Z' => (Subscript::Letter(first), 1),
            '.' if rest.starts_with("...") => (Subscript::Ellipsis, 3),
            _ => return Err(err_syntax()),
        };
        found.push(subscript);
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    let ellipses = found.iter().filter(|subscript| matches!(subscript, Subscript::Ellipsis)).count();
    if ellipses > 1 { Err(err_syntax()) } else { Ok(found) }
}

/// Returns the labels of the dimensions of an operand.
fn labels_of_operand(index: usize, subscripts: &[Subscript], operand: &Tensor) -> Result<Vec<Label>> {
    let letters = subscripts.iter().filter(|subscript| matches!(subscript, Subscript::Letter(_))).count();
    let has_ellipsis = letters < subscripts.len();
    let covered = match operand.ndim().checked_sub(letters) {
        Some(covered) if has_ellipsis || covered == 0 => covered,
        _ => {
            let least = if has_ellipsis { "at least " } else { "" };
            let expected = format!("have {least}{letters} dimensions, as its labels");
            return Err(err_operand(index, expected, operand));
        }
    };
    let labels = |subscript: &Subscript| match subscript {
        Subscript::Letter(letter) => vec![Label::Letter(*letter)],
        Subscript::Ellipsis => ellipsis(covered),
    };
    Ok(subscripts.iter().flat_map(labels).collect())
}

/// Returns the labels of the dimensions that an ellipsis covers.
fn ellipsis(covered: usize) -> Vec<Label> {
    (0..covered).rev().map(|from_last| Label::Ellipsis(std::cmp::Reverse(from_last))).collect()
}

/// Returns the labels of the result, each of which an operand has.
fn labels_of_output(subscripts: &[Subscript], inputs: &[Vec<Label>]) -> Result<Vec<Label>> {
    let all = || inputs.iter().flatten();
    let covered = all().filter_map(|label| match label {
        Label::Ellipsis(std::cmp::Reverse(from_last)) => Some(from_last + 1),
        Label::Letter(_) => None,
    });
    let covered = covered.max().unwrap_or(0);
    let mut output = Vec::new();
    for subscript in subscripts {
        match subscript {
            Subscript::Ellipsis => output.extend(ellipsis(covered)),
            Subscript::Letter(letter) => {
                let label = Label::Letter(*letter);
                if !all().any(|known| *known == label) || output.contains(&label) {
                    let expected = "have each label of the result once in the result, and in an operand";
                    return Err(Error::value(OP, "equation", expected, format!("{letter:?}")));
                }
                output.push(label);
            }
        }
    }
    Ok(output)
}

/// Returns the labels of a result that the equation does not name.
fn implicit_output(inputs: &[Vec<Label>]) -> Vec<Label> {
    let mut counts: BTreeMap<Label, usize> = BTreeMap::new();
    inputs.iter().flatten().for_each(|label| *counts.entry(*label).or_default() += 1);
    let appears = |(label, count): (Label, usize)| match label {
        Label::Ellipsis(_) => Some(label),
        Label::Letter(_) => (count == 1).then_some(label),
    };
    counts.into_iter().filter_map(appears).collect()
}

fn err_operand(index: usize, expected: String, operand: &Tensor) -> Error {
    Error::value(OP, "operands", expected, format!("shape {} for operand {index}", Tuple(operand.shape())))
}
