//! Reads lines of bounded length, so that an agent that never ends a line cannot fill the host's memory.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// Why no further line comes.
#[derive(Debug)]
pub(in super::super) enum LineError {
    /// A line grew over the bound, in bytes.
    TooLong(usize),
    /// Reading failed.
    Io(io::Error),
}

/// Reads one line without its end into `line`, which is cleared first. `false` at the end of the stream.
///
/// Bytes that are not UTF-8 become U+FFFD. A last line without an end is given too.
pub(in super::super) async fn read_line(
    reader: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    max: usize,
) -> Result<bool, LineError> {
    line.clear();
    loop {
        let available = reader.fill_buf().await.map_err(LineError::Io)?;
        if available.is_empty() {
            return Ok(!line.is_empty());
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(available.len());
        if line.len() + taken > max {
            return Err(LineError::TooLong(max));
        }
        line.extend_from_slice(&available[..taken]);
        reader.consume(end.map_or(taken, |end| end + 1));
        if end.is_some() {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    #[tokio::test]
    async fn lines_are_given_whole_and_the_last_needs_no_end() {
        let mut reader = BufReader::with_capacity(3, &b"first line\n\nlast"[..]);
        let mut line = Vec::new();
        let mut seen = Vec::new();
        while read_line(&mut reader, &mut line, 100).await.unwrap() {
            seen.push(String::from_utf8(line.clone()).unwrap());
        }
        assert_eq!(seen, ["first line", "", "last"]);
    }

    #[tokio::test]
    async fn a_line_over_the_bound_is_refused() {
        let mut reader = BufReader::with_capacity(3, &b"0123456789\n"[..]);
        let mut line = Vec::new();
        assert!(matches!(read_line(&mut reader, &mut line, 9).await, Err(LineError::TooLong(9))));
        assert!(line.len() <= 9);
    }
}
