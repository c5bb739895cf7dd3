//! `quorate token`: the join tokens of the cluster.

use quorate_env::Env;
use quorate_raft::admin::{AdminAnswer, AdminRequest, TokenInfo};
use quorate_raft::authority_hash;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::admin::{Admin, unexpected};
use crate::cli::{Output, Token};
use crate::data_dir::DataDir;
use crate::error::Error;
use crate::files::read_text;
use crate::pki::{certificates, names};
use crate::terminal::{print_line, print_table};

/// Carries out `quorate token`.
pub(crate) async fn run(command: Token, env: &Env) -> Result<(), Error> {
    match command {
        Token::Create { ttl, description, query } => {
            let ttl_ms = u64::try_from(ttl.as_millis()).map_err(Error::config)?;
            let mut admin = Admin::connect(&query.target, env).await?;
            let token = match admin.ask(AdminRequest::CreateToken { description, ttl_ms }).await? {
                AdminAnswer::Token(token) => token,
                other => return Err(unexpected(&other)),
            };
            let hash = print_hash(&peer_authority_hash(&admin.dir)?);
            let member = &admin.config.peer.advertise;
            match query.output {
                Output::Json => {
                    print_line(format_args!(
                        "{:#}",
                        json!({ "token": token.to_string(), "caHash": hash, "member": member })
                    ));
                }
                Output::Table => print_line(format_args!(
                    "quorate join {member} --token {token} --ca-hash {hash} --data-dir DIR --bind HOST:PORT --peer-bind HOST:PORT"
                )),
            }
        }
        Token::List(query) => {
            let tokens =
                match Admin::connect(&query.target, env).await?.ask(AdminRequest::Tokens).await? {
                    AdminAnswer::Tokens(tokens) => tokens,
                    other => return Err(unexpected(&other)),
                };
            print_tokens(&tokens, query.output);
        }
        Token::Revoke { id, target } => {
            Admin::connect(&target, env)
                .await?
                .carry_out(AdminRequest::RevokeToken(id.clone()))
                .await?;
            print_line(format_args!("token {id} is revoked"));
        }
    }
    Ok(())
}

fn print_tokens(tokens: &[TokenInfo], output: Output) {
    match output {
        Output::Json => {
            let token = |token: &TokenInfo| {
                json!({
                    "id": token.id,
                    "description": token.description,
                    "created": moment(token.created_ms),
                    "expires": moment(token.expires_ms),
                })
            };
            print_line(format_args!("{:#}", tokens.iter().map(token).collect::<Value>()));
        }
        Output::Table => {
            let rows: Vec<_> = tokens
                .iter()
                .map(|token| {
                    [
                        token.id.clone(),
                        moment(token.created_ms),
                        moment(token.expires_ms),
                        token.description.clone(),
                    ]
                })
                .collect();
            print_table(["ID", "CREATED", "EXPIRES", "DESCRIPTION"], &rows);
        }
    }
}

/// The hash of the authority that a data folder trusts among nodes.
pub(super) fn peer_authority_hash(dir: &DataDir) -> Result<[u8; 32], Error> {
    let authority = read_text(&dir.pki().join(names::PEER_AUTHORITY_CERTIFICATE))?;
    Ok(authority_hash(&certificates(&authority)?[0]))
}

/// `sha256:` and the hash in hexadecimal digits.
pub(super) fn print_hash(hash: &[u8; 32]) -> String {
    let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}

/// The inverse of [`print_hash`].
pub(crate) fn parse_hash(text: &str) -> Result<[u8; 32], Error> {
    let digits =
        text.strip_prefix("sha256:").filter(|digits| digits.len() == 64 && digits.is_ascii());
    let byte = |digits: &str, at: usize| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok();
    let hash =
        digits.and_then(|digits| (0..32).map(|at| byte(digits, at)).collect::<Option<Vec<u8>>>());
    let hash = hash.and_then(|hash| hash.try_into().ok());
    hash.ok_or_else(|| Error::config("--ca-hash must be 'sha256:' and 64 hexadecimal digits"))
}

/// A time of the cluster's clock, for people.
pub(super) fn moment(ms: u64) -> String {
    let seconds = i64::try_from(ms / 1000).unwrap_or(i64::MAX);
    let time = OffsetDateTime::from_unix_timestamp(seconds)
        .ok()
        .and_then(|time| time.format(&Rfc3339).ok());
    time.unwrap_or_else(|| format!("{ms} ms"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_survive_their_text() {
        let hash = std::array::from_fn(|at| at as u8 * 7);
        assert_eq!(parse_hash(&print_hash(&hash)).unwrap(), hash);
        for wrong in [
            "",
            "sha256:",
            "sha256:zz",
            &print_hash(&hash)[..70],
            &print_hash(&hash).replace("sha256", "md5"),
        ] {
            assert!(parse_hash(wrong).is_err(), "{wrong}");
        }
    }
}
