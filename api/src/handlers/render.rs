//! The renderer of the objects of one response: whole, only their metadata, or as table rows.
//!
//! Invariant: whole objects and metadata are spliced from stored bytes, and messages made of them;
//! only table rows parse, and what is stored as another version or by another schema. A renderer is made once per request and only
//! reads afterwards, so streams keep it.

mod messages;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::{BufMut, Bytes};
use quorate_meta::{SmolStr, Value, well_known};
use quorate_schema::TypeId;
use quorate_store::Revision;
use quorate_wire::json;
use quorate_wire::stored::{
    CorruptValue, StoredRef, splice_item, splice_object, splice_partial, splice_version,
};

use crate::Api;
use crate::handlers::Request;
use crate::handlers::list::rope::Rope;
use crate::handlers::object_messages::ObjectMessages;
use crate::handlers::wrong_shape::wrong_shape;
use crate::negotiation::{Media, Shape};
use crate::tables::{Include, Layout};
use quorate_registry::error::Error;
use quorate_registry::{Resource, stored_codec};

/// Writes the objects of one answer.
#[derive(Debug)]
pub(crate) struct Renderer {
    /// In the name that the client asked for.
    api_version: SmolStr,
    resource: Arc<Resource>,
    form: ObjectForm,
    /// In which syntax the answer is wanted.
    media: Media,
    /// Where the answer is in protobuf.
    messages: Option<ObjectMessages>,
    now_ms: u64,
}

#[derive(Debug)]
enum ObjectForm {
    Object,
    Metadata(Arc<str>),
    Table { api_version: Arc<str>, layout: Layout, include: Include },
}

/// `metadata` of a list.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListMeta {
    pub(crate) revision: Revision,
    pub(crate) token: String,
    pub(crate) remaining: Option<u64>,
}

impl Renderer {
    /// The renderer of a request for single objects (`list` false, also of a watch) or for a list.
    pub(crate) fn new(
        api: &Api,
        request: &Request<'_>,
        resource: &Arc<Resource>,
        list: bool,
    ) -> Result<Self, Error> {
        let form = match (&request.format.shape, list) {
            (Shape::Object, _) => ObjectForm::Object,
            (Shape::Metadata(api_version), false) | (Shape::MetadataList(api_version), true) => {
                ObjectForm::Metadata(api_version.clone())
            }
            (Shape::Metadata(_), true) => return Err(wrong_shape(resource, list)),
            (Shape::MetadataList(_), false) => return Err(wrong_shape(resource, list)),
            (Shape::Table(api_version), _) => ObjectForm::Table {
                api_version: api_version.clone(),
                include: Include::parse(request.info.query.text("includeObject"))?,
                layout: Layout::new(request.catalogue.graph(), resource)?,
            },
        };
        let renderer = Self {
            api_version: request.info.api_version.clone(),
            resource: resource.clone(),
            form,
            media: request.format.media.clone(),
            messages: None,
            now_ms: api.env.clock.now_ms(),
        };
        Ok(renderer.with_messages())
    }

    fn with_messages(self) -> Self {
        let (names, ty) = (self.item_names(), self.item_type());
        let messages = ObjectMessages::find(&self.media, &self.resource, names, ty);
        Self { messages, ..self }
    }

    /// The renderer of what a subresource answers, if that is of a kind and version of its own:
    /// `form` is that kind.
    pub(super) fn of_subresource(
        api: &Api,
        request: &Request<'_>,
        form: &Arc<Resource>,
    ) -> Result<Self, Error> {
        let renderer = Self::new(api, request, form, false)?;
        let api_version = form.api_version.as_str().into();
        Ok(Self { api_version, ..renderer }.with_messages())
    }

    /// The resource that is rendered.
    pub(crate) fn resource(&self) -> &Resource {
        &self.resource
    }

    /// The syntax of the answer; everything here is written in JSON, from which others are made.
    pub(crate) fn media(&self) -> &Media {
        &self.media
    }

    /// The built-in type of an object, of a list's item or of an event's object; `None` where it is
    /// not a whole object, and for custom resources, which have no binary fields.
    pub(crate) fn item_type(&self) -> Option<TypeId> {
        let is_whole = matches!(self.form, ObjectForm::Object) && !self.resource.is_custom();
        is_whole.then(|| self.resource.ty())
    }

