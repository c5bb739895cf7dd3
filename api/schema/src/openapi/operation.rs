//! An OpenAPI operation: a method of a path.

use quorate_meta::{Map, Value, well_known};

use super::{Dialect, Style, naming, parameters};

/// An operation, independent of the dialect.
#[derive(Debug)]
pub(super) struct PathOperation {
    /// `list`, `watch`, `watchlist`, `post`, `deletecollection`, `get`, `put`, `patch`, `delete`,
    /// `connect`.
    pub(super) action: &'static str,
    /// Unique id.
    pub(super) id: String,
    /// Tag of its group version.
    pub(super) tag: String,
    /// The description, one line.
    pub(super) description: String,
    /// Group, version and kind of the body or response; none for pages without one.
    pub(super) kind: Option<Value>,
    /// Reference to the type of the body.
    pub(super) body: Option<Value>,
    /// Reference to the type of the response.
    pub(super) answer: Option<Value>,
    /// The media types of the response.
    pub(super) media: Produced,
}

/// In which media types there is a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Produced {
    /// In those of objects of built-in kinds.
    Objects,
    /// In those of custom objects.
    Custom,
    /// As a text, besides those of objects.
    Text,
    /// In this one only.
    Only(&'static str),
}

impl PathOperation {
    /// Writes the operation.
    pub(super) fn write(self, style: Style<'_>) -> Value {
        let (names, dialect) = (style.graph.names(), style.dialect);
        let (media, consumed) = self.media_types(style);
        let media: Vec<&str> = media.iter().map(String::as_str).collect();
        let mut map = Map::from([
            ("description", Value::from(self.description)),
            ("operationId", self.id.into()),
            ("tags", vec![self.tag].into()),
        ]);
        if let Some(kind) = &self.kind {
            naming::extend(names, &mut map, "action", &self.action.into());
            naming::extend(names, &mut map, "group-version-kind", kind);
        }
        let query = parameters::of_action(self.action);
        let mut list: Vec<Value> =
            query.into_iter().map(|parameter| parameters::query(dialect, parameter)).collect();
        match dialect {
            Dialect::V2 => {
                list.extend(self.body.map(|schema| body_parameter(self.action, schema)));
                map.insert("consumes", consumed);
                map.insert("produces", media.clone());
                map.insert("schemes", vec!["https"]);
            }
            Dialect::V3 => {
                if let Some(schema) = self.body {
                    map.insert("requestBody", request_body(self.action, &consumed, &schema));
                }
            }
        }
        if !list.is_empty() {
            map.insert("parameters", list);
        }
        map.insert("responses", responses(dialect, self.action, self.answer.as_ref(), &media));
        Value::Map(map)
    }

    /// The media types of responses and of bodies.
    fn media_types(&self, style: Style<'_>) -> (Vec<String>, Vec<&'static str>) {
        const OF_CUSTOM: [&str; 2] = [well_known::MEDIA_JSON, well_known::MEDIA_YAML];
        let names = style.graph.names();
        let is_patch = self.action == "patch";
        let streams = matches!(self.action, "list" | "watch" | "watchlist");
        let mut consumed = if is_patch { PATCH_MEDIA.to_vec() } else { vec!["*/*"] };
        let media = match self.media {
            Produced::Objects => {
                vec![well_known::MEDIA_JSON, well_known::MEDIA_YAML, names.media_protobuf]
            }
            Produced::Custom => {
                if is_patch {
                    consumed.retain(|media| *media != well_known::MEDIA_STRATEGIC_PATCH);
                } else {
                    consumed = OF_CUSTOM.to_vec();
                }
                OF_CUSTOM.to_vec()
            }
            Produced::Text => {
                let objects = [well_known::MEDIA_JSON, well_known::MEDIA_YAML];
                [&objects[..], &[names.media_protobuf, "text/plain"]].concat()
            }
            Produced::Only(media) => vec![media],
        };
        let streamed = [well_known::MEDIA_JSON, names.media_protobuf];
        let streamed = streamed.map(|media| format!("{media};stream=watch"));
        let mut media: Vec<String> = media.into_iter().map(str::to_owned).collect();
        media.extend(streamed.into_iter().filter(|_| streams && self.media == Produced::Objects));
        if style.cbor && !matches!(self.media, Produced::Only(_) | Produced::Text) {
            media.push(well_known::MEDIA_CBOR.to_owned());
            media.extend(streams.then(|| well_known::MEDIA_CBOR_SEQUENCE.to_owned()));
            consumed.extend(is_patch.then_some(well_known::MEDIA_APPLY_PATCH_CBOR));
        }
        (media, consumed)
    }
}

/// Media types of a patch that are always accepted.
const PATCH_MEDIA: [&str; 4] = [
    well_known::MEDIA_JSON_PATCH,
    well_known::MEDIA_MERGE_PATCH,
    well_known::MEDIA_STRATEGIC_PATCH,
    well_known::MEDIA_APPLY_PATCH,
];

fn body_required(action: &str) -> bool {
    matches!(action, "post" | "put" | "patch")
}

fn body_parameter(action: &str, schema: Value) -> Value {
    let mut map =
        Map::from([("in", Value::from("body")), ("name", "body".into()), ("schema", schema)]);
    if body_required(action) {
        map.insert("required", true);
    }
    Value::Map(map)
}

fn request_body(action: &str, media: &[&str], schema: &Value) -> Value {
    let mut map = Map::from([("content", content(media, schema))]);
    if body_required(action) {
        map.insert("required", true);
    }
    Value::Map(map)
}

fn content(media: &[&str], schema: &Value) -> Value {
    let entries = media.iter().map(|media| (*media, Value::from([("schema", schema.clone())])));
    Value::Map(entries.collect())
}

fn responses(dialect: Dialect, action: &str, answer: Option<&Value>, media: &[&str]) -> Value {
    let mut all = Map::from([("401", Value::from([("description", "Unauthorized")]))]);
    let good: &[(&str, &str)] = match action {
        "post" => &[("200", "OK"), ("201", "Created"), ("202", "Accepted")],
        "put" | "patch" => &[("200", "OK"), ("201", "Created")],
        "delete" => &[("200", "OK"), ("202", "Accepted")],
        _ => &[("200", "OK")],
    };
    for (code, description) in good {
        let mut response = Map::from([("description", *description)]);
        if let Some(schema) = answer {
            match dialect {
                Dialect::V2 => response.insert("schema", schema.clone()),
                Dialect::V3 => response.insert("content", content(media, schema)),
            };
        }
        all.insert(*code, response);
    }
    Value::Map(all)
}
