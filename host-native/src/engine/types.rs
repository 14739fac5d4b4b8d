//! The types of the contract under the names that the rest of the host uses. Their JSON form is the canonical one: it
//! is what journals hold.

use super::bindings::exports::tackroom::engine as contract;

pub use contract::{effect, event, input, limits, rejection, session, step, time, transcript, view};

pub use effect::{Effect, EffectBody};
pub use event::Event;
pub use input::{Command, CommandBody, Completed, Input, Outcome};
pub use limits::{Config, Limits};
pub use rejection::Rejection;
pub use session::{Status, Summary};
pub use step::{Pushed, Step};
pub use time::Now;
pub use transcript::{Chunk, Piece};
pub use view::{LiveMessage, Rebuilt, Stats};
