//! A finished answer, and what tests read from it.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::Value;

/// A finished answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The names of a list's items.
    pub(crate) fn names(&self) -> Vec<String> {
        assert_eq!(self.status, 200, "{}", self.text());
        let items = self.json()["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn version(&self) -> String {
        self.json()["metadata"]["resourceVersion"]
            .as_str()
            .unwrap_or_else(|| panic!("{}", self.text()))
            .to_owned()
    }
}
