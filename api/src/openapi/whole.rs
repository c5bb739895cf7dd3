//! The document of version 2, put together of pieces: one about what is built in, and one for each
//! custom resource.
//!
//! Invariants: a piece is made once as long as its resource stays; the next document copies it from
//! the one before, in whose body it stands. The ETag is made of the digests of the pieces.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use quorate_meta::{Map, Value, well_known};
use quorate_registry::Resource;
use quorate_schema::openapi::{Dialect, Documents};
use quorate_wire::protobuf;
use sha2::{Digest, Sha256};

use super::builtin::Builtin;
use super::documents::custom_parts;
use super::{Document, DocumentSet, PROTOBUF_V2, Served};
use crate::respond;

const PATHS: &str = "paths";
const DEFINITIONS: &str = "definitions";

/// What tells documents of version 2 apart: sets of which it is the same share it.
#[derive(Debug, Default)]
pub(super) struct WholeId;

/// A document and the pieces that it is made of.
pub(crate) struct WholeDocument {
    pub(crate) document: Document,
    id: Arc<WholeId>,
    builtin: Arc<Builtin>,
    /// Whether it describes custom resources.
    with_custom: bool,
    /// Everything but paths and definitions.
    rest: Bytes,
    own: Piece,
    /// By the address of the resource, which is kept.
    custom: HashMap<usize, (Arc<Resource>, Piece)>,
}

/// Paths and definitions in the syntax of the document, without what stands around all of them.
#[derive(Clone)]
struct Piece {
    digest: [u8; 32],
    paths: Bytes,
    definitions: Bytes,
}

impl WholeDocument {
    /// The document of a set, of which what did not change is taken from the one before.
    pub(super) fn new(
        set: &DocumentSet,
        served: Served<'_>,
        in_protobuf: bool,
        before: Option<&Self>,
    ) -> Self {
        let documents = served.documents();
        let with_custom = !set.custom.is_empty();
        let kept = before.filter(|before| {
            before.with_custom == with_custom && Arc::ptr_eq(&before.builtin, &set.builtin)
        });
        let (rest, own) = match kept {
            Some(kept) => (kept.rest.clone(), kept.own.clone()),
            None => everything_built_in(&documents, with_custom, in_protobuf),
        };
        let mut pieces = vec![own];
        let resources: Vec<&Arc<Resource>> = set.custom_resources().collect();
        pieces.extend(resources.iter().map(|resource| {
            let kept = before.and_then(|before| before.custom.get(&address(resource)));
            kept.map_or_else(|| piece_of(&documents, resource, in_protobuf), |kept| kept.1.clone())
        }));
        let (body, rest, mut pieces) = Assembly::new(in_protobuf, &rest, &pieces).finish(&pieces);
        let digests: Vec<u8> = pieces.iter().flat_map(|piece| piece.digest).collect();
        let media = if in_protobuf { PROTOBUF_V2[0][0] } else { well_known::MEDIA_JSON };
        let mut custom = pieces.split_off(1).into_iter();
        let custom = resources
            .into_iter()
            .filter_map(|resource| Some((address(resource), (resource.clone(), custom.next()?))));
        let custom = custom.collect();
        let own = pieces.remove(0);
        let document = Document { body, media, etag: respond::etag(&digests) };
        let (id, builtin) = (set.whole.clone(), set.builtin.clone());
        Self { document, id, builtin, with_custom, rest, own, custom }
    }

    /// Whether it describes what a set does.
    pub(super) fn is_of(&self, set: &DocumentSet) -> bool {
        Arc::ptr_eq(&self.id, &set.whole)
    }
}

fn address(resource: &Arc<Resource>) -> usize {
    Arc::as_ptr(resource).addr()
}

/// The document without paths and definitions, and these.
fn everything_built_in(
    documents: &Documents<'_>,
    with_custom: bool,
    in_protobuf: bool,
) -> (Bytes, Piece) {
    let mut rest = documents.whole(with_custom);
    let mut take = |name: &str| match rest.as_map_mut().and_then(|map| map.remove(name)) {
        Some(Value::Map(map)) => map,
        _ => Map::new(),
    };
    let (paths, definitions) = (take(PATHS), take(DEFINITIONS));
    let rest = match (in_protobuf, rest) {
        (true, rest) => protobuf::openapi_v2(&rest).into(),
        (false, Value::Map(rest)) => members(&rest),
        (false, _) => Bytes::new(),
    };
    (rest, piece(&paths, &definitions, in_protobuf))
}

