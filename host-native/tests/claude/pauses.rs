//! Pauses that outlive their process: deferred, killed, given up, answered later.

use std::time::Duration;

use serde_json::json;
use tackroom::ports::{AnswerBody, SliceOutcome};
use tackroom_model_server::{Reply, Step};

use crate::cases::{blue, check, question, write};
use crate::world::{Seen, Session, World, allow, answer, deny};
use crate::{Case, case};

type Outcome = Result<(), String>;

/// Long enough for a pause to be seen open, short enough to wait for.
const SHORT_HOLD: Duration = Duration::from_millis(400);

pub(crate) fn all() -> Vec<Case> {
    vec![
        case!(deferred_then_allowed_in_a_new_process),
        case!(deferred_then_allowed_by_the_same_session),
        case!(deferred_then_denied),
        case!(deferred_then_allowed_with_edited_input),
        case!(a_question_deferred),
        case!(stopped_while_paused),
        case!(killed_with_an_ask_open_then_told_in_words),
        case!(killed_again_after_a_deferral),
        case!(parallel_calls_held_and_deferred),
        case!(a_subagents_call_held),
        case!(a_second_call_behind_a_deferred_one),
        case!(killed_after_an_allowed_call_ran),
        case!(a_pause_given_up_while_held),
        case!(a_pause_given_up_after_its_deferral),
    ]
}

/// Pauses on one call and waits until it was deferred and the process let go.
async fn defer(world: &mut World, step: Step) -> Result<(Session, Seen), String> {
    world.options = world.options.clone().hold(SHORT_HOLD);
    world.script([Reply::new([step]), Reply::text("Done.")]);
    let mut session = world.start(None).await?;
    let seen = session.prompt("go").await?.expect(&SliceOutcome::Paused)?;
    session.resume = session.checkpoint().await?;
    check(world.is_empty().await, || "the process was not let go".to_owned())?;
    Ok((session, seen))
}

async fn deferred_then_allowed_in_a_new_process(mut world: World) -> Outcome {
    let (session, seen) = defer(&mut world, write("call-1", "a.txt")).await?;
    let resume = session.resume.clone();
    drop(session);
    let session = world.start(Some(resume)).await?;
    let done = session.answer(vec![answer(&seen, "call-1", "Bash", allow())]).await?.expect(&SliceOutcome::Finished)?;
    check(done.end.not_taken.is_empty() && done.text() == "Done.", || format!("{done:?}"))?;
    check(done.all("tool-output-available").len() == 1, || format!("{:?}", done.chunks))?;
    check(done.end.usage.cost_micro_usd > 0, || format!("{:?}", done.end.usage))?;
    check(world.file("a.txt").as_deref() == Some("ran\n"), || format!("{:?}", world.file("a.txt")))
}

async fn deferred_then_allowed_by_the_same_session(mut world: World) -> Outcome {
    let (session, seen) = defer(&mut world, write("call-1", "a.txt")).await?;
    session.answer(vec![answer(&seen, "call-1", "Bash", allow())]).await?.expect(&SliceOutcome::Finished)?;
    check(world.file("a.txt").as_deref() == Some("ran\n"), || format!("{:?}", world.file("a.txt")))?;
    world.script([Reply::text("Next.")]);
    let next = session.prompt("next").await?.expect(&SliceOutcome::Finished)?;
    check(next.text() == "Next.", || next.text())
}

async fn deferred_then_denied(mut world: World) -> Outcome {
    let (session, seen) = defer(&mut world, write("call-1", "a.txt")).await?;
    let body = deny("not today");
    let done = session.answer(vec![answer(&seen, "call-1", "Bash", body)]).await?.expect(&SliceOutcome::Finished)?;
    let read = world.read_by_model("call-1").unwrap_or_default();
    check(read.contains("not today"), || format!("the model read {read:?}"))?;
    check(done.all("tool-output-denied").len() == 1, || format!("{:?}", done.chunks))?;
    check(world.file("a.txt").is_none(), || "it ran".to_owned())
}

async fn deferred_then_allowed_with_edited_input(mut world: World) -> Outcome {
    let (session, seen) = defer(&mut world, write("call-1", "a.txt")).await?;
    let body = AnswerBody::Allow { edited_input: Some(json!({"command": "echo edited >> b.txt"}).to_string()) };
    session.answer(vec![answer(&seen, "call-1", "Bash", body)]).await?.expect(&SliceOutcome::Finished)?;
    check(world.file("a.txt").is_none(), || "it ran as it was".to_owned())?;
    check(world.file("b.txt").as_deref() == Some("edited\n"), || format!("{:?}", world.file("b.txt")))
}

