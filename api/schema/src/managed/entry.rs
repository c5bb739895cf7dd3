//! ManagedFieldsEntry: a manager, its operation and version, and its fields.

use std::collections::HashSet;

use quorate_meta::{Map, Value};

use crate::fieldset::{BadFields, FieldSet};

/// The only format of a field set.
const FIELDS_TYPE: &str = "FieldsV1";

/// How fields came to be owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// By a server-side apply.
    Apply,
    /// By a create, an update or another patch.
    Update,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// The fields of one manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name of the manager.
    pub manager: String,
    /// The operation.
    pub operation: Operation,
    /// The version that the fields are named in.
    pub api_version: String,
    /// The subresource; empty for the main resource.
    pub subresource: String,
    /// When the set last changed, RFC 3339 in UTC with whole seconds.
    pub time: Option<String>,
    /// The fields.
    pub fields: FieldSet,
}

impl Entry {
    /// Whether both entries are of the same manager. Applies through several versions are of the
    /// same manager.
    pub fn same_writer(&self, other: &Self) -> bool {
        self.writer() == other.writer()
    }

    /// What entries of the same manager have in common.
    fn writer(&self) -> (&str, Operation, &str, &str) {
        let version = match self.operation {
            Operation::Apply => "",
            Operation::Update => self.api_version.as_str(),
        };
        (&self.manager, self.operation, &self.subresource, version)
    }

    fn order(&self) -> (Operation, Option<&str>, &str, &str, &str) {
        (self.operation, self.time.as_deref(), &self.manager, &self.api_version, &self.subresource)
    }

    fn encode(&self) -> Value {
        let mut map = Map::from([
            ("apiVersion", Value::from(self.api_version.as_str())),
            ("fieldsType", FIELDS_TYPE.into()),
            ("fieldsV1", self.fields.encode()),
            ("manager", self.manager.as_str().into()),
            ("operation", self.operation.as_str().into()),
        ]);
        if !self.subresource.is_empty() {
            map.insert("subresource", self.subresource.as_str());
        }
        if let Some(time) = &self.time {
            map.insert("time", time.as_str());
        }
        Value::Map(map)
    }

    fn decode(value: &Value) -> Result<Self, BadFields> {
        let text = |key| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let operation = match text("operation").as_str() {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            other => return Err(BadFields::new(format!("operation {other:?}"))),
        };
        let (api_version, fields_type) = (text("apiVersion"), text("fieldsType"));
        if api_version.is_empty() || fields_type != FIELDS_TYPE {
            return Err(BadFields::new(format!(
                "apiVersion {api_version:?}, fieldsType {fields_type:?}"
            )));
        }
        let fields = value.get("fieldsV1").map_or(Ok(FieldSet::new()), FieldSet::decode)?;
        let time = Some(text("time")).filter(|time| !time.is_empty());
        Ok(Self {
            manager: text("manager"),
            operation,
            api_version,
            subresource: text("subresource"),
            time,
            fields,
        })
    }
}

/// All entries of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Managed {
    /// The entries; encoding sorts them.
    pub entries: Vec<Entry>,
}

impl Managed {
    /// Reads `metadata.managedFields`; an absent list has no entries. Of several entries of one
    /// manager, as after a client has given one the name of another, the last one counts.
    ///
    /// # Errors
    /// An entry with an unknown operation or format, without a version, or with something
    /// that is no field set.
    pub fn decode(list: Option<&Value>) -> Result<Self, BadFields> {
        let items = list.and_then(Value::as_list).unwrap_or_default();
        let mut entries =
            items.iter().map(Entry::decode).collect::<Result<Vec<Entry>, BadFields>>()?;
        if entries.len() > 1 {
            let mut seen = HashSet::with_capacity(entries.len());
            let is_last = entries.iter().rev().map(|entry| seen.insert(entry.writer()));
            let is_last: Vec<bool> = is_last.collect();
            let mut is_last = is_last.into_iter().rev();
            entries.retain(|_| is_last.next().unwrap_or_default());
        }
        Ok(Self { entries })
    }

    /// Writes the entries in their order; `None` when there are none.
    pub fn encode(mut self) -> Option<Value> {
        self.entries.sort_by(|left, right| left.order().cmp(&right.order()));
        let list: Vec<Value> = self.entries.iter().map(Entry::encode).collect();
        (!list.is_empty()).then_some(Value::List(list))
    }

    /// Sets the entries of an object that has none; nothing is set when there are none.
    pub(crate) fn write(self, object: &mut Value) {
        if let (Some(list), Some(meta)) =
            (self.encode(), object.get_mut("metadata").and_then(Value::as_map_mut))
        {
            meta.insert("managedFields", list);
        }
    }

    /// Whether a request resets `managedFields`: a list with one empty entry.
    pub fn is_reset(list: Option<&Value>) -> bool {
        matches!(list.and_then(Value::as_list), Some([Value::Map(only)]) if only.values().all(Value::is_empty))
    }
}
