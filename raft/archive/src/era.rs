//! An era: one table of slices, what is dropped at a time.
//!
//! Invariants: slices have the numbers 1, 2, … and ascend; only the newest era grows, and of it only
//! the last slice. Names sort as eras do, and one that was given up does not share its name with a
//! later one.

use std::io;
use std::sync::Arc;

use quorate_store::Revision;

use crate::engine::{Engine, Table};
use crate::layout;
use crate::record::{self, FORMAT, SliceInfo};
use crate::slice::Slice;

/// A table and its name.
#[derive(Debug)]
pub(crate) struct Era {
    pub(crate) name: String,
    pub(crate) table: Arc<dyn Table>,
}

impl Era {
    /// An era that begins after this revision, empty.
    pub(crate) fn create(engine: &dyn Engine, after: Revision) -> io::Result<Arc<Self>> {
        let names = engine.names()?;
        let name = (0..)
            .map(|repeated| format!("era-{:020}-{repeated:03}", after.get()))
            .find(|name| !names.contains(name))
            .expect("numbers do not end");
        let opened = engine.open(&name);
        if opened.is_err() {
            // Nothing is in what there may be of it.
            engine.remove(&name)?;
        }
        Ok(Arc::new(Self { name, table: opened? }))
    }

    /// An era that is there, and its slices, which must be this owner's.
    pub(crate) fn open(engine: &dyn Engine, name: &str, owner: &str) -> io::Result<Vec<Slice>> {
        let table = engine.open(name)?;
        let era = Arc::new(Self { name: name.to_owned(), table });
        let mut slices: Vec<Slice> = Vec::new();
        for number in 1.. {
            let Some(found) = era.table.get(&layout::info(number))? else { break };
            let info: SliceInfo = record::decode(&found)?;
            let last = slices.last().map_or(Revision::ZERO, |slice| slice.info.last);
            let reason = match &info {
                info if info.format != FORMAT => "it has another format",
                info if info.owner != owner => "it is another cluster's",
                info if info.after < last || info.last <= info.after => "its slices do not ascend",
                _ => {
                    slices.push(Slice { era: Arc::clone(&era), number, info });
                    continue;
                }
            };
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        Ok(slices)
    }
}
