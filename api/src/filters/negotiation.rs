//! The content negotiation filter: settles in which form the client gets its response, or refuses
//! the request with 406.

use http::HeaderMap;
use http::header::{ACCEPT, HeaderValue, USER_AGENT};

use super::Exchange;
use crate::handlers::Route;
use crate::negotiation::Format;
use crate::respond;
use quorate_access::request::{RequestInfo, Verb};
use quorate_registry::error::Error;

/// Programs by which people read JSON, as their User-Agent headers begin.
const READ_BY_PEOPLE: [&str; 3] = ["curl/", "Wget/", "Mozilla/5.0"];

/// The form of the response. Routes that negotiate for themselves get JSON for their failures.
pub(super) fn negotiate(x: &mut Exchange<'_>, route: &Route) -> Result<Format, Error> {
    join_accept(&mut x.headers);
    let (formats, info) = (&x.api.formats, x.record.info());
    let format = match route.offer(info) {
        Some(offer) => formats
            .negotiate(accept(&x.headers), offer)
            .map_err(|why| respond::unacceptable(formats, why))?,
        None => Format::JSON,
    };
    Ok(Format { pretty: is_pretty(info, &x.headers, format.pretty), ..format })
}

/// The form of a failure, whatever the Accept header asks for.
pub(super) fn for_errors(x: &mut Exchange<'_>) -> Format {
    join_accept(&mut x.headers);
    let format = x.api.formats.for_errors(accept(&x.headers));
    Format { pretty: is_pretty(x.record.info(), &x.headers, format.pretty), ..format }
}

/// Several Accept headers mean what one with all their clauses means (RFC 9110, section 5.3).
fn join_accept(headers: &mut HeaderMap) {
    if headers.get_all(ACCEPT).iter().nth(1).is_none() {
        return;
    }
    let all: Vec<&[u8]> = headers.get_all(ACCEPT).iter().map(HeaderValue::as_bytes).collect();
    if let Ok(joined) = HeaderValue::from_bytes(&all.join(&b", "[..])) {
        headers.insert(ACCEPT, joined);
    }
}

fn accept(headers: &HeaderMap) -> &str {
    headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Whether indentation is wanted; by default only by people at a prompt. Events of watches are
/// lines.
fn is_pretty(info: &RequestInfo, headers: &HeaderMap, asked: bool) -> bool {
    if info.verb == Verb::Watch || asked {
        return info.verb != Verb::Watch;
    }
    match info.query.get("pretty") {
        Some(value) if !value.is_empty() => {
            matches!(value, "1" | "t" | "T" | "true" | "TRUE" | "True")
        }
        _ => {
            let agent =
                headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
            READ_BY_PEOPLE.iter().any(|program| agent.starts_with(program))
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{Method, Uri};
    use quorate_meta::Naming;

    use super::*;

    #[test]
    fn several_accept_headers_are_one() {
        let check = |lines: &[&'static str], expect: &str| {
            let mut headers: HeaderMap =
                lines.iter().map(|line| (ACCEPT, HeaderValue::from_static(line))).collect();
            join_accept(&mut headers);
            assert_eq!(accept(&headers), expect, "{lines:?}");
        };
        check(&[], "");
        check(&["application/json"], "application/json");
        check(
            &["application/yaml", "application/json;q=0.5"],
            "application/yaml, application/json;q=0.5",
        );
    }

    #[test]
    fn json_is_indented_for_people_or_on_demand() {
        let check = |path: &'static str, agent: &'static str, asked: bool, expect: bool| {
            let info =
                RequestInfo::parse(Naming::Svc.names(), &Method::GET, &Uri::from_static(path));
            let headers = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(agent))]);
            assert_eq!(is_pretty(&info, &headers, asked), expect, "{path} {agent} {asked}");
        };
        check("/api/v1/pods", "kubectl/v1.35.0", false, false);
        check("/api/v1/pods", "kubectl/v1.35.0", true, true);
        check("/api/v1/pods", "curl/8.5.0", false, true);
        check("/api/v1/pods?pretty=false", "curl/8.5.0", false, false);
        check("/api/v1/pods?pretty=true", "kubectl/v1.35.0", false, true);
        check("/api/v1/pods?pretty", "kubectl/v1.35.0", false, false);
        check("/api/v1/pods?watch=true&pretty=true", "curl/8.5.0", true, false);
    }
}
