//! The routes: one table from verb and path to a handler of this folder.
//!
//! Invariant: routing comes after authorization. A served path with another method is a 405,
//! everything else a 404.

use std::future::ready;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::Response;
use quorate_env::blocking_whenever_it_runs;
use quorate_extensions::aggregation::is_delegated;
use quorate_meta::Status;

use super::{
    admission, backup, binding, connect, create, delete, deletecollection, discovery, eviction,
    flow_control, get, health, index, list, metrics, openapi, openid, past, patch, review, scale,
    token_request, update, version, watch,
};
use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::health::Endpoint;
use crate::metrics::MetricsPage;
use crate::negotiation::Offer;
use crate::respond::warnings;
use quorate_access::request::{RequestInfo, Verb};
use quorate_registry::error::Error;
use quorate_registry::{Catalogue, Notes, Resource};

/// Bytes of a body from which on what it says may take longer to work out than a few milliseconds.
const LONG_BODY_BYTES: usize = 128 << 10;

/// Where a request goes.
#[derive(Debug, Clone)]
pub(crate) enum Route {
    /// To the verb's handler of a resource.
    Resource(Arc<Resource>),
    /// To a page about the server itself.
    Discovery(discovery::DiscoveryPage),
    /// To an OpenAPI document.
    OpenApi(openapi::OpenApiPage),
    /// To what relying parties of tokens read.
    OpenId(openid::OpenIdPage),
    /// To the health checks: of one name, or all.
    Health(Endpoint, Option<String>),
    /// To a page about admission.
    Admission(admission::AdmissionPage),
    /// To a page about priority and fairness.
    FlowControl(flow_control::FlowControlPage),
    /// To a page for backups.
    Backup(backup::BackupPath),
    /// To a page about the past.
    Past(past::PastPage),
    /// To a page of metrics.
    Metrics(MetricsPage),
    /// To the version.
    Version,
    /// To the paths that there are.
    Index,
}

impl Route {
    /// The resource of a route that leads to one.
    pub(crate) fn resource(&self) -> Option<&Arc<Resource>> {
        match self {
            Self::Resource(resource) => Some(resource),
            _ => None,
        }
    }

    /// What the place can answer a request with; `None` where it does its own negotiation.
    pub(crate) fn offer(&self, info: &RequestInfo) -> Option<Offer> {
        match self {
            Self::Resource(resource) if info.verb == Verb::Watch => {
                Some(if resource.is_custom() { Offer::CustomStream } else { Offer::Stream })
            }
            Self::Resource(resource) if !resource.stored => Some(Offer::Document),
            Self::Resource(_) if info.subresource.as_deref() == Some(token_request::TOKEN) => {
                Some(Offer::Document)
            }
            // What is told of the past has no protobuf form.
            Self::Past(_) => Some(Offer::CustomObjects),
            Self::Resource(_)
                if info.verb == Verb::Get && past::ObjectPage::find(info).is_some() =>
            {
                Some(Offer::CustomObjects)
            }
            // The scale of a custom object is of a built-in kind.
            Self::Resource(resource)
                if resource.is_custom() && info.subresource.as_deref() != Some(scale::SCALE) =>
            {
                Some(Offer::CustomObjects)
            }
            Self::Resource(_) => Some(Offer::Objects),
            Self::Discovery(page) if page.is_aggregated() => None,
            Self::Discovery(_) => Some(Offer::Document),
            Self::OpenApi(_)
            | Self::OpenId(_)
            | Self::Health(..)
            | Self::Admission(_)
            | Self::FlowControl(_)
            | Self::Backup(_)
            | Self::Metrics(_)
            | Self::Version
            | Self::Index => None,
        }
    }
}

/// The route of a request, or 404 or 405.
pub(crate) fn find(api: &Api, catalogue: &Catalogue, info: &RequestInfo) -> Result<Route, Error> {
    if info.is_resource {
        return find_resource(api, catalogue, info).map(Route::Resource);
    }
    let route =
        find_page(api, catalogue, &info.path).ok_or_else(|| no_page(api, catalogue, &info.path))?;
    let is_served = match route {
        Route::Admission(page) => info.verb == page.verb(),
        Route::Past(page) => page.serves(info.verb),
        // Probes of every method are answered the same.
        Route::Health(..) => true,
        Route::Metrics(page) => metrics::serves(page, info.verb),
        _ => info.verb == Verb::Get,
    };
    if is_served {
        return Ok(route);
    }
    Err(Status::method_not_allowed().into())
}

