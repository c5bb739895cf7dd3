//! Options of authentication, and the settings of the API that follow from them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgAction, Args};
use quorate_access::authentication::token::TokenOptions;
use quorate_access::authentication::{AuthenticationOptions, ProxyOptions, StaticTokens};
use quorate_meta::{Names, well_known};

use crate::authorization::Authorization;
use crate::error::Error;
use crate::files::read_text;

/// Options of authentication and authorization.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Authentication")]
pub(crate) struct Access {
    /// Let requests without credentials in, as the user system:anonymous of the group
    /// system:unauthenticated: it may read the health endpoints and the version, and what roles are
    /// bound to it. Otherwise they are answered with 401.
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) anonymous_auth: bool,
    /// Bearer tokens, one a line of CSV: token, user, uid, groups. Read again when the
    /// file changes.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_auth_file: Option<PathBuf>,
    /// Issuer of service account tokens; may be given several times: all are accepted, the first is
    /// put into new tokens [default: the name of the API's service, as an address].
    #[arg(long, value_name = "URL")]
    pub(crate) service_account_issuer: Vec<String>,
    /// Audiences of tokens for this API [default: the issuers].
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) api_audiences: Vec<String>,
    /// How long a requested token lives at most, from an hour on [default: as long as asked].
    #[arg(long, value_name = "DURATION", value_parser = expiration)]
    pub(crate) service_account_max_token_expiration: Option<Duration>,
    /// URL at which clients find the keys of tokens [default: below the node's advertised address].
    #[arg(long, value_name = "URL")]
    pub(crate) service_account_jwks_uri: Option<String>,
    /// Authority (PEM) of authenticating proxies, which name their users in headers. Read again
    /// when the file changes.
    #[arg(long, value_name = "FILE")]
    pub(crate) requestheader_client_ca_file: Option<PathBuf>,
    /// Common names of authenticating proxies [default: any].
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        requires = "requestheader_client_ca_file"
    )]
    pub(crate) requestheader_allowed_names: Vec<String>,
    /// Headers of the proxy with the user's name.
    #[arg(long, value_name = "HEADER", value_delimiter = ',', default_value = "X-Remote-User")]
    pub(crate) requestheader_username_headers: Vec<String>,
    /// Headers of the proxy with the user's uid.
    #[arg(long, value_name = "HEADER", value_delimiter = ',', default_value = "X-Remote-Uid")]
    pub(crate) requestheader_uid_headers: Vec<String>,
    /// Headers of the proxy with the user's groups.
    #[arg(long, value_name = "HEADER", value_delimiter = ',', default_value = "X-Remote-Group")]
    pub(crate) requestheader_group_headers: Vec<String>,
    /// Prefixes of the proxy's headers with extra attributes.
    #[arg(long, value_name = "PREFIX", value_delimiter = ',', default_value = "X-Remote-Extra-")]
    pub(crate) requestheader_extra_headers_prefix: Vec<String>,
    #[command(flatten)]
    pub(crate) authorization: Authorization,
}

