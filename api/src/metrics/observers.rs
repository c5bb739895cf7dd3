//! What is asked when metrics are read: facts of the build and the gates, what is stored, and what
//! other parts count by themselves.
//!
//! Invariant: an observer holds a part of the server and never the server, which holds the registry.

use std::sync::Arc;

use quorate_access::authentication::token::{ServiceAccountTokens, TokenUse};
use quorate_access::authorization::{Authorizer, ModeDecisions};
use quorate_meta::{Names, Value};
use quorate_metrics::Registry;
use quorate_registry::features::{Gate, Gates, Stage, Usage};
use quorate_registry::release::Release;
use quorate_registry::write::DeclarativeCounts;
use quorate_registry::{CurrentCatalogue, stored_codec};
use quorate_store::{Status, Store};

use super::allocations;
use super::object_counts::ObjectCounts;
use crate::audit::Audit;
use crate::encoding::Messages;
use crate::selector_index::{SelectorIndexCounts, SelectorIndexes};

/// What is known of the build of a server; what is not known is empty.
pub(crate) struct BuildFacts {
    pub(crate) git_version: String,
    pub(crate) git_commit: String,
    pub(crate) build_date: String,
    pub(crate) compiler: String,
}

/// What of a server is observed.
pub(crate) struct Observed<'o> {
    pub(crate) store: &'o Arc<dyn Store>,
    pub(crate) gates: &'o Gates,
    pub(crate) build: &'o BuildFacts,
    pub(crate) audit: Option<&'o Arc<Audit>>,
    pub(crate) declarative: &'o Arc<DeclarativeCounts>,
    pub(crate) names: &'static Names,
    pub(crate) catalogue: &'o Arc<CurrentCatalogue>,
    pub(crate) authorizer: &'o Arc<Authorizer>,
    pub(crate) service_accounts: &'o Arc<ServiceAccountTokens>,
    pub(crate) messages: &'o Arc<Messages>,
    pub(crate) selector_indexes: &'o Arc<SelectorIndexes>,
}

/// Observes them.
pub(crate) fn observe(registry: &Registry, observed: &Observed<'_>) {
    build(registry, observed.build, observed.gates.release());
    gates(registry, observed.gates.clone());
    declarative(registry, observed.declarative);
    store(registry, observed.store);
    objects(registry, observed.store);
    versions(registry, observed.store, observed.catalogue);
    decisions(registry, observed.authorizer);
    tokens(registry, observed.service_accounts);
    services(registry, observed.store, observed.catalogue);
    allocations::observe(registry, observed.names, observed.store);
    audit(registry, observed.audit);
    messages(registry, observed.messages);
    selector_indexes(registry, observed.selector_indexes);
}

fn build(registry: &Registry, build: &BuildFacts, emulated: Release) {
    let facts = [
        Release::CURRENT.major.to_string(),
        Release::CURRENT.minor.to_string(),
        build.git_version.clone(),
        build.git_commit.clone(),
        "clean".to_owned(),
        build.build_date.clone(),
        build.compiler.clone(),
        "rustc".to_owned(),
        format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    ];
    registry.observe("kubernetes_build_info", move |to| {
        to.add(&facts.each_ref().map(String::as_str), 1.0);
    });
    let releases = [Release::CURRENT, emulated, emulated].map(|release| release.to_string());
    registry.observe("version_info", move |to| {
        let [binary, emulation, lowest] = releases.each_ref().map(String::as_str);
        to.add(&["kube", binary, emulation, lowest], 1.0);
    });
}

fn gates(registry: &Registry, gates: Gates) {
    let release = gates.release();
    let state = |gate: &Gate| {
        let state = gate.at(release)?;
        let is_on = match gate.usage {
            Usage::Here(feature) => gates.has(feature),
            Usage::Fixed | Usage::Unused => state.default,
        };
        let stage = match state.stage {
            Stage::Ga => String::new(),
            stage => stage.to_string(),
        };
        Some((gate.name, stage, if is_on { 1.0 } else { 0.0 }))
    };
    let states: Vec<_> = Gate::all().iter().filter_map(state).collect();
    registry.observe("kubernetes_feature_enabled", move |to| {
        states.iter().for_each(|(name, stage, is_on)| to.add(&[name, stage], *is_on));
    });
}