fn find_page(api: &Api, catalogue: &Catalogue, path: &str) -> Option<Route> {
    if let Some((endpoint, check)) = Endpoint::find(path) {
        return Some(Route::Health(endpoint, check.map(str::to_owned)));
    }
    let trimmed = path.strip_suffix('/').unwrap_or(path);
    match trimmed {
        "" => return Some(Route::Index),
        "/version" => return Some(Route::Version),
        _ => {}
    }
    if let Some(page) = MetricsPage::find(trimmed) {
        return Some(Route::Metrics(page));
    }
    if let Some(page) = admission::AdmissionPage::find(trimmed) {
        return Some(Route::Admission(page));
    }
    if let Some(page) = past::PastPage::find(trimmed) {
        return Some(Route::Past(page));
    }
    if let Some(page) = backup::BackupPath::find(api, trimmed) {
        return Some(Route::Backup(page));
    }
    if let Some(page) = flow_control::FlowControlPage::find(api, trimmed) {
        return Some(Route::FlowControl(page));
    }
    if let Some(page) = openapi::OpenApiPage::find(trimmed) {
        return Some(Route::OpenApi(page));
    }
    if let Some(page) = openid::OpenIdPage::find(trimmed) {
        return Some(Route::OpenId(page));
    }
    discovery::DiscoveryPage::find(api, catalogue, trimmed).map(Route::Discovery)
}

/// Why there is no such page: perhaps it is one of a version that is left to another server.
fn no_page(api: &Api, catalogue: &Catalogue, path: &str) -> Error {
    let version =
        path.trim_end_matches('/').strip_prefix("/apis/").and_then(|path| path.split_once('/'));
    version.map_or_else(Error::no_such_path, |(group, version)| {
        not_served(api, catalogue, group, version)
    })
}

/// 503 for a group version that an APIService delegates to another server, to which this one passes
/// nothing on; 404 for all others.
fn not_served(api: &Api, catalogue: &Catalogue, group: &str, version: &str) -> Error {
    if is_delegated(api.names, catalogue, &api.store.snapshot(), group, version) {
        return Status::service_unavailable("service unavailable").into();
    }
    Error::no_such_path()
}

fn find_resource(
    api: &Api,
    catalogue: &Catalogue,
    info: &RequestInfo,
) -> Result<Arc<Resource>, Error> {
    let found = catalogue.find(&info.group, &info.version, &info.resource);
    let resource = found.ok_or_else(|| not_served(api, catalogue, &info.group, &info.version))?;
    let scope_fits = match (&info.namespace, &info.name) {
        (Some(_), _) => resource.namespaced,
        (None, Some(_)) => !resource.namespaced,
        (None, None) => true,
    };
    // A virtual object without a namespace in its path, or with a name, has no path; neither has a
    // subresource of it.
    let nowhere = info.name.is_some() || (resource.namespaced && info.namespace.is_none());
    if !scope_fits || info.excess || (!resource.stored && nowhere) {
        return Err(Error::no_such_path());
    }
    let verbs = match &info.subresource {
        Some(name) => {
            let found = resource.subresource(name);
            &found.ok_or_else(|| no_subresource(resource, info))?.verbs
        }
        None => &resource.verbs,
    };
    // A list is one by its path, and asks to be watched in its query.
    if info.verb == Verb::Watch && resource.serves("list") && !resource.serves("watch") {
        return Err(Status::verb_not_supported(&resource.group_resource(), info.verb.name()).into());
    }
    // Across all namespaces one can only look.
    let across = resource.namespaced
        && info.namespace.is_none()
        && !matches!(info.verb, Verb::List | Verb::Watch);
    let named_create =
        info.verb == Verb::Create && info.name.is_some() && info.subresource.is_none();
    let nameless = info.name.is_none() && matches!(info.verb, Verb::Update | Verb::Patch);
    if across || named_create || nameless || !verbs.iter().any(|verb| verb == info.verb.name()) {
        return Err(Status::method_not_allowed().into());
    }
    Ok(resource.clone())
}

