//! Backups of a store in memory, in a folder and in a bucket of a small S3 server.

#![expect(clippy::unwrap_used, reason = "a test says what it needs by failing")]

mod bucket;
mod damage;
mod folder;
mod history;
mod s3_server;
mod support;