async fn a_question_deferred(mut world: World) -> Outcome {
    let (session, seen) = defer(&mut world, question("call-1")).await?;
    let answers = vec![answer(&seen, "call-1", "AskUserQuestion", blue())];
    session.answer(answers).await?.expect(&SliceOutcome::Finished)?;
    let read = world.read_by_model("call-1").unwrap_or_default();
    check(read.contains("Blue"), || format!("the model read {read:?}"))
}

async fn stopped_while_paused(world: World) -> Outcome {
    world.script([Reply::new([write("call-1", "a.txt")]), Reply::text("Done.")]);
    let session = world.start(None).await?;
    let seen = session.prompt("go").await?.expect(&SliceOutcome::Paused)?;
    let resume = session.agent.stop().await.map_err(|error| error.to_string())?;
    check(world.is_empty().await, || "a stopped agent left a process".to_owned())?;
    let session = world.start(resume).await?;
    let done = session.answer(vec![answer(&seen, "call-1", "Bash", allow())]).await?.expect(&SliceOutcome::Finished)?;
    check(done.end.not_taken.is_empty(), || format!("{:?}", done.end))?;
    check(world.file("a.txt").as_deref() == Some("ran\n"), || format!("{:?}", world.file("a.txt")))
}

async fn killed_with_an_ask_open_then_told_in_words(world: World) -> Outcome {
    world.script([Reply::new([write("call-1", "a.txt")]), Reply::text("Understood.")]);
    let session = world.start(None).await?;
    let seen = session.prompt("go").await?.expect(&SliceOutcome::Paused)?;
    let resume = seen.end.resume.clone();
    world.crash().await;
    drop(session);
    let session = world.start(resume).await?;
    let done = session.answer(vec![answer(&seen, "call-1", "Bash", allow())]).await?.expect(&SliceOutcome::Finished)?;
    check(done.end.not_taken == ["call-1"] && done.text() == "Understood.", || format!("{done:?}"))?;
    let requests = world.server.main_requests(&world.name);
    let told = requests.last().is_some_and(|request| request.last.contains("ANSWERED IN WORDS"));
    check(told, || format!("the model was not told: {:?}", requests.last().map(|request| &request.last)))?;
    check(world.file("a.txt").is_none(), || "it ran".to_owned())
}

async fn killed_again_after_a_deferral(mut world: World) -> Outcome {
    let (session, seen) = defer(&mut world, write("call-1", "a.txt")).await?;
    let resume = session.resume.clone();
    drop(session);
    let answers = vec![answer(&seen, "call-1", "Bash", allow())];
    for _ in 0..2 {
        // A host that came back and died before anyone answered.
        let session = world.start(Some(resume.clone())).await?;
        drop(session);
    }
    let session = world.start(Some(resume)).await?;
    let done = session.answer(answers).await?.expect(&SliceOutcome::Finished)?;
    check(done.end.not_taken.is_empty(), || format!("{:?}", done.end))?;
    check(world.file("a.txt").as_deref() == Some("ran\n"), || format!("{:?}", world.file("a.txt")))
}

async fn parallel_calls_held_and_deferred(mut world: World) -> Outcome {
    world.options = world.options.clone().hold(SHORT_HOLD);
    let fetch = |id: &str| Step::tool(id, "WebFetch", json!({"url": "http://127.0.0.1:9/", "prompt": id}));
    world.script([Reply::new([fetch("call-1"), fetch("call-2")]), Reply::text("Done.")]);
    let mut session = world.start(None).await?;
    let seen = session.prompt("go").await?.expect(&SliceOutcome::Paused)?;
    check(seen.all("tool-approval-request").len() == 2, || format!("{:?}", seen.chunks))?;
    session.checkpoint().await?;
    let answers = ["call-1", "call-2"].map(|call| answer(&seen, call, "WebFetch", deny("no network")));
    let done = session.answer(answers.to_vec()).await?.expect(&SliceOutcome::Finished)?;
    check(done.end.not_taken.len() == 1, || format!("{:?}", done.end))?;
    let kept = ["call-1", "call-2"].map(|call| world.read_by_model(call).unwrap_or_default());
    let words = |words: &str| kept.iter().filter(|read| read.contains(words)).count();
    check(words("no network") == 1 && words("not decided yet") == 1, || format!("the model read {kept:?}"))
}

