//! An instance steps, and is dead after a fault.

use super::*;

fn config(compiled: &CompiledEngine) -> Config {
    Config { epoch: "epoch".into(), owner: "host".into(), ..compiled.default_config().unwrap() }
}

const NOW: Now = Now { wall_ms: 1_700_000_000_000, monotonic_ms: 1 };

#[test]
fn instances_of_one_component_are_apart() {
    let compiled = CompiledEngine::load(&Cache::none()).unwrap();
    let mut first = compiled.instance(&config(&compiled)).unwrap();
    let mut second = compiled.instance(&config(&compiled)).unwrap();
    let step = first.step(NOW, &Input::Start).unwrap();
    assert_eq!(step, second.step(NOW, &Input::Start).unwrap());
    assert_eq!(first.check().unwrap(), Ok(()));
    assert_eq!(first.summary("nobody").unwrap(), None);
}

#[test]
fn a_fault_ends_the_instance_and_leaves_the_code_usable() {
    let compiled = CompiledEngine::load(&Cache::none()).unwrap();
    let mut instance = compiled.instance(&config(&compiled)).unwrap();
    // The contract has `init` called once: a second call is a broken invariant, the only one that a test can cause.
    let fault = instance.call("init", |machine, store| machine.call_init(store, &config(&compiled))).unwrap_err();
    assert_eq!(fault.function, "init");
    assert_eq!(instance.step(NOW, &Input::Tick).unwrap_err(), fault);
    assert!(compiled.instance(&config(&compiled)).unwrap().step(NOW, &Input::Tick).is_ok());
}
