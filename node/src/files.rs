//! Files of the node, read whole and replaced atomically.
//!
//! Invariants: files are replaced by rename, so that a reader never sees half of one; what only its
//! owner may read is so from its first byte; folders that are made here are their owner's only,
//! since everything in a data folder is as secret as the Secrets in its store.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::error::{Error, at};

const PRIVATE: u32 = 0o600;
const PUBLIC: u32 = 0o644;
/// What only its owner may look into.
pub(crate) const PRIVATE_FOLDER: u32 = 0o700;

/// Reads a text file, naming it in the error.
pub(crate) fn read_text(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path)
        .map_err(|error| Error::config(format_args!("{}: {error}", path.display())))
}

/// Replaces a file that every user may read who can enter its folder.
pub(crate) fn write_public(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace(path, bytes, PUBLIC)
}

/// Replaces a file that only its owner may read.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace(path, bytes, PRIVATE)
}

/// Makes a folder, and those that it lies in, unless they are there.
pub(crate) fn make_folder(path: &Path) -> Result<(), Error> {
    DirBuilder::new().recursive(true).mode(PRIVATE_FOLDER).create(path).map_err(at(path))
}

/// Renames a file, durably.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    std::fs::rename(from, to).map_err(at(to))?;
    let parent = parent(to);
    File::open(parent).and_then(|folder| folder.sync_all()).map_err(at(parent))
}

fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Error> {
    make_folder(parent(path))?;
    let draft = path.with_extension("tmp");
    let _ = std::fs::remove_file(&draft);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&draft)
        .map_err(at(&draft))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(at(&draft))?;
    rename(&draft, path)
}

fn parent(path: &Path) -> &Path {
    path.parent().expect("every file written here lies in a folder")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn folders_are_their_owners_only() {
        let root = tempfile::TempDir::new().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let file = root.path().join("a/b/c");
        write_public(&file, b"one").unwrap();
        write_private(&file.with_extension("key"), b"two").unwrap();
        assert_eq!(
            (mode(&root.path().join("a")), mode(&root.path().join("a/b"))),
            (PRIVATE_FOLDER, PRIVATE_FOLDER)
        );
        assert_eq!((mode(&file), mode(&file.with_extension("key"))), (PUBLIC, PRIVATE));
        write_private(&file, b"three").unwrap();
        assert_eq!((mode(&file), read_text(&file).unwrap().as_str()), (PRIVATE, "three"));
    }
}
