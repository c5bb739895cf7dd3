//! The IDL: names, protobuf numbers, types and flags of every API type, one line per field.
//!
//! ```text
//! group core/v1                     the group version of the file; groups by their neutral names
//!
//! kind Event = Event                a kind and its type (omitted when it has the same name)
//!   resource events event           plural and singular; absent for kinds without a resource
//!   list EventList
//!   scope namespaced                or cluster
//!   short ev                        categories, verbs and select (selectable fields) look the same
//!   storage v1                      storage version (group/version if another group's)
//!   deletes status                  or object: the response of an immediate deletion; a second
//!                                   word is what OpenAPI has
//!   sub status Namespace get update a subresource, its kind (group/version.Kind when it is another
//!                                   group's), its verbs
//!   column "Age" string format=name priority=1 cell=int = value in words -- description
//!   stage beta                      everywhere (known in every group version)
//!
//! type Event object                 a message; object: has apiVersion and kind in JSON
//!   1 metadata ObjectMeta always -- doc
//! ```
//!
//! A field line is `TAG NAME TYPE FLAGS -- DOC`. `-` as tag: not in protobuf. Types: `bool int32
//! int64 double string bytes time microtime quantity intorstring any`, a type of this file, or
//! `group/version.Name`; `[]` and `{}` before it make a list or a map with string keys; `?` after
//! it: absent differs from zero. Flags: `always` (written also when zero), `required`, `inline`
//! (fields at the parent's level in JSON), `wrapped` (a message around the list in protobuf),
//! `atomic`, `set`, `map(key,...)` and, on maps and messages, `atomic`, `granular` (ownership),
//! `patch=STRATEGY:KEY`, `enum=A|B` (closed), `known=A|B` (open; `~` stands for a space),
//! `default=JSON`, `rules=RULE;RULE` (declarative validation). Type flags: `object`, `atomic`,
//! `mixed=...` (JSON form differs from the message), `union=discriminator:field=value,...`.
//!
//! Names of the profile are `$extension(x)` in field names and `$group(x)` in defaults. Which kinds
//! are served is decided by the registry.

mod files;
mod parse;

pub use files::FILES;
pub use parse::IdlError;
pub(crate) use parse::{FieldDecl, File, KindDecl, TypeDecl, parse};