/// 404: of a custom resource the object is not found, whether there is one or not.
fn no_subresource(resource: &Resource, info: &RequestInfo) -> Error {
    match &info.name {
        Some(name) if resource.is_custom() => {
            Status::not_found(&resource.group_resource(), name).into()
        }
        _ => Error::no_such_path(),
    }
}

/// Answers a request that has passed every filter.
pub(crate) async fn run(
    api: &Arc<Api>,
    route: Route,
    request: &Request<'_>,
) -> Result<Response<Body>, Error> {
    past::refuse_misplaced(request)?;
    let deprecated = route.resource().and_then(|resource| resource.deprecation.as_ref());
    let deprecated = deprecated.map(|deprecation| deprecation.warning.clone());
    let answer = dispatch(api, route, request);
    let answer = match request.body.len() {
        ..LONG_BODY_BYTES => answer.await,
        _ => blocking_whenever_it_runs(answer).await,
    };
    let warnings = Vec::from_iter(deprecated);
    if !warnings.is_empty() {
        request.record.shared_notes().lock().add(Notes { warnings, ..Notes::default() });
    }
    let mut response = answer?;
    warnings::add(&mut response, &request.record.notes().warnings);
    Ok(response)
}

/// The handler's future, each in a box of its own: those of changes take several times the memory
/// of those that read.
fn dispatch<'a>(
    api: &'a Arc<Api>,
    route: Route,
    request: &'a Request<'a>,
) -> BoxFuture<'a, Result<Response<Body>, Error>> {
    match route {
        Route::Discovery(page) => ready(discovery::handle(api, request, &page)).boxed(),
        Route::OpenApi(page) => async move { openapi::handle(api, request, &page).await }.boxed(),
        Route::Health(endpoint, check) => {
            async move { health::handle(api, request, endpoint, check.as_deref()).await }.boxed()
        }
        Route::Admission(page) => admission::handle(api, request, page).boxed(),
        Route::FlowControl(page) => ready(Ok(flow_control::handle(api, request, page))).boxed(),
        Route::Backup(page) => backup::handle(api, request, page).boxed(),
        Route::Past(page) => past::handle(api, request, page).boxed(),
        Route::Metrics(page) => metrics::handle(api, request, page).boxed(),
        Route::Version => ready(version::handle(api, request)).boxed(),
        Route::Index => ready(index::handle(api, request)).boxed(),
        Route::OpenId(page) => ready(openid::handle(api, page)).boxed(),
        Route::Resource(resource)
            if resource.group.is_empty() && resource.plural == binding::BINDINGS =>
        {
            binding::create(api, request).boxed()
        }
        Route::Resource(resource) if !resource.stored => review::handle(api, request).boxed(),
        Route::Resource(_) if request.info.subresource.as_deref() == Some(scale::SCALE) => {
            scale::handle(api, request).boxed()
        }
        Route::Resource(_)
            if request.info.subresource.as_deref().is_some_and(connect::connects) =>
        {
            connect::handle(api, request).boxed()
        }
        Route::Resource(_) => match request.info.verb {
            Verb::Get => match past::ObjectPage::find(request.info) {
                Some(page) => past::handle_object(api, request, page).boxed(),
                None => get::handle(api, request).boxed(),
            },
            Verb::List => list::handle(api, request).boxed(),
            Verb::Watch => watch::handle(api, request).boxed(),
            Verb::Create => match request.info.subresource.as_deref() {
                Some(token_request::TOKEN) => token_request::handle(api, request).boxed(),
                Some(binding::BINDING) => binding::handle(api, request).boxed(),
                Some(eviction::EVICTION) => eviction::handle(api, request).boxed(),
                _ => create::handle(api, request).boxed(),
            },
            Verb::Update => update::handle(api, request).boxed(),
            Verb::Patch => patch::handle(api, request).boxed(),
            Verb::Delete => delete::handle(api, request).boxed(),
            Verb::DeleteCollection => deletecollection::handle(api, request).boxed(),
            Verb::Head | Verb::Options | Verb::Other => {
                ready(Err(Status::method_not_allowed().into())).boxed()
            }
        },
    }
}
