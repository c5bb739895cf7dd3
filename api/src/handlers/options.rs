//! The query parameters of list and watch, checked in the order and with the messages of release
//! 1.35.
//!
//! Invariant: what comes out is one of the sensible cases of the tables; handlers never look at raw
//! parameters again.

use std::sync::Arc;

use bytes::Bytes;
use quorate_meta::{Cause, FieldSelector, FieldTerm, GroupKind, LabelSelector, Names, Status};
use quorate_store::Revision;
use quorate_wire::stored::{CorruptValue, HeaderRef};

use crate::handlers::Request;
use quorate_access::request::Query;
use quorate_registry::error::Error;
use quorate_registry::{Resource, stored_codec};

/// Seconds that a watch lasts at most, whatever its client asks for: a year.
const MAX_TIMEOUT_SECONDS: u64 = 365 * 24 * 3600;
/// Where a page goes on is also which state it shows.
const MATCH_WITH_TOKEN: &str = "resourceVersionMatch is forbidden when continue is provided";
/// The object's name as a field.
pub(super) const NAME: &str = "metadata.name";
/// Its namespace.
pub(super) const NAMESPACE: &str = "metadata.namespace";

/// Which state a read wants to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    /// The newest anywhere in the cluster.
    MostRecent,
    /// Whatever this node has.
    Any,
    /// That revision or a newer one.
    NotOlderThan(Revision),
    /// That revision.
    Exact(Revision),
}

/// Which objects of a collection are meant.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
    /// The resource, where fields are asked for that objects of an older schema may lack in their
    /// headers.
    pub(crate) custom: Option<Arc<Resource>>,
}

/// The parameters of a list.
#[derive(Debug, Clone)]
pub(crate) struct ListOptions {
    pub(crate) at: At,
    pub(crate) selection: Selection,
    /// Objects on a page at most; 0 means no limit.
    pub(crate) limit: usize,
    /// The token of the page before; empty for the first page.
    pub(crate) token: String,
}

/// The parameters of a watch.
#[derive(Debug, Clone)]
pub(crate) struct WatchOptions {
    pub(crate) start: Start,
    pub(crate) selection: Selection,
    pub(crate) bookmarks: bool,
    /// Seconds until the stream ends, at once at 0; `None` leaves it to the server.
    pub(crate) timeout: Option<u64>,
}

/// Where a watch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// With the objects of a state as additions, then what follows; `mark` sends the bookmark that
    /// ends the additions.
    Initial { at: At, mark: bool },
    /// With what follows a state.
    After(At),
}

