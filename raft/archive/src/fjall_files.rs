//! The files of a fjall database, before it opens them: whether the lengths in them can be believed.
//!
//! fjall reads how many parts a file has, and asks for as much memory, before it compares the
//! checksum that covers this. So the same checksums are compared here first: that of the list of
//! tables, which `current` has, and that of each table's contents, which its last bytes have. All
//! else is behind checksums of its own, which fjall does compare in time. Invariant: a file of a form
//! that is not known here is left to fjall: only what is certainly damaged is refused.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

/// Its trees, a folder each.
const TREES: &str = "keyspaces";
/// Names the newest list of tables and has its checksum.
const CURRENT: &str = "current";
/// Bytes of that file: number (u64 LE), checksum (u128 LE), kind of the checksum.
const CURRENT_BYTES: usize = 25;
/// The folder of tables.
const TABLES: &str = "tables";
/// Begins the last bytes of a table: this, version and kind of the checksum, checksum (u128 LE),
/// place and length of the contents (u64 LE each).
const TRAILER: &[u8] = b"SFA!\x01\x00";
const TRAILER_BYTES: usize = 38;
/// Most bytes of a table's contents, which have a few dozen for each of a few sections.
const MAX_CONTENTS_BYTES: u64 = 64 << 10;

/// Refuses a database that cannot be opened safely.
///
/// # Errors
/// `InvalidData` when it is damaged; what the disk says.
pub(crate) fn check(database: &Path) -> io::Result<()> {
    for tree in entries(&database.join(TREES))? {
        check_list(&tree)?;
        for table in entries(&tree.join(TABLES))? {
            check_contents(&File::open(&table)?)?;
        }
    }
    Ok(())
}

/// What is in a folder; nothing when there is none.
fn entries(folder: &Path) -> io::Result<Vec<std::path::PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(damaged()),
        Err(error) => Err(error),
    }
}

fn check_list(tree: &Path) -> io::Result<()> {
    let current = match fs::read(tree.join(CURRENT)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        current => current?,
    };
    let Some((number, rest)) = current.split_first_chunk::<8>() else { return Err(damaged()) };
    let Some((checksum, kind)) = rest.split_first_chunk::<16>() else { return Err(damaged()) };
    if current.len() != CURRENT_BYTES || kind != [0] {
        return Ok(());
    }
    let list = fs::read(tree.join(format!("v{}", u64::from_le_bytes(*number))))?;
    if xxh3_128(&list) == u128::from_le_bytes(*checksum) { Ok(()) } else { Err(damaged()) }
}

fn check_contents(table: &File) -> io::Result<()> {
    let length = table.metadata()?.len();
    let Some(end) = length.checked_sub(TRAILER_BYTES as u64) else { return Ok(()) };
    let mut trailer = [0; TRAILER_BYTES];
    table.read_exact_at(&mut trailer, end)?;
    let Some(fields) = trailer.strip_prefix(TRAILER) else { return Ok(()) };
    let Some((checksum, rest)) = fields.split_first_chunk::<16>() else { return Ok(()) };
    let Some((begin, _)) = rest.split_first_chunk::<8>() else { return Ok(()) };
    let begin = u64::from_le_bytes(*begin);
    let bytes = end.checked_sub(begin).filter(|bytes| *bytes <= MAX_CONTENTS_BYTES);
    let bytes = usize::try_from(bytes.ok_or_else(damaged)?).map_err(|_| damaged())?;
    let mut contents = vec![0; bytes];
    table.read_exact_at(&mut contents, begin)?;
    if xxh3_128(&contents) == u128::from_le_bytes(*checksum) { Ok(()) } else { Err(damaged()) }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a list of parts is damaged")
}
