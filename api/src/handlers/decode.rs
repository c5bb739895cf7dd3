//! From a request's body to an object in canonical form: media type, syntax, kind, types, unknown and duplicate fields,
//! defaults (document 001, "Field validation").

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use quorate_meta::{GroupVersion, Names, Status, Value, well_known};
use quorate_schema::{Graph, TypeId, apply_defaults};
use quorate_wire::{cbor, json, protobuf, yaml};

use super::weight;
use super::write_options::FieldValidation;
use crate::Api;
use crate::error::Error;
use crate::negotiation;
use crate::registry::Resource;
use crate::request::Request;

/// Unknown fields up to which their order in the text is looked for; each costs a walk through the body.
const MAX_ORDERED: usize = 100;

/// A body's syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    Json,
    Yaml,
    Protobuf,
    Cbor,
}

/// What a body is to be read as: its kind, and the type that a protobuf message has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected<'a> {
    pub(super) graph: &'a Graph,
    pub(super) ty: TypeId,
    pub(super) kind: &'a str,
}

/// The kind of a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyKind<'a> {
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    pub(super) kind: &'a str,
    /// Group and version as objects say them.
    pub(super) api_version: &'a str,
    pub(super) ty: TypeId,
}

impl<'a> BodyKind<'a> {
    /// The kind of a resource's own objects.
    pub(super) fn of(resource: &'a Resource) -> Self {
        let Resource { group, version, kind, api_version, ty, .. } = resource;
        Self { group, version, kind, api_version, ty: *ty }
    }
}

/// An object as it came in.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) object: Value,
    /// What the client is warned of.
    pub(super) warnings: Vec<String>,
}

/// The media type of the body, without parameters and in lower case; JSON when nothing is said.
pub(super) fn media_type(request: &Request) -> Cow<'_, str> {
    let header = request.header("content-type").unwrap_or(well_known::MEDIA_JSON);
    negotiation::lower(header.split(';').next().unwrap_or_default().trim())
}

/// The syntax of a body that holds an object.
pub(super) fn syntax(api: &Api, request: &Request) -> Result<Syntax, Error> {
    match media_type(request).as_ref() {
        "" | well_known::MEDIA_JSON => Ok(Syntax::Json),
        well_known::MEDIA_YAML => Ok(Syntax::Yaml),
        well_known::MEDIA_CBOR if api.formats.has_cbor() => Ok(Syntax::Cbor),
        media if api.names.is_protobuf(media) => Ok(Syntax::Protobuf),
        _ => Err(Status::unsupported_body(&api.formats.media_types()).into()),
    }
}

/// Reads the body as an object of the resource, in canonical form and with its defaults.
pub(super) fn object(
    api: &Api,
    request: &Request,
    resource: &Resource,
    validation: FieldValidation,
) -> Result<Decoded, Error> {
    let (mut decoded, _) = of_kind(api, request, BodyKind::of(resource), validation)?;
    complete(&api.graph, api.names, resource, &mut decoded.object);
    Ok(decoded)
}

/// Reads the body as an object of a kind, in canonical form, without defaults. The second part of the answer is the
/// apiVersion that it said, if any; the object itself has the cluster's own name for it.
pub(super) fn of_kind(
    api: &Api,
    request: &Request,
    wanted: BodyKind<'_>,
    validation: FieldValidation,
) -> Result<(Decoded, Option<String>), Error> {
    let expected = Expected { graph: &api.graph, ty: wanted.ty, kind: wanted.kind };
    let (mut object, duplicates) = parse(syntax(api, request)?, expected, &request.body)
        .map_err(|why| unrecognized(wanted, &why, &request.body))?;
    weight::check_body(&object)?;
    let asked = object.str_at(&["apiVersion"]).filter(|asked| !asked.is_empty()).map(str::to_owned);
    check_kind(api.names, wanted, &mut object).map_err(|why| match why {
        WrongKind::Unreadable(why) => unrecognized(wanted, &why, &request.body),
        WrongKind::Other(message) => Error::bad_request(message),
    })?;
    let unknown = quorate_schema::decode(&api.graph, wanted.ty, &mut object)
        .map_err(|error| Error::bad_request(error.for_kind(wanted.kind, wanted.api_version)))?;
    let warnings = findings(unknown, duplicates, &request.body);
    if validation == FieldValidation::Strict && !warnings.is_empty() {
        let (kind, version) = (wanted.kind, wanted.api_version);
        let list = warnings.join(", ");
        return Err(Error::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: strict decoding error: {list}"
        )));
    }
    let warnings = if validation == FieldValidation::Warn { warnings } else { Vec::new() };
    Ok((Decoded { object, warnings }, asked))
}

