//! Plain turns: text, tools, approvals, questions, several sessions.

use serde_json::json;
use tackroom::ports::{AnswerBody, SliceOutcome};
use tackroom_model_server::{Reply, Step};

use crate::world::{World, allow, answer, deny};
use crate::{Case, case};

type Outcome = Result<(), String>;

pub(crate) fn all() -> Vec<Case> {
    vec![
        case!(text_and_a_second_turn),
        case!(a_prompt_seen_before_is_ignored),
        case!(a_tool_that_needs_no_approval),
        case!(allowed),
        case!(denied_with_a_reason),
        case!(denied_what_the_mode_would_let_run),
        case!(allowed_with_edited_input),
        case!(a_question),
        case!(two_gated_calls_in_one_message),
        case!(two_sessions_at_once),
        case!(another_model_from_a_turn_on),
        case!(no_approvals_when_bypassed),
        case!(mcp_servers_and_a_working_directory),
        case!(a_plan_approved),
    ]
}

pub(crate) fn check(holds: bool, words: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(words()) }
}

pub(crate) fn write(id: &str, file: &str) -> Step {
    Step::tool(id, "Bash", json!({"command": format!("echo ran >> {file}"), "description": "writes a file"}))
}

async fn text_and_a_second_turn(world: World) -> Outcome {
    let pair = Step::RawText { deltas: vec![r#""Hello \ud83d""#.into(), r#""\ude00!""#.into()] };
    world.script([Reply::new([Step::Thinking { text: "hm".into() }, pair]), Reply::text("Again.")]);
    let session = world.start(None).await?;
    let first = session.prompt("hi").await?.expect(&SliceOutcome::Finished)?;
    let kinds = first.kinds();
    let expected = [
        "start",
        "start-step",
        "reasoning-start",
        "reasoning-delta",
        "reasoning-end",
        "text-start",
        "text-delta",
        "text-delta",
        "text-end",
        "finish-step",
        "finish",
    ];
    check(kinds == expected, || format!("{kinds:?}"))?;
    let halves = first.all("text-delta");
    check(halves[0]["trail"] == 0xd83d && halves[1]["lead"] == 0xde00, || format!("{halves:?}"))?;
    check(first.end.usage.output_tokens > 0 && first.end.usage.cost_micro_usd > 0, || format!("{:?}", first.end))?;
    let second = session.prompt("and?").await?.expect(&SliceOutcome::Finished)?;
    check(second.text() == "Again.", || second.text())?;
    check(second.end.usage == first.end.usage, || format!("{:?} after {:?}", second.end.usage, first.end.usage))?;
    let requests = world.server.main_requests(&world.name);
    check(requests.len() == 2, || format!("{} requests", requests.len()))?;
    let resume = session.agent.stop().await.map_err(|error| error.to_string())?;
    world.script([Reply::text("Back.")]);
    let session = world.start(resume).await?;
    let third = session.prompt("back?").await?.expect(&SliceOutcome::Finished)?;
    let texts = &world.server.main_requests(&world.name)[0].user_texts;
    check(texts.iter().any(|text| text.contains("hi")), || format!("the conversation was lost: {texts:?}"))?;
    check(third.all("data-tackroom-notice").is_empty(), || format!("{:?}", third.chunks))
}

async fn a_prompt_seen_before_is_ignored(world: World) -> Outcome {
    world.script([Reply::text("one"), Reply::text("two"), Reply::text("three")]);
    let session = world.start(None).await?;
    let id = uuid::Uuid::new_v4().to_string();
    session.prompt_as("hi", &id).await?.expect(&SliceOutcome::Finished)?;
    let again = session.prompt_as("hi", &id).await?.expect(&SliceOutcome::Finished)?;
    check(again.all("data-tackroom-notice").len() == 1, || format!("{:?}", again.chunks))?;
    let resume = session.agent.stop().await.map_err(|error| error.to_string())?;
    let session = world.start(resume).await?;
    session.prompt_as("hi", &id).await?.expect(&SliceOutcome::Finished)?;
    let next = session.prompt("next").await?.expect(&SliceOutcome::Finished)?;
    check(next.text() == "two", || next.text())
}

async fn a_tool_that_needs_no_approval(world: World) -> Outcome {
    world.script([Reply::tool("call-1", "Bash", json!({"command": "echo plain"})), Reply::text("Done.")]);
    let session = world.start(None).await?;
    let seen = session.prompt("go").await?.expect(&SliceOutcome::Finished)?;
    let outputs = seen.all("tool-output-available");
    check(outputs.len() == 1 && outputs[0]["output"] == "plain", || format!("{:?}", seen.chunks))?;
    check(seen.all("tool-approval-request").is_empty(), || format!("{:?}", seen.chunks))
}

async fn allowed(world: World) -> Outcome {
    world.script([Reply::new([Step::text("I will write."), write("call-1", "a.txt")]), Reply::text("Done.")]);
    let session = world.start(None).await?;
    let seen = session.prompt("go").await?.expect(&SliceOutcome::Paused)?;
    let asked = seen.all("tool-approval-request");
    check(asked.len() == 1 && asked[0]["toolCallId"] == "call-1", || format!("{:?}", seen.chunks))?;
    check(world.file("a.txt").is_none(), || "it ran unasked".to_owned())?;
    let done = session.answer(vec![answer(&seen, "call-1", "Bash", allow())]).await?.expect(&SliceOutcome::Finished)?;
    check(done.text() == "Done." && done.all("tool-output-available").len() == 1, || format!("{:?}", done.chunks))?;
    check(world.file("a.txt").as_deref() == Some("ran\n"), || format!("{:?}", world.file("a.txt")))
}

async fn denied_with_a_reason(world: World) -> Outcome {
    world.script([Reply::new([write("call-1", "a.txt")]), Reply::text("As you wish.")]);
    let session = world.start(None).await?;
    let seen = session.prompt("go").await?.expect(&SliceOutcome::Paused)?;
    let body = deny("not on a Monday");
    let done = session.answer(vec![answer(&seen, "call-1", "Bash", body)]).await?.expect(&SliceOutcome::Finished)?;
    let read = world.read_by_model("call-1").unwrap_or_default();
    check(read.ends_with("not on a Monday") && !read.contains("hook"), || format!("the model read {read:?}"))?;
    check(done.all("tool-output-denied").len() == 1, || format!("{:?}", done.chunks))?;
    check(done.all("tool-output-error").is_empty(), || format!("{:?}", done.chunks))?;
    check(world.file("a.txt").is_none(), || "it ran".to_owned())
}

async fn denied_what_the_mode_would_let_run(mut world: World) -> Outcome {
    world.settings.permission_mode = Some("acceptEdits".into());
    let edit = json!({"file_path": world.directory.join("work/edit.txt"), "content": "edited"});
    world.script([
        Reply::new([
            Step::tool("call-0", "Write", edit),
            Step::tool("call-1", "Bash", json!({"command": "mkdir made"})),
        ]),
        Reply::text("As you wish."),
    ]);
    let session = world.start(None).await?;
    let seen = session.prompt("go").await?.expect(&SliceOutcome::Paused)?;
    check(world.file("edit.txt").as_deref() == Some("edited"), || "the edit was held".to_owned())?;
    let answers = vec![answer(&seen, "call-1", "Bash", deny("no"))];
    session.answer(answers).await?.expect(&SliceOutcome::Finished)?;
    check(!world.directory.join("work/made").exists(), || "it ran".to_owned())
}

async fn allowed_with_edited_input(world: World) -> Outcome {
    world.script([Reply::new([write("call-1", "a.txt")]), Reply::text("Done.")]);
    let session = world.start(None).await?;
    let seen = session.prompt("go").await?.expect(&SliceOutcome::Paused)?;
    let edited = "{\"command\":\"echo edited >> b.txt\",\n \"description\":\"edited\"}".to_owned();
    let body = AnswerBody::Allow { edited_input: Some(edited) };
    session.answer(vec![answer(&seen, "call-1", "Bash", body)]).await?.expect(&SliceOutcome::Finished)?;
    check(world.file("a.txt").is_none(), || "it ran as it was".to_owned())?;
    check(world.file("b.txt").as_deref() == Some("edited\n"), || format!("{:?}", world.file("b.txt")))
}

pub(crate) fn question(id: &str) -> Step {
    let option = |label: &str| json!({"label": label, "description": label});
    let question = json!({"question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [option("Blue"), option("Red")]});
    Step::tool(id, "AskUserQuestion", json!({"questions": [question]}))
}

pub(crate) fn blue() -> AnswerBody {
    AnswerBody::Result { output: r#"{"answers":{"Which colour?":"Blue"}}"#.to_owned(), is_error: false }
}

async fn a_question(world: World) -> Outcome {
    world.script([Reply::new([question("call-1")]), Reply::text("Blue it is.")]);
    let session = world.start(None).await?;
    let seen = session.prompt("go").await?.expect(&SliceOutcome::Paused)?;
    let available = seen.all("tool-input-available");
    check(available.len() == 1 && available[0].get("providerExecuted").is_none(), || format!("{:?}", seen.chunks))?;
    check(seen.all("tool-approval-request").is_empty(), || format!("{:?}", seen.chunks))?;
    let answers = vec![answer(&seen, "call-1", "AskUserQuestion", blue())];
    let done = session.answer(answers).await?.expect(&SliceOutcome::Finished)?;
    check(done.text() == "Blue it is." && done.all("tool-output-available").is_empty(), || {
        format!("{:?}", done.chunks)
    })?;
    let read = world.read_by_model("call-1").unwrap_or_default();
    check(read.contains("Blue"), || format!("the model read {read:?}"))
}

async fn two_gated_calls_in_one_message(world: World) -> Outcome {
    world.script([Reply::new([write("call-1", "a.txt"), write("call-2", "b.txt")]), Reply::text("Done.")]);
    let session = world.start(None).await?;
    let mut seen = session.prompt("go").await?.expect(&SliceOutcome::Paused)?;
    let calls = ["call-1", "call-2"];
    let inputs = calls.map(|call| answer(&seen, call, "Bash", allow()));
    for at in 0..2 {
        let asked = seen.all("tool-approval-request");
        check(asked.len() == 1 && asked[0]["toolCallId"] == calls[at], || format!("{:?}", seen.chunks))?;
        seen = session.answer(vec![inputs[at].clone()]).await?;
    }
    let seen = seen.expect(&SliceOutcome::Finished)?;
    check(seen.text() == "Done.", || seen.text())?;
    let files = (world.file("a.txt"), world.file("b.txt"));
    check(files == (Some("ran\n".into()), Some("ran\n".into())), || format!("{files:?}"))
}

async fn two_sessions_at_once(world: World) -> Outcome {
    world.script([Reply::text("for one").when_last("ALPHA"), Reply::text("for two").when_last("BETA")]);
    let (one, two) = tokio::join!(world.start(None), world.start(None));
    let (one, two) = (one?, two?);
    let (one, two) = tokio::join!(one.prompt("ALPHA"), two.prompt("BETA"));
    let texts = (one?.text(), two?.text());
    check(texts == ("for one".into(), "for two".into()), || format!("the sessions were mixed up: {texts:?}"))
}

async fn another_model_from_a_turn_on(world: World) -> Outcome {
    world.script([Reply::text("a"), Reply::text("b"), Reply::text("c")]);
    let session = world.start(None).await?;
    session.prompt("a").await?.expect(&SliceOutcome::Finished)?;
    let mut prompt = prompt_of("b");
    prompt.model = Some("claude-haiku-4-5".to_owned());
    session.begin_prompt(prompt).finish().await?.expect(&SliceOutcome::Finished)?;
    session.prompt("c").await?.expect(&SliceOutcome::Finished)?;
    let models = world.server.main_requests(&world.name).into_iter().map(|request| request.model).collect::<Vec<_>>();
    check(models[0] != models[1] && models[1..] == ["claude-haiku-4-5", "claude-haiku-4-5"], || format!("{models:?}"))
}

fn prompt_of(text: &str) -> tackroom::ports::Prompt {
    let id = uuid::Uuid::new_v4().to_string();
    tackroom::ports::Prompt { turn: "turn".into(), id, text: text.into(), files: Vec::new(), model: None }
}

async fn mcp_servers_and_a_working_directory(mut world: World) -> Outcome {
    std::fs::create_dir_all(world.directory.join("work/inner")).map_err(|error| error.to_string())?;
    world.settings.working_directory = Some("inner".into());
    let says = world.directory.join("work/mcp-started.txt");
    let server = json!({"command": "/bin/sh", "args": ["-c", format!("echo yes > {}", says.display())]});
    world.settings.mcp_servers = Some(json!({ "files": server }).to_string());
    world.script([Reply::new([write("call-1", "a.txt")]), Reply::text("Done.")]);
    let session = world.start(None).await?;
    let seen = session.prompt("go").await?.expect(&SliceOutcome::Paused)?;
    session.answer(vec![answer(&seen, "call-1", "Bash", allow())]).await?.expect(&SliceOutcome::Finished)?;
    check(world.file("inner/a.txt").is_some(), || "it ran elsewhere".to_owned())?;
    check(world.file("mcp-started.txt").is_some(), || "the MCP server was not started".to_owned())
}

async fn a_plan_approved(mut world: World) -> Outcome {
    world.settings.permission_mode = Some("plan".into());
    let plan = Step::tool("call-1", "ExitPlanMode", json!({"plan": "1. Write."}));
    world.script([Reply::new([plan]), Reply::text("On it.")]);
    let session = world.start(None).await?;
    let seen = session.prompt("go").await?.expect(&SliceOutcome::Paused)?;
    check(seen.all("tool-approval-request").len() == 1, || format!("{:?}", seen.chunks))?;
    let answers = vec![answer(&seen, "call-1", "ExitPlanMode", allow())];
    let done = session.answer(answers).await?.expect(&SliceOutcome::Finished)?;
    let read = world.read_by_model("call-1").unwrap_or_default();
    check(read.contains("approved"), || format!("the model read {read:?} and {:?}", done.chunks))
}

async fn no_approvals_when_bypassed(mut world: World) -> Outcome {
    world.settings.permission_mode = Some("bypassPermissions".into());
    world.script([Reply::new([write("call-1", "a.txt")]), Reply::text("Done.")]);
    let session = world.start(None).await?;
    let seen = session.prompt("go").await?.expect(&SliceOutcome::Finished)?;
    check(seen.all("tool-approval-request").is_empty(), || format!("{:?}", seen.chunks))?;
    check(world.file("a.txt").as_deref() == Some("ran\n"), || format!("{:?}", world.file("a.txt")))
}
