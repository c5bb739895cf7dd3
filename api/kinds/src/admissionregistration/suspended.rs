//! The suspension of a policy or of a configuration of webhooks: what the client that writes it is
//! told.

use quorate_meta::{Names, Path, Time, Value};
use quorate_registry::suspension;

/// The warning of a write that suspends an object, or would.
pub(super) fn warning(names: &Names, old: Option<&Value>, new: &Value) -> Option<String> {
    let text = suspension::text(names, new)?;
    if old.and_then(|old| suspension::text(names, old)) == Some(text) {
        return None;
    }
    let key = suspension::annotation(names);
    let path = Path::new("metadata.annotations").key(&key);
    Some(match Time::parse(text) {
        Ok(until) => format!("{path}: admission leaves this object out until {}", until.seconds()),
        Err(wrong) => format!("{path}: {wrong} and suspends nothing"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    fn object(until: Option<&str>) -> Value {
        json!({"metadata": {"annotations": {"svc.io/admission-suspended-until": until}}}).into()
    }

    #[test]
    fn writes_that_suspend() {
        let check = |old: Option<Option<&str>>, new: Option<&str>, expect: Option<&str>| {
            let old = old.map(object);
            let found = warning(Naming::Svc.names(), old.as_ref(), &object(new));
            let rest = found.as_deref().map(|text| text.split_once(": ").unwrap().1);
            assert_eq!(rest, expect);
        };
        let until = Some("2026-01-02T03:04:05Z");
        let told = Some("admission leaves this object out until 2026-01-02T03:04:05Z");
        check(None, None, None);
        check(None, until, told);
        check(Some(None), until, told);
        check(Some(until), until, None);
        check(Some(until), None, None);
        check(None, Some("10m"), Some("\"10m\" is not an RFC 3339 time and suspends nothing"));
    }
}
