//! Whether the lists of the database's files are whole. The database trusts them: some damage to one ends the process while it is being read.
//!
//! Each keyspace has a file `current`, which says the number of the list that counts and the list's checksum; the database writes the
//! checksum and does not look at it. Tied to lsm-tree 3.1's format.

use std::io;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

use crate::disk::{Disk, SystemDisk};

/// Where the keyspaces are, each in a folder of its own.
const KEYSPACES: &str = "keyspaces";
/// See the module: a number (u64), the checksum of that list (u128), and one byte more.
const CURRENT: &str = "current";

/// What is damaged, if anything is. Nothing is where there is no database yet, nor where a keyspace was being made or removed.
pub(super) fn damage(directory: &Path) -> io::Result<Option<String>> {
    let Some(keyspaces) = found(SystemDisk.list(&directory.join(KEYSPACES)))? else { return Ok(None) };
    for keyspace in keyspaces {
        let Some(current) = read(&keyspace.join(CURRENT))? else { continue };
        let Some((number, checksum)) = parse(&current) else {
            return Ok(Some(format!("{} is cut off", keyspace.join(CURRENT).display())));
        };
        let path = keyspace.join(format!("v{number}"));
        if read(&path)?.is_some_and(|list| xxh3_128(&list) != checksum) {
            return Ok(Some(format!("{} does not have the checksum that was noted", path.display())));
        }
    }
    Ok(None)
}

fn parse(current: &[u8]) -> Option<(u64, u128)> {
    let (number, rest) = current.split_first_chunk()?;
    let (checksum, _) = rest.split_first_chunk()?;
    Some((u64::from_le_bytes(*number), u128::from_le_bytes(*checksum)))
}

/// A whole file; `None` if there is none.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = found(SystemDisk.open(path))? else { return Ok(None) };
    let mut bytes = vec![0; usize::try_from(file.length()?).map_err(io::Error::other)?];
    file.read_at(0, &mut bytes)?;
    Ok(Some(bytes))
}

fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        other => other.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn any_byte_of_a_list_that_changes_is_found() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(damage(folder.path()).unwrap(), None);
        let database = fjall::Database::builder(folder.path()).open().unwrap();
        database.keyspace("one", fjall::KeyspaceCreateOptions::default).unwrap().insert("a", "b").unwrap();
        drop(database);
        assert_eq!(damage(folder.path()).unwrap(), None);
        let keyspace = folder.path().join(KEYSPACES).join("1");
        let (number, _) = parse(&fs::read(keyspace.join(CURRENT)).unwrap()).unwrap();
        let path = keyspace.join(format!("v{number}"));
        let list = fs::read(&path).unwrap();
        for at in 0..list.len() {
            let mut other = list.clone();
            other[at] = !other[at];
            fs::write(&path, other).unwrap();
            let found = damage(folder.path()).unwrap();
            assert!(found.is_some_and(|found| found.contains("checksum")), "byte {at}");
        }
        fs::write(&path, &list[..list.len() / 2]).unwrap();
        assert!(damage(folder.path()).unwrap().is_some());
        fs::write(&path, list).unwrap();
        assert_eq!(damage(folder.path()).unwrap(), None);
        fs::write(keyspace.join(CURRENT), [0; 9]).unwrap();
        assert!(damage(folder.path()).unwrap().unwrap().ends_with("is cut off"));
    }
}
