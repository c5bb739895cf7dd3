//! What the measured objects are: ConfigMaps, or objects made after a sample.
//!
//! Invariants: each object has a name and a payload of its own, and two objects of one template
//! have as many bytes as their names allow; every sixteenth carries the label that the selector
//! measurement asks for, and all carry the stamp of their writer, an annotation.
//!
//! Not here: the requests that send them.

#[cfg(test)]
mod tests;

use quorate_env::Env;
use quorate_kinds::builtin;
use quorate_meta::{Naming, Value};
use quorate_wire::{json, yaml};

use super::Options;
use crate::error::Error;
use crate::files::read_text;

/// One object in this many is selected by label.
const SHARDS: u32 = 16;
/// Characters of payloads: chosen at random, so that payloads compress badly.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The form of the objects.
#[derive(Debug, Clone)]
pub(super) struct ObjectTemplate {
    kind: ObjectKind,
    /// The payload of object 0; each further object's begins one character later.
    payload: String,
}

#[derive(Debug, Clone)]
enum ObjectKind {
    ConfigMap,
    Sample(Box<SampleKind>),
}

/// Objects made after a sample.
#[derive(Debug, Clone, PartialEq)]
struct SampleKind {
    /// `None` for a built-in kind: the path of the definition's collection, and its JSON.
    definition: Option<(String, String)>,
    /// The path of the group version.
    group_version: String,
    plural: String,
    /// The members `apiVersion` and `kind`.
    header: String,
    /// The sample's other members except `metadata`, each after a comma.
    content: String,
}

impl ObjectTemplate {
    /// ConfigMaps, or what the options' files describe.
    pub(super) fn read(options: &Options, env: &Env) -> Result<Self, Error> {
        let kind = match &options.sample {
            Some(sample) => {
                let definition = options.definition.as_deref().map(read_text).transpose()?;
                let kind = SampleKind::new(definition.as_deref(), &read_text(sample)?)?;
                ObjectKind::Sample(Box::new(kind))
            }
            None => ObjectKind::ConfigMap,
        };
        let mut random = vec![0; usize::try_from(options.payload).map_err(Error::config)?];
        env.entropy.fill(&mut random);
        let letter = |byte: &u8| char::from(LETTERS[usize::from(byte % 64)]);
        Ok(Self { kind, payload: random.iter().map(letter).collect() })
    }

    /// ConfigMaps with so many bytes of data, the payload of these objects as often as it takes.
    pub(super) fn config_map(&self, bytes: usize) -> Self {
        let source = if self.payload.is_empty() { "0123456789" } else { &self.payload };
        let payload = source.chars().cycle().take(bytes).collect();
        Self { kind: ObjectKind::ConfigMap, payload }
    }

    /// The merge patch that changes the stamp of an object's writer and nothing else.
    pub(super) fn stamp(turn: u32) -> String {
        format!(r#"{{"metadata":{{"annotations":{{"bench/turn":"{turn}"}}}}}}"#)
    }

    /// The definition that the objects need, as the path of its collection and its JSON.
    pub(super) fn definition(&self) -> Option<(&str, &str)> {
        match &self.kind {
            ObjectKind::ConfigMap => None,
            ObjectKind::Sample(kind) => {
                kind.definition.as_ref().map(|(path, definition)| (&**path, &**definition))
            }
        }
    }

    /// The path of a namespace's collection.
    pub(super) fn collection(&self, namespace: &str) -> String {
        match &self.kind {
            ObjectKind::ConfigMap => format!("/api/v1/namespaces/{namespace}/configmaps"),
            ObjectKind::Sample(kind) => {
                format!("{}/namespaces/{namespace}/{}", kind.group_version, kind.plural)
            }
        }
    }

    /// One object in JSON; `turn` is the stamp of its writer.
    pub(super) fn object(&self, number: u32, turn: u32, name: &str) -> String {
        let shard = number % SHARDS;
        let at = if self.payload.is_empty() { 0 } else { number as usize % self.payload.len() };
        let (end, start) = self.payload.split_at(at);
        match &self.kind {
            ObjectKind::ConfigMap => format!(
                concat!(
                    r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}","labels":{{"shard":"{}"}},"#,
                    r#""annotations":{{"bench/turn":"{}"}}}},"data":{{"payload":"{}{}"}}}}"#
                ),
                name, shard, turn, start, end
            ),
            ObjectKind::Sample(kind) => format!(
                concat!(
                    r#"{{{},"metadata":{{"name":"{}","labels":{{"shard":"{}"}},"#,
                    r#""annotations":{{"bench/turn":"{}","bench/payload":"{}{}"}}}}{}}}"#
                ),
                kind.header, name, shard, turn, start, end, kind.content
            ),
        }
    }
}

impl SampleKind {
    fn new(definition: Option<&str>, sample: &str) -> Result<Self, Error> {
        let sample = parse("the sample", sample)?;
        let (api_version, kind) = (text(&sample, &["apiVersion"])?, text(&sample, &["kind"])?);
        let definition = definition.map(|text| parse("the definition", text)).transpose()?;
        let plural = match &definition {
            Some(definition) => plural_of(definition)?,
            None => builtin_plural(&api_version, &kind)?,
        };
        let with_path = |definition: Value| -> Result<_, Error> {
            let version = text(&definition, &["apiVersion"])?;
            Ok((format!("/apis/{version}/customresourcedefinitions"), to_json(&definition)))
        };
        let header = [("apiVersion", &api_version), ("kind", &kind)];
        let members = sample.as_map().into_iter().flat_map(|map| map.iter());
        let content =
            members.filter(|(key, _)| !matches!(*key, "apiVersion" | "kind" | "metadata"));
        let prefix = if api_version.contains('/') { "/apis" } else { "/api" };
        Ok(Self {
            definition: definition.map(with_path).transpose()?,
            group_version: format!("{prefix}/{api_version}"),
            plural,
            header: header.map(|(key, value)| format!(r#""{key}":"{value}""#)).join(","),
            content: content
                .map(|(key, value)| format!(r#","{key}":{}"#, to_json(value)))
                .collect(),
        })
    }
}

/// The plural name of a definition's objects.
fn plural_of(definition: &Value) -> Result<String, Error> {
    if text(definition, &["spec", "scope"])? != "Namespaced" {
        return Err(Error::config("objects of the definition must be namespaced"));
    }
    text(definition, &["spec", "names", "plural"])
}

/// The plural name of a built-in kind, in either profile.
fn builtin_plural(api_version: &str, kind: &str) -> Result<String, Error> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    for naming in [Naming::Svc, Naming::Kubernetes] {
        let catalogue = builtin::catalogue_of(naming.names());
        if let Some(found) = catalogue.find_kind(group, version, kind).filter(|it| it.namespaced) {
            return Ok(found.plural.clone());
        }
    }
    Err(Error::config(format_args!(
        "{api_version} {kind} is no built-in kind of namespaced objects: give its definition"
    )))
}

fn text(value: &Value, path: &[&str]) -> Result<String, Error> {
    let missing = || Error::config(format_args!("{} is missing", path.join(".")));
    value.str_at(path).map(str::to_owned).ok_or_else(missing)
}

fn parse(what: &str, text: &str) -> Result<Value, Error> {
    let wrong = |error: &dyn std::fmt::Display| Error::config(format_args!("{what}: {error}"));
    yaml::parse(text.as_bytes()).map(|(value, _)| value).map_err(|error| wrong(&error))
}

fn to_json(value: &Value) -> String {
    String::from_utf8(json::to_vec(value)).expect("JSON is written as UTF-8")
}
