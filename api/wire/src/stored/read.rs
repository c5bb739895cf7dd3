//! The reader of stored values: one check of the header, then accessors that cut slices without
//! copying.

use bytes::Bytes;
use quorate_meta::{LabelSelector, Value};

use super::layout::{
    COMMON_TEXTS, FIXED_LEN, FORMAT_VERSION, Fixed, MARK_FIELD, OWNER_TEXTS, PAIR_TEXTS,
};
use crate::json;

/// Why a stored value is malformed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CorruptValue {
    /// A format version that this reader does not know.
    #[error("stored value has format version {0}, this server reads version {FORMAT_VERSION}")]
    Version(u8),
    /// The header does not match the value.
    #[error("stored value is corrupt: {0}")]
    Header(&'static str),
    /// The JSON does not parse.
    #[error("stored value is corrupt: {0}")]
    Json(#[from] json::Error),
}

/// A stored value with its header checked.
#[derive(Clone, Copy, Debug)]
pub struct StoredRef<'a> {
    bytes: &'a Bytes,
    fixed: Fixed,
    lengths: &'a [u8],
    text: &'a str,
    json: &'a [u8],
}

/// What of a stored value answers are spliced from: the JSON, and the offsets in it. The texts of
/// the header are not read.
#[derive(Clone, Copy, Debug)]
pub struct SpliceRef<'a> {
    fixed: Fixed,
    json: &'a [u8],
}

/// The header of a stored value, for selectors. The JSON is not read, and is not brought into the
/// caches for an object that is not selected.
#[derive(Clone, Copy, Debug)]
pub struct HeaderRef<'a>(StoredRef<'a>);

impl<'a> HeaderRef<'a> {
    /// Checks the header of `bytes`, except for offsets in the JSON.
    pub fn parse(bytes: &'a Bytes) -> Result<Self, CorruptValue> {
        let (fixed, rest) = fixed(bytes)?;
        let too_short = || CorruptValue::Header("shorter than its header says");
        let (lengths, rest) = rest.split_at_checked(2 * fixed.texts()).ok_or_else(too_short)?;
        let (text, json) = rest.split_at_checked(fixed.text_len as usize).ok_or_else(too_short)?;
        let text = std::str::from_utf8(text)
            .map_err(|_| CorruptValue::Header("header text is not UTF-8"))?;
        let stored = StoredRef { bytes, fixed, lengths, text, json };
        stored.check_texts()?;
        Ok(Self(stored))
    }

    /// Whether the labels meet `selector`.
    pub fn matches(&self, selector: &LabelSelector) -> bool {
        selector.is_everything() || selector.matches(self.0.labels())
    }

    /// Labels, sorted by key.
    pub fn labels(&self) -> Labels<'a> {
        self.0.labels()
    }

    /// Name and value of each selectable field besides `metadata.name` and `metadata.namespace`; of
    /// custom objects first the mark, which has no name.
    pub fn fields(&self) -> Labels<'a> {
        self.0.pairs(usize::from(self.0.fixed.labels), usize::from(self.0.fixed.fields))
    }

    /// The value of a selectable field, `metadata.name` and `metadata.namespace` included.
    pub fn field(&self, path: &str) -> Option<&'a str> {
        self.0.field(path)
    }

    /// What is said of the form that the object is in; `None` for values without a mark.
    pub fn mark(&self) -> Option<&'a str> {
        self.0.mark()
    }

    /// The whole value, with the offsets in its JSON checked.
    fn whole(self) -> Result<StoredRef<'a>, CorruptValue> {
        SpliceRef::from(&self.0).check()?;
        Ok(self.0)
    }
}

impl<'a> SpliceRef<'a> {
    /// Checks the offsets in the JSON of `bytes`.
    pub fn parse(bytes: &'a Bytes) -> Result<Self, CorruptValue> {
        let (fixed, rest) = fixed(bytes)?;
        let texts = 2 * fixed.texts() + fixed.text_len as usize;
        let json = rest.get(texts..).ok_or(CorruptValue::Header("shorter than its header says"))?;
        let splice = Self { fixed, json };
        splice.check()?;
        Ok(splice)
    }

    /// The JSON, and the splice offset in it.
    pub(super) fn whole(&self) -> (&'a [u8], usize) {
        (self.json, self.fixed.hole as usize)
    }

    /// The metadata object in the JSON, and the splice offset in it.
    pub(super) fn metadata(&self) -> (&'a [u8], usize) {
        let (start, end) = (self.fixed.metadata_start as usize, self.fixed.metadata_end as usize);
        (&self.json[start..end], self.fixed.hole as usize - start)
    }

