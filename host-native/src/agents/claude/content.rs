//! A prompt's text and files as the model takes them.

use serde_json::{Value, json};

use crate::ports::Prompt;

/// The content blocks of a prompt: files first, as the model reads them best, then the text.
pub(super) fn of_prompt(prompt: &Prompt) -> Vec<Value> {
    let mut blocks = prompt.files.iter().filter_map(|file| of_file(file)).collect::<Vec<_>>();
    if !prompt.text.is_empty() || blocks.is_empty() {
        blocks.push(json!({"type": "text", "text": prompt.text}));
    }
    blocks
}

/// One file part. A file that the model cannot be given whole is named to it.
fn of_file(file: &str) -> Option<Value> {
    let file = serde_json::from_str::<Value>(file).ok()?;
    let url = file["url"].as_str().unwrap_or_default();
    let media_type = file["mediaType"].as_str().unwrap_or_default();
    if let Some(data) = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")).map(|(_, data)| data) {
        let source = json!({"type": "base64", "media_type": media_type, "data": data});
        if media_type.starts_with("image/") {
            return Some(json!({"type": "image", "source": source}));
        }
        if media_type == "application/pdf" {
            return Some(json!({"type": "document", "source": source}));
        }
    }
    let name = file["filename"].as_str().unwrap_or("a file");
    let place = if url.starts_with("data:") { String::new() } else { format!(" at {url}") };
    Some(json!({"type": "text", "text": format!("[Attached: {name} ({media_type}){place}]")}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_go_whole_and_others_are_named() {
        let prompt = Prompt {
            turn: "t".into(),
            id: "p".into(),
            text: "look".into(),
            files: vec![
                r#"{"type":"file","mediaType":"image/png","url":"data:image/png;base64,AAAA"}"#.into(),
                r#"{"type":"file","mediaType":"text/csv","filename":"a.csv","url":"https://example.com/a.csv"}"#.into(),
            ],
            model: None,
        };
        let blocks = of_prompt(&prompt);
        assert_eq!(blocks[0]["source"]["data"], "AAAA");
        assert_eq!(blocks[1]["text"], "[Attached: a.csv (text/csv) at https://example.com/a.csv]");
        assert_eq!(blocks[2]["text"], "look");
    }
}
