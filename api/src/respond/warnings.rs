//! The Warning headers of a response (RFC 7234, section 5.5; KEP-1693).

use http::Response;
use http::header::{HeaderValue, WARNING};
use quorate_meta::quoted;

use crate::body::Body;

/// Headers that tell of one thing; of more the last says how many there are. Some clients give up
/// at a hundred headers of all sorts.
pub(crate) const MAX_WARNINGS: usize = 50;
/// Characters of one warning; what is beyond is cut off.
const MAX_CHARACTERS: usize = 1024;

/// Adds a header for each warning.
pub(crate) fn add(response: &mut Response<Body>, warnings: &[String]) {
    for warning in shortlist(warnings, 0, MAX_WARNINGS) {
        let end = warning.char_indices().nth(MAX_CHARACTERS).map_or(warning.len(), |(end, _)| end);
        if let Ok(value) =
            HeaderValue::from_bytes(format!("299 - {}", quoted(&warning[..end])).as_bytes())
        {
            response.headers_mut().append(WARNING, value);
        }
    }
}

/// At most `limit` texts; when there are more, or `more` besides, the last says how many.
pub(crate) fn shortlist(texts: &[String], more: usize, limit: usize) -> Vec<String> {
    if more == 0 && texts.len() <= limit {
        return texts.to_vec();
    }
    let (shown, rest) = texts.split_at(texts.len().min(limit.saturating_sub(1)));
    shown.iter().cloned().chain([format!("and {} more", rest.len() + more)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_many_warnings_are_cut() {
        let mut response = Response::new(Body::empty());
        add(&mut response, &vec!["é".repeat(MAX_CHARACTERS + 1); MAX_WARNINGS + 2]);
        let headers: Vec<_> = response.headers().get_all(WARNING).iter().collect();
        assert_eq!(headers.len(), MAX_WARNINGS);
        assert_eq!(
            headers[0].as_bytes(),
            format!("299 - \"{}\"", "é".repeat(MAX_CHARACTERS)).as_bytes()
        );
        assert_eq!(headers[MAX_WARNINGS - 1], "299 - \"and 3 more\"");
    }
}
