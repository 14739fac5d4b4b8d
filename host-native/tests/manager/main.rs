//! The session manager on fakes of its three ports: what callers see in good times and in bad ones.

mod approvals;
mod faults;
mod lifecycle;
mod readers;
mod support;
mod turns;
