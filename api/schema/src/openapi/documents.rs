//! The OpenAPI documents: which there are, and the composition of each.

use std::collections::BTreeSet;

use quorate_meta::{GroupVersion, Map, Value};

use super::definitions::Definitions;
use super::operation::{PathOperation, Produced};
use super::path_kind::PathKind;
use super::{Dialect, Style, custom, naming, pages, paths};
use crate::graph::{Graph, KindDef};

/// The name of the security scheme.
const BEARER: &str = "BearerToken";

/// A resource that is served.
#[derive(Clone, Debug)]
pub struct Served<'g> {
    /// Its kind; all its verbs are documented.
    pub kind: &'g KindDef,
    /// Those of its subresources that are served.
    pub subresources: Vec<&'g str>,
}

/// The documents about a set of served resources.
#[derive(Debug)]
pub struct Documents<'g> {
    graph: &'g Graph,
    served: Vec<Served<'g>>,
    /// Those of the resources.
    group_versions: Vec<GroupVersion>,
    release: &'g str,
    cbor: bool,
}

impl<'g> Documents<'g> {
    /// Documents about `served`; `release` is the version they name, such as `v1.35.0`.
    pub fn new(graph: &'g Graph, served: Vec<Served<'g>>, release: &'g str) -> Self {
        let group_versions: BTreeSet<GroupVersion> = served
            .iter()
            .map(|served| {
                GroupVersion::new(served.kind.group.clone(), served.kind.version.as_ref())
            })
            .collect();
        let group_versions = group_versions.into_iter().collect();
        Self { graph, served, group_versions, release, cbor: false }
    }

    /// The same documents with CBOR among the media types.
    #[must_use]
    pub fn with_cbor(self, cbor: bool) -> Self {
        Self { cbor, ..self }
    }

    /// Paths of the documents of version 3, as the index lists them: `api`, `api/v1`, `apis/apps`,
    /// `apis/apps/v1`, ...
    pub fn paths(&self) -> Vec<String> {
        let mut all = BTreeSet::from(pages::PATHS.map(str::to_owned));
        for served in &self.served {
            let root = root(served.kind);
            all.insert(root.trim_start_matches('/').to_owned());
            if !served.kind.group.is_empty() {
                all.insert(format!("apis/{}", served.kind.group));
            }
        }
        all.into_iter().collect()
    }

    /// The document of version 3 with this path; `None` when there is none.
    pub fn part(&self, path: &str) -> Option<Value> {
        if !self.paths().iter().any(|known| known == path) {
            return None;
        }
        let mut definitions = self.definitions(Dialect::V3);
        let mut all = Map::new();
        let root = format!("/{path}");
        let resources: Vec<&Served<'g>> =
            self.served.iter().filter(|served| self::root(served.kind) == root).collect();
        match resources.first() {
            None => self.page(Dialect::V3, path, &mut definitions, &mut all),
            Some(first) => self.group_version(Dialect::V3, first.kind, &mut definitions, &mut all),
        }
        for served in resources {
            self.resource(Dialect::V3, served, &mut definitions, &mut all);
        }
        Some(self.document(all, definitions.finish()))
    }

    /// A document of version 3.
    pub(super) fn document(&self, paths: Map, schemas: Map) -> Value {
        let components = [("schemas", Value::Map(schemas)), ("securitySchemes", security())];
        let head = [
            ("openapi", Value::from("3.0.0")),
            ("info", self.info()),
            ("paths", paths.into()),
            ("components", Value::from(components)),
        ];
        Value::from(head)
    }

    /// The document of version 2, about everything that is built in. `with_custom` has it define
    /// what the parts about custom resources refer to.
    pub fn whole(&self, with_custom: bool) -> Value {
        let mut definitions = self.definitions(Dialect::V2);
        let mut all = Map::new();
        for path in self.paths() {
            let root = format!("/{path}");
            match self.served.iter().find(|served| self::root(served.kind) == root) {
                None => self.page(Dialect::V2, &path, &mut definitions, &mut all),
                Some(first) => {
                    self.group_version(Dialect::V2, first.kind, &mut definitions, &mut all)
                }
            }
        }
        for served in &self.served {
            self.resource(Dialect::V2, served, &mut definitions, &mut all);
        }
        if with_custom {
            custom::refer_to_shared(&mut definitions);
        }
        let head = [
            ("swagger", Value::from("2.0")),
            ("info", self.info()),
            ("paths", all.into()),
            ("definitions", definitions.finish().into()),
            ("securityDefinitions", security()),
            ("security", vec![Value::from([(BEARER, Value::List(Vec::new()))])].into()),
        ];
        Value::from(head)
    }

    fn resource(
        &self,
        dialect: Dialect,
        served: &Served<'g>,
        definitions: &mut Definitions<'g>,
        all: &mut Map,
    ) {
        let (kind, subresources) = PathKind::of(self.graph, served, definitions);
        paths::of_resource(self.style(dialect), &kind, &subresources, definitions, all);
    }

    /// The definitions of a document in which nothing is defined yet.
    pub(super) fn definitions(&self, dialect: Dialect) -> Definitions<'g> {
        Definitions::new(self.graph, dialect, self.group_versions.clone())
    }

    pub(super) fn graph(&self) -> &'g Graph {
        self.graph
    }

    pub(super) fn style(&self, dialect: Dialect) -> Style<'g> {
        Style { graph: self.graph, dialect, cbor: self.cbor }
    }

    fn info(&self) -> Value {
        Value::from([("title", "Quorate"), ("version", self.release)])
    }

    /// The page that lists the resources of a group version.
    fn group_version(
        &self,
        dialect: Dialect,
        kind: &KindDef,
        definitions: &mut Definitions<'g>,
        all: &mut Map,
    ) {
        let camel_group = naming::camel_group(kind.neutral_group);
        let (group, version) = (naming::capital(&camel_group), naming::capital(&kind.version));
        let answer = definitions.machinery("meta/v1.APIResourceList");
        let operation = PathOperation {
            action: "read",
            id: format!("get{group}{version}APIResources"),
            tag: naming::tag(&camel_group, &kind.version),
            description: "List the resources of this version.".to_owned(),
            kind: None,
            body: None,
            answer: Some(answer),
            media: Produced::Objects,
        };
        let methods = Map::from([("get", operation.write(self.style(dialect)))]);
        all.insert(format!("{}/", root(kind)), methods);
    }

    /// A page about the server or a group.
    fn page(&self, dialect: Dialect, path: &str, definitions: &mut Definitions<'g>, all: &mut Map) {
        let group = path.strip_prefix("apis/").unwrap_or_default();
        let served = self.served.iter().find(|served| served.kind.group == group);
        let group = served.map(|served| served.kind.neutral_group).unwrap_or_default();
        let operation = pages::operation(path, group, definitions).write(self.style(dialect));
        all.insert(format!("/{path}/"), Map::from([("get", operation)]));
    }
}

fn root(kind: &KindDef) -> String {
    naming::root(&kind.group, &kind.version)
}

/// The security scheme: a bearer token in a header. Client certificates belong to the connection
/// and have no scheme.
fn security() -> Value {
    let token = [
        ("description", "Bearer Token authentication"),
        ("in", "header"),
        ("name", "authorization"),
        ("type", "apiKey"),
    ];
    Value::from([(BEARER, Value::from(token))])
}
