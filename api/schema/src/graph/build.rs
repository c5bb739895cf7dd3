//! The builder of the graph: assigns type IDs, resolves references and the names of the naming
//! profile.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use quorate_meta::Names;

use super::kind::KindDef;
use super::rule::DeclaredRule;
use super::types::{Field, ListKind, MapKind, Mixed, Patch, TypeDef, TypeId, Union};
use super::{Graph, Scalar, Shape, Text};
use crate::idl::{self, FieldDecl, File, IdlError, TypeDecl};

impl Graph {
    /// The graph of all built-in types with the names of a profile.
    ///
    /// # Panics
    /// Never: a test loads the compiled-in files in both profiles.
    pub fn builtin(names: &'static Names) -> Self {
        Self::load(names, &idl::FILES).expect("the compiled-in IDL files are valid")
    }

    /// The graph of the given IDL files (name and text).
    ///
    /// # Errors
    /// The first line that does not follow the format or refers to something unknown.
    pub fn load(names: &'static Names, files: &[(&str, &'static str)]) -> Result<Self, IdlError> {
        let mut parsed = Vec::with_capacity(files.len());
        for (name, text) in files {
            parsed.push((*name, idl::parse(name, text)?));
        }
        let mut builder = Builder::new(names);
        builder.number_types(&parsed);
        for (name, file) in &parsed {
            builder.add_types(name, file)?;
        }
        builder.flatten()?;
        for (name, file) in &parsed {
            builder.add_kinds(name, file)?;
        }
        Ok(builder.finish())
    }
}

pub(super) struct Builder {
    pub(super) names: &'static Names,
    ids: HashMap<String, TypeId>,
    types: Vec<TypeDef>,
    pub(super) kinds: Vec<KindDef>,
}

/// The position of a declaration, for errors and for the resolution of names.
pub(super) struct DeclarationPosition<'a> {
    pub(super) file: &'a str,
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) line: usize,
}

impl DeclarationPosition<'_> {
    fn fail(&self, problem: String) -> IdlError {
        IdlError { file: self.file.to_owned(), line: self.line, problem }
    }

    /// The full neutral name of a reference from this file.
    fn full(&self, reference: &str) -> String {
        if reference.contains('/') {
            reference.to_owned()
        } else {
            format!("{}/{}.{reference}", self.group, self.version)
        }
    }
}

impl Builder {
    fn new(names: &'static Names) -> Self {
        Self { names, ids: HashMap::new(), types: Vec::new(), kinds: Vec::new() }
    }

    fn number_types(&mut self, files: &[(&str, File)]) {
        let all =
            files.iter().flat_map(|(_, file)| file.types.iter().map(move |decl| (file, decl)));
        for (number, (file, decl)) in (0u32..).zip(all) {
            self.ids
                .insert(format!("{}/{}.{}", file.group, file.version, decl.name), TypeId(number));
        }
    }

    fn add_types(&mut self, file_name: &str, file: &File) -> Result<(), IdlError> {
        for decl in &file.types {
            let mut place = DeclarationPosition {
                file: file_name,
                group: file.group,
                version: file.version,
                line: decl.line,
            };
            let mut ty = self.message(&place, decl)?;
            for field in &decl.fields {
                place.line = field.line;
                ty.fields.push(Arc::new(self.field(&place, field)?));
            }
            self.types.push(ty);
        }
        Ok(())
    }

    fn message(
        &self,
        place: &DeclarationPosition<'_>,
        decl: &TypeDecl,
    ) -> Result<TypeDef, IdlError> {
        let mut ty = TypeDef {
            id: TypeId(
                u32::try_from(self.types.len())
                    .map_err(|_| place.fail("too many types".to_owned()))?,
            ),
            group: place.group,
            version: place.version,
            name: Cow::Borrowed(decl.name),
            object: false,
            atomic: false,
            mixed: None,
            custom: None,
            fills: false,
            has_objects: false,
            unions: Vec::new(),
            fields: Vec::with_capacity(decl.fields.len()),
            properties: Vec::new(),
            doc: Cow::Borrowed(decl.doc),
        };
        for flag in &decl.flags {
            match flag.split_once('=') {
                None if *flag == "object" => ty.object = true,
                None if *flag == "atomic" => ty.atomic = true,
                Some(("mixed", form)) => {
                    ty.mixed = Some(mixed(form).ok_or_else(|| unknown(place, flag))?)
                }
                Some(("union", form)) => {
                    ty.unions.push(union(form).ok_or_else(|| unknown(place, flag))?)
                }
                _ => return Err(unknown(place, flag)),
            }
        }
        Ok(ty)
    }