/// Fills in the defaults of an object in canonical form.
pub(super) fn complete(graph: &Graph, names: &Names, resource: &Resource, object: &mut Value) {
    apply_defaults(graph, resource.ty, object);
    resource.strategy.default(names, object);
}

/// Everything odd about a body in the words of warnings and refusals: unknown fields in the order in which their names
/// first stand in the text (very many: of their paths), then duplicate ones but for those that are unknown anyway.
pub(super) fn findings(mut unknown: Vec<String>, duplicates: Vec<String>, body: &[u8]) -> Vec<String> {
    if (2..=MAX_ORDERED).contains(&unknown.len()) {
        unknown.sort_by_cached_key(|path| {
            let name = path.rsplit('.').next().unwrap_or_default();
            let name = name.split('[').next().unwrap_or_default().as_bytes();
            memchr::memmem::find(body, name)
        });
    }
    let marks = RandomState::new();
    let whole = |path: &String| parts_of(&marks, path).last().map_or(0, |(_, mark)| mark);
    let paths: HashMap<u64, &str> = unknown.iter().map(|path| (whole(path), path.as_str())).collect();
    let is_new = |told: &String| {
        let path = told.strip_prefix("duplicate field \"").unwrap_or_default();
        !parts_of(&marks, path)
            .any(|(end, mark)| end < path.len() && paths.get(&mark).is_some_and(|known| *known == &path[..end]))
    };
    let duplicates: Vec<String> = duplicates.into_iter().filter(is_new).collect();
    unknown_fields(&unknown).chain(duplicates).collect()
}

/// Where the parts of a path end, each with a hash of all up to there. The path is read once: each of its bytes may end a
/// part, and to hash every beginning by itself would take the square of its length.
fn parts_of(marks: &RandomState, path: &str) -> impl Iterator<Item = (usize, u64)> {
    let mut hasher = marks.build_hasher();
    let mut begin = 0;
    let ends = path.match_indices(['"', '.', '[']).map(|(end, _)| end).chain([path.len()]);
    ends.map(move |end| {
        hasher.write(&path.as_bytes()[begin..end]);
        begin = end;
        (end, hasher.finish())
    })
}

/// Unknown fields in the words of warnings and refusals.
pub(super) fn unknown_fields(paths: &[String]) -> impl Iterator<Item = String> {
    paths.iter().map(|path| format!("unknown field \"{path}\""))
}

/// Duplicate fields in the words of warnings and refusals.
pub(super) fn duplicate_fields(paths: &[String]) -> impl Iterator<Item = String> {
    paths.iter().map(|path| format!("duplicate field \"{path}\""))
}

/// Reads a body. Of duplicate fields the last one wins; the second part of the answer tells of them.
pub(super) fn parse(syntax: Syntax, expected: Expected<'_>, body: &[u8]) -> Result<(Value, Vec<String>), String> {
    match syntax {
        Syntax::Json => json::parse(body)
            .map(|(value, duplicates)| (value, duplicate_fields(&duplicates).collect()))
            .map_err(|error| format!("couldn't get version/kind; json parse error: {error}")),
        Syntax::Yaml => yaml::parse(body)
            .map(|(value, duplicates)| (value, duplicates.iter().map(ToString::to_string).collect()))
            .map_err(|error| error.to_string()),
        Syntax::Protobuf => {
            parse_protobuf(expected, body).map(|value| (value, Vec::new())).map_err(|error| error.to_string())
        }
        Syntax::Cbor => cbor::parse(body)
            .map(|value| (value, Vec::new()))
            .map_err(|error| format!("unable to determine group/version/kind: {error}")),
    }
}

/// Reads a protobuf body. Of another kind's message nothing is read: what it says it is suffices to refuse it.
fn parse_protobuf(expected: Expected<'_>, body: &[u8]) -> Result<Value, protobuf::Error> {
    let envelope = protobuf::Envelope::read(body)?;
    if envelope.kind.is_empty() || envelope.kind == expected.kind {
        return protobuf::decode(expected.graph, expected.ty, body);
    }
    Ok(Value::Map([("apiVersion", envelope.api_version), ("kind", envelope.kind)].into()))
}

