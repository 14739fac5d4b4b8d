//! s
pub(crate) fn run(_long: bool, _only: Option<&str>) -> anyhow::Result<()> {
    Ok(())
}
