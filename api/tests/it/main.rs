//! Integration tests of the API as a client sees it: requests through the whole handler stack over
//! a store in memory, and over real TLS where the connection matters.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failing unwrap is a failing test, and a measurement says what it found"
)]

mod aggregation;
mod apply;
mod audiences;
mod audit;
mod breaker_events;
mod cbor;
mod certificates;
mod component_clients;
mod connect;
mod contract;
mod controllers;
mod controllers_go_on;
mod conversion_webhooks;
mod custom_resources;
mod custom_storage;
mod custom_views;
mod default_roles;
mod deletecollection;
mod deposed;
mod discovery;
mod eviction;
mod flow_schemas;
mod follower;
mod garbage;
mod generated_names;
mod get;
mod harness;
mod health;
mod hostile;
mod identity_lease;
mod if_match;
mod impersonation;
mod intruders;
mod limit_ranges;
mod list;
mod list_selected;
mod metrics;
mod modes;
mod moving_metrics;
mod negotiation;
mod node_tokens;
mod nodes;
mod openapi;
mod overload;
mod past;
mod pod_admission;
mod pod_security;
mod pods;
mod priority_levels;
mod protobuf;
mod protobuf_answers;
mod quorum;
mod quotas;
mod rbac;
mod read_tables;
mod readiness;
mod review;
mod scale;
mod server_timing;
mod services;
mod silent_members;
mod table_rows;
mod timeouts;
mod tls;
mod tokens;
mod traces;
mod unreadable;
mod watch;
mod watch_frames;
mod watch_initial;
mod watch_selectors;
mod watch_time;
mod write;