    /// What tells one encoding of an event from another; `None` when encodings are not worth
    /// sharing.
    pub(crate) fn variant(&self) -> Option<Arc<str>> {
        let kind = &self.resource.kind;
        let media = match &self.media {
            Media::Json | Media::Yaml => "",
            Media::Protobuf(protobuf) => protobuf.media_type(),
            Media::Cbor(_) => well_known::MEDIA_CBOR,
        };
        match &self.form {
            ObjectForm::Object => {
                let form = self.resource.reader.as_ref().map_or_else(String::new, |reader| {
                    format!(" {} of {}", reader.served_mark(), reader.mark())
                });
                Some(format!("{media} {} {kind}{form}", self.api_version).into())
            }
            ObjectForm::Metadata(meta) => Some(format!("{media} {meta} metadata of {kind}").into()),
            // Ages differ from moment to moment.
            ObjectForm::Table { .. } => None,
        }
    }

    /// One object as a document of its own. `first` asks a table for its columns, which a stream
    /// sends once.
    pub(crate) fn object(
        &self,
        value: &Bytes,
        revision: Revision,
        first: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), CorruptValue> {
        match &self.form {
            ObjectForm::Object => stored_codec::read_served(&self.resource, value, |stored| {
                splice_object(out, stored, &self.api_version, &self.resource.kind, revision.get());
            })?,
            ObjectForm::Metadata(api_version) => {
                stored_codec::read_served(&self.resource, value, |stored| {
                    splice_partial(out, stored, api_version, revision.get());
                })?;
            }
            ObjectForm::Table { .. } => {
                self.table_head(&ListMeta { revision, ..ListMeta::default() }, first, out);
                self.row(value, revision, out)?;
                out.put_slice(b"]}");
            }
        }
        Ok(())
    }

    /// A bookmark's object: nothing but a version, and the annotations given.
    pub(crate) fn bookmark(&self, revision: Revision, annotations: &[&str], out: &mut Vec<u8>) {
        let (api_version, kind) = match &self.form {
            ObjectForm::Object => (self.api_version.as_str(), self.resource.kind.as_str()),
            ObjectForm::Metadata(api_version) => (api_version.as_ref(), "PartialObjectMetadata"),
            ObjectForm::Table { api_version, .. } => (api_version.as_ref(), "Table"),
        };
        put_type(api_version, kind, out);
        out.put_slice(b",\"metadata\":{");
        for (turn, annotation) in annotations.iter().enumerate() {
            out.put_slice(if turn == 0 { b"\"annotations\":{" } else { b"," });
            json::write_string(annotation, out);
            out.put_slice(b":\"true\"");
        }
        if !annotations.is_empty() {
            out.put_slice(b"},");
        }
        out.put_slice(format!("\"resourceVersion\":\"{revision}\"}}").as_bytes());
        if matches!(self.form, ObjectForm::Table { .. }) {
            out.put_slice(b",\"columnDefinitions\":null,\"rows\":[]");
        }
        out.put_slice(b"}");
    }

    /// `apiVersion` and `kind` of a list.
    pub(crate) fn list_type(&self) -> (&str, &str) {
        match &self.form {
            ObjectForm::Object => (&self.api_version, &self.resource.list_kind),
            ObjectForm::Metadata(api_version) => (api_version, "PartialObjectMetadataList"),
            ObjectForm::Table { api_version, .. } => (api_version, "Table"),
        }
    }

