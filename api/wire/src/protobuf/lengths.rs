//! The lengths of what the transcoder writes.

use std::iter::Peekable;
use std::ops::Range;

use super::plan::{MessagePlan, Step};
use super::tape::{Content, TapeNode};

/// Bytes of a number in base 128.
pub(super) fn varint_len(number: u64) -> usize {
    let bits = 64 - (number | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Bytes of the key of a field.
pub(super) fn key_len(tag: u32) -> usize {
    varint_len(u64::from(tag) << 3)
}

/// Bytes of a part with its length before it.
pub(super) fn delimited_len(len: usize) -> usize {
    varint_len(len as u64) + len
}

/// Bytes of a value after its key; not of lists and maps, which have a key for each part.
pub(super) fn value_len(node: &TapeNode) -> usize {
    match node.content {
        Content::Number(_) | Content::Double(_) => node.len as usize,
        _ => delimited_len(node.len as usize),
    }
}

/// Bytes of the entry of a map, without its own key and length.
pub(super) fn entry_len(key: &TapeNode, value: &TapeNode) -> usize {
    2 + value_len(key) + value_len(value)
}

/// Bytes of a list whose key has so many.
pub(super) fn list_len(key: usize, elements: &[TapeNode]) -> usize {
    elements.iter().map(|element| key + value_len(element)).sum()
}

/// Bytes of a message around texts.
pub(super) fn wrapped_len(texts: &[TapeNode]) -> usize {
    list_len(1, texts)
}

/// Bytes of a map whose key has so many.
pub(super) fn map_len(key: usize, entries: &[TapeNode]) -> usize {
    let pairs = entries.chunks_exact(2);
    pairs.map(|pair| key + delimited_len(entry_len(&pair[0], &pair[1]))).sum()
}

/// Bytes of a message.
pub(super) fn message_len(plan: &MessagePlan, parts: &[TapeNode]) -> usize {
    if plan.has_inline {
        return steps_len(plan, 0..plan.steps.len(), &mut parts.iter().peekable());
    }
    let mut len = plan.zeros.len_of(0..plan.steps.len());
    for part in parts {
        let at = usize::from(part.step);
        if let Some(Step::Field(field)) = plan.steps.get(at) {
            len += field_len(field.tag, part);
            len -= plan.zeros.len_of(at..at + 1);
        }
    }
    len
}

/// Bytes of what some steps write.
pub(super) fn steps_len<'n>(
    plan: &MessagePlan,
    steps: Range<usize>,
    parts: &mut Peekable<impl Iterator<Item = &'n TapeNode>>,
) -> usize {
    let (mut len, mut at) = (0, steps.start);
    while at < steps.end {
        match &plan.steps[at] {
            Step::Field(field) => {
                len += match parts.next_if(|part| usize::from(part.step) == at) {
                    Some(part) => field_len(field.tag, part),
                    None => plan.zeros.len_of(at..at + 1),
                };
            }
            Step::Inline { tag, steps } => {
                let inner = at + 1..at + 1 + steps;
                len += key_len(*tag) + delimited_len(steps_len(plan, inner, parts));
                at += steps;
            }
        }
        at += 1;
    }
    len
}

fn field_len(tag: u32, part: &TapeNode) -> usize {
    match part.content {
        Content::List(_) | Content::Map(_) => part.len as usize,
        _ => key_len(tag) + value_len(part),
    }
}
