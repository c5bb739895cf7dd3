//! Until when the certificates in a node's folder are valid.

use std::path::Path;

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::data_dir::DataDir;
use crate::pki::{CertificateFile, Validity};
use crate::terminal::print_table;

/// A certificate's name and life.
pub(super) type Named = (&'static str, Validity);

/// Those of a node's folder.
pub(super) fn read(data_dir: &Path) -> Vec<Named> {
    let files = CertificateFile::of_folder(&DataDir::new(data_dir).pki());
    files.iter().filter_map(|file| Some((file.name, file.validity()?))).collect()
}

/// A row for each.
pub(super) fn print(all: &[Named], now: OffsetDateTime) {
    let rows: Vec<_> = all.iter().map(|named| row(named, now)).collect();
    print_table(["CERTIFICATE", "ENDS", "DAYS LEFT", ""], &rows);
}

fn row((name, life): &Named, now: OffsetDateTime) -> [String; 4] {
    let left = (life.end() - now).whole_days().max(0).to_string();
    let note = match (life.ends_soon(now), life.end() > now) {
        (false, _) => "",
        (true, true) => "ends soon",
        (true, false) => "has ended",
    };
    [(*name).to_owned(), end(*life), left, note.to_owned()]
}

/// The same as JSON.
pub(super) fn to_json(all: &[Named], now: OffsetDateTime) -> Value {
    let one = |(name, life): &Named| json!({ "name": name, "notAfter": end(*life), "endsSoon": life.ends_soon(now) });
    all.iter().map(one).collect()
}

fn end(life: Validity) -> String {
    life.end().format(&Rfc3339).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_is_said() {
        let life = Validity { start: 0, end: 100 * 86_400 };
        let check = |day: i64, left: &str, note: &str| {
            let now = OffsetDateTime::from_unix_timestamp(day * 86_400 + 1).unwrap();
            let expect = ["server", "1970-04-11T00:00:00Z", left, note];
            assert_eq!(row(&("server", life), now), expect.map(str::to_owned), "{day}");
        };
        check(10, "89", "");
        check(95, "4", "ends soon");
        check(120, "0", "has ended");
    }
}
