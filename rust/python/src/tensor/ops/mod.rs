//! The operations, a folder for each family, and a file for each group of operations.

mod elementwise;
mod scans;
