//! s
pub(crate) fn run(_rest: &[std::ffi::OsString]) -> anyhow::Result<()> {
    Ok(())
}
