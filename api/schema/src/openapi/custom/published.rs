//! The schema of a definition as it is published.
//!
//! Version 3 has it whole. Clients of version 2 refuse what they do not know below a schema with
//! properties, and know neither `nullable` nor alternatives: there nullable values have no type,
//! values with unknown fields no fields, and alternatives are left out.

use quorate_meta::{Map, Names, Value};

use super::super::definitions::Definitions;
use super::super::{Dialect, naming};
use super::{CustomResource, METADATA};

/// Words of a schema that are published as they are.
const PLAIN: [&str; 20] = [
    "default",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "required",
    "title",
    "type",
    "uniqueItems",
];
/// Alternatives and the like: lists of schemas, and one that is alone.
const COMBINED: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const NOT: &str = "not";
/// Extensions, by their neutral names.
const EXTENSIONS: [&str; 7] = [
    "embedded-type",
    "int-or-string",
    "list-map-keys",
    "list-type",
    "map-type",
    "preserve-unknown-fields",
    "validations",
];

/// The definition of the objects of a resource.
pub(super) fn object(
    dialect: Dialect,
    resource: &CustomResource<'_>,
    shared: &mut Definitions<'_>,
    names: &Names,
) -> Value {
    let mut publisher = SchemaPublisher { dialect, shared, names };
    let schema = resource.schema.and_then(Value::as_map);
    let schema = schema.filter(|schema| {
        dialect == Dialect::V3 || !publisher.flag(schema, "preserve-unknown-fields")
    });
    let mut map = match schema {
        Some(schema) => {
            let mut map = publisher.schema(schema);
            publisher.object_properties("meta/v1.ObjectMeta", &mut map);
            map
        }
        // With any property, clients would refuse all others.
        None => Map::from([("type", "object")]),
    };
    extend_kind(names, resource, resource.kind, &mut map);
    map.into()
}

/// The definition of lists of a resource; `item` refers to that of its objects.
pub(super) fn list(
    dialect: Dialect,
    resource: &CustomResource<'_>,
    item: &Value,
    shared: &mut Definitions<'_>,
    names: &Names,
) -> Value {
    let CustomResource { kind, list_kind, plural, .. } = resource;
    let items = Value::from([
        ("description", Value::from(format!("The {plural}."))),
        ("items", item.clone()),
        ("type", "array".into()),
    ]);
    let mut map = Map::from([
        ("description", Value::from(format!("{list_kind} is a list of {kind}."))),
        ("properties", Map::from([("items", items)]).into()),
        ("required", vec!["items"].into()),
        ("type", "object".into()),
    ]);
    SchemaPublisher { dialect, shared, names }.object_properties("meta/v1.ListMeta", &mut map);
    extend_kind(names, resource, list_kind, &mut map);
    map.into()
}

fn extend_kind(names: &Names, resource: &CustomResource<'_>, kind: &str, map: &mut Map) {
    let gvk = naming::group_version_kind(resource.group, resource.version, kind);
    naming::extend(names, map, "group-version-kind", &vec![gvk].into());
}

struct SchemaPublisher<'w, 'g> {
    dialect: Dialect,
    shared: &'w mut Definitions<'g>,
    names: &'w Names,
}