async fn a_subagents_call_held(mut world: World) -> Outcome {
    world.options = world.options.clone().hold(SHORT_HOLD);
    let agent = json!({"description": "inner", "prompt": "write", "subagent_type": "general-purpose"});
    world.script([
        Reply::tool("call-1", "Agent", agent),
        Reply::new([write("call-2", "a.txt")]),
        Reply::text("Inner done."),
        Reply::text("Outer done."),
    ]);
    let session = world.start(None).await?;
    let seen = session.prompt("go").await?.expect(&SliceOutcome::Paused)?;
    let asked = seen.all("tool-approval-request");
    check(asked.len() == 1 && asked[0]["toolCallId"] == "call-2", || format!("{:?}", seen.chunks))?;
    // A subagent's call cannot be deferred: it stays open past the hold.
    tokio::time::sleep(SHORT_HOLD * 3).await;
    let done = session.answer(vec![answer(&seen, "call-2", "Bash", allow())]).await?.expect(&SliceOutcome::Finished)?;
    check(done.text() == "Outer done." && done.end.not_taken.is_empty(), || format!("{done:?}"))?;
    check(world.file("a.txt").as_deref() == Some("ran\n"), || format!("{:?}", world.file("a.txt")))
}

async fn a_second_call_behind_a_deferred_one(mut world: World) -> Outcome {
    world.options = world.options.clone().hold(SHORT_HOLD);
    let again = Reply::new([write("call-3", "b.txt")]);
    world.script([Reply::new([write("call-1", "a.txt"), write("call-2", "b.txt")]), again, Reply::text("Done.")]);
    let mut session = world.start(None).await?;
    let seen = session.prompt("go").await?.expect(&SliceOutcome::Paused)?;
    session.resume = session.checkpoint().await?;
    let seen = session.answer(vec![answer(&seen, "call-1", "Bash", allow())]).await?.expect(&SliceOutcome::Paused)?;
    check(world.file("a.txt").as_deref() == Some("ran\n"), || format!("{:?}", world.file("a.txt")))?;
    let second = world.read_by_model("call-2").unwrap_or_default();
    check(second.contains("not decided yet"), || format!("the model read {second:?}"))?;
    let seen = session.answer(vec![answer(&seen, "call-3", "Bash", allow())]).await?.expect(&SliceOutcome::Finished)?;
    check(seen.text() == "Done.", || seen.text())?;
    check(world.file("b.txt").as_deref() == Some("ran\n"), || format!("{:?}", world.file("b.txt")))
}

async fn killed_after_an_allowed_call_ran(mut world: World) -> Outcome {
    let command = "echo ran >> a.txt; while :; do sleep 1; done";
    let (session, seen) = defer(&mut world, Step::tool("call-1", "Bash", json!({"command": command}))).await?;
    let answers = vec![answer(&seen, "call-1", "Bash", allow())];
    let (slice, ()) = tokio::join!(session.answer(answers), async {
        while world.file("a.txt").as_deref() != Some("ran\n") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        world.crash().await;
    });
    let failed = slice?;
    check(matches!(failed.end.outcome, SliceOutcome::Failed { alive: true, .. }), || format!("{:?}", failed.end))?;
    world.script([Reply::text("Next.")]);
    let next = session.prompt("next").await?.expect(&SliceOutcome::Finished)?;
    check(next.text() == "Next.", || format!("{:?}", next.chunks))?;
    check(world.file("a.txt").as_deref() == Some("ran\n"), || format!("{:?}", world.file("a.txt")))
}

async fn a_pause_given_up_while_held(world: World) -> Outcome {
    world.script([Reply::new([write("call-1", "a.txt")]), Reply::text("Next.")]);
    let session = world.start(None).await?;
    session.prompt("go").await?.expect(&SliceOutcome::Paused)?;
    session.agent.interrupt().await.map_err(|error| error.to_string())?;
    next_turn(&world, &session).await
}

async fn a_pause_given_up_after_its_deferral(mut world: World) -> Outcome {
    let (session, _) = defer(&mut world, write("call-1", "a.txt")).await?;
    session.agent.interrupt().await.map_err(|error| error.to_string())?;
    world.script([Reply::text("Next.")]);
    next_turn(&world, &session).await
}

async fn next_turn(world: &World, session: &Session) -> Outcome {
    let next = session.prompt("next").await?.expect(&SliceOutcome::Finished)?;
    check(next.text() == "Next.", || format!("{:?}", next.chunks))?;
    let strays = next.chunks.iter().filter(|chunk| chunk["toolCallId"] == "call-1").count();
    check(strays == 0, || format!("the earlier turn shows in the next: {:?}", next.chunks))?;
    check(world.file("a.txt").is_none(), || "it ran".to_owned())
}
