//! The build program of the workspace. It never ships.
fn main() {}
