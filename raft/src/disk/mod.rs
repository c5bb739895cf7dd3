//! The disk seam: everything that log and state ask of a file system, a production implementation, and one in memory that
//! loses, tears and fails on demand.
//!
//! Declarations only; see each file.

mod blocks;
mod fatal;
mod faults;
mod inode;
mod memory;
mod seam;
mod system;

pub(crate) use blocks::Blocks;
pub use fatal::Fatal;
pub use memory::MemoryDisk;
pub(crate) use seam::BLOCK_BYTES;
pub use seam::{Disk, File, Lock, Worker};
pub use system::SystemDisk;
