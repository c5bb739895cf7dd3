//! The kinds of the graph, from the attribute lines of the IDL.

use std::borrow::Cow;

use quorate_meta::GroupVersionKind;

use super::build::{Builder, DeclarationPosition, unknown};
use super::kind::{Column, KindDef, Subresource};
use super::{Text, TypeId};
use crate::idl::{File, IdlError, KindDecl};

impl Builder {
    pub(super) fn add_kinds(&mut self, file_name: &str, file: &File) -> Result<(), IdlError> {
        for decl in &file.kinds {
            let place = DeclarationPosition {
                file: file_name,
                group: file.group,
                version: file.version,
                line: decl.line,
            };
            let kind = self.kind(&place, decl)?;
            self.kinds.push(kind);
        }
        Ok(())
    }

    fn kind(&self, place: &DeclarationPosition<'_>, decl: &KindDecl) -> Result<KindDef, IdlError> {
        let mut kind = blank_kind(
            self.group(place.group),
            place,
            decl.name,
            self.type_id(place, decl.type_name)?,
        );
        for (word, rest) in &decl.attributes {
            let list = || rest.split_whitespace().map(Cow::Borrowed).collect::<Vec<Text>>();
            match *word {
                "resource" => {
                    let (plural, singular) =
                        rest.split_once(' ').ok_or_else(|| unknown(place, rest))?;
                    (kind.resource, kind.singular) =
                        (Cow::Borrowed(plural), Cow::Borrowed(singular));
                }
                "list" => {
                    kind.list_kind = Some(Cow::Borrowed(rest));
                    kind.list_ty = Some(self.type_id(place, rest)?);
                }
                "scope" => kind.namespaced = *rest == "namespaced",
                "short" => kind.short_names = list(),
                "categories" => kind.categories = list(),
                "verbs" => kind.verbs = list(),
                "select" => kind.selectable_fields = list(),
                "storage" => {
                    let (group, version) = rest.split_once('/').unwrap_or((place.group, rest));
                    kind.storage_group = self.group(group);
                    kind.storage_version = Some(Cow::Borrowed(version));
                }
                "deletes" => {
                    let (real, documented) = rest.split_once(' ').unwrap_or((rest, rest));
                    kind.delete_returns_object = real == "object";
                    kind.delete_documents_object = documented == "object";
                }
                "sub" => kind.subresources.push(self.subresource(place, &kind.group, rest)?),
                "stage" => kind.off_by_default = *rest != "GA",
                "everywhere" => kind.everywhere = true,
                "column" => kind.columns.push(column(rest).ok_or_else(|| unknown(place, rest))?),
                _ => return Err(unknown(place, word)),
            }
        }
        Ok(kind)
    }

    fn group(&self, neutral: &str) -> String {
        if neutral == "core" { String::new() } else { self.names.group(neutral) }
    }

    fn subresource(
        &self,
        place: &DeclarationPosition<'_>,
        own_group: &str,
        text: &'static str,
    ) -> Result<Subresource, IdlError> {
        let mut words = text.split_whitespace();
        let (Some(name), Some(kind)) = (words.next(), words.next()) else {
            return Err(unknown(place, text));
        };
        let kind = match kind
            .split_once('/')
            .and_then(|(group, rest)| Some((group, rest.split_once('.')?)))
        {
            None => GroupVersionKind::new(own_group, place.version, kind),
            Some((group, (version, kind))) => {
                GroupVersionKind::new(self.group(group), version, kind)
            }
        };
        Ok(Subresource {
            name: Cow::Borrowed(name),
            kind,
            verbs: words.map(Cow::Borrowed).collect(),
        })
    }
}

/// `"Name" string format=name priority=1 cell=int = value -- doc`
fn column(text: &'static str) -> Option<Column> {
    let (text, doc) = text.split_once(" -- ").unwrap_or((text, ""));
    let (name, rest) = text.strip_prefix('"')?.split_once("\" ")?;
    let (attributes, value) = rest.split_once(" = ")?;
    let mut words = attributes.split_whitespace();
    let mut column = Column {
        name: Cow::Borrowed(name),
        kind: Cow::Borrowed(words.next()?),
        format: Cow::Borrowed(""),
        priority: 0,
        cell: Cow::Borrowed(""),
        value: Cow::Borrowed(value),
        doc: Cow::Borrowed(doc),
    };
    for word in words {
        match word.split_once('=')? {
            ("format", format) => column.format = Cow::Borrowed(format),
            ("priority", priority) => column.priority = priority.parse().ok()?,
            ("cell", cell) => column.cell = Cow::Borrowed(cell),
            _ => return None,
        }
    }
    Some(column)
}

fn blank_kind(
    group: String,
    place: &DeclarationPosition<'_>,
    name: &'static str,
    ty: TypeId,
) -> KindDef {
    KindDef {
        group,
        neutral_group: place.group,
        version: Cow::Borrowed(place.version),
        kind: Cow::Borrowed(name),
        list_kind: None,
        resource: Cow::Borrowed(""),
        singular: Cow::Borrowed(""),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: false,
        verbs: Vec::new(),
        subresources: Vec::new(),
        selectable_fields: Vec::new(),
        storage_group: String::new(),
        storage_version: None,
        delete_returns_object: false,
        delete_documents_object: false,
        everywhere: false,
        off_by_default: false,
        columns: Vec::new(),
        ty,
        list_ty: None,
    }
}
