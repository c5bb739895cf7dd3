//! The ServiceCIDRs that cluster IPs are allocated from: those that are ready.

use quorate_meta::Value;
use quorate_wire::stored::StoredRef;

use crate::core::service::addresses::ip_family;
use quorate_meta::net::Range;
use quorate_registry::allocation::AllocationView;
use quorate_registry::keys::resource_prefix;

/// The IP family of Services that set none.
pub(super) const DEFAULT_FAMILY: &str = "IPv4";
/// The other IP family.
pub(super) const SECOND_FAMILY: &str = "IPv6";

/// Ranges of cluster IPs, in the order of allocation.
pub(super) struct Ranges(pub(super) Vec<Range>);

impl Ranges {
    /// The ranges of every ServiceCIDR that is ready and not being deleted, the oldest object
    /// first.
    pub(super) fn read(view: &AllocationView<'_>) -> Self {
        let prefix = resource_prefix(&view.names.group("networking"), "servicecidrs");
        let mut found = Vec::new();
        for (_, entry) in view.snapshot.range(&prefix, None) {
            let object =
                StoredRef::parse(&entry.value).and_then(|stored| stored.to_value("", "", 0));
            let Ok(object) = object else { continue };
            if is_ready(&object) {
                let cidrs =
                    object.at(&["spec", "cidrs"]).and_then(Value::as_list).unwrap_or_default();
                let cidrs = cidrs
                    .iter()
                    .filter_map(|cidr| Range::parse(cidr.as_str()?))
                    .collect::<Vec<_>>();
                found.push((entry.created, cidrs));
            }
        }
        found.sort_by_key(|(created, _)| *created);
        Self(found.into_iter().flat_map(|(_, cidrs)| cidrs).collect())
    }

    /// The ranges of an IP family.
    pub(super) fn of<'a>(&'a self, wanted: &'a str) -> impl Iterator<Item = &'a Range> {
        self.0.iter().filter(move |range| ip_family(range.is_v4()) == wanted)
    }

    /// The IP families of the cluster: IPv4 always, IPv6 while a range has it.
    pub(super) fn families(&self) -> Vec<&'static str> {
        let other = self.of(SECOND_FAMILY).next().map(|_| SECOND_FAMILY);
        [DEFAULT_FAMILY].into_iter().chain(other).collect()
    }
}

fn is_ready(object: &Value) -> bool {
    let going = object.at(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_empty());
    let conditions =
        object.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default();
    let text = |condition: &Value, field: &str| condition.str_at(&[field]).map(str::to_owned);
    let held = |condition: &Value| {
        text(condition, "type").as_deref() == Some("Ready")
            && text(condition, "status").as_deref() == Some("False")
    };
    !going && !conditions.iter().any(held)
}