    fn field(&self, place: &DeclarationPosition<'_>, decl: &FieldDecl) -> Result<Field, IdlError> {
        let (reference, pointer) = match decl.shape.strip_suffix('?') {
            Some(reference) => (reference, true),
            None => (decl.shape, false),
        };
        let mut field = Field {
            name: self.resolve_name(decl.name),
            tag: decl.tag,
            shape: self.shape(place, reference)?,
            pointer,
            doc: Cow::Borrowed(decl.doc),
            ..blank()
        };
        for flag in &decl.flags {
            self.flag(&mut field, flag).ok_or_else(|| unknown(place, flag))?;
        }
        Ok(field)
    }

    fn flag(&self, field: &mut Field, flag: &'static str) -> Option<()> {
        let is_list = matches!(field.shape, Shape::List(_));
        match flag.split_once(['=', '(']) {
            None => match flag {
                "required" => field.required = true,
                "always" => field.always = true,
                "inline" => field.inline = true,
                "wrapped" => field.wrapped = true,
                "set" if is_list => field.list = Some(ListKind::Set),
                "atomic" if is_list => field.list = Some(ListKind::Atomic),
                "atomic" => field.map = Some(MapKind::Atomic),
                "granular" => field.map = Some(MapKind::Granular),
                _ => return None,
            },
            Some(("map", keys)) => {
                let keys = keys.strip_suffix(')')?.split(',').map(Cow::Borrowed).collect();
                field.list = Some(ListKind::Map(keys));
            }
            Some(("patch", patch)) => field.patch = patch_strategy(patch)?,
            Some(("enum", values)) => field.allowed = values.split('|').map(spaced).collect(),
            Some(("rules", rules)) => {
                field.rules = rules.split(';').map(DeclaredRule::read).collect::<Option<_>>()?;
            }
            Some(("known", values)) => field.known = values.split('|').map(spaced).collect(),
            Some(("default", json)) => {
                field.default = Some(serde_json::from_str(&self.resolve_groups(json)).ok()?)
            }
            Some(_) => return None,
        }
        Some(())
    }

    fn shape(&self, place: &DeclarationPosition<'_>, reference: &str) -> Result<Shape, IdlError> {
        if let Some(inner) = reference.strip_prefix("[]") {
            return Ok(Shape::List(Box::new(self.shape(place, inner)?)));
        }
        if let Some(inner) = reference.strip_prefix("{}") {
            return Ok(Shape::Map(Box::new(self.shape(place, inner)?)));
        }
        Scalar::named(reference).map_or_else(
            || self.type_id(place, reference).map(Shape::Message),
            |s| Ok(Shape::Scalar(s)),
        )
    }

    pub(super) fn type_id(
        &self,
        place: &DeclarationPosition<'_>,
        reference: &str,
    ) -> Result<TypeId, IdlError> {
        self.ids
            .get(&place.full(reference))
            .copied()
            .ok_or_else(|| place.fail(format!("unknown type {reference}")))
    }

    /// `$extension(list-type)` becomes `x-svc-list-type`.
    fn resolve_name(&self, name: &'static str) -> Text {
        let inner = name.strip_prefix("$extension(").and_then(|rest| rest.strip_suffix(')'));
        inner.map_or(Cow::Borrowed(name), |inner| Cow::Owned(self.names.extension(inner)))
    }

    /// `$group(x)` inside a default becomes the group's full name.
    fn resolve_groups(&self, json: &str) -> String {
        let Some((before, rest)) = json.split_once("$group(") else {
            return json.to_owned();
        };
        let Some((name, after)) = rest.split_once(')') else {
            return json.to_owned();
        };
        format!("{before}{}{after}", self.names.group(name))
    }