impl Access {
    /// The same as command-line arguments, for the processes that `dev` starts.
    pub(crate) fn to_args(&self) -> Vec<String> {
        let mut args = vec![format!("--anonymous-auth={}", self.anonymous_auth)];
        let lists = [
            ("requestheader-allowed-names", &self.requestheader_allowed_names),
            ("requestheader-username-headers", &self.requestheader_username_headers),
            ("requestheader-uid-headers", &self.requestheader_uid_headers),
            ("requestheader-group-headers", &self.requestheader_group_headers),
            ("requestheader-extra-headers-prefix", &self.requestheader_extra_headers_prefix),
            ("api-audiences", &self.api_audiences),
            ("service-account-issuer", &self.service_account_issuer),
        ];
        args.extend(lists.iter().flat_map(|(name, values)| {
            values.iter().map(move |value| format!("--{name}={value}"))
        }));
        args.extend(self.authorization.to_args());
        let file = |path: &PathBuf| path.display().to_string();
        let limit = self.service_account_max_token_expiration;
        let single = [
            ("token-auth-file", self.token_auth_file.as_ref().map(file)),
            ("requestheader-client-ca-file", self.requestheader_client_ca_file.as_ref().map(file)),
            ("service-account-jwks-uri", self.service_account_jwks_uri.clone()),
            (
                "service-account-max-token-expiration",
                limit.map(|limit| humantime::format_duration(limit).to_string()),
            ),
        ];
        args.extend(
            single.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value?))),
        );
        args
    }

    /// The authentication settings of the API of a node that advertises this address.
    pub(crate) fn authentication(
        &self,
        names: &Names,
        advertised: &str,
    ) -> Result<AuthenticationOptions, Error> {
        let lower =
            |values: &[String]| values.iter().map(|value| value.to_ascii_lowercase()).collect();
        Ok(AuthenticationOptions {
            tokens: self.tokens(names, advertised),
            static_tokens: self
                .token_auth_file
                .as_deref()
                .map(static_tokens)
                .transpose()?
                .unwrap_or_default(),
            proxy: ProxyOptions {
                allowed_names: self.requestheader_allowed_names.clone(),
                user_headers: lower(&self.requestheader_username_headers),
                uid_headers: lower(&self.requestheader_uid_headers),
                group_headers: lower(&self.requestheader_group_headers),
                extra_prefixes: lower(&self.requestheader_extra_headers_prefix),
            },
            anonymous: self.anonymous_auth,
        })
    }

    fn tokens(&self, names: &Names, advertised: &str) -> TokenOptions {
        let mut issuers = self.service_account_issuer.clone();
        if issuers.is_empty() {
            issuers.push(format!(
                "https://{}.{}.svc",
                names.service_api,
                well_known::NAMESPACE_DEFAULT
            ));
        }
        let audiences = if self.api_audiences.is_empty() {
            issuers.clone()
        } else {
            self.api_audiences.clone()
        };
        let jwks_uri = self.service_account_jwks_uri.clone();
        let jwks_uri = jwks_uri.unwrap_or_else(|| format!("https://{advertised}/openid/v1/jwks"));
        let max_expiration = self.service_account_max_token_expiration.map(|limit| limit.as_secs());
        TokenOptions { issuers, audiences, max_expiration, jwks_uri }
    }
}

/// The tokens of a file.
///
/// # Errors
/// The first line that cannot be used, or why the file cannot be read.
pub(crate) fn static_tokens(path: &Path) -> Result<StaticTokens, Error> {
    StaticTokens::parse(&read_text(path)?)
        .map_err(|error| Error::config(format_args!("{}: {error}", path.display())))
}

/// A duration between an hour and 2^32 seconds.
fn expiration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let seconds = duration.as_secs();
    if (3600..=1 << 32).contains(&seconds) {
        Ok(duration)
    } else {
        Err("must be between 1h and 2^32 seconds".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use quorate_meta::Naming;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        access: Access,
    }

    fn parse(arguments: &[&str]) -> Access {
        Line::try_parse_from(["test"].iter().chain(arguments)).unwrap().access
    }

    #[test]
    fn options_survive_the_way_to_another_process() {
        let given = [
            "--anonymous-auth",
            "--token-auth-file=t.csv",
            "--service-account-issuer=https://a.example",
            "--service-account-issuer=https://b.example",
            "--api-audiences=x,y",
            "--service-account-max-token-expiration=48h",
            "--service-account-jwks-uri=https://a.example/keys",
            "--requestheader-client-ca-file=ca.crt",
            "--requestheader-allowed-names=front,other",
            "--requestheader-username-headers=X-User,X-Name",
        ];
        for given in [&given[..], &[]] {
            let access = parse(given);
            let again = access.to_args();
            assert_eq!(parse(&again.iter().map(String::as_str).collect::<Vec<_>>()), access);
        }
    }

    #[test]
    fn what_is_not_said_follows_from_the_cluster() {
        let check = |arguments: &[&str], issuers: &[&str], audiences: &[&str], uri: &str| {
            let tokens = parse(arguments).tokens(Naming::Kubernetes.names(), "10.0.0.1:6443");
            let got =
                (tokens.issuers.as_slice(), tokens.audiences.as_slice(), tokens.jwks_uri.as_str());
            let owned =
                |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            assert_eq!(got, (owned(issuers).as_slice(), owned(audiences).as_slice(), uri));
        };
        let own = ["https://kubernetes.default.svc"];
        check(&[], &own, &own, "https://10.0.0.1:6443/openid/v1/jwks");
        check(&["--api-audiences=x"], &own, &["x"], "https://10.0.0.1:6443/openid/v1/jwks");
        let given =
            ["--service-account-issuer=https://a", "--service-account-jwks-uri=https://a/k"];
        check(&given, &["https://a"], &["https://a"], "https://a/k");
    }
}
