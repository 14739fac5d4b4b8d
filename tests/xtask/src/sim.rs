//! s
pub(crate) fn run(_seed: Option<u64>) -> anyhow::Result<()> {
    Ok(())
}
