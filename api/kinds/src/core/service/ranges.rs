//! The ranges that addresses of Services come from: those of the ServiceCIDRs that are ready.

use quorate_meta::Value;
use quorate_wire::stored::StoredRef;

use crate::core::service::addresses::version;
use quorate_meta::net::Range;
use quorate_registry::allocation::AllocationView;
use quorate_registry::keys::resource_prefix;

/// The version of addresses of services that name none.
pub(super) const USUAL_VERSION: &str = "IPv4";
/// The other version.
pub(super) const OTHER_VERSION: &str = "IPv6";

/// See the module.
pub(super) struct Ranges(pub(super) Vec<Range>);

impl Ranges {
    /// Those of every ServiceCIDR that is not going and not held back, the oldest first.
    pub(super) fn read(view: &AllocationView<'_>) -> Self {
        let prefix = resource_prefix(&view.names.group("networking"), "servicecidrs");
        let mut found = Vec::new();
        for (_, entry) in view.snapshot.range(&prefix, None) {
            let object = StoredRef::parse(&entry.value).and_then(|stored| stored.to_value("", "", 0));
            let Ok(object) = object else { continue };
            if is_ready(&object) {
                let cidrs = object.at(&["spec", "cidrs"]).and_then(Value::as_list).unwrap_or_default();
                let cidrs = cidrs.iter().filter_map(|cidr| Range::parse(cidr.as_str()?)).collect::<Vec<_>>();
                found.push((entry.created, cidrs));
            }
        }
        found.sort_by_key(|(created, _)| *created);
        Self(found.into_iter().flat_map(|(_, cidrs)| cidrs).collect())
    }

    /// Those of a version.
    pub(super) fn of<'a>(&'a self, wanted: &'a str) -> impl Iterator<Item = &'a Range> {
        self.0.iter().filter(move |range| version(range.is_v4()) == wanted)
    }

    /// Versions of addresses that the cluster has: the usual one even while no range has any, the other one while some has.
    pub(super) fn versions(&self) -> Vec<&'static str> {
        let other = self.of(OTHER_VERSION).next().map(|_| OTHER_VERSION);
        [USUAL_VERSION].into_iter().chain(other).collect()
    }
}

fn is_ready(object: &Value) -> bool {
    let going = object.at(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_empty());
    let conditions = object.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default();
    let text = |condition: &Value, field: &str| condition.str_at(&[field]).map(str::to_owned);
    let held = |condition: &Value| {
        text(condition, "type").as_deref() == Some("Ready") && text(condition, "status").as_deref() == Some("False")
    };
    !going && !conditions.iter().any(held)
}
