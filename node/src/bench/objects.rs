//! What the measured objects are: ConfigMaps, or objects made after a sample.
//!
//! Invariants: each object has a name and a payload of its own, which is random in all its letters,
//! and two objects of one template have as many bytes as their names allow; every sixteenth carries
//! the label that the selector measurement asks for, and all carry the stamp of their writer, an
//! annotation. With parts, each also carries the label of its part.
//!
//! Not here: the requests that send them.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

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

/// Letters in 64 bits.
const LETTERS_OF_BITS: usize = 10;
/// What stands for the number of an object's part in a sample.
const PART: &str = "$(part)";

/// The form of the objects.
#[derive(Debug, Clone)]
pub(super) struct ObjectTemplate {
    kind: ObjectKind,
    /// What payloads are made from, with the number of the object.
    seed: u64,
    /// Bytes of a payload.
    payload: usize,
    /// Objects belong to so many parts in turn; one part needs no label.
    parts: u32,
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
    /// Whether the part stands in it.
    has_part: bool,
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
        let payload = usize::try_from(options.payload).map_err(Error::config)?;
        let mut seed = [0; 8];
        env.entropy.fill(&mut seed);
        Ok(Self { kind, seed: u64::from_le_bytes(seed), payload, parts: options.parts() })
    }

    /// ConfigMaps with so many bytes of data.
    pub(super) fn config_map(&self, bytes: usize) -> Self {
        Self { kind: ObjectKind::ConfigMap, payload: bytes, ..self.clone() }
    }

    /// The part that an object belongs to.
    pub(super) fn part(&self, number: u32) -> u32 {
        number % self.parts
    }

    /// How many parts there are.
    pub(super) fn parts(&self) -> u32 {
        self.parts
    }

    /// The field selector of few objects, that with this number among them: the pods of its part's
    /// node where the sample says that `$(part)` is in the name of one, else the object of its name.
    pub(super) fn field_selector(&self, number: u32, name: &str) -> String {
        match &self.kind {
            ObjectKind::Sample(kind) if kind.plural == "pods" && kind.has_part => {
                format!("spec.nodeName%3Dnode-{}", self.part(number))
            }
            _ => format!("metadata.name%3D{name}"),
        }
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
        let (shard, payload) = (number % SHARDS, self.payload(number));
        let part = match self.parts {
            1 => String::new(),
            _ => format!(r#","part":"{}""#, self.part(number)),
        };
        match &self.kind {
            ObjectKind::ConfigMap => format!(
                concat!(
                    r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}","labels":{{"shard":"{}"{}}},"#,
                    r#""annotations":{{"bench/turn":"{}"}}}},"data":{{"payload":"{}"}}}}"#
                ),
                name, shard, part, turn, payload
            ),
            ObjectKind::Sample(kind) => format!(
                concat!(
                    r#"{{{},"metadata":{{"name":"{}","labels":{{"shard":"{}"{}}},"#,
                    r#""annotations":{{"bench/turn":"{}","bench/payload":"{}"}}}}{}}}"#
                ),
                kind.header,
                name,
                shard,
                part,
                turn,
                payload,
                kind.content_of(self.part(number))
            ),
        }
    }

    /// The payload of an object: letters of a generator that begins at its number (SplitMix64).
    fn payload(&self, number: u32) -> String {
        let mut state = self.seed ^ (u64::from(number) << u32::BITS);
        let mut payload = String::with_capacity(self.payload);
        while payload.len() < self.payload {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            bits ^= bits >> 31;
            for _ in 0..LETTERS_OF_BITS.min(self.payload - payload.len()) {
                payload.push(char::from(LETTERS[(bits % 64) as usize]));
                bits /= 64;
            }
        }
        payload
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
        let content: String =
            content.map(|(key, value)| format!(r#","{key}":{}"#, to_json(value))).collect();
        let prefix = if api_version.contains('/') { "/apis" } else { "/api" };
        Ok(Self {
            definition: definition.map(with_path).transpose()?,
            group_version: format!("{prefix}/{api_version}"),
            plural,
            header: header.map(|(key, value)| format!(r#""{key}":"{value}""#)).join(","),
            has_part: content.contains(PART),
            content,
        })
    }

    /// The members of an object of this part.
    fn content_of(&self, part: u32) -> Cow<'_, str> {
        match self.has_part {
            true => self.content.replace(PART, &part.to_string()).into(),
            false => (&*self.content).into(),
        }
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
