//! Fakes of the ports with faults to order, so that applications and this crate can test what happens when a store, a
//! sandbox or an agent fails, hangs, answers late or lies.

mod fake_agent;
mod fake_process;
mod fake_sandboxes;
mod orders;

pub use fake_agent::{AgentOp, FakeAgent, FakeSlice};
pub use fake_sandboxes::{FakeRun, FakeSandboxes, SandboxOp};
