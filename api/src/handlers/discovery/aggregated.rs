//! The aggregated form: every group, version and resource in one document, with an ETag.
//!
//! Invariant: the item of a group is written once as long as its resources stay.

use quorate_meta::{Map, Names, Value};
use quorate_wire::json;

use super::plain::{sorted, subresources, texts};
use crate::discovery::{AggregatedAnswer, Group, Groups, ServedVersion};
use crate::negotiation::{self, Format, Formats, Media, Offer};
use crate::respond;
use quorate_registry::error::Error;
use quorate_registry::{Resource, Subresource};

const KIND: &str = "APIGroupDiscoveryList";
/// The version; that in which clients asked for it at first is gone since release 1.33.
const VERSION: &str = "v2";

/// The aggregated form as the client asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AggregatedForm {
    pub(super) media: Media,
    group: String,
}

impl AggregatedForm {
    /// The form that an Accept header asks for, wherever in it; `None` when it asks for the plain
    /// one only, or for neither.
    pub(super) fn asked(names: &Names, formats: &Formats, accept: &str) -> Option<Self> {
        for clause in negotiation::clauses(accept) {
            let group = clause.parameter("g");
            let is_group = group == names.group_discovery
                || names.edge_group(group).is_some_and(|group| group == names.group_discovery);
            if !is_group || clause.parameter("as") != KIND || clause.parameter("v") != VERSION {
                continue;
            }
            let meant = negotiation::meant(&clause, accept, || formats.media_types());
            let mut media = meant.iter().filter_map(|name| formats.media(name, Offer::Document));
            let fits = |media: &Media| negotiation::is_understood(&clause, media, Offer::Document);
            if let Some(media) = media.find(fits) {
                return Some(Self { media, group: group.to_owned() });
            }
        }
        None
    }

    /// The syntax alone.
    fn format(&self) -> Format {
        Format { media: self.media.clone(), ..Format::JSON }
    }

    /// What tells it from other forms.
    pub(super) fn key(&self) -> String {
        self.content_type(self.format().content_type())
    }

    /// The Content-Type of the document in the syntax `media`.
    pub(super) fn content_type(&self, media: &str) -> String {
        format!("{media};g={};v={VERSION};as={KIND}", self.group)
    }
}

/// The document: of the core group, or of all others.
pub(super) fn document(
    groups: &Groups,
    core: bool,
    form: &AggregatedForm,
) -> Result<AggregatedAnswer, Error> {
    let mut text = Vec::new();
    text.extend_from_slice(b"{\"apiVersion\":");
    json::write_string(&format!("{}/{VERSION}", form.group), &mut text);
    text.extend_from_slice(b",\"items\":[");
    for (index, group) in groups.of_document(core).enumerate() {
        if index > 0 {
            text.push(b',');
        }
        text.extend_from_slice(group.item.get_or_init(|| respond::json(&group_entry(group))));
    }
    text.extend_from_slice(format!("],\"kind\":\"{KIND}\",\"metadata\":{{}}}}").as_bytes());
    let body = respond::bytes_of_json(&form.format(), None, text.into())?;
    Ok(AggregatedAnswer { etag: respond::etag(&body), body, content_type: form.key() })
}

fn group_entry(group: &Group) -> Value {
    let mut metadata = Map::new();
    if !group.name.is_empty() {
        metadata.insert("name", group.name.as_str());
    }
    let versions: Vec<Value> = group.versions.iter().map(version_entry).collect();
    Value::from([("metadata", Value::Map(metadata)), ("versions", versions.into())])
}

fn version_entry(version: &ServedVersion) -> Value {
    let mut resources: Vec<&Resource> = version.resources.iter().map(AsRef::as_ref).collect();
    resources.sort_by(|a, b| a.plural.cmp(&b.plural));
    Value::Map(Map::from([
        ("version", Value::from(version.name.as_str())),
        ("resources", Value::List(resources.into_iter().map(resource_entry).collect())),
        ("freshness", Value::from("Current")),
    ]))
}

