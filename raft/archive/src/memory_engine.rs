//! An engine in memory, for simulations and tests. What it holds lives as long as the engine does.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Weak};

use parking_lot::RwLock;

use crate::engine::{Engine, Record, Records, Table};

type Tables = RwLock<BTreeMap<String, Arc<MemoryTable>>>;

/// Tables in memory.
#[derive(Debug, Default)]
pub struct MemoryEngine {
    tables: Arc<Tables>,
}

#[derive(Debug)]
struct MemoryTable {
    name: String,
    records: RwLock<BTreeMap<Vec<u8>, Vec<u8>>>,
    tables: Weak<Tables>,
}

impl Engine for MemoryEngine {
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.tables.read().keys().cloned().collect())
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn Table>> {
        let mut tables = self.tables.write();
        let table = tables.entry(name.to_owned()).or_insert_with(|| {
            let (name, tables) = (name.to_owned(), Arc::downgrade(&self.tables));
            Arc::new(MemoryTable { name, records: RwLock::default(), tables })
        });
        Ok(Arc::clone(table) as Arc<dyn Table>)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.tables.write().remove(name);
        Ok(())
    }
}

impl MemoryTable {
    fn between(&self, from: &[u8], to: &[u8]) -> Vec<io::Result<Record>> {
        if from >= to {
            return Vec::new();
        }
        let records = self.records.read();
        let found = records.range(from.to_vec()..to.to_vec());
        found.map(|(key, value)| Ok((key.clone(), value.clone()))).collect()
    }
}

impl Table for MemoryTable {
    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        Ok(self.records.read().get(key).cloned())
    }

    fn scan(&self, from: &[u8], to: &[u8]) -> Records {
        Box::new(self.between(from, to).into_iter())
    }

    fn scan_back(&self, from: &[u8], to: &[u8]) -> Records {
        Box::new(self.between(from, to).into_iter().rev())
    }

    fn ingest(&self, records: &mut dyn Iterator<Item = Record>) -> io::Result<()> {
        let records: Vec<Record> = records.collect();
        self.records.write().extend(records);
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.records.read().iter().map(|(key, value)| (key.len() + value.len()) as u64).sum()
    }

    fn give_up(&self) {
        if let Some(tables) = self.tables.upgrade() {
            tables.write().remove(&self.name);
        }
    }
}
