//! Content negotiation: from the Accept header to the form of the answer (RFC 9110, section 12).
//!
//! Invariants: clauses are tried by descending quality, equal ones in the order given; a clause
//! that asks for a form this server does not have is passed over, never an error while another
//! clause fits. A wildcard never gives what the header refuses. Whether a form suits the answer (a
//! list form for a list) is the handler's to check.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use quorate_meta::{Names, well_known};
use quorate_schema::Graph;
use smallvec::SmallVec;

use crate::encoding::{Cbor, Messages, Protobuf};

/// The syntax of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Media {
    /// The default.
    Json,
    /// On request; never for watches.
    Yaml,
    /// On request, with what writes it; never for tables.
    Protobuf(Protobuf),
    /// On request and where it is switched on, with what writes it.
    Cbor(Cbor),
}

/// What of an object is answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Shape {
    /// The object itself.
    Object,
    /// Rows for a terminal. The text is the `apiVersion` of the table, in the name that the client
    /// asked for.
    Table(Arc<str>),
    /// Only `metadata`, of one object (or of each object of a watch).
    Metadata(Arc<str>),
    /// Only `metadata`, of each object of a list.
    MetadataList(Arc<str>),
}

/// The form in which an answer is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// The syntax.
    pub media: Media,
    /// Whole objects or less.
    pub shape: Shape,
    /// Indented, for people.
    pub pretty: bool,
}

impl Format {
    /// Plain JSON.
    pub const JSON: Self = Self { media: Media::Json, shape: Shape::Object, pretty: false };

    /// The value of the Content-Type header.
    #[must_use]
    pub fn content_type(&self) -> &'static str {
        match &self.media {
            Media::Json => well_known::MEDIA_JSON,
            Media::Yaml => well_known::MEDIA_YAML,
            Media::Protobuf(protobuf) => protobuf.media_type(),
            Media::Cbor(_) => well_known::MEDIA_CBOR,
        }
    }

    /// The same syntax for a body that has no other shapes, such as a Status.
    #[must_use]
    pub fn plain(&self) -> Self {
        Self { media: self.media.clone(), shape: Shape::Object, pretty: self.pretty }
    }
}

/// Which forms a place offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Objects: in every syntax and shape.
    Objects,
    /// A stream of objects: JSON and the binary ones, in every shape.
    Stream,
    /// Objects that have no protobuf form: in every other syntax, and their metadata in every one.
    CustomObjects,
    /// A stream of such objects.
    CustomStream,
    /// A document of its own: in every syntax, no shapes.
    Document,
}

impl Offer {
    fn is_stream(self) -> bool {
        matches!(self, Self::Stream | Self::CustomStream)
    }

    fn is_custom(self) -> bool {
        matches!(self, Self::CustomObjects | Self::CustomStream)
    }
}

/// No clause fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unacceptable {
    /// No media type fits.
    Media,
    /// A media type fits, its parameters do not.
    Parameters,
}

/// One clause of an Accept header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause<'a> {
    /// For example `application/json`, in lower case.
    pub media: Cow<'a, str>,
    /// Parameters but for the quality.
    pub parameters: Vec<(&'a str, &'a str)>,
    quality: u16,
}

impl Clause<'_> {
    /// The first value of a parameter; empty when it is absent.
    #[must_use]
    pub fn parameter(&self, name: &str) -> &str {
        self.parameters.iter().find(|(n, _)| *n == name).map_or("", |(_, value)| value)
    }
}

/// The clauses of an Accept header, best first. A quality of zero refuses a type, so it is left
/// out.
#[must_use]
pub fn clauses(accept: &str) -> SmallVec<[Clause<'_>; 2]> {
    let mut clauses: SmallVec<[Clause<'_>; 2]> =
        accept.split(',').filter_map(clause).filter(|c| c.quality > 0).collect();
    clauses.sort_by_key(|c| std::cmp::Reverse(c.quality));
    clauses
}

/// The media types and ranges that an Accept header refuses, in lower case. The refusal of one
/// shape of a type leaves the type itself.
fn refusals(accept: &str) -> Vec<Cow<'_, str>> {
    let refused = |clause: &Clause<'_>| clause.quality == 0 && clause.parameter("as").is_empty();
    accept.split(',').filter_map(clause).filter(refused).map(|clause| clause.media).collect()
}

/// The media types that a clause of a header means, best first: for a wildcard all that are offered
/// and that the header does not refuse. What is said of a narrower range counts for more than what
/// is said of a wider one.
pub(crate) fn meant<'c>(
    clause: &'c Clause<'_>,
    accept: &str,
    offered: impl FnOnce() -> Vec<&'c str>,
) -> SmallVec<[&'c str; 1]> {
    let media = clause.media.as_ref();
    if !matches!(media, "*/*" | "application/*") {
        return SmallVec::from([media]);
    }
    let refused = refusals(accept);
    let is_refused = |name: &str| refused.iter().any(|other| other == name);
    if media == "*/*" && is_refused("application/*") {
        return SmallVec::new();
    }
    let mut names = offered();
    names.retain(|name| !is_refused(name));
    names.into()
}

/// The syntaxes of a server, and what a header asks for of them.
#[derive(Debug, Clone)]
pub struct Formats {
    graph: Arc<Graph>,
    messages: Arc<Messages>,
    cbor: bool,
}

impl Formats {
    /// The syntaxes for a schema; CBOR only where it is switched on. So many bytes of protobuf
    /// messages are kept.
    #[must_use]
    pub fn new(graph: Arc<Graph>, cbor: bool, kept_bytes: usize) -> Self {
        Self { messages: Arc::new(Messages::new(graph.clone(), kept_bytes)), graph, cbor }
    }