fn resource_entry(resource: &Resource) -> Value {
    let mut entry = Map::from([
        ("resource", Value::from(resource.plural.as_str())),
        ("responseKind", response_kind(&resource.group, &resource.version, &resource.kind)),
        ("scope", Value::from(if resource.namespaced { "Namespaced" } else { "Cluster" })),
        ("singularResource", Value::from(resource.singular.as_str())),
        ("verbs", sorted(&resource.verbs)),
    ]);
    if !resource.short_names.is_empty() {
        entry.insert("shortNames", texts(&resource.short_names));
    }
    if !resource.categories.is_empty() {
        entry.insert("categories", texts(&resource.categories));
    }
    if !resource.subresources.is_empty() {
        let entries = subresources(resource).into_iter().map(subresource_entry);
        entry.insert("subresources", Value::List(entries.collect()));
    }
    Value::Map(entry)
}

fn subresource_entry(subresource: &Subresource) -> Value {
    Value::Map(Map::from([
        ("subresource", Value::from(subresource.name.as_str())),
        (
            "responseKind",
            response_kind(&subresource.group, &subresource.version, &subresource.kind),
        ),
        ("verbs", sorted(&subresource.verbs)),
    ]))
}

fn response_kind(group: &str, version: &str, kind: &str) -> Value {
    Value::Map(Map::from([
        ("group", Value::from(group)),
        ("version", Value::from(version)),
        ("kind", Value::from(kind)),
    ]))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use quorate_meta::Naming;
    use quorate_schema::Graph;

    use super::*;

    #[test]
    fn which_form_is_asked_for() {
        let names = Naming::Svc.names();
        let formats = Formats::new(Arc::new(Graph::builtin(names)), false, 0);
        let check = |accept: &str, expect: Option<&str>| {
            let got = AggregatedForm::asked(names, &formats, accept).map(|form| {
                let format = Format { media: form.media.clone(), ..Format::JSON };
                form.content_type(format.content_type())
            });
            let expect = expect.map(|expect| format!("{expect};as=APIGroupDiscoveryList"));
            assert_eq!(got, expect, "{accept}");
        };
        let ask = |group: &str, version: &str| {
            format!("application/json;as={KIND};v={version};g={group}")
        };
        let (svc, alias) = ("apidiscovery.svc.io", "apidiscovery.k8s.io");
        check(&ask(svc, "v2"), Some("application/json;g=apidiscovery.svc.io;v=v2"));
        check(&ask(alias, "v2beta1"), None);
        let gone_first = format!("{},{}", ask(alias, "v2beta1"), ask(alias, "v2"));
        check(&gone_first, Some("application/json;g=apidiscovery.k8s.io;v=v2"));
        check(&format!("{},application/json", ask(svc, "v3")), None);
        check(&ask(svc, "v3"), None);
        let expect = Some("application/json;g=apidiscovery.svc.io;v=v2");
        check(&format!("application/json,{}", ask(svc, "v2")), expect);
        check(&format!("{};foo=bar", ask(svc, "v2")), expect);
        check(&format!("{};stream=odd", ask(svc, "v2")), None);
        check(&format!("{};q=0,application/json", ask(svc, "v2")), None);
        check("", None);
        let with =
            |media: &str, version: &str| ask(alias, version).replace("application/json", media);
        check(&with("*/*", "v2"), Some("application/json;g=apidiscovery.k8s.io;v=v2"));
        check(&with("application/yaml", "v2"), Some("application/yaml;g=apidiscovery.k8s.io;v=v2"));
        let protobuf = "application/vnd.kubernetes.protobuf";
        check(&with(protobuf, "v2"), Some(&format!("{protobuf};g=apidiscovery.k8s.io;v=v2")));
        check(&format!("{protobuf},{}", ask(svc, "v2")), expect);
        check(
            &format!("application/xml,{}", ask(svc, "v2")),
            Some("application/json;g=apidiscovery.svc.io;v=v2"),
        );
    }
}