fn declarative(registry: &Registry, counts: &Arc<DeclarativeCounts>) {
    let long = "apiserver_validation_declarative_validation_mismatch_total";
    for name in [long, "declarative_validation_mismatch_total"] {
        let counts = counts.clone();
        registry.observe(name, move |to| to.add_count(&[], counts.mismatches()));
    }
    let counts = counts.clone();
    registry.observe("apiserver_validation_declarative_validation_panic_total", move |to| {
        to.add_count(&[], counts.panics());
    });
}

fn store(registry: &Registry, store: &Arc<dyn Store>) {
    let observe = |name: &str, value: fn(&Status) -> u64| {
        let store = store.clone();
        registry.observe(name, move |to| to.add_count(&[], value(&store.status())));
    };
    observe("quorate_store_revision", |status| status.applied.get());
    observe("quorate_store_oldest_revision", |status| status.oldest.get());
    observe("quorate_store_bytes", |status| status.size);
    observe("quorate_store_limit_bytes", |status| status.size_limit);
    let read = store.clone();
    registry.observe("quorate_store_keys", move |to| {
        to.add_count(&[], read.snapshot().len() as u64);
    });
    for name in ["apiserver_storage_size_bytes", "apiserver_storage_db_total_size_in_bytes"] {
        let store = store.clone();
        registry.observe(name, move |to| to.add_count(&["quorate-0"], store.status().size));
    }
}

fn objects(registry: &Registry, store: &Arc<dyn Store>) {
    let counts = ObjectCounts::new(store.clone());
    let read = counts.clone();
    registry.observe("apiserver_storage_objects", move |to| {
        for ((group, resource), count) in &*read.get() {
            let name = match group.as_str() {
                "" => resource.clone(),
                group => format!("{resource}.{group}"),
            };
            to.add_count(&[&name], count.objects);
        }
    });
    let read = counts.clone();
    registry.observe("apiserver_resource_objects", move |to| {
        for ((group, resource), count) in &*read.get() {
            to.add_count(&[group, resource], count.objects);
        }
    });
    registry.observe("apiserver_resource_size_estimate_bytes", move |to| {
        for ((group, resource), count) in &*counts.get() {
            to.add_count(&[group, resource], count.bytes);
        }
    });
}

fn versions(registry: &Registry, store: &Arc<dyn Store>, catalogue: &Arc<CurrentCatalogue>) {
    let (store, catalogue) = (store.clone(), catalogue.clone());
    registry.observe("apiserver_watch_cache_resource_version", move |to| {
        let applied = store.status().applied.get();
        for resource in catalogue.load().stored() {
            to.add_count(&[&resource.group, &resource.plural], applied);
        }
    });
}

fn decisions(registry: &Registry, authorizer: &Arc<Authorizer>) {
    let authorizer = authorizer.clone();
    registry.observe("apiserver_authorization_decisions_total", move |to| {
        for ModeDecisions { mode, name, allowed, denied } in authorizer.decisions() {
            to.add_count(&[mode, name, "allowed"], allowed);
            to.add_count(&[mode, name, "denied"], denied);
        }
    });
}

