//! The Warning headers of an answer (document 001, "Field validation").

use http::Response;
use http::header::{HeaderValue, WARNING};
use quorate_meta::quoted;

use crate::body::Body;
use crate::error::Error;
use crate::request::Request;
use crate::respond;

/// Headers that one answer carries; what is beyond is left out. Some clients give up at a hundred headers of all sorts.
const MAX_WARNINGS: usize = 50;
/// Characters of one warning; what is beyond is cut off.
const MAX_CHARACTERS: usize = 1024;

/// The answer with a header for each warning, whether it is an error or not.
pub(super) fn attach(
    request: &Request,
    warnings: &[String],
    answer: Result<Response<Body>, Error>,
) -> Result<Response<Body>, Error> {
    if warnings.is_empty() {
        return answer;
    }
    let mut response = answer.unwrap_or_else(|error| respond::error(&request.format, error));
    add(&mut response, warnings);
    Ok(response)
}

/// Adds a header for each warning.
pub(super) fn add(response: &mut Response<Body>, warnings: &[String]) {
    for warning in warnings.iter().take(MAX_WARNINGS) {
        let end = warning.char_indices().nth(MAX_CHARACTERS).map_or(warning.len(), |(end, _)| end);
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - {}", quoted(&warning[..end])).as_bytes()) {
            response.headers_mut().append(WARNING, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_many_warnings_are_cut() {
        let mut response = Response::new(Body::empty());
        add(&mut response, &vec!["é".repeat(MAX_CHARACTERS + 1); MAX_WARNINGS + 1]);
        let headers: Vec<_> = response.headers().get_all(WARNING).iter().collect();
        assert_eq!(headers.len(), MAX_WARNINGS);
        assert_eq!(headers[0].as_bytes(), format!("299 - \"{}\"", "é".repeat(MAX_CHARACTERS)).as_bytes());
    }
}
