//! What applications need to test against tackroom's ports: a suite that every store has to pass, and fakes with faults to
//! order, so that it can be seen what happens when a store, a sandbox or an agent fails, hangs, answers late or lies.

mod clock;
mod fake_agent;
mod fake_process;
mod fake_sandboxes;
mod faulty_store;
mod orders;
mod store_conformance;

pub use clock::TestClock;
pub use fake_agent::{AgentOp, FakeAgent, FakeSlice};
pub use fake_sandboxes::{FakeRun, FakeSandboxes, SandboxOp};
pub use faulty_store::{FaultyStore, StoreOp};
pub use store_conformance::{conformance, sample_save};