fn tokens(registry: &Registry, tokens: &Arc<ServiceAccountTokens>) {
    let observe = |name: &str, token_use: TokenUse| {
        let tokens = tokens.clone();
        registry.observe(name, move |to| to.add_count(&[], tokens.counts().of(token_use)));
    };
    observe("serviceaccount_valid_tokens_total", TokenUse::Valid);
    observe("serviceaccount_legacy_tokens_total", TokenUse::OfSecret);
    // Secrets are made by hand: no controller makes one for an account.
    observe("serviceaccount_legacy_manual_token_uses_total", TokenUse::OfSecret);
    observe("serviceaccount_invalid_legacy_auto_token_uses_total", TokenUse::OfInvalidSecret);
    let observe = |name: &str, statuses: &'static [(&str, &[TokenUse])]| {
        let tokens = tokens.clone();
        registry.observe(name, move |to| {
            for (status, uses) in statuses {
                let count = uses.iter().map(|token_use| tokens.counts().of(*token_use)).sum();
                to.add_count(&[status], count);
            }
        });
    };
    observe(
        "authentication_token_cache_request_total",
        &[("hit", &[TokenUse::Hit]), ("miss", &[TokenUse::Verified, TokenUse::Failed])],
    );
    observe(
        "authentication_token_cache_fetch_total",
        &[("ok", &[TokenUse::Verified]), ("error", &[TokenUse::Failed])],
    );
}

/// Which APIServices are not available, as their conditions say.
fn services(registry: &Registry, store: &Arc<dyn Store>, catalogue: &Arc<CurrentCatalogue>) {
    let (store, catalogue) = (store.clone(), catalogue.clone());
    registry.observe("aggregator_unavailable_apiservice", move |to| {
        let catalogue = catalogue.load();
        let mut resources = catalogue.stored();
        let Some(services) = resources.find(|resource| resource.plural == "apiservices") else {
            return;
        };
        let snapshot = store.snapshot();
        for (key, entry) in snapshot.range(&services.prefix(None), None) {
            let object = stored_codec::decode(services, entry);
            let (Some((_, name)), Ok(object)) = (services.parse_key(key), object) else { continue };
            let conditions = object.at(&["status", "conditions"]).and_then(Value::as_list);
            let is_unavailable = conditions.unwrap_or_default().iter().any(|condition| {
                condition.str_at(&["type"]) == Some("Available")
                    && condition.str_at(&["status"]) == Some("False")
            });
            to.add(&[name], if is_unavailable { 1.0 } else { 0.0 });
        }
    });
}

fn audit(registry: &Registry, audit: Option<&Arc<Audit>>) {
    let observe = |name: &str, value: fn(&Audit) -> Vec<(&'static str, u64)>, labelled: bool| {
        let audit = audit.cloned();
        registry.observe(name, move |to| {
            for (label, count) in audit.iter().flat_map(|audit| value(audit)) {
                to.add_count(if labelled { std::slice::from_ref(&label) } else { &[] }, count);
            }
        });
    };
    observe("apiserver_audit_event_total", |audit| vec![("", audit.told())], false);
    observe("apiserver_audit_error_total", |audit| audit.dropped_by_sink(), true);
    observe("apiserver_audit_level_total", |audit| audit.requests_by_level(), true);
}

fn messages(registry: &Registry, messages: &Arc<Messages>) {
    let kept = messages.clone();
    registry.observe("quorate_protobuf_cache_size_bytes", move |to| {
        to.add_count(&[], kept.counts().bytes);
    });
    let asked = messages.clone();
    registry.observe("quorate_protobuf_cache_lookups_total", move |to| {
        let counts = asked.counts();
        to.add_count(&["hit"], counts.hits);
        to.add_count(&["miss"], counts.misses);
    });
}

fn selector_indexes(registry: &Registry, indexes: &Arc<SelectorIndexes>) {
    let observe = |name: &str, values: fn(SelectorIndexCounts) -> Vec<(&'static str, u64)>| {
        let indexes = indexes.clone();
        registry.observe(name, move |to| {
            for (label, count) in values(indexes.counts()) {
                to.add_count(
                    if label.is_empty() { &[] } else { std::slice::from_ref(&label) },
                    count,
                );
            }
        });
    };
    observe("quorate_selector_indexes", |counts| vec![("", counts.indexes)]);
    observe("quorate_selector_index_size_bytes", |counts| vec![("", counts.bytes)]);
    observe("quorate_selector_index_builds_total", |counts| {
        vec![("built", counts.built), ("refused", counts.refused)]
    });
    observe("quorate_selector_index_lists_total", |counts| {
        vec![("used", counts.used), ("scanned", counts.scanned)]
    });
}
