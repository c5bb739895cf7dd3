//! Deletion propagation: the policies of `DeleteOptions.propagationPolicy`, and the finalizers that
//! store them in the object.
//!
//! Invariant: the object is only marked, and stays until the garbage collector removes the
//! finalizer.
//!
//! Not here: the dependents, which the garbage collector deletes or releases.

/// Holds an object until its dependents no longer name it as an owner (`orphan`).
pub const ORPHAN: &str = "orphan";
/// Holds an object until the dependents that block its deletion are gone (`foregroundDeletion`).
pub const FOREGROUND: &str = "foregroundDeletion";

/// The propagation policy of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// `Background`: the dependents are deleted after the object.
    Background,
    /// `Foreground`: the dependents are deleted before the object.
    Foreground,
    /// `Orphan`: the dependents stay.
    Orphan,
}

impl Propagation {
    /// Every policy, by name.
    pub const NAMES: [&str; 3] = ["Background", "Foreground", "Orphan"];

    /// The policy with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "Background" => Some(Self::Background),
            "Foreground" => Some(Self::Foreground),
            "Orphan" => Some(Self::Orphan),
            _ => None,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The policy of `orphanDependents`, the deprecated field.
    #[must_use]
    pub fn of_orphan_dependents(orphan: bool) -> Self {
        if orphan { Self::Orphan } else { Self::Background }
    }

    /// The policy in the finalizers of an object, which a client or an earlier deletion has set.
    #[must_use]
    pub fn of_finalizers<'a>(mut finalizers: impl Iterator<Item = &'a str>) -> Option<Self> {
        finalizers.find_map(|finalizer| match finalizer {
            ORPHAN => Some(Self::Orphan),
            FOREGROUND => Some(Self::Foreground),
            _ => None,
        })
    }

    fn finalizer(self) -> Option<&'static str> {
        match self {
            Self::Background => None,
            Self::Foreground => Some(FOREGROUND),
            Self::Orphan => Some(ORPHAN),
        }
    }
}

/// The finalizers of an object whose deletion begins: the requested policy takes precedence over
/// that in the object, and that over the default of its kind. `None` when they do not change.
pub(crate) fn finalizers(
    current: &[&str],
    asked: Option<Propagation>,
    by_default: Propagation,
) -> Option<Vec<String>> {
    let policy =
        asked.or_else(|| Propagation::of_finalizers(current.iter().copied())).unwrap_or(by_default);
    let own = [ORPHAN, FOREGROUND].into_iter().filter(|finalizer| current.contains(finalizer));
    if own.eq(policy.finalizer()) {
        return None;
    }
    let others =
        current.iter().copied().filter(|finalizer| ![ORPHAN, FOREGROUND].contains(finalizer));
    Some(others.chain(policy.finalizer()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::Propagation::{Background, Foreground, Orphan};
    use super::*;

    #[test]
    fn what_is_asked_goes_before_what_is_there() {
        let check = |current: &[&str],
                     asked: Option<Propagation>,
                     by_default: Propagation,
                     expect: Option<&[&str]>| {
            let expect =
                expect.map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>());
            assert_eq!(
                finalizers(current, asked, by_default),
                expect,
                "{current:?} {asked:?} {by_default:?}"
            );
        };
        check(&[], None, Background, None);
        check(&["x"], None, Background, None);
        check(&[], None, Orphan, Some(&["orphan"]));
        check(&[], Some(Background), Orphan, None);
        check(&["x"], Some(Foreground), Background, Some(&["x", "foregroundDeletion"]));
        check(&["foregroundDeletion", "x"], Some(Foreground), Background, None);
        check(&["foregroundDeletion", "x"], None, Orphan, None);
        check(&["orphan", "x"], Some(Background), Background, Some(&["x"]));
        check(&["foregroundDeletion"], Some(Orphan), Background, Some(&["orphan"]));
        check(&["orphan", "foregroundDeletion"], None, Background, Some(&["orphan"]));
    }
}