fn piece_of(documents: &Documents<'_>, resource: &Resource, in_protobuf: bool) -> Piece {
    let parts = custom_parts(documents, resource, Dialect::V2);
    piece(&parts.paths, &parts.definitions, in_protobuf)
}

fn piece(paths: &Map, definitions: &Map, in_protobuf: bool) -> Piece {
    let (paths, definitions) = if in_protobuf {
        (
            Bytes::from(protobuf::openapi_v2_paths(paths)),
            Bytes::from(protobuf::openapi_v2_definitions(definitions)),
        )
    } else {
        (members(paths), members(definitions))
    };
    let digest = Sha256::new().chain_update(&paths).chain_update(&definitions).finalize().into();
    Piece { digest, paths, definitions }
}

/// The members of a map as JSON, without braces.
fn members(map: &Map) -> Bytes {
    let mut out = Vec::new();
    for (index, (name, value)) in map.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        quorate_wire::json::write_string(name, &mut out);
        out.push(b':');
        quorate_wire::json::write(value, &mut out);
    }
    out.into()
}

/// The body of a document, and where the pieces stand in it.
struct Assembly {
    in_protobuf: bool,
    body: Vec<u8>,
    rest: Range<usize>,
    paths: Vec<Range<usize>>,
    definitions: Vec<Range<usize>>,
}

impl Assembly {
    fn new(in_protobuf: bool, rest: &[u8], pieces: &[Piece]) -> Self {
        const AROUND: usize = 64;
        let length = |piece: &Piece| piece.paths.len() + piece.definitions.len() + 2;
        let length = pieces.iter().map(length).sum::<usize>() + rest.len() + AROUND;
        let mut this = Self {
            in_protobuf,
            body: Vec::with_capacity(length),
            rest: 0..0,
            paths: Vec::with_capacity(pieces.len()),
            definitions: Vec::with_capacity(pieces.len()),
        };
        this.text(b"{");
        this.rest = this.append(rest);
        this.definitions = this.all(DEFINITIONS, pieces, |piece| &piece.definitions);
        this.paths = this.all(PATHS, pieces, |piece| &piece.paths);
        this.text(b"}");
        this
    }

    /// What only JSON has around pieces.
    fn text(&mut self, text: &[u8]) {
        if !self.in_protobuf {
            self.body.extend_from_slice(text);
        }
    }

    fn append(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.body.len();
        self.body.extend_from_slice(bytes);
        start..self.body.len()
    }

    fn all(
        &mut self,
        name: &str,
        pieces: &[Piece],
        part: impl Fn(&Piece) -> &Bytes,
    ) -> Vec<Range<usize>> {
        if self.in_protobuf {
            let length = pieces.iter().map(|piece| part(piece).len()).sum();
            let head = protobuf::openapi_v2_head(name == DEFINITIONS, length);
            self.body.extend_from_slice(&head);
        }
        self.text(format!(",\"{name}\":{{").as_bytes());
        let mut ranges = Vec::with_capacity(pieces.len());
        let mut is_further = false;
        for piece in pieces {
            let part = part(piece);
            if is_further && !part.is_empty() {
                self.text(b",");
            }
            is_further |= !part.is_empty();
            ranges.push(self.append(part));
        }
        self.text(b"}");
        ranges
    }

    /// The body, and the pieces as parts of it.
    fn finish(self, pieces: &[Piece]) -> (Bytes, Bytes, Vec<Piece>) {
        let body = Bytes::from(self.body);
        let ranges = self.paths.into_iter().zip(self.definitions);
        let pieces = pieces.iter().zip(ranges).map(|(piece, (paths, definitions))| Piece {
            digest: piece.digest,
            paths: body.slice(paths),
            definitions: body.slice(definitions),
        });
        let pieces = pieces.collect();
        (body.clone(), body.slice(self.rest), pieces)
    }
}
