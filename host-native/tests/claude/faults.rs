//! What goes wrong: interrupts, model errors, stalls, deaths.

use std::time::{Duration, Instant};

use serde_json::json;
use tackroom::agents::claude::ClaudeOptions;
use tackroom::ports::SliceOutcome;
use tackroom_model_server::{Reply, Step, refused_url};

use crate::cases::{check, write};
use crate::world::{PATIENCE, Seen, Session, World};
use crate::{Case, case};

type Outcome = Result<(), String>;

pub(crate) fn all() -> Vec<Case> {
    vec![
        case!(interrupted_in_mid_stream),
        case!(interrupted_in_mid_tool),
        case!(model_error_401),
        case!(model_error_429),
        case!(model_error_500),
        case!(model_error_529),
        case!(model_refuses_connections),
        case!(model_cuts_the_stream),
        case!(model_stalls_in_mid_stream),
        case!(model_stalls_before_headers),
        case!(killed_while_idle),
        case!(killed_in_mid_stream),
        case!(a_session_id_never_written),
        case!(stopped_in_mid_tool),
        case!(destroyed_in_mid_tool),
        case!(handle_dropped_in_mid_tool),
        case!(a_missing_program),
        case!(a_program_that_says_nothing),
    ]
}

/// A tool that runs until it is ended.
fn endless(id: &str) -> Step {
    Step::tool(id, "Bash", json!({"command": "echo started > started.txt; while :; do sleep 1; done"}))
}

fn bypassing(mut world: World) -> World {
    world.settings.permission_mode = Some("bypassPermissions".into());
    world
}