    fn check(&self) -> Result<(), CorruptValue> {
        let (start, end) = (self.fixed.metadata_start as usize, self.fixed.metadata_end as usize);
        let metadata = self
            .json
            .get(start..end)
            .ok_or(CorruptValue::Header("metadata lies outside of the JSON"))?;
        let hole = (self.fixed.hole as usize).checked_sub(start);
        let at_hole = hole.and_then(|hole| metadata.get(hole..));
        if !at_hole.is_some_and(|rest| rest.starts_with(b"\"uid\"")) {
            return Err(CorruptValue::Header("no uid where the header says"));
        }
        let framed = |text: &[u8]| text.first() == Some(&b'{') && text.last() == Some(&b'}');
        if framed(self.json) && framed(metadata) {
            Ok(())
        } else {
            Err(CorruptValue::Header("JSON is no object"))
        }
    }
}

impl<'a> From<&StoredRef<'a>> for SpliceRef<'a> {
    fn from(stored: &StoredRef<'a>) -> Self {
        Self { fixed: stored.fixed, json: stored.json }
    }
}

/// The fixed part of a header, and what comes after it.
fn fixed(bytes: &Bytes) -> Result<(Fixed, &[u8]), CorruptValue> {
    let (first, rest) =
        bytes.split_first_chunk::<FIXED_LEN>().ok_or(CorruptValue::Header("too short"))?;
    if first[0] != FORMAT_VERSION {
        return Err(CorruptValue::Version(first[0]));
    }
    Ok((Fixed::from_bytes(first), rest))
}

/// An owner reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerReference<'a> {
    /// `apiVersion` of the owner.
    pub api_version: &'a str,
    /// Kind of the owner.
    pub kind: &'a str,
    /// Name of the owner.
    pub name: &'a str,
    /// UID of the owner.
    pub uid: &'a str,
    /// Whether the owner is the managing controller.
    pub controller: bool,
    /// Whether the owner's foreground deletion waits for this object.
    pub block_owner_deletion: bool,
}

impl<'a> StoredRef<'a> {
    /// Checks the header of `bytes`. Nothing is copied, and of the JSON only the splice offsets are
    /// checked.
    pub fn parse(bytes: &'a Bytes) -> Result<Self, CorruptValue> {
        HeaderRef::parse(bytes)?.whole()
    }

