//! The decoder of request bodies: from media type, syntax, kind, types, unknown and duplicate
//! fields to an object in canonical form with its defaults.

use std::borrow::Cow;

use quorate_meta::{
    Cause, GroupKind, GroupVersion, GroupVersionKind, Map, Names, Status, Value, well_known,
};
use quorate_schema::{Graph, TypeId, apply_defaults};
use quorate_wire::{cbor, json, protobuf, yaml};

use super::body_size_limit;
use super::field_errors::{FieldErrors, Repeated};
use super::options::FieldValidation;
use crate::Api;
use crate::handlers::Request;
use crate::negotiation;
use quorate_registry::Resource;
use quorate_registry::error::Error;
use quorate_trace::measure;

/// A body's syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::handlers) enum Syntax {
    Json,
    Yaml,
    Protobuf,
    Cbor,
}

/// What a body is to be read as: its kind, and the type that a protobuf message has.
#[derive(Debug, Clone, Copy)]
pub(in crate::handlers) struct Expected<'a> {
    pub(in crate::handlers) graph: &'a Graph,
    pub(in crate::handlers) ty: TypeId,
    pub(in crate::handlers) kind: &'a str,
}

/// The kind of a body.
#[derive(Debug, Clone, Copy)]
pub(in crate::handlers) struct BodyKind<'a> {
    pub(in crate::handlers) group: &'a str,
    pub(in crate::handlers) version: &'a str,
    /// Versions that a body may say instead: of the same form, and not served any more.
    pub(in crate::handlers) former: &'a [&'a str],
    pub(in crate::handlers) kind: &'a str,
    /// Group and version as objects say them.
    pub(in crate::handlers) api_version: &'a str,
    /// The graph that has the type.
    pub(in crate::handlers) graph: &'a Graph,
    pub(in crate::handlers) ty: TypeId,
    /// Whether a body must say its kind, as those of custom resources.
    pub(in crate::handlers) says_kind: bool,
}

impl<'a> BodyKind<'a> {
    /// The kind of a resource's own objects, of which `graph` has the type.
    pub(in crate::handlers) fn of(resource: &'a Resource, graph: &'a Graph) -> Self {
        let Resource { group, version, kind, api_version, .. } = resource;
        let ty = resource.ty();
        let (former, says_kind) = (&[][..], resource.is_custom());
        Self { group, version, former, kind, api_version, graph, ty, says_kind }
    }

    fn group_version_kind(self) -> GroupVersionKind {
        GroupVersionKind::new(self.group, self.version, self.kind)
    }
}

/// An object as it came in.
#[derive(Debug)]
pub(in crate::handlers) struct Decoded {
    pub(in crate::handlers) object: Value,
    /// What the client is warned of.
    pub(in crate::handlers) warnings: Vec<String>,
}

/// Why a body is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::handlers) enum Unread {
    /// There is too much in it.
    TooMuch(String),
    /// It is no text of its syntax.
    Malformed(String),
}

impl Unread {
    /// 413 for too much, as of a body that is read and has too many values; for anything else what
    /// `refuse` makes of it.
    pub(in crate::handlers) fn or(self, refuse: impl FnOnce(String) -> Error) -> Error {
        match self {
            Self::TooMuch(why) => Status::request_entity_too_large(&why).into(),
            Self::Malformed(why) => refuse(why),
        }
    }
}

impl From<yaml::Error> for Unread {
    fn from(error: yaml::Error) -> Self {
        if error.too_many {
            Self::TooMuch(error.to_string())
        } else {
            Self::Malformed(error.to_string())
        }
    }
}

/// The media type of the body, without parameters and in lower case; JSON when nothing is said.
pub(in crate::handlers) fn media_type<'r>(request: &'r Request<'_>) -> Cow<'r, str> {
    let header = request.header("content-type").unwrap_or(well_known::MEDIA_JSON);
    negotiation::lower(header.split(';').next().unwrap_or_default().trim())
}