    /// Where a list has its items.
    pub(crate) fn items_field(&self) -> &'static str {
        if matches!(self.form, ObjectForm::Table { .. }) { "rows" } else { "items" }
    }

    /// `kind` of an item of a list.
    pub(crate) fn item_kind(&self) -> &str {
        match &self.form {
            ObjectForm::Object => &self.resource.kind,
            ObjectForm::Metadata(_) => "PartialObjectMetadata",
            ObjectForm::Table { .. } => "TableRow",
        }
    }

    /// `apiVersion` and `kind` of one object.
    pub(crate) fn item_names(&self) -> (&str, &str) {
        (self.list_type().0, self.item_kind())
    }

    /// Everything of a list before its first item.
    pub(crate) fn list_head(&self, meta: &ListMeta, out: &mut Vec<u8>) {
        if matches!(self.form, ObjectForm::Table { .. }) {
            return self.table_head(meta, true, out);
        }
        let (api_version, kind) = self.list_type();
        put_type(api_version, kind, out);
        put_list_meta(meta, out);
        out.put_slice(b",\"items\":[");
    }

    /// Whether the rows of a list come in another order than its objects.
    pub(super) fn is_ranked(&self) -> bool {
        matches!(&self.form, ObjectForm::Table { layout, .. } if layout.is_ranked())
    }

    /// Where the row of an object belongs in that order; those of the same rank come in the order
    /// of the objects.
    pub(super) fn rank(&self, value: &Bytes) -> Result<i64, CorruptValue> {
        let ObjectForm::Table { layout, .. } = &self.form else {
            return Ok(0);
        };
        Ok(layout.rank(&StoredRef::parse(value)?.parts(layout.parts())?))
    }

    /// One item of a list.
    pub(crate) fn item(
        &self,
        value: &Bytes,
        revision: Revision,
        out: &mut Vec<u8>,
    ) -> Result<(), CorruptValue> {
        match &self.form {
            ObjectForm::Object => stored_codec::read_served(&self.resource, value, |stored| {
                if self.resource.is_custom() {
                    let (version, kind) = (&self.api_version, &self.resource.kind);
                    splice_object(out, stored, version, kind, revision.get());
                } else {
                    splice_item(out, stored, revision.get());
                }
            })?,
            ObjectForm::Metadata(_) => self.object(value, revision, false, out)?,
            ObjectForm::Table { .. } => self.row(value, revision, out)?,
        }
        Ok(())
    }

    /// The same; a large object is shared instead of copied where it is sent as it is stored.
    pub(super) fn item_in_pieces(
        &self,
        value: &Bytes,
        revision: Revision,
        out: &mut Rope,
    ) -> Result<(), CorruptValue> {
        if !matches!(self.form, ObjectForm::Object)
            || self.resource.stored_form.is_some()
            || self.resource.is_custom()
            || !Rope::is_large(value.len())
        {
            return self.item(value, revision, out.text());
        }
        let (before, after) = StoredRef::parse(value)?.halves();
        out.share(before);
        splice_version(out.text(), revision.get());
        out.share(after);
        Ok(())
    }

    /// Everything of a list after its last item.
    pub(crate) fn list_tail(&self, out: &mut Vec<u8>) {
        out.put_slice(b"]}\n");
    }

    fn table_head(&self, meta: &ListMeta, columns: bool, out: &mut Vec<u8>) {
        let ObjectForm::Table { api_version, layout, .. } = &self.form else {
            return;
        };
        put_type(api_version, "Table", out);
        put_list_meta(meta, out);
        out.put_slice(b",\"columnDefinitions\":");
        out.put_slice(if columns { &layout.columns } else { b"null" });
        out.put_slice(b",\"rows\":[");
    }

    /// A row of a table. Cells of built-in kinds are made from the stored form, whatever version is
    /// served.
    fn row(
        &self,
        value: &Bytes,
        revision: Revision,
        out: &mut Vec<u8>,
    ) -> Result<(), CorruptValue> {
        let ObjectForm::Table { api_version, layout, include } = &self.form else {
            return Ok(());
        };
        let shown = if layout.shows_served() {
            stored_codec::served(&self.resource, value)?
        } else {
            Cow::Borrowed(value)
        };
        let stored = StoredRef::parse(&shown)?;
        let (version, kind, revision) = (&self.api_version, &self.resource.kind, revision.get());
        let object: Value = if layout.shows_served() {
            stored.to_value(version, kind, revision)?
        } else {
            stored.parts(layout.parts())?
        };
        out.put_slice(b"{\"cells\":");
        layout.cells(&object, self.now_ms, out);
        if let Some(conditions) = layout.conditions(&object) {
            out.put_slice(b",\"conditions\":");
            json::write(&conditions, out);
        }
        match include {
            Include::None => {}
            Include::Metadata => {
                out.put_slice(b",\"object\":");
                splice_partial(out, &stored, api_version, revision);
            }
            Include::Object => {
                out.put_slice(b",\"object\":");
                stored_codec::read_served(&self.resource, value, |stored| {
                    splice_object(out, stored, version, kind, revision);
                })?;
            }
        }
        out.put_slice(b"}");
        Ok(())
    }
}

fn put_type(api_version: &str, kind: &str, out: &mut Vec<u8>) {
    out.put_slice(b"{\"kind\":\"");
    out.put_slice(kind.as_bytes());
    out.put_slice(b"\",\"apiVersion\":\"");
    out.put_slice(api_version.as_bytes());
    out.put_slice(b"\"");
}

fn put_list_meta(meta: &ListMeta, out: &mut Vec<u8>) {
    out.put_slice(format!(",\"metadata\":{{\"resourceVersion\":\"{}\"", meta.revision).as_bytes());
    if !meta.token.is_empty() {
        out.put_slice(format!(",\"continue\":\"{}\"", meta.token).as_bytes());
    }
    if let Some(remaining) = meta.remaining {
        out.put_slice(format!(",\"remainingItemCount\":{remaining}").as_bytes());
    }
    out.put_slice(b"}");
}
