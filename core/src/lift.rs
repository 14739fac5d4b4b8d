//! Lets the component's bindings use the engine's own types. Those read an enum by its number, through a function of
//! this name, where records and variants need nothing.

use crate::event::StreamEnd;
use crate::input::{FailureKind, WhenBusy};
use crate::record::{PendingKind, Status, Stopping};

macro_rules! lift {
    ($($name:ident { $first:ident $(, $case:ident)* })+) => {
        $(impl $name {
            /// The case of this number; the first where there is none.
            #[doc(hidden)]
            #[must_use]
            pub fn _lift(number: u8) -> Self {
                const CASES: &[$name] = &[$name::$first $(, $name::$case)*];
                CASES.get(usize::from(number)).copied().unwrap_or($name::$first)
            }
        })+
    };
}

lift! {
    StreamEnd { Finished, Paused, Failed, Interrupted }
    WhenBusy { Reject, Queue, Steer }
    FailureKind { Unavailable, Broken, Exists, Stale, Fenced, Held, Capacity, Gone, Other }
    Status { Preparing, Idle, Busy, AwaitingInput, Suspended, Closed, Failed, Interrupted }
    PendingKind { Approval, Result }
    Stopping { Interrupt, Suspend, Close, Delete }
}
