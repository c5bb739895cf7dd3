//! The evaluation of paths.
//!
//! Invariant: a step that finds nothing is no failure; a step that does not fit what it is given,
//! such as an index of a text, is one.

use super::{Filter, Segment, Slice, Step, compare};
use crate::Value;

/// Why there are no results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// A step does not fit a value.
    Unfit,
    /// The evaluation has looked at too many values.
    TooMuch,
}

type Found<'v> = Result<Vec<&'v Value>, Failure>;

/// What the last step of a segment says of those after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    On,
    Range,
    End,
}

/// The results of the first segment that has some of its own: a range has those of the segments in
/// it. `None` when no segment has.
pub(super) fn first_list<'v>(
    segments: &'v [Segment],
    object: &'v Value,
    in_range: bool,
    visits: &mut usize,
) -> Result<Option<Vec<&'v Value>>, Failure> {
    let Some((segment, rest)) = segments.split_first() else {
        return Ok(None);
    };
    let steps = match segment {
        Segment::Text(text) => return Ok(Some(vec![text])),
        Segment::Steps(steps) => steps,
    };
    let turn = match steps.iter().rev().find(|step| matches!(step, Step::Range | Step::End)) {
        Some(Step::Range) => Turn::Range,
        Some(_) if in_range => Turn::End,
        Some(_) => return Err(Failure::Unfit),
        None => Turn::On,
    };
    let found = all(steps, vec![object], visits)?;
    match turn {
        Turn::On => Ok(Some(found)),
        Turn::End => Ok(None),
        Turn::Range => {
            for value in found {
                let list = first_list(rest, value, true, visits)?;
                if list.is_some() {
                    return Ok(list);
                }
            }
            Ok(None)
        }
    }
}

/// Where all steps lead from these values.
fn all<'v>(steps: &'v [Step], input: Vec<&'v Value>, visits: &mut usize) -> Found<'v> {
    steps.iter().try_fold(input, |values, step| one(step, values, visits))
}

fn one<'v>(step: &'v Step, input: Vec<&'v Value>, visits: &mut usize) -> Found<'v> {
    spend(visits, input.len())?;
    match step {
        Step::Field(name) => Ok(input.iter().filter_map(|value| value.get(name)).collect()),
        Step::Wildcard => {
            let mut found = Vec::new();
            for value in input {
                let before = found.len();
                found.extend(children(value));
                spend(visits, found.len() - before)?;
            }
            Ok(found)
        }
        Step::Descent => {
            let mut found = Vec::new();
            input.into_iter().try_for_each(|value| descend(value, &mut found, visits))?;
            Ok(found)
        }
        Step::Elements(slice) => elements(slice, &input, visits),
        Step::Filter(filter) => filtered(filter, &input, visits),
        Step::Union(members) => {
            let mut found = Vec::new();
            for member in members {
                found.extend(all(member, input.clone(), visits)?);
            }
            Ok(found)
        }
        Step::Constant(value) => Ok(input.iter().map(|_| value).collect()),
        Step::Text(text) => Ok(vec![text]),
        Step::Range => Ok(input),
        Step::End => Ok(Vec::new()),
        Step::Unknown => Err(Failure::Unfit),
    }
}

fn spend(visits: &mut usize, count: usize) -> Result<(), Failure> {
    *visits = visits.checked_sub(count.max(1)).ok_or(Failure::TooMuch)?;
    Ok(())
}

fn children(value: &Value) -> impl Iterator<Item = &Value> {
    let fields = value.as_map().into_iter().flat_map(|map| map.values());
    value.as_list().unwrap_or_default().iter().chain(fields)
}

/// A value that has something in it, and everything below it that does. The depth is that of
/// objects, which is bounded where they are read.
fn descend<'v>(
    value: &'v Value,
    found: &mut Vec<&'v Value>,
    visits: &mut usize,
) -> Result<(), Failure> {
    spend(visits, 1)?;
    if !value.as_str().unwrap_or_default().is_empty() || children(value).next().is_some() {
        found.push(value);
    }
    children(value).try_for_each(|child| descend(child, found, visits))
}

/// The elements of a value that has to be a list; none of null.
fn list_of(value: &Value) -> Result<&[Value], Failure> {
    match value {
        Value::Null => Ok(&[]),
        value => value.as_list().ok_or(Failure::Unfit),
    }
}

fn elements<'v>(slice: &Slice, input: &[&'v Value], visits: &mut usize) -> Found<'v> {
    let mut found = Vec::new();
    for value in input.iter().filter(|value| !value.is_null()) {
        let list = list_of(value)?;
        let length = i64::try_from(list.len()).map_err(|_| Failure::TooMuch)?;
        let from_end = |at: i64| if at < 0 { at.saturating_add(length) } else { at };
        let asked = slice.from.unwrap_or_default();
        let from = from_end(asked);
        let to = match slice.to {
            _ if slice.single && asked == -1 => length,
            _ if slice.single => from_end(asked.saturating_add(1)),
            Some(to) => from_end(to),
            None => length,
        };
        if from == to {
            return Ok(found);
        }
        let step = usize::try_from(slice.step.unwrap_or(1)).unwrap_or_default();
        let bound = |at: i64| usize::try_from(at).map_err(|_| Failure::Unfit);
        let (from, to) = (bound(from)?, bound(to)?);
        if step == 0 || from > to {
            return Err(Failure::Unfit);
        }
        let part = list.get(from..to).filter(|part| !part.is_empty()).ok_or(Failure::Unfit)?;
        let before = found.len();
        found.extend(part.iter().step_by(step));
        spend(visits, found.len() - before)?;
    }
    Ok(found)
}

fn filtered<'v>(filter: &'v Filter, input: &[&'v Value], visits: &mut usize) -> Found<'v> {
    let mut found = Vec::new();
    for value in input {
        for element in value.as_list().ok_or(Failure::Unfit)? {
            if passes(filter, element, visits)? {
                found.push(element);
            }
        }
    }
    Ok(found)
}

fn passes<'v>(filter: &'v Filter, element: &'v Value, visits: &mut usize) -> Result<bool, Failure> {
    let left = all(&filter.left, vec![element], visits);
    let Some((operator, right)) = &filter.right else {
        return match left {
            Err(Failure::TooMuch) => Err(Failure::TooMuch),
            // What an index does not fit is there all the same.
            left => Ok(left.map_or(true, |left| !left.is_empty())),
        };
    };
    let left = match left?[..] {
        [] => return Ok(false),
        [left] => left,
        _ => return Err(Failure::Unfit),
    };
    match all(right, vec![element], visits)?[..] {
        [] => Ok(false),
        [right] => compare::holds(*operator, left, right).ok_or(Failure::Unfit),
        _ => Err(Failure::Unfit),
    }
}