    /// The protobuf messages that are shared by all requests.
    pub(crate) fn messages(&self) -> &Arc<Messages> {
        &self.messages
    }

    /// Whether CBOR is switched on.
    #[must_use]
    pub fn has_cbor(&self) -> bool {
        self.cbor
    }

    /// The media types of objects, in requests and answers.
    #[must_use]
    pub fn media_types(&self) -> Vec<&'static str> {
        let usual =
            [well_known::MEDIA_JSON, well_known::MEDIA_YAML, self.graph.names().media_protobuf];
        usual.into_iter().chain(self.cbor.then_some(well_known::MEDIA_CBOR)).collect()
    }

    /// The form that an Accept header (empty when absent) asks for at a place.
    ///
    /// # Errors
    /// No clause fits.
    pub fn negotiate(&self, accept: &str, offer: Offer) -> Result<Format, Unacceptable> {
        if accept.trim().is_empty() {
            return Ok(Format::JSON);
        }
        let mut why = Unacceptable::Media;
        for clause in clauses(accept) {
            for name in meant(&clause, accept, || self.media_types()) {
                let Some(media) = self.media(name, offer) else {
                    continue;
                };
                if !is_understood(&clause, &media, offer) {
                    why = Unacceptable::Parameters;
                    continue;
                }
                match shape(self.graph.names(), &clause, offer) {
                    Some(Shape::Table(_)) if matches!(media, Media::Protobuf(_)) => {
                        why = Unacceptable::Parameters
                    }
                    Some(Shape::Object)
                        if offer.is_custom() && matches!(media, Media::Protobuf(_)) => {}
                    Some(shape) => {
                        return Ok(Format {
                            media,
                            shape,
                            pretty: clause.parameter("pretty") == "1",
                        });
                    }
                    None => why = Unacceptable::Parameters,
                }
            }
        }
        Err(why)
    }

    /// The form of an error: the wanted syntax where it is known, else JSON.
    #[must_use]
    pub fn for_errors(&self, accept: &str) -> Format {
        let clauses = clauses(accept);
        let mut names =
            clauses.iter().flat_map(|clause| meant(clause, accept, || self.media_types()));
        let media = names.find_map(|name| self.media(name, Offer::Document));
        Format { media: media.unwrap_or(Media::Json), ..Format::JSON }
    }

    /// The syntax with this name, where a place offers it.
    pub(crate) fn media(&self, name: &str, offer: Offer) -> Option<Media> {
        match name {
            well_known::MEDIA_JSON => Some(Media::Json),
            well_known::MEDIA_YAML if !offer.is_stream() => Some(Media::Yaml),
            well_known::MEDIA_CBOR => self.cbor.then(|| Media::Cbor(Cbor::new(self.graph.clone()))),
            well_known::MEDIA_CBOR_SEQUENCE if offer.is_stream() => {
                self.cbor.then(|| Media::Cbor(Cbor::new(self.graph.clone())))
            }
            other => {
                let name = self.graph.names().protobuf_media_type(other)?;
                Some(Media::Protobuf(Protobuf::new(self.messages.clone(), name)))
            }
        }
    }
}

/// Whether the parameters of a clause that say in which way a form is sent are ones that a place
/// has. Parameters that are not known mean nothing.
pub(crate) fn is_understood(clause: &Clause<'_>, media: &Media, offer: Offer) -> bool {
    let has_stream = match clause.parameter("stream") {
        "" => true,
        "watch" => *media != Media::Yaml,
        _ => false,
    };
    let has_version = match clause.parameter("sv") {
        "" => true,
        version => offer != Offer::Document && version == "v1",
    };
    has_stream && has_version
}

/// The shape that a clause's parameters ask for; `None` when the place does not have it.
fn shape(names: &Names, clause: &Clause<'_>, offer: Offer) -> Option<Shape> {
    let kind = clause.parameter("as");
    if !clause.parameters.iter().any(|(name, _)| matches!(*name, "as" | "g" | "v")) {
        return Some(Shape::Object);
    }
    let (group, version) = (clause.parameter("g"), clause.parameter("v"));
    let known =
        group == names.group_meta || names.edge_group(group).is_some_and(|g| g == names.group_meta);
    if offer == Offer::Document || !known || !matches!(version, "v1" | "v1beta1") {
        return None;
    }
    let api_version = Arc::from(format!("{group}/{version}"));
    match kind {
        "Table" => Some(Shape::Table(api_version)),
        "PartialObjectMetadata" => Some(Shape::Metadata(api_version)),
        "PartialObjectMetadataList" => Some(Shape::MetadataList(api_version)),
        _ => None,
    }
}

fn clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let media = lower(parts.next().filter(|m| m.contains('/'))?);
    let mut clause = Clause { media, parameters: Vec::new(), quality: 1000 };
    for (name, value) in parts.filter_map(|p| p.split_once('=')) {
        let (name, value) = (name.trim(), value.trim().trim_matches('"'));
        if name.eq_ignore_ascii_case("q") {
            clause.quality = thousandths(value);
        } else {
            clause.parameters.push((name, value));
        }
    }
    Some(clause)
}

/// Media types are the same in whatever case they are written (RFC 9110, section 8.3.1).
pub(crate) fn lower(media: &str) -> Cow<'_, str> {
    if media.bytes().any(|byte| byte.is_ascii_uppercase()) {
        media.to_ascii_lowercase().into()
    } else {
        media.into()
    }
}

/// A quality in thousandths; what does not parse counts as 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to 0..=1000 before the cast"
)]
fn thousandths(quality: &str) -> u16 {
    quality.parse::<f64>().map_or(1000, |q| (q.clamp(0.0, 1.0) * 1000.0) as u16)
}
