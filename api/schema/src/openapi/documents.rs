//! The OpenAPI documents: which there are, and the composition of each.

use std::collections::BTreeSet;

use quorate_meta::{GroupVersion, Map, Value};

use super::definitions::Definitions;
use super::operation::PathOperation;
use super::{Dialect, Style, naming, pages, paths};
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
    release: &'g str,
    cbor: bool,
}

impl<'g> Documents<'g> {
    /// Documents about `served`; `release` is the version they name, such as `v1.35.0`.
    pub fn new(graph: &'g Graph, served: Vec<Served<'g>>, release: &'g str) -> Self {
        Self { graph, served, release, cbor: false }
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
            let root = paths::root(served.kind);
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
        let mut definitions = Definitions::new(self.graph, Dialect::V3, self.group_versions());
        let mut all = Map::new();
        let root = format!("/{path}");
        let resources: Vec<&Served<'g>> =
            self.served.iter().filter(|served| paths::root(served.kind) == root).collect();
        match resources.first() {
            None => self.page(Dialect::V3, path, &mut definitions, &mut all),
            Some(first) => self.group_version(Dialect::V3, first.kind, &mut definitions, &mut all),
        }
        for served in resources {
            paths::of_resource(self.style(Dialect::V3), served, &mut definitions, &mut all);
        }
        let components =
            Value::from([("schemas", definitions.finish()), ("securitySchemes", security())]);
        let head = [
            ("openapi", Value::from("3.0.0")),
            ("info", self.info()),
            ("paths", all.into()),
            ("components", components),
        ];
        Some(Value::from(head))
    }

    /// The document of version 2, about everything.
    pub fn whole(&self) -> Value {
        let mut definitions = Definitions::new(self.graph, Dialect::V2, self.group_versions());
        let mut all = Map::new();
        for path in self.paths() {
            let root = format!("/{path}");
            match self.served.iter().find(|served| paths::root(served.kind) == root) {
                None => self.page(Dialect::V2, &path, &mut definitions, &mut all),
                Some(first) => {
                    self.group_version(Dialect::V2, first.kind, &mut definitions, &mut all)
                }
            }
        }
        for served in &self.served {
            paths::of_resource(self.style(Dialect::V2), served, &mut definitions, &mut all);
        }
        let head = [
            ("swagger", Value::from("2.0")),
            ("info", self.info()),
            ("paths", all.into()),
            ("definitions", definitions.finish()),
            ("securityDefinitions", security()),
            ("security", vec![Value::from([(BEARER, Value::List(Vec::new()))])].into()),
        ];
        Value::from(head)
    }

    fn style(&self, dialect: Dialect) -> Style<'g> {
        Style { graph: self.graph, dialect, cbor: self.cbor }
    }

    fn info(&self) -> Value {
        Value::from([("title", "Quorate"), ("version", self.release)])
    }

    fn group_versions(&self) -> Vec<GroupVersion> {
        let served = self.served.iter().map(|served| {
            GroupVersion::new(served.kind.group.clone(), served.kind.version.as_ref())
        });
        served.collect::<BTreeSet<GroupVersion>>().into_iter().collect()
    }

    /// The page that lists the resources of a group version.
    fn group_version(
        &self,
        dialect: Dialect,
        kind: &KindDef,
        definitions: &mut Definitions<'g>,
        all: &mut Map,
    ) {
        let (group, version) = (
            naming::capital(&naming::camel_group(kind.neutral_group)),
            naming::capital(&kind.version),
        );
        let answer = definitions.machinery("meta/v1.APIResourceList");
        let operation = PathOperation {
            action: "read",
            id: format!("get{group}{version}APIResources"),
            tag: naming::tag(kind),
            description: "List the resources of this version.".to_owned(),
            kind: None,
            body: None,
            answer: Some(answer),
            media: None,
        };
        let methods = Map::from([("get", operation.write(self.style(dialect)))]);
        all.insert(format!("{}/", paths::root(kind)), methods);
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