async fn until_started(world: &World) -> Outcome {
    let began = Instant::now();
    while world.file("started.txt").is_none() {
        check(began.elapsed() < PATIENCE, || "the tool never ran".to_owned())?;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

async fn next_is_well(world: &World, session: &Session) -> Result<Seen, String> {
    world.script([Reply::text("Well.")]);
    let next = session.prompt("next").await?.expect(&SliceOutcome::Finished)?;
    check(next.text() == "Well.", || format!("{:?}", next.chunks))?;
    Ok(next)
}

async fn interrupted_in_mid_stream(world: World) -> Outcome {
    world.script([Reply::new([Step::Text { text: "on and on ".repeat(200), chunk: 4, delay_ms: 50 }])]);
    let session = world.start(None).await?;
    let mut running = session.begin("go", &uuid::Uuid::new_v4().to_string());
    running.until("text-delta").await?;
    let began = Instant::now();
    session.agent.interrupt().await.map_err(|error| error.to_string())?;
    let seen = running.finish().await?.expect(&SliceOutcome::Interrupted)?;
    check(began.elapsed() < Duration::from_secs(5), || format!("it took {:?}", began.elapsed()))?;
    check(seen.kinds().ends_with(&["text-end", "abort"]), || format!("{:?}", seen.kinds()))?;
    next_is_well(&world, &session).await.map(|_| ())
}

async fn interrupted_in_mid_tool(world: World) -> Outcome {
    let world = bypassing(world);
    world.script([Reply::new([endless("call-1")])]);
    let session = world.start(None).await?;
    let running = session.begin("go", &uuid::Uuid::new_v4().to_string());
    until_started(&world).await?;
    session.agent.interrupt().await.map_err(|error| error.to_string())?;
    running.finish().await?.expect(&SliceOutcome::Interrupted)?;
    next_is_well(&world, &session).await.map(|_| ())
}

async fn fails(world: &World, session: &Session, words: &str) -> Outcome {
    let began = Instant::now();
    let seen = session.prompt("go").await?;
    let SliceOutcome::Failed { message, alive: true } = &seen.end.outcome else {
        return Err(format!("it did not fail: {:?}", seen.end));
    };
    check(message.contains(words) && !message.contains("sk-ant"), || message.clone())?;
    check(began.elapsed() < Duration::from_mins(1), || format!("it took {:?}", began.elapsed()))?;
    let errors = seen.all("error");
    check(errors.len() == 1 && errors[0]["errorText"] == message.as_str(), || format!("{:?}", seen.chunks))?;
    check(!seen.text().contains("API Error"), || "the error is shown as text, too".to_owned())?;
    next_is_well(world, session).await.map(|_| ())
}

async fn model_error(world: World, status: u16) -> Outcome {
    world.script([Reply::error(status)]);
    let session = world.start(None).await?;
    fails(&world, &session, &status.to_string()).await
}

async fn model_error_401(world: World) -> Outcome {
    model_error(world, 401).await
}

async fn model_error_429(world: World) -> Outcome {
    model_error(world, 429).await
}

async fn model_error_500(world: World) -> Outcome {
    model_error(world, 500).await
}

async fn model_error_529(world: World) -> Outcome {
    model_error(world, 529).await
}

async fn model_refuses_connections(mut world: World) -> Outcome {
    let url = refused_url().await.map_err(|error| error.to_string())?;
    world.options = world.options.clone().base_url(url);
    let session = world.start(None).await?;
    let seen = session.prompt("go").await?;
    let failed =
        matches!(&seen.end.outcome, SliceOutcome::Failed { alive: true, message } if message.contains("onnect"));
    check(failed, || format!("{:?}", seen.end))
}

async fn model_cuts_the_stream(world: World) -> Outcome {
    world.script([Reply::new([Step::text("part"), Step::Drop]).repeated()]);
    let session = world.start(None).await?;
    fails(&world, &session, "").await
}

async fn model_stalls_in_mid_stream(mut world: World) -> Outcome {
    world.options = world.options.clone().silence(Duration::from_secs(4));
    world.script([Reply::new([Step::text("part"), Step::Stall]).repeated()]);
    let session = world.start(None).await?;
    fails(&world, &session, "no sign of life for 4 seconds").await
}

async fn model_stalls_before_headers(mut world: World) -> Outcome {
    world.options = world.options.clone().silence(Duration::from_secs(4));
    world.script([Reply::new([Step::Stall]).repeated()]);
    let session = world.start(None).await?;
    fails(&world, &session, "no sign of life for 4 seconds").await
}

async fn killed_while_idle(world: World) -> Outcome {
    world.script([Reply::text("One.")]);
    let session = world.start(None).await?;
    session.prompt("one").await?.expect(&SliceOutcome::Finished)?;
    // The older version writes a turn down a little after it says that it is over.
    let began = Instant::now();
    while !world.is_written_down("One.") {
        check(began.elapsed() < PATIENCE, || "the turn was never written down".to_owned())?;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.crash().await;
    let next = next_is_well(&world, &session).await?;
    check(next.all("data-tackroom-notice").is_empty(), || format!("{:?}", next.chunks))?;
    let texts = &world.server.main_requests(&world.name)[0].user_texts;
    check(texts.iter().any(|text| text.contains("one")), || format!("the conversation was lost: {texts:?}"))
}

async fn killed_in_mid_stream(world: World) -> Outcome {
    world.script([Reply::new([Step::text("part"), Step::Stall])]);
    let session = world.start(None).await?;
    let mut running = session.begin("go", &uuid::Uuid::new_v4().to_string());
    running.until("text-delta").await?;
    world.crash().await;
    let seen = running.finish().await?;
    let failed =
        matches!(&seen.end.outcome, SliceOutcome::Failed { message, alive: true } if message.contains("signal 9"));
    check(failed, || format!("{:?}", seen.end))?;
    next_is_well(&world, &session).await.map(|_| ())
}

async fn a_session_id_never_written(world: World) -> Outcome {
    world.script([]);
    let session = world.start(None).await?;
    let resume = session.resume.clone();
    world.crash().await;
    drop(session);
    let session = world.start(Some(resume.clone())).await?;
    let next = next_is_well(&world, &session).await?;
    check(next.all("data-tackroom-notice").len() == 1, || format!("{:?}", next.chunks))?;
    session.agent.stop().await.map_err(|error| error.to_string())?;
    let session = world.start(Some(resume)).await?;
    let again = next_is_well(&world, &session).await?;
    check(again.all("data-tackroom-notice").is_empty(), || format!("{:?}", again.chunks))
}

async fn stopped_in_mid_tool(world: World) -> Outcome {
    let world = bypassing(world);
    world.script([Reply::new([endless("call-1")])]);
    let session = world.start(None).await?;
    let running = session.begin("go", &uuid::Uuid::new_v4().to_string());
    until_started(&world).await?;
    let resume = session.agent.stop().await.map_err(|error| error.to_string())?;
    check(world.is_empty().await, || "it left a process".to_owned())?;
    running.finish().await?.expect(&SliceOutcome::Interrupted)?;
    let session = world.start(resume).await?;
    next_is_well(&world, &session).await.map(|_| ())
}

async fn destroyed_in_mid_tool(world: World) -> Outcome {
    let world = bypassing(world);
    world.script([Reply::new([endless("call-1")])]);
    let session = world.start(None).await?;
    let running = session.begin("go", &uuid::Uuid::new_v4().to_string());
    until_started(&world).await?;
    session.agent.destroy().await;
    check(world.is_empty().await, || "it left a process".to_owned())?;
    let seen = running.finish().await?;
    check(matches!(seen.end.outcome, SliceOutcome::Failed { alive: false, .. }), || format!("{:?}", seen.end))
}

async fn handle_dropped_in_mid_tool(world: World) -> Outcome {
    let world = bypassing(world);
    world.script([Reply::new([endless("call-1")])]);
    let session = world.start(None).await?;
    let running = session.begin("go", &uuid::Uuid::new_v4().to_string());
    until_started(&world).await?;
    running.abandon().await;
    drop(session);
    check(world.is_empty().await, || "it left a process".to_owned())
}

async fn a_missing_program(mut world: World) -> Outcome {
    world.options = ClaudeOptions::new("/no/such/claude");
    match world.start(None).await {
        Err(words) => check(words.contains("/no/such/claude") && words.contains("Install"), || words.clone()),
        Ok(_) => Err("it started".to_owned()),
    }
}

async fn a_program_that_says_nothing(mut world: World) -> Outcome {
    let script = world.directory.join("silent.sh");
    std::fs::write(&script, "#!/bin/sh\nsleep 100 & wait\n").map_err(|error| error.to_string())?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).map_err(|error| error.to_string())?;
    world.options = ClaudeOptions::new(script.to_string_lossy()).start(Duration::from_secs(1));
    world.script([Reply::new([write("call-1", "a.txt")])]);
    match world.start(None).await {
        Err(words) => check(words.contains("within 1 seconds"), || words.clone()),
        Ok(_) => Err("it started".to_owned()),
    }
}
