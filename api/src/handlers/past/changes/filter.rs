//! Which changes are asked for.

use quorate_access::request::Query;
use quorate_registry::Origin;
use quorate_registry::error::Error;

/// Parameters that say what a page has; a token is good for the same ones only.
const PARAMETERS: [&str; 12] = [
    "since",
    "until",
    "order",
    "group",
    "resource",
    "namespace",
    "name",
    "user",
    "manager",
    "verb",
    "source",
    "heartbeats",
];

/// The parameters as a text.
pub(super) fn scope(query: &Query) -> String {
    PARAMETERS.map(|name| format!("{:?}\n", query.get(name))).concat()
}

/// A filter of changes; `None` lets everything through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Filter<'a> {
    group: Option<&'a str>,
    resource: Option<&'a str>,
    namespace: Option<&'a str>,
    name: Option<&'a str>,
    user: Option<&'a str>,
    manager: Option<&'a str>,
    verb: Option<&'a str>,
    source: Option<&'a str>,
}

impl<'a> Filter<'a> {
    /// The filter of a request.
    ///
    /// # Errors
    /// 400 for two groups.
    pub(super) fn parse(query: &'a Query) -> Result<Self, Error> {
        let (resource, of_resource) = match query.get("resource").map(|text| text.split_once('.')) {
            Some(Some((plural, group))) => (Some(plural), Some(group)),
            Some(None) => (query.get("resource"), None),
            None => (None, None),
        };
        let group = match (query.get("group"), of_resource) {
            (Some(one), Some(other)) if one != other => {
                return Err(Error::bad_request("group and resource name different groups"));
            }
            (one, other) => one.or(other),
        };
        Ok(Self {
            group,
            resource,
            namespace: query.get("namespace"),
            name: query.get("name"),
            user: query.get("user"),
            manager: query.get("manager"),
            verb: query.get("verb"),
            source: query.get("source"),
        })
    }

    /// Whether an object is asked for.
    pub(super) fn has_object(
        &self,
        group: &str,
        resource: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> bool {
        let fits = |asked: Option<&str>, found: &str| asked.is_none_or(|asked| asked == found);
        fits(self.group, group)
            && fits(self.resource, resource)
            && fits(self.namespace, namespace.unwrap_or_default())
            && fits(self.name, name)
    }

    /// Whether changes of an origin are asked for, which is read only where that matters.
    pub(super) fn has_origin(&self, read: impl FnOnce() -> Option<Origin>) -> bool {
        let asked = [self.user, self.manager, self.verb, self.source];
        if asked.iter().all(Option::is_none) {
            return true;
        }
        let Some(origin) = read() else { return false };
        let found = [&origin.user.name, &origin.manager, &origin.verb, &origin.source];
        asked.into_iter().zip(found).all(|(asked, found)| asked.is_none_or(|asked| asked == found))
    }
}

#[cfg(test)]
mod tests {
    use quorate_registry::OriginUser;

    use super::*;

    #[test]
    fn each_parameter_narrows() {
        let origin = || {
            let user = OriginUser { name: "ann".to_owned(), ..OriginUser::default() };
            let (verb, manager) = ("patch".to_owned(), "m".to_owned());
            Some(Origin { user, verb, manager, ..Origin::default() })
        };
        let check = |query: &str, expect: Option<bool>| {
            let query = Query::parse(query);
            let found = Filter::parse(&query).ok().map(|filter| {
                filter.has_origin(origin)
                    && filter.has_object("apps", "deployments", Some("a"), "web")
            });
            assert_eq!(found, expect, "{query:?}");
        };
        check("", Some(true));
        check("resource=deployments&group=apps&namespace=a&name=web", Some(true));
        check("resource=deployments.apps&user=ann&verb=patch&manager=m", Some(true));
        check("resource=deployments.apps&group=apps", Some(true));
        check("resource=deployments.apps&group=", None);
        for narrower in [
            "resource=deployments.other",
            "resource=pods",
            "group=",
            "namespace=",
            "namespace=b",
            "name=x",
            "user=bob",
            "manager=",
            "verb=update",
            "source=namespace-controller",
        ] {
            check(narrower, Some(false));
        }
    }
}
