//! The terminal: lines read on a thread of their own, so that streams and Ctrl-C are served meanwhile.

use std::io::{BufRead, Write};

use tokio::sync::mpsc;

/// What came from the keyboard.
pub(super) enum Line {
    Text(String),
    End,
    Interrupt,
}

pub(super) struct Terminal {
    lines: mpsc::Receiver<String>,
}

impl Terminal {
    pub(super) fn open() -> Self {
        let (sender, lines) = mpsc::channel(1);
        // The thread ends with its input or with the process: a read of standard input cannot be given up.
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { break };
                if sender.blocking_send(line).is_err() {
                    break;
                }
            }
        });
        Self { lines }
    }

    /// Shows something and reads a line.
    pub(super) async fn ask(&mut self, question: &str) -> Line {
        self.write(question);
        tokio::select! {
            line = self.lines.recv() => line.map_or(Line::End, Line::Text),
            () = interrupted() => Line::Interrupt,
        }
    }

    /// Writes as it comes.
    #[expect(clippy::unused_self, reason = "whoever writes has the terminal")]
    pub(super) fn write(&self, text: &str) {
        let mut out = std::io::stdout();
        // A terminal that is gone ends the input, too.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// Writes what is not of the conversation.
    pub(super) fn note(&self, text: &str) {
        self.write(&format!("-- {text}\n"));
    }
}

/// Waits for Ctrl-C.
pub(super) async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
