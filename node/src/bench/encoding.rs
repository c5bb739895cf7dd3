//! The forms in which objects are read, and where watch events begin and end in them.

use clap::ValueEnum;
use serde::Serialize;

/// What stands before a writer's stamp in an event: the key of its annotation, up to the text.
const STAMP_IN_JSON: &[u8] = br#""bench/turn":""#;
/// The same in protobuf; the length of the text follows.
const STAMP_IN_PROTOBUF: &[u8] = b"bench/turn\x12";
/// The type of an event that has only a version.
const BOOKMARK: &[u8] = b"BOOKMARK";
/// What the annotation of the bookmark after the initial events ends with.
const END_OF_INITIAL: &[u8] = b"initial-events-end";
/// No bookmark has more bytes.
const LONGEST_BOOKMARK: usize = 512;
/// Bytes of the length before an event in protobuf, most significant first.
const FRAME_HEAD: usize = 4;

/// The form in which objects are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Encoding {
    /// Objects in JSON.
    #[default]
    Json,
    /// Objects in protobuf.
    Protobuf,
    /// The metadata of objects in JSON.
    Metadata,
    /// The metadata of objects in protobuf.
    MetadataProtobuf,
    /// Rows of a table.
    Table,
}

impl Encoding {
    /// The Accept header of a read: of a list, or of single objects and events.
    pub(super) fn accept(self, is_list: bool) -> &'static str {
        match (self, is_list) {
            (Self::Json, _) => "application/json",
            (Self::Protobuf, _) => "application/vnd.kubernetes.protobuf",
            (Self::Metadata, true) => {
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
            }
            (Self::Metadata, false) => {
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
            }
            (Self::MetadataProtobuf, true) => {
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
            }
            (Self::MetadataProtobuf, false) => {
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
            }
            (Self::Table, _) => "application/json;as=Table;g=meta.k8s.io;v=v1",
        }
    }

    pub(super) fn is_protobuf(self) -> bool {
        matches!(self, Self::Protobuf | Self::MetadataProtobuf)
    }

    /// The first event at the beginning of some bytes, with what delimits it; `None` when it is not
    /// whole.
    pub(super) fn event(self, bytes: &[u8]) -> Option<&[u8]> {
        let len = if self.is_protobuf() {
            let (head, _) = bytes.split_first_chunk::<FRAME_HEAD>()?;
            FRAME_HEAD + usize::try_from(u32::from_be_bytes(*head)).ok()?
        } else {
            memchr::memchr(b'\n', bytes)? + 1
        };
        bytes.get(..len)
    }

    /// Whether an event says that all initial events have been told.
    pub(super) fn is_end_of_initial(self, event: &[u8]) -> bool {
        event.len() <= LONGEST_BOOKMARK
            && memchr::memmem::find(event, BOOKMARK).is_some()
            && memchr::memmem::find(event, END_OF_INITIAL).is_some()
    }

    /// The writer's stamp in an event.
    pub(super) fn stamp(self, event: &[u8]) -> Option<u32> {
        let mark = if self.is_protobuf() { STAMP_IN_PROTOBUF } else { STAMP_IN_JSON };
        let text = &event[memchr::memmem::find(event, mark)? + mark.len()..];
        let digits = if self.is_protobuf() {
            let (len, text) = text.split_first()?;
            text.get(..usize::from(*len))?
        } else {
            text.split(|byte| *byte == b'"').next()?
        };
        std::str::from_utf8(digits).ok()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_events() {
        let check = |encoding: Encoding, bytes: &[u8], expect: Option<usize>| {
            assert_eq!(encoding.event(bytes).map(<[u8]>::len), expect, "{encoding:?} {bytes:?}");
        };
        check(Encoding::Json, b"{}\n{}\n", Some(3));
        check(Encoding::Metadata, b"{}", None);
        check(Encoding::Protobuf, b"\0\0\0\x02ab\0", Some(6));
        check(Encoding::MetadataProtobuf, b"\0\0\0\x02a", None);
        check(Encoding::Protobuf, b"\0\0\0", None);
        check(Encoding::Protobuf, b"\xff\xff\xff\xff", None);
    }

    #[test]
    fn finds_the_end_of_initial_events() {
        let check = |event: &[u8], expect: bool| {
            assert_eq!(Encoding::Json.is_end_of_initial(event), expect, "{}", event.escape_ascii());
        };
        let end = br#"{"type":"BOOKMARK","object":{"metadata":{"annotations":{"svc.io/initial-events-end":"true"}}}}"#;
        check(end, true);
        check(&end.map(|byte| if byte == b'-' { b'_' } else { byte }), false);
        check(br#"{"type":"ADDED","object":{"data":"initial-events-end"}}"#, false);
    }

    #[test]
    fn finds_a_writers_stamp() {
        let check = |encoding: Encoding, event: &[u8], expect| {
            assert_eq!(encoding.stamp(event), expect, "{event:?}");
        };
        let event =
            br#"{"type":"MODIFIED","object":{"metadata":{"annotations":{"bench/turn":"42"}}}}"#;
        check(Encoding::Json, event, Some(42));
        check(Encoding::Json, br#"{"type":"MODIFIED","object":{}}"#, None);
        check(Encoding::Json, br#""bench/turn":"x""#, None);
        check(Encoding::Protobuf, b"\x0a\x0abench/turn\x12\x0242\x1a", Some(42));
        check(Encoding::Protobuf, b"\x0a\x0abench/turn\x12\x0942", None);
        check(Encoding::Protobuf, br#""f:bench/turn":{}"#, None);
    }
}