    /// Name of the object.
    pub fn name(&self) -> &'a str {
        self.texts().next().unwrap_or_default()
    }

    /// Namespace; empty for cluster-scoped objects.
    pub fn namespace(&self) -> &'a str {
        self.texts().nth(1).unwrap_or_default()
    }

    /// UID.
    pub fn uid(&self) -> &'a str {
        self.texts().nth(2).unwrap_or_default()
    }

    /// The deletion timestamp as text; `None` without one.
    pub fn deletion_timestamp(&self) -> Option<&'a str> {
        self.texts().nth(3).filter(|text| !text.is_empty())
    }

    /// Labels, sorted by key.
    pub fn labels(&self) -> Labels<'a> {
        self.pairs(0, usize::from(self.fixed.labels))
    }

    /// Whether the labels meet `selector`.
    pub fn matches(&self, selector: &LabelSelector) -> bool {
        HeaderRef(*self).matches(selector)
    }

    /// The value of a selectable field, `metadata.name` and `metadata.namespace` included.
    pub fn field(&self, path: &str) -> Option<&'a str> {
        match path {
            "metadata.name" => Some(self.name()),
            "metadata.namespace" => Some(self.namespace()),
            _ => {
                let mut fields =
                    self.pairs(usize::from(self.fixed.labels), usize::from(self.fixed.fields));
                fields.find(|(name, _)| *name == path).map(|(_, value)| value)
            }
        }
    }

    /// What is said of the form that the object is in; `None` for values without a mark.
    pub fn mark(&self) -> Option<&'a str> {
        if self.fixed.fields == 0 {
            return None;
        }
        let first = self.pairs(usize::from(self.fixed.labels), 1).next();
        first.filter(|(name, _)| *name == MARK_FIELD).map(|(_, mark)| mark)
    }

    /// Owner references, in the order of the object.
    pub fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'a>> + use<'a> {
        let pairs = usize::from(self.fixed.labels) + usize::from(self.fixed.fields);
        let mut texts = self.texts();
        texts.advance(COMMON_TEXTS + PAIR_TEXTS * pairs);
        (0..self.fixed.owners).map_while(move |_| {
            let (api_version, kind, name, uid) =
                (texts.next()?, texts.next()?, texts.next()?, texts.next()?);
            let flags = texts.next()?;
            let (controller, block_owner_deletion) =
                (matches!(flags, "1" | "3"), matches!(flags, "2" | "3"));
            Some(OwnerReference { api_version, kind, name, uid, controller, block_owner_deletion })
        })
    }

    /// The JSON, sharing the value's memory.
    pub fn json(&self) -> Bytes {
        self.bytes.slice(self.bytes.len() - self.json.len()..)
    }

    /// The JSON before and after the splice offset, sharing the value's memory.
    pub fn halves(&self) -> (Bytes, Bytes) {
        let mut before = self.json();
        let after = before.split_off(self.hole());
        (before, after)
    }

    /// The JSON as a slice.
    pub fn json_slice(&self) -> &'a [u8] {
        self.json
    }

    /// The splice offset: where `"resourceVersion":"N",` is inserted into the JSON.
    pub fn hole(&self) -> usize {
        self.fixed.hole as usize
    }

    /// The `Value` of the object, with `apiVersion`, `kind` and `metadata.resourceVersion`.
    pub fn to_value(
        &self,
        api_version: &str,
        kind: &str,
        revision: u64,
    ) -> Result<Value, CorruptValue> {
        self.typed(json::parse(self.json)?.0, api_version, kind, revision)
    }

    /// Parts of the object as it is stored, without parsing the others.
    pub fn parts(&self, parts: &json::Parts) -> Result<Value, CorruptValue> {
        Ok(json::parse_parts(self.json, parts)?)
    }

    /// A parsed object with what its JSON leaves out.
    fn typed(
        &self,
        mut value: Value,
        api_version: &str,
        kind: &str,
        revision: u64,
    ) -> Result<Value, CorruptValue> {
        let root = value.as_map_mut().ok_or(CorruptValue::Header("JSON is no object"))?;
        root.insert("apiVersion", api_version);
        root.insert("kind", kind);
        let metadata =
            root.map_mut("metadata").ok_or(CorruptValue::Header("metadata is no object"))?;
        metadata.insert("resourceVersion", revision.to_string());
        Ok(value)
    }

    fn check_texts(&self) -> Result<(), CorruptValue> {
        let ascii = self.text.is_ascii();
        let (mut end, mut whole) = (0, true);
        for len in self.lengths.chunks_exact(2) {
            end += usize::from(u16::from_le_bytes([len[0], len[1]]));
            whole = whole && (ascii || self.text.is_char_boundary(end));
        }
        if end != self.text.len() {
            return Err(CorruptValue::Header("lengths do not add up"));
        }
        if whole {
            Ok(())
        } else {
            Err(CorruptValue::Header("header text is cut inside a character"))
        }
    }

    fn texts(&self) -> ReadTexts<'a> {
        ReadTexts { lengths: self.lengths, text: self.text }
    }

    fn pairs(&self, first: usize, count: usize) -> Labels<'a> {
        let mut texts = self.texts();
        texts.advance(COMMON_TEXTS + PAIR_TEXTS * first);
        Labels { texts, left: count }
    }
}

const _: () = assert!(OWNER_TEXTS == 5, "owner_references reads five texts");

/// The remaining header texts. Their lengths add up and end at characters.
#[derive(Clone, Debug)]
struct ReadTexts<'a> {
    lengths: &'a [u8],
    text: &'a str,
}

impl<'a> ReadTexts<'a> {
    /// Skips `count` texts.
    fn advance(&mut self, count: usize) {
        let (skipped, lengths) = self.lengths.split_at(self.lengths.len().min(2 * count));
        let bytes: usize = skipped
            .chunks_exact(2)
            .map(|len| usize::from(u16::from_le_bytes([len[0], len[1]])))
            .sum();
        *self = Self { lengths, text: self.text.get(bytes..).unwrap_or_default() };
    }
}

impl<'a> Iterator for ReadTexts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let (len, lengths) = self.lengths.split_first_chunk::<2>()?;
        let (text, rest) = self.text.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
        *self = Self { lengths, text: rest };
        Some(text)
    }
}

/// Pairs of key and value from the header.
#[derive(Clone, Debug)]
pub struct Labels<'a> {
    texts: ReadTexts<'a>,
    left: usize,
}

impl<'a> Iterator for Labels<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        Some((self.texts.next()?, self.texts.next()?))
    }
}
