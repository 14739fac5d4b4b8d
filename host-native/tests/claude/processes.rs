//! Finds the processes of a case by its directory's name in their environment, and kills them as a crash would.

use std::path::Path;
use std::time::Duration;

/// The processes whose environment names this directory.
pub(crate) fn processes_of(directory: &Path) -> Vec<i32> {
    let mark = directory.as_os_str().as_encoded_bytes();
    let entries = std::fs::read_dir("/proc").expect("processes can be listed");
    let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(|id| {
        let environ = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environ.windows(mark.len()).any(|window| window == mark)
    })
    .collect()
}

/// Kills every process of this directory; returns when none is left.
pub(crate) async fn kill_all(directory: &Path) {
    for _ in 0..100 {
        let ids = processes_of(directory);
        if ids.is_empty() {
            return;
        }
        for id in ids {
            if let Some(id) = rustix::process::Pid::from_raw(id) {
                // It may have ended by itself meanwhile.
                let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
