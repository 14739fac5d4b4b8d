//! The assistant's message, made of the chunks of a UI message stream exactly as the `ai` npm package makes it.
//!
//! [`Message::apply`] folds chunks; [`mend`] says what a chunk needs before it can be folded and forwarded; [`settle`]
//! makes a message fit to be kept; [`unfold`] turns a message back into chunks. What the package would keep as half of
//! a surrogate pair is kept as U+FFFD; all other text passes through unchanged.

mod chunk;
mod error;
mod fields;
mod fold;
mod load;
mod mend;
mod merge;
mod message;
mod partial_json;
mod piece;
mod reader;
mod settle;
mod tool;
mod unfold;
mod validity;

pub use chunk::{Chunk, ChunkError};
pub use error::{Applied, FoldError, MessageError, Reach};
pub use mend::{Mend, mend};
pub use message::{Bounds, Message, Role};
pub use piece::Piece;
pub use settle::{Ending, settle};
pub use tool::{Approval, ToolPart, ToolState};
pub use unfold::unfold;