impl ListOptions {
    pub(crate) fn parse(
        names: &Names,
        request: &Request<'_>,
        resource: &Arc<Resource>,
    ) -> Result<Self, Error> {
        let raw = Raw::parse(&request.info.query)?;
        let selection = raw.selection(resource)?;
        let mut causes = Vec::new();
        if raw.initial_events.is_some() {
            causes.push(Cause::forbidden(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for list",
            ));
        } else {
            raw.check_match(&mut causes);
        }
        invalid(names, causes)?;
        let version = parse_version(raw.version)?;
        if !raw.token.is_empty() && version.is_some_and(|v| v != Revision::ZERO) {
            return Err(Error::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let at = match version {
            None => At::MostRecent,
            Some(Revision::ZERO) => At::Any,
            Some(version) if raw.matching == "Exact" => At::Exact(version),
            Some(version) if raw.matching.is_empty() && raw.limit > 0 => At::Exact(version),
            Some(version) => At::NotOlderThan(version),
        };
        Ok(Self { at, selection, limit: raw.limit, token: raw.token.to_owned() })
    }
}

impl WatchOptions {
    pub(crate) fn parse(
        names: &Names,
        request: &Request<'_>,
        resource: &Arc<Resource>,
    ) -> Result<Self, Error> {
        let raw = Raw::parse(&request.info.query)?;
        let mut selection = raw.selection(resource)?;
        let mut causes = Vec::new();
        raw.check_watch_match(&mut causes);
        invalid(names, causes)?;
        if let Some(name) = &request.info.name {
            selection.restrict_to(name)?;
        }
        let at = match parse_version(raw.version)? {
            None => At::MostRecent,
            Some(Revision::ZERO) => At::Any,
            Some(version) if raw.initial_events == Some(true) => At::NotOlderThan(version),
            Some(version) => At::Exact(version),
        };
        let start = match (raw.initial_events, at) {
            (Some(true), _) => Start::Initial { at, mark: raw.bookmarks },
            (None, At::MostRecent | At::Any) => Start::Initial { at, mark: false },
            _ => Start::After(at),
        };
        let timeout = raw.timeout.filter(|seconds| *seconds != 0);
        let timeout = timeout
            .map(|seconds| u64::try_from(seconds).unwrap_or_default().min(MAX_TIMEOUT_SECONDS));
        Ok(Self { start, selection, bookmarks: raw.bookmarks, timeout })
    }
}

impl Selection {
    /// Whether every object is meant.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    /// Whether a stored object is meant.
    pub(crate) fn matches(&self, value: &Bytes) -> Result<bool, CorruptValue> {
        let header = HeaderRef::parse(value)?;
        if !header.matches(&self.labels) {
            return Ok(false);
        }
        match &self.custom {
            Some(resource) => stored_codec::matches_fields(resource, value, &self.fields),
            None if self.fields.is_everything() => Ok(true),
            None => Ok(self.fields.matches(|field| header.field(field))),
        }
    }

    /// The selectors as text, for what is bound to them.
    pub(crate) fn text(&self) -> String {
        format!("{}\n{}", self.labels, self.fields)
    }

    /// Leaves one name, as the path of an old-style watch does.
    fn restrict_to(&mut self, name: &str) -> Result<(), Error> {
        if self.fields.requires_exact(NAME).is_some_and(|other| other != name) {
            return Err(Error::bad_request(
                "fieldSelector metadata.name doesn't match requested name",
            ));
        }
        let own = FieldTerm { field: NAME.into(), equal: true, value: name.into() };
        self.fields =
            FieldSelector::new(self.fields.terms().iter().cloned().chain([own]).collect());
        Ok(())
    }
}

/// The parameters as given.
struct Raw<'a> {
    version: &'a str,
    matching: &'a str,
    token: &'a str,
    limit: usize,
    timeout: Option<i64>,
    initial_events: Option<bool>,
    bookmarks: bool,
    labels: &'a str,
    fields: &'a str,
}

impl<'a> Raw<'a> {
    fn parse(query: &'a Query) -> Result<Self, Error> {
        let limit = query.int("limit")?.unwrap_or_default().max(0);
        Ok(Self {
            version: query.text("resourceVersion"),
            matching: query.text("resourceVersionMatch"),
            token: query.text("continue"),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            timeout: query.int("timeoutSeconds")?,
            initial_events: query.flag("sendInitialEvents"),
            bookmarks: query.flag("allowWatchBookmarks") == Some(true),
            labels: query.text("labelSelector"),
            fields: query.text("fieldSelector"),
        })
    }

    fn selection(&self, resource: &Arc<Resource>) -> Result<Selection, Error> {
        parse_selection(resource, self.labels, self.fields)
    }

    fn check_match(&self, causes: &mut Vec<Cause>) {
        const FIELD: &str = "resourceVersionMatch";
        if self.matching.is_empty() {
            return;
        }
        if self.version.is_empty() {
            causes.push(Cause::forbidden(
                FIELD,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ));
        }
        if !self.token.is_empty() {
            causes.push(Cause::forbidden(FIELD, MATCH_WITH_TOKEN));
        }
        match self.matching {
            "NotOlderThan" => {}
            "Exact" if self.version == "0" => causes.push(Cause::forbidden(
                FIELD,
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            )),
            "Exact" => {}
            other => {
                causes.push(Cause::not_supported(FIELD, other, &["Exact", "NotOlderThan", ""]))
            }
        }
    }

