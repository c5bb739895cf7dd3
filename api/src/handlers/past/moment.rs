//! Moments: a time or a revision, as parameters have them.
//!
//! Not here: which revision a time is, which the archive knows.

use quorate_meta::Time;
use quorate_registry::error::Error;
use quorate_store::Revision;

use crate::handlers::{Request, connect};

/// The parameter that asks for the past.
pub(in crate::handlers) const AS_OF: &str = "asOf";
/// Parameters that say which state of the present is meant.
const PRESENT: [&str; 3] = ["resourceVersion", "resourceVersionMatch", "sendInitialEvents"];

/// A moment of the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::handlers) enum Moment {
    /// A revision.
    Revision(Revision),
    /// A time, milliseconds since the Unix epoch: the newest revision up to then.
    Time(u64),
}

impl Moment {
    /// Reads the value of a parameter.
    ///
    /// # Errors
    /// 400 for what is neither a time nor a revision.
    pub(in crate::handlers) fn parse(parameter: &str, text: &str) -> Result<Self, Error> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let moment = if is_number {
            text.parse().ok().map(|number| Self::Revision(Revision::new(number)))
        } else {
            Time::parse(text).ok().map(|time| Self::Time(time.ms()))
        };
        moment.ok_or_else(|| {
            let shown: String = text.chars().take(64).collect();
            Error::bad_request(format!(
                "{parameter}: {shown:?} is neither an RFC 3339 time nor a decimal resourceVersion"
            ))
        })
    }
}

/// The moment that a read asks for; `None` when it is about the present.
///
/// # Errors
/// 400 for a malformed one, and for one beside parameters about the present.
pub(in crate::handlers) fn asked(request: &Request<'_>) -> Result<Option<Moment>, Error> {
    let query = &request.info.query;
    let Some(text) = query.get(AS_OF) else { return Ok(None) };
    if let Some(other) = PRESENT.into_iter().find(|name| !query.text(name).is_empty()) {
        return Err(Error::bad_request(format!("{AS_OF} is not allowed beside {other}")));
    }
    Moment::parse(AS_OF, text).map(Some)
}

/// Refuses a moment where there is no past to read: on a write, whose client means something else than
/// it would do, and on a stream of a kubelet. What is behind a proxy has parameters of its own.
///
/// # Errors
/// 400.
pub(in crate::handlers) fn refuse_misplaced(request: &Request<'_>) -> Result<(), Error> {
    let info = request.info;
    let subresource = info.subresource.as_deref();
    if info.query.get(AS_OF).is_none() || subresource == Some("proxy") {
        return Ok(());
    }
    if info.verb.is_write() {
        return Err(Error::bad_request(format!(
            "{AS_OF} is for reads: the past cannot be changed"
        )));
    }
    match subresource.filter(|name| connect::connects(name)) {
        Some(name) => Err(Error::bad_request(format!("{AS_OF}: {name} is not stored"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_or_a_revision() {
        let check = |text: &str, expect: Option<Moment>| {
            let found = Moment::parse("asOf", text);
            assert_eq!(found.as_ref().ok(), expect.as_ref(), "{text}");
            if let Err(error) = found {
                assert_eq!(error.into_status().code, 400);
            }
        };
        check("0", Some(Moment::Revision(Revision::ZERO)));
        check("17", Some(Moment::Revision(Revision::new(17))));
        check("1970-01-01T00:00:01Z", Some(Moment::Time(1000)));
        check("1970-01-01T00:00:01.2345Z", Some(Moment::Time(1234)));
        check("1970-01-01T01:00:01+01:00", Some(Moment::Time(1000)));
        for wrong in ["", "-1", "+1", "1.5", "18446744073709551616", "yesterday", "1970-01-01"] {
            check(wrong, None);
        }
        check(&"9".repeat(100_000), None);
    }
}
