//! The writer of a list's body: what stands before the first item, the items, and after the last
//! one.
//!
//! In JSON the pieces are spliced; in YAML the items are parsed one by one. In protobuf each is a
//! part of the list's message, without the envelope, whose size depends on all of them. In CBOR
//! they are the items alone: what stands around them depends on their number.

use std::hint::black_box;

use bytes::Bytes;
use quorate_meta::Value;
use quorate_schema::TypeId;
use quorate_store::Entry;
use quorate_wire::cbor::around_list;
use quorate_wire::protobuf::item_len;
use quorate_wire::stored::CorruptValue;
use quorate_wire::{json, yaml};

use super::rope::Rope;
use crate::encoding::{Cbor, ObjectVersion, Protobuf};
use crate::handlers::Request;
use crate::handlers::object_messages::{StoredObject, unfit};
use crate::handlers::render::{ListMeta, Renderer};
use crate::negotiation::Media;
use quorate_registry::error::Error;

/// What a list in protobuf of a kind without messages would end with.
const NO_MESSAGE: CorruptValue = CorruptValue::Header("its kind has no protobuf form");

/// Writes one list.
#[derive(Debug)]
pub(super) struct ListWriter {
    renderer: Renderer,
    syntax: ListSyntax,
}

/// What pieces are made of.
#[derive(Debug)]
enum ListSyntax {
    Json,
    Yaml,
    Protobuf { writer: Protobuf, list: TypeId },
    Cbor(Cbor),
}

impl ListWriter {
    /// A writer in the request's syntax.
    ///
    /// # Errors
    /// 406 for a kind that has no protobuf form.
    pub(super) fn new(request: &Request<'_>, renderer: Renderer) -> Result<Self, Error> {
        let syntax = match &request.format.media {
            Media::Json => ListSyntax::Json,
            Media::Yaml => ListSyntax::Yaml,
            Media::Protobuf(writer) => {
                let (api_version, list) = renderer.list_type();
                writer.type_of(api_version, renderer.item_kind())?;
                let list = writer.type_of(api_version, list)?;
                ListSyntax::Protobuf { writer: writer.clone(), list }
            }
            Media::Cbor(writer) => ListSyntax::Cbor(writer.clone()),
        };
        Ok(Self { renderer, syntax })
    }

    /// What writes the list in JSON.
    pub(super) fn renderer(&self) -> &Renderer {
        &self.renderer
    }

    /// `apiVersion` and `kind` of the list.
    pub(super) fn list_type(&self) -> (&str, &str) {
        self.renderer.list_type()
    }

    /// Everything before the first item.
    pub(super) fn head(&self, meta: &ListMeta, out: &mut Vec<u8>) -> Result<(), CorruptValue> {
        match &self.syntax {
            ListSyntax::Json => self.renderer.list_head(meta, out),
            ListSyntax::Yaml => {
                yaml::list_head(&self.empty(meta)?, self.renderer.items_field(), out)
            }
            ListSyntax::Protobuf { writer, list } => {
                writer.messages().of_json(*list, &self.empty_text(meta)).map_err(unfit)?.write(out);
            }
            ListSyntax::Cbor(_) => {}
        }
        Ok(())
    }

    /// What stands before and after so many items in CBOR.
    pub(super) fn around(
        &self,
        meta: &ListMeta,
        items: usize,
    ) -> Result<(Vec<u8>, Vec<u8>), CorruptValue> {
        Ok(around_list(&self.empty(meta)?, self.renderer.items_field(), items)?)
    }

    /// The list without items.
    fn empty(&self, meta: &ListMeta) -> Result<Value, CorruptValue> {
        Ok(json::parse(&self.empty_text(meta))?.0)
    }

    /// The list without items, as JSON.
    fn empty_text(&self, meta: &ListMeta) -> Vec<u8> {
        let mut json = Vec::new();
        self.renderer.list_head(meta, &mut json);
        self.renderer.list_tail(&mut json);
        json
    }

    /// Has the memory that some items are made of fetched side by side; with `sizes`, what their
    /// sizes are known from.
    pub(super) fn fetch(&self, items: &[(&Bytes, &Entry)], sizes: bool) {
        // Hashing them waits for keys one by one.
        for (key, _) in items {
            black_box(key.first().copied());
        }
        let versions = items.iter().filter_map(|(key, entry)| stored(key, entry).version);
        if self.renderer.fetch_messages(versions, sizes) {
            return;
        }
        for (_, entry) in items {
            // Where the header and, in kinds with data, the metadata are.
            let bytes = [entry.value.first(), entry.value.last()];
            black_box(bytes.map(|byte| byte.copied().unwrap_or_default()));
        }
    }

    /// One item; `further` when one has been written before.
    pub(super) fn item(
        &self,
        (key, entry): (&Bytes, &Entry),
        further: bool,
        out: &mut Rope,
    ) -> Result<(), CorruptValue> {
        let (value, revision) = (&entry.value, entry.modified);
        if matches!(self.syntax, ListSyntax::Json) {
            if further {
                out.text().push(b',');
            }
            return self.renderer.item_in_pieces(value, revision, out);
        }
        if matches!(self.syntax, ListSyntax::Protobuf { .. }) {
            let written = self.renderer.message_item(stored(key, entry), revision, out);
            return written.unwrap_or(Err(NO_MESSAGE));
        }
        let out = out.text();
        let mut json = Vec::with_capacity(value.len());
        self.renderer.item(value, revision, &mut json)?;
        match &self.syntax {
            ListSyntax::Json | ListSyntax::Protobuf { .. } => {}
            ListSyntax::Yaml => yaml::list_item(&json::parse(&json)?.0, out),
            ListSyntax::Cbor(writer) => {
                writer.item_of_json(self.renderer.item_type(), &json, out).map_err(unfit)?
            }
        }
        Ok(())
    }

    /// Bytes of one item in protobuf.
    pub(super) fn item_len(&self, key: &Bytes, entry: &Entry) -> Result<usize, CorruptValue> {
        let size = self.renderer.message_size(stored(key, entry), entry.modified);
        size.unwrap_or(Err(NO_MESSAGE)).map(item_len)
    }

    /// Everything after the last item, of which there was `any` or none.
    pub(super) fn tail(
        &self,
        meta: &ListMeta,
        any: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), CorruptValue> {
        match &self.syntax {
            ListSyntax::Json => self.renderer.list_tail(out),
            ListSyntax::Yaml => {
                yaml::list_tail(&self.empty(meta)?, self.renderer.items_field(), any, out)
            }
            ListSyntax::Protobuf { .. } | ListSyntax::Cbor(_) => {}
        }
        Ok(())
    }
}

/// An entry of the store as an object to write.
fn stored<'o>(key: &'o Bytes, entry: &'o Entry) -> StoredObject<'o> {
    let version = Some(ObjectVersion { key, revision: entry.modified });
    StoredObject { value: &entry.value, version }
}
