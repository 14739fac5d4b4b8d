//! Asks a person for what a paused turn waits for.

use serde_json::{Map, Value, json};

use super::show::brief;
use super::terminal::{Line, Terminal};
use crate::sessions::plain;

/// Asks for everything that waits; what the person leaves open is not answered.
pub(super) async fn answers(terminal: &mut Terminal, pending: &Value) -> Vec<Value> {
    let mut answers = Vec::new();
    let open = |name: &str| {
        let calls = pending[name].as_array().cloned().unwrap_or_default();
        calls.into_iter().filter(|call| call["decision"].is_null())
    };
    for call in open("approvals") {
        match approval(terminal, &call).await {
            Some(answer) => answers.push(answer),
            None => return answers,
        }
    }
    for call in open("toolCalls") {
        match result(terminal, &call).await {
            Some(answer) => answers.push(answer),
            None => return answers,
        }
    }
    answers
}

async fn approval(terminal: &mut Terminal, call: &Value) -> Option<Value> {
    let id = &call["approvalId"];
    terminal.note(&format!("{} wants to run: {}", name(call), brief(&call["input"])));
    loop {
        let line = line(terminal, "Allow? y, n, n REASON, or e to edit the input: ").await?;
        let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        match word.to_lowercase().as_str() {
            "y" | "yes" => return Some(json!({ "id": id, "approved": true })),
            "n" | "no" if rest.trim().is_empty() => return Some(json!({ "id": id, "approved": false })),
            "n" | "no" => return Some(json!({ "id": id, "approved": false, "reason": rest.trim() })),
            "e" | "edit" => {
                terminal.note(&plain(&call["input"].to_string()));
                let text = self::line(terminal, "The input to run with, JSON on one line: ").await?;
                match serde_json::from_str::<Value>(&text) {
                    Ok(input) => return Some(json!({ "id": id, "approved": true, "editedInput": input })),
                    Err(error) => terminal.note(&format!("That is not JSON: {error}.")),
                }
            }
            _ => terminal.note("Please answer y, n, n and a reason, or e."),
        }
    }
}

async fn result(terminal: &mut Terminal, call: &Value) -> Option<Value> {
    let id = &call["toolCallId"];
    let questions = call["input"]["questions"].as_array().cloned().unwrap_or_default();
    if questions.is_empty() {
        terminal.note(&format!("{} needs a result for: {}", name(call), brief(&call["input"])));
        let text = line(terminal, "The result, JSON or text: ").await?;
        let output = serde_json::from_str(&text).unwrap_or(Value::String(text));
        return Some(json!({ "id": id, "output": output }));
    }
    let mut given = Map::new();
    for question in &questions {
        let words = question["question"].as_str().unwrap_or_default();
        given.insert(words.to_owned(), asked(terminal, words, &question["options"]).await?.into());
    }
    let output = match given.len() {
        1 => given.into_iter().next().map(|(_, answer)| answer).unwrap_or_default(),
        _ => json!({ "answers": given }),
    };
    Some(json!({ "id": id, "output": output }))
}

/// Asks one question; numbers choose options, several are joined by commas, anything else is an answer in words.
async fn asked(terminal: &mut Terminal, words: &str, options: &Value) -> Option<String> {
    terminal.note(&plain(words));
    let options: Vec<&Value> = options.as_array().into_iter().flatten().collect();
    let label = |option: &Value| option["label"].as_str().or(option.as_str()).unwrap_or_default().to_owned();
    for (place, option) in options.iter().enumerate() {
        let more = option["description"].as_str().unwrap_or_default();
        terminal.note(&format!("  {}. {}  {}", place + 1, plain(&label(option)), plain(more)));
    }
    let text = line(terminal, if options.is_empty() { "Answer: " } else { "Number, or your own words: " }).await?;
    let chosen: Option<Vec<String>> = text
        .split(',')
        .map(|one| {
            let place = one.trim().parse::<usize>().ok()?.checked_sub(1)?;
            options.get(place).map(|option| label(option))
        })
        .collect();
    Some(chosen.map_or(text.trim().to_owned(), |chosen| chosen.join(", ")))
}

fn name(call: &Value) -> String {
    plain(call["toolName"].as_str().unwrap_or("A tool"))
}

async fn line(terminal: &mut Terminal, question: &str) -> Option<String> {
    match terminal.ask(question).await {
        Line::Text(line) => Some(line),
        Line::End | Line::Interrupt => None,
    }
}