impl SchemaPublisher<'_, '_> {
    fn get<'s>(&self, schema: &'s Map, extension: &str) -> Option<&'s Value> {
        schema.get(&self.names.extension(extension)).filter(|value| !value.is_null())
    }

    fn flag(&self, schema: &Map, extension: &str) -> bool {
        self.get(schema, extension).and_then(Value::as_bool).unwrap_or_default()
    }

    /// One schema and everything below it. The depth is that of definitions, which is bounded where
    /// they are read.
    fn schema(&mut self, schema: &Map) -> Map {
        let set = |word: &&str| schema.get(word).filter(|value| !value.is_null());
        let mut map: Map = PLAIN
            .iter()
            .filter_map(|word| set(word).map(|value| (*word, value.clone())))
            .filter(|(word, value)| !is_left_out(word, value))
            .collect();
        for extension in EXTENSIONS {
            let value = self.get(schema, extension);
            if let Some(value) = value.filter(|value| !value.is_empty() && **value != false.into())
            {
                naming::extend(self.names, &mut map, extension, value);
            }
        }
        self.children(schema, &mut map);
        match self.dialect {
            Dialect::V2 => self.limit(schema, &mut map),
            Dialect::V3 => self.alternatives(schema, &mut map),
        }
        let is_open = self.dialect == Dialect::V2 && self.flag(schema, "preserve-unknown-fields");
        if self.flag(schema, "embedded-type") && !is_open {
            self.embed(&mut map);
        }
        map
    }

    fn children(&mut self, schema: &Map, map: &mut Map) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_map) {
            let properties: Map = properties
                .iter()
                .filter_map(|(name, value)| Some((name, self.schema(value.as_map()?))))
                .collect();
            if !properties.is_empty() {
                map.insert("properties", properties);
            }
        }
        if let Some(items) = schema.get("items").and_then(Value::as_map) {
            map.insert("items", self.schema(items));
        }
        match schema.get("additionalProperties") {
            Some(Value::Map(entries)) => {
                map.insert("additionalProperties", self.schema(entries));
            }
            Some(Value::Bool(allowed)) => {
                map.insert("additionalProperties", *allowed);
            }
            _ => {}
        }
    }

    /// What version 3 can say beyond version 2.
    fn alternatives(&mut self, schema: &Map, map: &mut Map) {
        if schema.get("nullable").and_then(Value::as_bool) == Some(true) {
            map.insert("nullable", true);
        }
        for word in COMBINED {
            let all = schema.get(word).and_then(Value::as_list).unwrap_or_default();
            let all: Vec<Value> =
                all.iter().filter_map(Value::as_map).map(|one| self.schema(one).into()).collect();
            if !all.is_empty() {
                map.insert(word, all);
            }
        }
        if let Some(not) = schema.get(NOT).and_then(Value::as_map) {
            map.insert(NOT, self.schema(not));
        }
        if self.flag(schema, "int-or-string") {
            number_or_text(map);
        }
    }

    /// Takes from a schema what clients of version 2 do not understand.
    fn limit(&self, schema: &Map, map: &mut Map) {
        let is_nullable = |schema: &Map| schema.get("nullable") == Some(&true.into());
        let is_open = self.flag(schema, "preserve-unknown-fields");
        if is_nullable(schema) || is_open {
            map.remove("items");
            map.remove("properties");
        }
        let ty = map.get_str("type").unwrap_or_default();
        let has_no_items = ty == "array" && !map.contains_key("items");
        if is_nullable(schema) || has_no_items || (is_open && ty == "object") {
            map.remove("type");
        }
        let nullable_at = |place: &[&str]| {
            place[1..]
                .iter()
                .try_fold(schema.get(place[0])?, |value, step| value.get(step))
                .and_then(Value::as_map)
                .map(is_nullable)
        };
        if nullable_at(&["additionalProperties"]) == Some(true) {
            map.remove("required");
        }
        if map.contains_key("properties")
            && let Some(required) = map.get_mut("required").and_then(Value::as_list_mut)
        {
            required.retain(|name| {
                nullable_at(&["properties", name.as_str().unwrap_or_default()]) != Some(true)
            });
            if required.is_empty() {
                map.remove("required");
            }
        }
    }

    /// The properties that every object has.
    fn object_properties(&mut self, metadata: &str, map: &mut Map) {
        let mut own = Map::new();
        for name in ["apiVersion", "kind"] {
            if let Some(property) = self.shared.machinery_property("meta/v1.Status", name) {
                own.insert(name, property);
            }
        }
        let reference = self.shared.machinery(metadata);
        let described = match self.dialect {
            Dialect::V2 => reference.get("$ref").map(|target| ("$ref", target.clone())),
            Dialect::V3 => Some(("allOf", vec![reference].into())),
        };
        let description = Value::from("Metadata that all objects of the API have.");
        let property: Map = described.into_iter().chain([("description", description)]).collect();
        own.insert(METADATA, property);
        match map.map_mut("properties") {
            Some(properties) => properties.merge(own),
            None => drop(map.insert("properties", own)),
        }
    }

    /// The properties of an object within an object.
    fn embed(&mut self, map: &mut Map) {
        self.object_properties("meta/v1.ObjectMeta", map);
        let mut required: Vec<Value> = map
            .remove("required")
            .and_then(|mut list| list.as_list_mut().map(std::mem::take))
            .unwrap_or_default();
        for name in ["kind", "apiVersion"] {
            if !required.contains(&name.into()) {
                required.push(name.into());
            }
        }
        map.insert("required", required);
    }
}

/// What says nothing: empty lists and texts, and flags that are off.
fn is_left_out(word: &str, value: &Value) -> bool {
    match word {
        "default" => false,
        "exclusiveMaximum" | "exclusiveMinimum" | "uniqueItems" => *value == false.into(),
        "description" | "enum" | "format" | "pattern" | "required" | "title" | "type" => {
            value.is_empty()
        }
        _ => false,
    }
}

/// Says in the words of OpenAPI that a value is a whole number or a text, if it does not say so.
fn number_or_text(map: &mut Map) {
    let either =
        || Value::from(vec![Value::from([("type", "integer")]), Value::from([("type", "string")])]);
    let all = map.get("allOf").and_then(Value::as_list).unwrap_or_default();
    if all.first().and_then(|first| first.get("anyOf")) == Some(&either()) {
        return;
    }
    match map.get("anyOf") {
        None => drop(map.insert("anyOf", either())),
        Some(any) if *any == either() => {}
        Some(_) => {
            let mut all = all.to_vec();
            all.insert(0, Value::from([("anyOf", either())]));
            map.insert("allOf", all);
        }
    }
}
