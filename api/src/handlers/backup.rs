//! The pages under `/backup`; see [`crate::backup_pages`].

use bytes::Bytes;
use http::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use quorate_meta::Status;
use quorate_registry::error::Error;
use quorate_store::Revision;

use crate::Api;
use crate::backup_pages::{BackupPage, BackupRefusal};
use crate::body::Body;
use crate::handlers::Request;

/// What the bodies are: frames of `quorate-backup`.
const MEDIA_TYPE: &str = "application/vnd.quorate.backup";

/// Which of the pages a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BackupPath {
    Identity,
    State,
    Changes,
    Credentials,
}

impl BackupPath {
    /// The page at a path, where the node has them.
    pub(super) fn find(api: &Api, path: &str) -> Option<Self> {
        api.backup_pages.get()?;
        match path {
            "/backup/identity" => Some(Self::Identity),
            "/backup/state" => Some(Self::State),
            "/backup/changes" => Some(Self::Changes),
            "/backup/credentials" => Some(Self::Credentials),
            _ => None,
        }
    }
}

pub(super) async fn handle(
    api: &Api,
    request: &Request<'_>,
    path: BackupPath,
) -> Result<Response<Body>, Error> {
    let pages = api.backup_pages.get().ok_or_else(Error::no_such_path)?;
    let chunks = pages.open(page(request, path)?).await.map_err(|refusal| match refusal {
        BackupRefusal::Gone(why) => Error::from(Status::expired(why)),
        BackupRefusal::Unavailable(why) => Status::service_unavailable(why).into(),
    })?;
    let mut response = Response::new(Body::stream(chunks));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

fn page(request: &Request<'_>, path: BackupPath) -> Result<BackupPage, Error> {
    let revision = |name| revision(request, name);
    Ok(match path {
        BackupPath::Identity => BackupPage::Identity,
        BackupPath::Credentials => BackupPage::Credentials,
        BackupPath::Changes => {
            let after = revision("after")?;
            BackupPage::Changes(
                after.ok_or_else(|| Status::bad_request("after: must be a revision"))?,
            )
        }
        BackupPath::State => match (revision("revision")?, request.info.query.get("after")) {
            (None, None) => BackupPage::State(None),
            (Some(at), Some(after)) => {
                let after = bytes_of(after).ok_or_else(|| {
                    Status::bad_request("after: must be a key in hexadecimal digits")
                })?;
                BackupPage::State(Some((at, after)))
            }
            _ => return Err(Status::bad_request("revision and after go together").into()),
        },
    })
}

/// A parameter that is a revision.
fn revision(request: &Request<'_>, name: &str) -> Result<Option<Revision>, Error> {
    let Some(text) = request.info.query.get(name) else { return Ok(None) };
    match text.parse() {
        Ok(number) => Ok(Some(Revision::new(number))),
        Err(_) => Err(Status::bad_request(format!("{name}: must be a revision")).into()),
    }
}

/// The bytes that hexadecimal digits name.
fn bytes_of(text: &str) -> Option<Bytes> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| u8::try_from(digit(*high)? * 16 + digit(*low)?).ok();
    rest.is_empty().then(|| pairs.iter().map(byte).collect::<Option<Vec<u8>>>())?.map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_digits() {
        let check = |text: &str, expect: Option<&[u8]>| {
            assert_eq!(bytes_of(text).as_deref(), expect, "{text}");
        };
        check("6f2fFf", Some(b"o/\xff"));
        check("", Some(b""));
        check("6", None);
        check("6g", None);
    }
}