enum WrongKind {
    /// apiVersion or kind are not even texts.
    Unreadable(String),
    /// They name something else.
    Other(String),
}

/// Checks that the object says what the path says, or nothing; then it says it.
fn check_kind(names: &Names, wanted: BodyKind<'_>, object: &mut Value) -> Result<(), WrongKind> {
    let found = object.type_name();
    let cannot = |found: &str, what: &str| {
        WrongKind::Unreadable(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into {what}"
        ))
    };
    let Some(map) = object.as_map_mut() else {
        return Err(cannot(found, "an object with apiVersion and kind"));
    };
    let text = |field: &str| match map.get(field) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(other) => Err(cannot(other.type_name(), &format!("Go struct field .{field} of type string"))),
    };
    let (version, kind) = (text("apiVersion")?, text("kind")?);
    if !kind.is_empty() && kind != wanted.kind {
        let version = if version.is_empty() { wanted.api_version } else { version };
        let expected = wanted.kind;
        return Err(WrongKind::Other(format!(
            "{kind} in version \"{version}\" cannot be handled as a {expected}: converting ({kind}) to ({expected}): unknown conversion"
        )));
    }
    if !version.is_empty() && !means(names, version, wanted) {
        let expected = wanted.api_version;
        return Err(WrongKind::Other(format!(
            "the API version in the data ({version}) does not match the expected API version ({expected})"
        )));
    }
    map.insert("apiVersion", wanted.api_version);
    map.insert("kind", wanted.kind);
    Ok(())
}

/// Whether an apiVersion means the group version, in this profile's name or its edge alias.
pub(super) fn means(names: &Names, api_version: &str, wanted: BodyKind<'_>) -> bool {
    GroupVersion::parse(api_version).is_some_and(|asked| {
        let group = names.edge_group(&asked.group).unwrap_or(asked.group);
        group == wanted.group && asked.version == wanted.version
    })
}

fn unrecognized(wanted: BodyKind<'_>, why: &str, body: &[u8]) -> Error {
    Status::unrecognized_body(wanted.kind, why, body).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_come_in_the_order_of_the_text_and_once() {
        let body = br#"{"zeta":1,"metadata":{"mid":2,"name":"a"},"alpha":3,"data":{"k":"1","k":"2"},"zeta":4}"#;
        let (_, duplicates) = json::parse(body).unwrap();
        let duplicates = duplicate_fields(&duplicates).collect();
        let unknown = ["alpha", "metadata.mid", "zeta"].map(str::to_owned).to_vec();
        let expect = [
            "unknown field \"zeta\"",
            "unknown field \"metadata.mid\"",
            "unknown field \"alpha\"",
            "duplicate field \"data.k\"",
        ];
        assert_eq!(findings(unknown, duplicates, body), expect);
    }

    #[test]
    fn duplicates_inside_of_unknown_fields_are_not_told() {
        let check = |unknown: &[&str], duplicate: &str, expect: bool| {
            let told = findings(unknown.iter().map(|path| (*path).to_owned()).collect(), vec![duplicate.into()], b"");
            assert_eq!(told.len() > unknown.len(), expect, "{unknown:?} {duplicate}");
        };
        check(&["a.b"], "duplicate field \"a.b\"", false);
        check(&["a.b"], "duplicate field \"a.b.c\"", false);
        check(&["a.b"], "duplicate field \"a.b[1].c\"", false);
        check(&["a.b", "x"], "duplicate field \"a.bc\"", true);
        check(&["a.b"], "duplicate field \"a\"", true);
        check(&["a..b"], "duplicate field \"a..b..c\"", false);
        check(&["a[0]"], "duplicate field \"a[0].b\"", false);
        check(&[""], "line 3: key \"k\" already set in map", true);
    }

    #[test]
    fn very_many_unknown_fields_are_not_looked_for() {
        let names: Vec<String> = (0..=MAX_ORDERED).map(|at| format!("f{at:03}")).collect();
        let body = names.iter().rev().cloned().collect::<Vec<_>>().join(" ");
        let told = |count: usize| findings(names[..count].to_vec(), Vec::new(), body.as_bytes());
        assert_eq!(told(MAX_ORDERED)[0], "unknown field \"f099\"");
        assert_eq!(told(MAX_ORDERED + 1)[0], "unknown field \"f000\"");
    }
}
