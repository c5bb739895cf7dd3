//! The condition `Established`: the names of a definition were accepted once, and its versions are
//! served.
//!
//! Invariant: once true it stays true, whatever names are asked for later. Validation does not let
//! the certificates of a definition that is established become unusable.

use crate::conditions::Condition;

/// The type of the condition.
pub(super) const ESTABLISHED: &str = "Established";

/// What decides it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    /// Whether the condition is true.
    pub(super) is_established: bool,
    pub(super) names_accepted: bool,
    /// Whether the webhook that converts objects, if there is one, can be trusted.
    pub(super) has_usable_bundle: bool,
}

impl Facts {
    /// Whether the definition is served from now on.
    pub(super) fn serves(self) -> bool {
        self.is_established || (self.names_accepted && self.has_usable_bundle)
    }
}

/// The condition; `None` where it stays as it is.
pub(super) fn decide(facts: Facts) -> Option<Condition> {
    let (status, reason, message) = match facts {
        Facts { is_established: true, .. } => return None,
        Facts { names_accepted: false, .. } => (false, "NotAccepted", "not all names are accepted"),
        Facts { has_usable_bundle: false, .. } => {
            (false, "InvalidCABundle", "The conversion webhook CABundle is invalid")
        }
        _ => (true, "InitialNamesAccepted", "the initial names have been accepted"),
    };
    Some((ESTABLISHED, status, reason, message.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_established_stays_so() {
        let check = |is_established: bool,
                     names_accepted: bool,
                     has_usable_bundle: bool,
                     expect: Option<(bool, &str, &str)>| {
            let facts = Facts { is_established, names_accepted, has_usable_bundle };
            assert_eq!(facts.serves(), expect.is_none_or(|(status, ..)| status), "{facts:?}");
            let found = decide(facts);
            let found = found.as_ref().map(|(_, status, reason, why)| (*status, *reason, &**why));
            assert_eq!(found, expect);
        };
        check(true, true, true, None);
        check(true, false, false, None);
        let accepted = "the initial names have been accepted";
        check(false, true, true, Some((true, "InitialNamesAccepted", accepted)));
        let bundle = "The conversion webhook CABundle is invalid";
        check(false, true, false, Some((false, "InvalidCABundle", bundle)));
        for has_usable_bundle in [true, false] {
            let why = "not all names are accepted";
            check(false, false, has_usable_bundle, Some((false, "NotAccepted", why)));
        }
    }
}