    /// Sets `properties` once all fields are known.
    fn flatten(&mut self) -> Result<(), IdlError> {
        for at in 0..self.types.len() {
            let mut properties = Vec::new();
            self.collect(&self.types[at], &mut properties);
            if self.types[at].object {
                properties.extend(type_meta());
            }
            properties.sort_by(|left, right| left.name.cmp(&right.name));
            if let Some(pair) = properties.windows(2).find(|pair| pair[0].name == pair[1].name) {
                let problem =
                    format!("{} has two properties {}", self.types[at].full_name(), pair[0].name);
                return Err(IdlError { file: "graph".to_owned(), line: 0, problem });
            }
            self.types[at].properties = properties;
        }
        Ok(())
    }

    fn collect(&self, ty: &TypeDef, into: &mut Vec<Arc<Field>>) {
        for field in &ty.fields {
            match field.shape {
                Shape::Message(inner) if field.inline => {
                    self.collect(&self.types[inner.index()], into)
                }
                _ => into.push(field.clone()),
            }
        }
    }

    fn finish(self) -> Graph {
        let by_kind = self.kinds.iter().enumerate().map(|(at, kind)| (kind.gvk(), at)).collect();
        let with_resource =
            self.kinds.iter().enumerate().filter(|(_, kind)| !kind.resource.is_empty());
        let by_resource = with_resource.map(|(at, kind)| (kind.gvr(), at)).collect();
        Graph {
            names: self.names,
            base: None,
            first: 0,
            types: self.types,
            kinds: self.kinds,
            by_type_name: self.ids,
            by_kind,
            by_resource,
        }
    }
}

pub(super) fn unknown(place: &DeclarationPosition<'_>, text: &str) -> IdlError {
    place.fail(format!("cannot read {text:?}"))
}

fn spaced(value: &'static str) -> Text {
    if value.contains('~') { Cow::Owned(value.replace('~', " ")) } else { Cow::Borrowed(value) }
}

fn mixed(form: &str) -> Option<Mixed> {
    Some(match form {
        "schema|[schema]" => Mixed::SchemaOrList,
        "bool|schema" => Mixed::SchemaOrBool,
        "schema|[string]" => Mixed::SchemaOrStrings,
        _ => return None,
    })
}

fn union(form: &'static str) -> Option<Union> {
    let (discriminator, members) = form.split_once(':')?;
    let pair = |member: &'static str| {
        let (field, value) = member.split_once('=')?;
        Some((Cow::Borrowed(field), Cow::Borrowed(value)))
    };
    let members = members.split(',').map(pair).collect::<Option<_>>()?;
    Some(Union { discriminator: Cow::Borrowed(discriminator), members })
}

fn patch_strategy(text: &'static str) -> Option<Patch> {
    let (strategies, key) = match text.split_once(':') {
        Some((strategies, key)) => (strategies, Some(Cow::Borrowed(key))),
        None => (text, None),
    };
    let mut patch = Patch { key, ..Patch::default() };
    for strategy in strategies.split(',') {
        match strategy {
            "merge" => patch.merge = true,
            "retainKeys" => patch.retain_keys = true,
            "replace" => patch.replace = true,
            _ => return None,
        }
    }
    Some(patch)
}

pub(super) fn blank() -> Field {
    Field {
        name: Cow::Borrowed(""),
        tag: None,
        shape: Shape::Scalar(Scalar::Any),
        pointer: false,
        required: false,
        always: false,
        inline: false,
        wrapped: false,
        list: None,
        map: None,
        patch: Patch::default(),
        nullable: false,
        elements: Vec::new(),
        default: None,
        allowed: Vec::new(),
        known: Vec::new(),
        rules: Vec::new(),
        doc: Cow::Borrowed(""),
    }
}

fn type_meta() -> [Arc<Field>; 2] {
    let field = |name, doc| {
        let shape = Shape::Scalar(Scalar::String);
        Arc::new(Field { name: Cow::Borrowed(name), shape, doc: Cow::Borrowed(doc), ..blank() })
    };
    [
        field("apiVersion", "Group and version of the schema this object follows."),
        field("kind", "Kind of this object."),
    ]
}