/// The syntax of a body that holds an object.
pub(in crate::handlers) fn syntax(api: &Api, request: &Request<'_>) -> Result<Syntax, Error> {
    match media_type(request).as_ref() {
        "" | well_known::MEDIA_JSON => Ok(Syntax::Json),
        well_known::MEDIA_YAML => Ok(Syntax::Yaml),
        well_known::MEDIA_CBOR if api.formats.has_cbor() => Ok(Syntax::Cbor),
        media if api.names.is_protobuf(media) => Ok(Syntax::Protobuf),
        _ => Err(Status::unsupported_body(&api.formats.media_types()).into()),
    }
}

/// Reads the body as an object of the resource, in canonical form and with its defaults.
pub(in crate::handlers) fn object(
    api: &Api,
    request: &Request<'_>,
    resource: &Resource,
    validation: FieldValidation,
) -> Result<Decoded, Error> {
    measure("decode", || {
        if resource.is_custom() && syntax(api, request)? == Syntax::Protobuf {
            let mut readable = api.formats.media_types();
            readable.retain(|media| !api.names.is_protobuf(media));
            return Err(Status::unsupported_body(&readable).into());
        }
        let (mut decoded, _) =
            of_kind(api, request, BodyKind::of(resource, &resource.graph()), validation)?;
        complete(api.names, resource, &mut decoded.object);
        Ok(decoded)
    })
}

/// Reads the body as an object of a kind, in canonical form, without defaults. The second part of
/// the answer is the apiVersion that it said, if any; the object itself has the cluster's own name
/// for it.
pub(in crate::handlers) fn of_kind(
    api: &Api,
    request: &Request<'_>,
    wanted: BodyKind<'_>,
    validation: FieldValidation,
) -> Result<(Decoded, Option<String>), Error> {
    let expected = Expected { graph: wanted.graph, ty: wanted.ty, kind: wanted.kind };
    let (mut object, duplicates) = parse(syntax(api, request)?, expected, &request.body)
        .map_err(|why| why.or(|why| unrecognized(wanted, &why, &request.body)))?;
    body_size_limit::check_body(&object)?;
    let asked = object.str_at(&["apiVersion"]).filter(|asked| !asked.is_empty()).map(str::to_owned);
    check_kind(api.names, wanted, &mut object).map_err(|why| match why {
        WrongKind::Unreadable(why) => unrecognized(wanted, &why, &request.body),
        WrongKind::Other(message) => Error::bad_request(message),
        WrongKind::Invalid(status) => (*status).into(),
    })?;
    let unknown = quorate_schema::decode(wanted.graph, wanted.ty, &mut object)
        .map_err(|error| Error::bad_request(error.for_kind(wanted.kind, wanted.api_version)))?;
    let errors = FieldErrors::of_body(unknown, duplicates, &request.body);
    if validation == FieldValidation::Strict && !errors.is_empty() {
        return Err(Status::unusable_body(&wanted.group_version_kind(), &errors.refusal()).into());
    }
    let warnings = if validation == FieldValidation::Warn { errors.warnings() } else { Vec::new() };
    Ok((Decoded { object, warnings }, asked))
}

/// Fills in the defaults of an object in canonical form.
pub(in crate::handlers) fn complete(names: &Names, resource: &Resource, object: &mut Value) {
    apply_defaults(&resource.graph(), resource.ty(), object);
    resource.strategy.default(names, object);
}

/// Reads a body. Of duplicate fields the last one wins; the second part of the answer says which
/// there are.
pub(in crate::handlers) fn parse(
    syntax: Syntax,
    expected: Expected<'_>,
    body: &[u8],
) -> Result<(Value, Repeated), Unread> {
    let once = |value| (value, Repeated::Fields(Vec::new()));
    match syntax {
        Syntax::Json => json::parse(body)
            .map(|(value, paths)| (value, Repeated::Fields(paths)))
            .map_err(|error| {
                Unread::Malformed(format!("couldn't get version/kind; json parse error: {error}"))
            }),
        Syntax::Yaml => yaml::parse(body)
            .map(|(value, duplicates)| (value, Repeated::Keys(duplicates)))
            .map_err(Unread::from),
        Syntax::Protobuf => parse_protobuf(expected, body)
            .map(once)
            .map_err(|error| Unread::Malformed(error.to_string())),
        Syntax::Cbor => cbor::parse(body).map(once).map_err(|error| {
            Unread::Malformed(format!("unable to determine group/version/kind: {error}"))
        }),
    }
}

