//! The writer of stored values.

use bytes::Bytes;
use quorate_meta::{Map, Value};

use super::layout::{FIXED_LEN, Fixed, MARK_FIELD};
use crate::json;

/// Why an object cannot be stored: a bug of the caller, or a text beyond 64 KiB in a label or
/// selectable field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// Not a map with a map `metadata`.
    #[error("object has no metadata")]
    NoMetadata,
    /// No `metadata.uid`.
    #[error("object has no uid")]
    NoUid,
    /// A text in the header that is too long.
    #[error("{0} is longer than 65535 bytes")]
    TooLong(String),
    /// More labels, selectable fields or owner references than fit, or JSON of 4 GiB.
    #[error("object has too many {0}")]
    TooMany(&'static str),
}

/// Initial capacity for the JSON, and for the number and bytes of the header texts, as ordinary
/// objects need.
const JSON_BYTES: usize = 2048;
const TEXTS: usize = 16;
const TEXT_BYTES: usize = 256;

/// The stored value of `object`. `apiVersion`, `kind` and `metadata.resourceVersion` are left out
/// where present. `selectable` are name and value of the fields by which the kind can be selected,
/// besides name and namespace.
pub fn encode(object: &Value, selectable: &[(&str, String)]) -> Result<Bytes, EncodeError> {
    encode_with(None, object, selectable)
}

/// The same with a mark, which says in what form the object is; readers that know of no marks see
/// a field without a name.
pub fn encode_marked(
    mark: &str,
    object: &Value,
    selectable: &[(&str, String)],
) -> Result<Bytes, EncodeError> {
    encode_with(Some(mark), object, selectable)
}

fn encode_with(
    mark: Option<&str>,
    object: &Value,
    selectable: &[(&str, String)],
) -> Result<Bytes, EncodeError> {
    let root = object.as_map().ok_or(EncodeError::NoMetadata)?;
    let metadata = root.get("metadata").and_then(Value::as_map).ok_or(EncodeError::NoMetadata)?;
    let body = Json::of(root)?;
    let mut texts = WrittenTexts::new();
    for key in ["name", "namespace", "uid", "deletionTimestamp"] {
        texts.push(metadata.get_str(key).unwrap_or_default(), key)?;
    }
    let labels = texts.labels(metadata)?;
    if let Some(mark) = mark {
        texts.push(MARK_FIELD, "the mark's name")?;
        texts.push(mark, "the mark")?;
    }
    for (name, value) in selectable {
        texts.push(name, "a selectable field's name")?;
        texts.push(value, name)?;
    }
    let owners = texts.owners(metadata)?;
    let fixed = Fixed {
        labels: count(labels, "labels")?,
        fields: count(selectable.len() + usize::from(mark.is_some()), "selectable fields")?,
        owners: count(owners, "owner references")?,
        text_len: offset(texts.text.len())?,
        hole: offset(body.hole)?,
        metadata_start: offset(body.metadata_start)?,
        metadata_end: offset(body.metadata_end)?,
    };
    let mut value = Vec::with_capacity(
        FIXED_LEN + 2 * texts.lengths.len() + texts.text.len() + body.text.len(),
    );
    value.extend_from_slice(&fixed.to_bytes());
    for len in &texts.lengths {
        value.extend_from_slice(&len.to_le_bytes());
    }
    value.extend_from_slice(texts.text.as_bytes());
    value.extend_from_slice(&body.text);
    Ok(value.into())
}

fn count(count: usize, what: &'static str) -> Result<u16, EncodeError> {
    u16::try_from(count).map_err(|_| EncodeError::TooMany(what))
}

fn offset(at: usize) -> Result<u32, EncodeError> {
    u32::try_from(at).map_err(|_| EncodeError::TooMany("bytes"))
}

/// The JSON, and the offsets in it that the header has.
struct Json {
    text: Vec<u8>,
    hole: usize,
    metadata_start: usize,
    metadata_end: usize,
}

impl Json {
    fn of(root: &Map) -> Result<Self, EncodeError> {
        let mut json = Self {
            text: Vec::with_capacity(JSON_BYTES),
            hole: 0,
            metadata_start: 0,
            metadata_end: 0,
        };
        json.text.push(b'{');
        let mut first = true;
        for (key, value) in root.iter().filter(|(key, _)| !matches!(*key, "apiVersion" | "kind")) {
            json.start_entry(key, &mut first);
            match value {
                Value::Map(metadata) if key == "metadata" => json.metadata(metadata)?,
                value => json::write(value, &mut json.text),
            }
        }
        json.text.push(b'}');
        Ok(json)
    }

    fn metadata(&mut self, metadata: &Map) -> Result<(), EncodeError> {
        self.metadata_start = self.text.len();
        self.text.push(b'{');
        let mut first = true;
        for (key, value) in metadata.iter().filter(|(key, _)| *key != "resourceVersion") {
            if key == "uid" {
                self.hole = self.text.len() + usize::from(!first);
            }
            self.start_entry(key, &mut first);
            json::write(value, &mut self.text);
        }
        self.text.push(b'}');
        self.metadata_end = self.text.len();
        if self.hole == 0 || metadata.get_str("uid").is_none_or(str::is_empty) {
            return Err(EncodeError::NoUid);
        }
        Ok(())
    }

    fn start_entry(&mut self, key: &str, first: &mut bool) {
        if !std::mem::take(first) {
            self.text.push(b',');
        }
        json::write_string(key, &mut self.text);
        self.text.push(b':');
    }
}

/// The header texts.
struct WrittenTexts {
    lengths: Vec<u16>,
    text: String,
}

impl WrittenTexts {
    fn new() -> Self {
        Self { lengths: Vec::with_capacity(TEXTS), text: String::with_capacity(TEXT_BYTES) }
    }

    fn push(&mut self, text: &str, what: &str) -> Result<(), EncodeError> {
        let len = u16::try_from(text.len()).map_err(|_| EncodeError::TooLong(what.to_owned()))?;
        self.lengths.push(len);
        self.text.push_str(text);
        Ok(())
    }

    fn labels(&mut self, metadata: &Map) -> Result<usize, EncodeError> {
        let Some(labels) = metadata.get("labels").and_then(Value::as_map) else {
            return Ok(0);
        };
        for (key, value) in labels.iter() {
            self.push(key, "a label key")?;
            self.push(value.as_str().unwrap_or_default(), "a label value")?;
        }
        Ok(labels.len())
    }

    fn owners(&mut self, metadata: &Map) -> Result<usize, EncodeError> {
        let owners = metadata.get("ownerReferences").and_then(Value::as_list).unwrap_or_default();
        for owner in owners {
            for key in ["apiVersion", "kind", "name", "uid"] {
                self.push(owner.str_at(&[key]).unwrap_or_default(), key)?;
            }
            let is_set = |key: &str| owner.get(key).and_then(Value::as_bool).unwrap_or_default();
            let flags = u8::from(is_set("controller")) + 2 * u8::from(is_set("blockOwnerDeletion"));
            self.push(["0", "1", "2", "3"][usize::from(flags)], "flags")?;
        }
        Ok(owners.len())
    }
}
