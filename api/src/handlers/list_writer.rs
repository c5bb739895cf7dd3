//! The pieces of a list's body: everything before the first item, the items, everything after the last one.
//!
//! In JSON the pieces are spliced; in protobuf each is a part of the list's message, without the envelope, whose size
//! depends on all of them.

use bytes::Bytes;
use quorate_meta::Status;
use quorate_schema::TypeId;
use quorate_store::Revision;
use quorate_wire::protobuf::write_item;
use quorate_wire::stored::CorruptValue;

use super::render::{ListMeta, Renderer};
use crate::error::Error;
use crate::negotiation::Media;
use crate::protobuf::Protobuf;
use crate::request::Request;

/// Writes one list.
#[derive(Debug)]
pub(super) struct ListWriter {
    renderer: Renderer,
    protobuf: Option<Types>,
}

/// What a list is made of in protobuf.
#[derive(Debug)]
struct Types {
    writer: Protobuf,
    list: TypeId,
    item: TypeId,
}

impl ListWriter {
    /// A writer in the request's syntax. YAML is made from JSON.
    ///
    /// # Errors
    /// 406 for a kind that has no protobuf form.
    pub(super) fn new(request: &Request, renderer: Renderer) -> Result<Self, Error> {
        let protobuf = match &request.format.media {
            Media::Protobuf(writer) => {
                let ((api_version, list), item) = (renderer.list_type(), renderer.item_kind());
                let (list, item) = (writer.type_of(api_version, list)?, writer.type_of(api_version, item)?);
                Some(Types { writer: writer.clone(), list, item })
            }
            Media::Json | Media::Yaml => None,
        };
        Ok(Self { renderer, protobuf })
    }

    /// `apiVersion` and `kind` of the list.
    pub(super) fn list_type(&self) -> (&str, &str) {
        self.renderer.list_type()
    }

    /// Everything before the first item.
    pub(super) fn head(&self, meta: &ListMeta, out: &mut Vec<u8>) -> Result<(), CorruptValue> {
        let Some(Types { writer, list, .. }) = &self.protobuf else {
            self.renderer.list_head(meta, out);
            return Ok(());
        };
        let mut json = Vec::new();
        self.renderer.list_head(meta, &mut json);
        self.renderer.list_tail(&mut json);
        out.extend_from_slice(&writer.message_of_json(*list, &json).map_err(unfit)?);
        Ok(())
    }

    /// One item; `further` when one has been written before.
    pub(super) fn item(
        &self,
        value: &Bytes,
        revision: Revision,
        further: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), CorruptValue> {
        let Some(Types { writer, item, .. }) = &self.protobuf else {
            if further {
                out.push(b',');
            }
            return self.renderer.item(value, revision, out);
        };
        let mut json = Vec::with_capacity(value.len());
        self.renderer.item(value, revision, &mut json)?;
        write_item(&writer.message_of_json(*item, &json).map_err(unfit)?, out);
        Ok(())
    }

    /// Everything after the last item.
    pub(super) fn tail(&self, out: &mut Vec<u8>) {
        if self.protobuf.is_none() {
            self.renderer.list_tail(out);
        }
    }
}

/// A stored object that does not fit its own schema.
fn unfit(error: Box<Status>) -> CorruptValue {
    tracing::error!(%error, "a stored object cannot be written as protobuf");
    CorruptValue::Header("it does not fit the schema of its kind")
}
