//! Host name, DNS configuration and host aliases of a pod.

use quorate_meta::{Cause, name};

use crate::field::Field;
use crate::rules;

const MAX_NAMESERVERS: usize = 3;
const MAX_SEARCHES: usize = 32;
/// Characters of all search domains, at most.
const MAX_SEARCH_CHARS: usize = 2048;
const POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/// Checks the DNS policy.
pub(super) fn check_policy(policy: &Field<'_>, causes: &mut Vec<Cause>) {
    if policy.is_empty() {
        causes.push(policy.required(""));
    } else if !POLICIES.contains(&policy.text()) {
        causes.push(policy.not_supported(&POLICIES));
    }
}

/// Checks the DNS configuration, which the policy `None` requires.
pub(super) fn check_dns(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let config = spec.get("dnsConfig");
    let (servers, searches) = (config.get("nameservers"), config.get("searches"));
    if spec.get("dnsPolicy").text() == "None" {
        if !config.is_set() {
            causes.push(config.required("must provide `dnsConfig` when `dnsPolicy` is None"));
            return;
        }
        if servers.is_empty() {
            causes.push(
                servers
                    .required("must provide at least one DNS nameserver when `dnsPolicy` is None"),
            );
            return;
        }
    }
    if servers.items().len() > MAX_NAMESERVERS {
        causes.push(
            servers.invalid(&format!("must not have more than {MAX_NAMESERVERS} nameservers")),
        );
    }
    servers.items().for_each(|server| rules::address(&server, causes));
    if searches.items().len() > MAX_SEARCHES {
        causes.push(
            searches.invalid(&format!("must not have more than {MAX_SEARCHES} search paths")),
        );
    }
    let chars: usize = searches.items().map(|domain| domain.text().len() + 1).sum();
    if chars > MAX_SEARCH_CHARS + 1 {
        causes.push(searches.invalid(&format!(
            "must not have more than {MAX_SEARCH_CHARS} characters (including spaces) in the search list"
        )));
    }
    for domain in searches.items().filter(|domain| domain.text() != ".") {
        let plain = domain.text().strip_suffix('.').unwrap_or(domain.text()).replace('_', "-");
        causes.extend(domain.invalid_for(&name::dns_subdomain(&plain)));
    }
    config.get("options").items().for_each(|option| rules::required(&option.get("name"), causes));
}

/// Checks host name and subdomain.
pub(super) fn check_names(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    for field in ["hostname", "subdomain"] {
        rules::optional_name(&spec.get(field), label_without_dots, causes);
    }
    let other = spec.get("hostnameOverride");
    rules::optional_name(&other, name::dns_subdomain, causes);
    if other.is_set() && spec.get("hostNetwork").is_true() {
        causes.push(
            spec.get("hostNetwork").invalid("may not be true when `hostnameOverride` is set"),
        );
    }
}

/// Why a text is no DNS label; dots have a message of their own.
fn label_without_dots(text: &str) -> Vec<String> {
    let wrong = name::dns_label(text);
    if !wrong.is_empty() && text.contains('.') && name::dns_label(&text.replace('.', "")).is_empty()
    {
        return vec!["must not contain dots".to_owned()];
    }
    wrong
}

/// Checks host aliases.
pub(super) fn check_aliases(aliases: &Field<'_>, causes: &mut Vec<Cause>) {
    for alias in aliases.items() {
        rules::address(&alias.get("ip"), causes);
        for host in alias.get("hostnames").items() {
            causes.extend(host.invalid_for(&name::dns_subdomain(host.text())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Value;
    use serde_json::json;

    #[test]
    fn dns() {
        let check = |spec: serde_json::Value, expect: &[&str]| {
            let object = Value::from(spec);
            let mut causes = Vec::new();
            check_dns(&Field::root(&object), &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        check(json!({"dnsPolicy": "ClusterFirst"}), &[]);
        check(json!({"dnsPolicy": "None"}), &["Required dnsConfig"]);
        check(json!({"dnsPolicy": "None", "dnsConfig": {}}), &["Required dnsConfig.nameservers"]);
        let config = |config: serde_json::Value| json!({"dnsConfig": config});
        check(
            config(
                json!({"nameservers": ["10.9.9.9"], "searches": [".", "a_b.c."], "options": [{"name": "n"}]}),
            ),
            &[],
        );
        check(
            config(
                json!({"nameservers": ["x", "1.1.1.1", "1.1.1.2", "1.1.1.3"], "searches": ["-"], "options": [{}]}),
            ),
            &[
                "Invalid dnsConfig.nameservers",
                "Invalid dnsConfig.nameservers[0]",
                "Invalid dnsConfig.searches[0]",
                "Required dnsConfig.options[0].name",
            ],
        );
    }

    #[test]
    fn names() {
        let check = |spec: serde_json::Value, expect: &[&str]| {
            let object = Value::from(spec);
            let mut causes = Vec::new();
            check_names(&Field::root(&object), &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        check(json!({"hostname": "h", "subdomain": "s"}), &[]);
        check(
            json!({"hostname": "a.b", "subdomain": "A"}),
            &["Invalid hostname", "Invalid subdomain"],
        );
        assert_eq!(label_without_dots("a.b"), ["must not contain dots"]);
    }
}
