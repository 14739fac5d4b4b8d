//! How large the component is, and how soon after a start it takes its first step.

use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tackroom::engine::{COMPONENT, Cache, CompiledEngine, types};

use super::Ground;
use crate::child;
use crate::report::{Goal, MS, Row, Unit};
use crate::sample::Samples;

/// The measurement in a process of its own.
pub(super) const CHILD: &str = "start";
const GROUP: &str = "the component's size and start";

fn first_step(cache: &Cache) -> Result<()> {
    let compiled = CompiledEngine::load(cache)?;
    let mut instance = compiled.instance(&compiled.default_config()?)?;
    let now = types::Now { wall_ms: 1_700_000_000_000, monotonic_ms: 1 };
    let step = instance.step(now, &types::Input::Start)?;
    step.map(drop).map_err(|rejection| anyhow::anyhow!("The first step was refused: {rejection:?}"))
}

/// Takes the first step in a process that has done nothing else.
pub(super) fn in_child(arguments: &[String]) -> Result<Value> {
    let cache = Cache::at(arguments.first().context("The cache's directory has to be named.")?);
    let start = Instant::now();
    first_step(&cache)?;
    let ns = start.elapsed().as_secs_f64() * 1e9;
    Ok(json!({ "ns": ns }))
}

/// The rows.
pub(super) fn measure(ground: &Ground) -> Result<Vec<Row>> {
    let bytes = f64::from(u32::try_from(COMPONENT.len())?);
    let size = Row::one(GROUP, "component", Unit::Bytes, bytes).map(|row| row.goal(Goal::MedianBelow(500e3)));

    let start = Instant::now();
    first_step(&Cache::none())?;
    let mut compiled = Samples::default();
    compiled.time(start.elapsed());
    first_step(&Cache::at(ground.cache()))?;

    let cache = ground.cache();
    let directory = cache.to_str().context("The directory's name has to be UTF-8.")?;
    let mut fresh = Samples::default();
    for _ in 0..ground.count(20, 2) {
        fresh.value(child::number(&child::run(CHILD, &[directory])?, "ns")?);
    }
    let fresh = Row::times(GROUP, "first step in a fresh process, with the cache", &fresh);
    let fresh = fresh.map(|row| row.goal(Goal::MedianBelow(5.0 * MS)));
    let compiled = Row::times(GROUP, "first step without a cache", &compiled);
    Ok([size, fresh, compiled].into_iter().flatten().collect())
}
