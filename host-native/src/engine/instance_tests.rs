//! An instance steps, and is dead after a fault.

use super::*;
use crate::engine::types::{Limits, limits};

fn config() -> Config {
    Config {
        epoch: "epoch".into(),
        owner: "host".into(),
        capacity: None,
        approver: false,
        idle_timeout_ms: None,
        close_suspended_after_ms: None,
        turn_timeout_ms: None,
        suspend_idle_when_full: true,
        suspend_waiting_when_full: false,
        limits: Limits::default(),
    }
}

const NOW: Now = Now { wall_ms: 1_700_000_000_000, monotonic_ms: 1 };

#[test]
fn instances_of_one_component_are_apart() {
    let compiled = CompiledEngine::load(&Cache::none()).unwrap();
    let mut first = compiled.instance(&config()).unwrap();
    let mut second = compiled.instance(&config()).unwrap();
    let step = first.step(NOW, &Input::Start).unwrap();
    assert_eq!(step, second.step(NOW, &Input::Start).unwrap());
    assert_eq!(first.check().unwrap(), Ok(()));
    assert_eq!(first.summary("nobody").unwrap(), None);
}

#[test]
fn a_fault_ends_the_instance_and_leaves_the_code_usable() {
    let compiled = CompiledEngine::load(&Cache::none()).unwrap();
    let mut instance = compiled.instance(&config()).unwrap();
    // The contract has `init` called once: a second call is a broken invariant, the only one that a test can cause.
    let fault = instance.call("init", |machine, store| machine.call_init(store, &config())).unwrap_err();
    assert_eq!(fault.function, "init");
    assert_eq!(instance.step(NOW, &Input::Tick).unwrap_err(), fault);
    assert!(compiled.instance(&config()).unwrap().step(NOW, &Input::Tick).is_ok());
}