    fn check_watch_match(&self, causes: &mut Vec<Cause>) {
        const FIELD: &str = "resourceVersionMatch";
        match self.initial_events {
            Some(_) if self.matching != "NotOlderThan" => causes.push(Cause::forbidden(
                FIELD,
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )),
            None if !self.matching.is_empty() => causes.push(Cause::forbidden(
                FIELD,
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )),
            _ => {}
        }
        if !matches!(self.matching, "" | "NotOlderThan") {
            causes.push(Cause::not_supported(FIELD, self.matching, &["NotOlderThan"]));
        }
        if !self.matching.is_empty() && !self.token.is_empty() {
            causes.push(Cause::forbidden(FIELD, MATCH_WITH_TOKEN));
        }
    }
}

/// The selectors of a request on a collection (list, watch, deletecollection).
pub(crate) fn parse_selection(
    resource: &Arc<Resource>,
    labels: &str,
    fields: &str,
) -> Result<Selection, Error> {
    let labels = LabelSelector::parse(labels).map_err(|e| Error::bad_request(e.to_string()))?;
    let fields = FieldSelector::parse(fields).map_err(|e| Error::bad_request(e.to_string()))?;
    fields
        .check_fields(&resource.selectable_fields)
        .map_err(|e| Error::bad_request(e.to_string()))?;
    if resource.is_custom() {
        let is_common = |term: &FieldTerm| matches!(term.field.as_str(), NAME | NAMESPACE);
        let has_own = !fields.terms().iter().all(is_common);
        let custom = has_own.then(|| resource.clone());
        return Ok(Selection { labels, fields, custom });
    }
    if resource.stored_form.is_none() {
        return Ok(Selection { labels, fields, custom: None });
    }
    let stored = |term: &FieldTerm| FieldTerm {
        field: resource.stored_field(&term.field).into(),
        ..term.clone()
    };
    Ok(Selection {
        labels,
        fields: FieldSelector::new(fields.terms().iter().map(stored).collect()),
        custom: None,
    })
}

/// A `resourceVersion` parameter; `None` when it is empty.
pub(crate) fn parse_version(text: &str) -> Result<Option<Revision>, Error> {
    if text.is_empty() {
        return Ok(None);
    }
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits => Ok(Some(Revision::new(number))),
        _ => {
            let problem = if digits { "value out of range" } else { "invalid syntax" };
            Err(Error::bad_request(format!(
                "invalid resource version: resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: {problem}"
            )))
        }
    }
}

fn invalid(names: &Names, causes: Vec<Cause>) -> Result<(), Error> {
    if causes.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(&GroupKind::new(names.group_meta, "ListOptions"), "", causes).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_that_a_watch_may_not_ask_for() {
        let check = |query: &str, expect: &[&str]| {
            let parameters = Query::parse(query);
            let mut causes = Vec::new();
            Raw::parse(&parameters).expect(query).check_watch_match(&mut causes);
            let texts: Vec<String> = causes.iter().map(Cause::text).collect();
            let expect: Vec<String> =
                expect.iter().map(|text| format!("resourceVersionMatch: {text}")).collect();
            assert_eq!(texts, expect, "{query}");
        };
        let requires =
            "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        let unless = "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        let only = "Unsupported value: \"Exact\": supported values: \"NotOlderThan\"";
        let with_token = "Forbidden: resourceVersionMatch is forbidden when continue is provided";
        check("", &[]);
        check("continue=t", &[]);
        check("sendInitialEvents=true&resourceVersionMatch=NotOlderThan", &[]);
        check("sendInitialEvents=true&continue=t", &[requires]);
        check("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=t", &[with_token]);
        check("resourceVersionMatch=NotOlderThan&continue=t", &[unless, with_token]);
        check("resourceVersionMatch=Exact&continue=t", &[unless, only, with_token]);
    }
}
