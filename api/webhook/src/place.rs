//! Where a webhook is: a URL, or a Service of the cluster with a port and a path.

use std::fmt;

use super::connection::host_of;

/// The port of an https URL, and of a Service reference, that names none.
const DEFAULT_PORT: u16 = 443;

/// Where calls go.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// A server with this address.
    Url {
        /// `host:port`.
        address: String,
        /// Path and query; begins with `/`.
        path: String,
    },
    /// A Service of the cluster.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// The port of the Service.
        port: u16,
        /// Path; begins with `/`.
        path: String,
    },
}

impl Place {
    /// The place of an `https://host[:port][/path]` URL.
    ///
    /// # Errors
    /// Why it is none.
    pub fn of_url(url: &str) -> Result<Self, String> {
        let rest = url.strip_prefix("https://").filter(|rest| !rest.is_empty());
        let rest = rest.ok_or_else(|| format!("the server '{url}' is no https:// URL"))?;
        let (host, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| {
            !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
        });
        let address = if has_port { host.to_owned() } else { format!("{host}:{DEFAULT_PORT}") };
        Ok(Self::Url { address, path: absolute(path) })
    }

    /// The place of a Service reference; 443 is the port of one that names none.
    #[must_use]
    pub fn of_service(namespace: &str, name: &str, port: Option<u16>, path: &str) -> Self {
        Self::Service {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            port: port.unwrap_or(DEFAULT_PORT),
            path: absolute(path),
        }
    }

    /// The name that the server's certificate has to be for.
    #[must_use]
    pub fn server_name(&self) -> String {
        match self {
            Self::Url { address, .. } => host_of(address).to_owned(),
            Self::Service { namespace, name, .. } => format!("{name}.{namespace}.svc"),
        }
    }

    /// `host:port` as the request names the server.
    pub(super) fn authority(&self) -> String {
        match self {
            Self::Url { address, .. } => address.clone(),
            Self::Service { port, .. } => format!("{}:{port}", self.server_name()),
        }
    }

    /// Path and query of a request with a further query.
    pub(super) fn target(&self, query: Option<&str>) -> String {
        let (Self::Url { path, .. } | Self::Service { path, .. }) = self;
        match query {
            None => path.clone(),
            Some(query) => format!("{path}{}{query}", if path.contains('?') { '&' } else { '?' }),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}{}", self.authority(), self.target(None))
    }
}

fn absolute(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("/{path}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let check = |url: &str, expect: Option<(&str, &str)>| {
            let got = Place::of_url(url).ok().map(|place| (place.authority(), place.target(None)));
            let expect = expect.map(|(address, path)| (address.to_owned(), path.to_owned()));
            assert_eq!(got, expect, "{url}");
        };
        check("https://a.example", Some(("a.example:443", "/")));
        check("https://a.example:8443/audit?x=y", Some(("a.example:8443", "/audit?x=y")));
        check("https://a.example?x=y", Some(("a.example:443", "/?x=y")));
        check("https://[::1]:1/", Some(("[::1]:1", "/")));
        check("https://[::1]/", Some(("[::1]:443", "/")));
        check("http://a.example", None);
        check("https://", None);
    }

    #[test]
    fn services_have_names_of_the_cluster() {
        let check = |port: Option<u16>, path: &str, expect: &str| {
            let place = Place::of_service("ns", "hook", port, path);
            assert_eq!(
                (place.server_name().as_str(), place.to_string().as_str()),
                ("hook.ns.svc", expect)
            );
        };
        check(None, "", "https://hook.ns.svc:443/");
        check(Some(8443), "/convert", "https://hook.ns.svc:8443/convert");
    }

    #[test]
    fn a_query_is_added() {
        let check = |url: &str, expect: &str| {
            assert_eq!(Place::of_url(url).unwrap().target(Some("timeout=1s")), expect);
        };
        check("https://a/b", "/b?timeout=1s");
        check("https://a/b?c=d", "/b?c=d&timeout=1s");
    }
}
