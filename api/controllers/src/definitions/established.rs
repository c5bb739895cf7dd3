//! The condition `Established`: the names of a definition were accepted once, and its versions are
//! served.
//!
//! Invariant: once true it stays true, whatever names are asked for later.

use crate::conditions::Condition;

/// The type of the condition.
pub(super) const ESTABLISHED: &str = "Established";

/// The condition; `None` where it stays as it is.
pub(super) fn decide(is_established: bool, names_accepted: bool) -> Option<Condition> {
    match (is_established, names_accepted) {
        (true, _) => None,
        (false, true) => Some((
            ESTABLISHED,
            true,
            "InitialNamesAccepted",
            "the initial names have been accepted".to_owned(),
        )),
        (false, false) => {
            Some((ESTABLISHED, false, "NotAccepted", "not all names are accepted".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_established_stays_so() {
        let check = |is_established, names_accepted, expect: Option<(bool, &str, &str)>| {
            let found = decide(is_established, names_accepted);
            let found = found.as_ref().map(|(_, status, reason, why)| (*status, *reason, &**why));
            assert_eq!(found, expect);
        };
        check(true, true, None);
        check(true, false, None);
        let accepted = "the initial names have been accepted";
        check(false, true, Some((true, "InitialNamesAccepted", accepted)));
        check(false, false, Some((false, "NotAccepted", "not all names are accepted")));
    }
}
