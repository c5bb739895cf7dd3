//! The disk seam: everything that log and state need of a file system, a production implementation,
//! and one in memory that loses, tears and fails on demand.
//!
//! Declarations only. The traits are in `seam`.

mod blocks;
mod faults;
mod inode;
mod memory;
mod memory_state;
mod seam;
mod system;

pub use blocks::Blocks;
pub use memory::MemoryDisk;
pub use seam::{BLOCK_BYTES, Disk, File, Lock, Pause, Worker};
pub use system::SystemDisk;