/// Reads a protobuf body. Of another kind's message nothing is read: what it says it is suffices to
/// refuse it.
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
    /// The kind is not that of the custom resource.
    Invalid(Box<Status>),
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
        Some(other) => {
            Err(cannot(other.type_name(), &format!("Go struct field .{field} of type string")))
        }
    };
    let (version, kind) = (text("apiVersion")?, text("kind")?);
    if wanted.says_kind {
        check_custom_kind(wanted, kind, map)?;
    }
    if !kind.is_empty() && kind != wanted.kind {
        let version = version
            .rsplit('/')
            .next()
            .filter(|version| !version.is_empty())
            .unwrap_or(wanted.version);
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

/// Checks the kind of a body of a custom resource.
fn check_custom_kind(wanted: BodyKind<'_>, kind: &str, object: &Map) -> Result<(), WrongKind> {
    if kind.is_empty() {
        return Err(WrongKind::Unreadable("Object 'Kind' is missing".to_owned()));
    }
    if kind == wanted.kind {
        return Ok(());
    }
    let name = object.get("metadata").and_then(|metadata| metadata.str_at(&["name"]));
    let cause = Cause::invalid("kind", kind, &format!("must be {}", wanted.kind));
    let found = GroupKind::new(wanted.group, kind);
    let status = Status::invalid(&found, name.unwrap_or_default(), vec![cause]);
    Err(WrongKind::Invalid(Box::new(status)))
}

/// Whether an apiVersion means the group version, in this profile's name or its edge alias.
pub(in crate::handlers) fn means(names: &Names, api_version: &str, wanted: BodyKind<'_>) -> bool {
    GroupVersion::parse(api_version).is_some_and(|asked| {
        let group = names.edge_group(&asked.group).unwrap_or(asked.group);
        let version = asked.version.as_str();
        group == wanted.group && (version == wanted.version || wanted.former.contains(&version))
    })
}

fn unrecognized(wanted: BodyKind<'_>, why: &str, body: &[u8]) -> Error {
    Status::unrecognized_body(wanted.kind, why, body).into()
}

#[cfg(test)]
mod tests {
    use quorate_meta::Naming;

    use super::*;

    #[test]
    fn bodies_are_refused_and_say_what_they_repeat() {
        let graph = Graph::builtin(Naming::Svc.names());
        let ty = graph.type_named("core/v1.ConfigMap").unwrap().id;
        let expected = Expected { graph: &graph, ty, kind: "ConfigMap" };
        let check = |syntax: Syntax, body: &str, expect: Result<&[&str], u16>| {
            let found =
                parse(syntax, expected, body.as_bytes()).map(|(_, repeated)| match repeated {
                    Repeated::Fields(paths) => paths,
                    Repeated::Keys(keys) => keys.iter().map(ToString::to_string).collect(),
                });
            let found = found.map_err(|why| why.or(Error::bad_request).into_status().code);
            let expect =
                expect.map(|texts| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
            assert_eq!(found, expect);
        };
        check(Syntax::Json, r#"{"data":{"k":"1","k":"2","k":"3"}}"#, Ok(&["data.k"]));
        check(
            Syntax::Yaml,
            "data:\n  k: 1\n  k: 2\n  k: 3\n",
            Ok(&["line 3: key \"k\" already set in map", "line 4: key \"k\" already set in map"]),
        );
        check(Syntax::Json, "{", Err(400));
        check(Syntax::Yaml, "{", Err(400));
        let large = "k: v\n".repeat(yaml::MAX_NODES / 2);
        check(Syntax::Yaml, &large, Err(413));
    }
}
