//! Text and reasoning: parts that open under an id, grow, and close.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::string::String;

use super::WRITTEN;
use crate::json::Json;
use crate::transcript::error::{Applied, FoldError};
use crate::transcript::fields::{Part, Value};
use crate::transcript::message::Message;
use crate::transcript::piece::Piece;
use crate::transcript::reader::Reader;

/// Text and reasoning have ids of their own each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Text,
    Reasoning,
}

impl Flow {
    fn delta(self) -> &'static str {
        match self {
            Self::Text => "text-delta",
            Self::Reasoning => "reasoning-delta",
        }
    }

    pub(crate) fn end(self) -> &'static str {
        match self {
            Self::Text => "text-end",
            Self::Reasoning => "reasoning-end",
        }
    }

    pub(crate) fn start(self) -> &'static str {
        match self {
            Self::Text => "text-start",
            Self::Reasoning => "reasoning-start",
        }
    }
}

impl Message {
    /// The parts that are open, by their ids.
    pub(crate) fn open(&mut self, flow: Flow) -> &mut BTreeMap<String, usize> {
        match flow {
            Flow::Text => &mut self.open_text,
            Flow::Reasoning => &mut self.open_reasoning,
        }
    }

    pub(super) fn flow_start(&mut self, flow: Flow, chunk: &Reader<'_>) -> Result<Applied, FoldError> {
        let id = chunk.id("id")?;
        let metadata = chunk.provider_metadata()?;
        self.room_for_part()?;
        let mut part = match flow {
            Flow::Text => Part::new("text"),
            Flow::Reasoning => Part::new("reasoning"),
        };
        if flow == Flow::Reasoning {
            part.fields.set("id", chunk.string("id")?);
        }
        part.fields.set("text", Value::text(""));
        part.fields.set("providerMetadata", metadata);
        part.set_state("streaming");
        let at = self.push(part);
        self.open(flow).insert(id, at);
        Ok(WRITTEN)
    }

    pub(super) fn flow_delta_json(&mut self, flow: Flow, chunk: &Reader<'_>) -> Result<Applied, FoldError> {
        let metadata = chunk.provider_metadata()?;
        self.flow_delta(flow, &chunk.id("id")?, &chunk.piece("delta")?, metadata)
    }

    pub(super) fn flow_delta(
        &mut self,
        flow: Flow,
        id: &str,
        piece: &Piece,
        metadata: Option<Json>,
    ) -> Result<Applied, FoldError> {
        let at = self.open(flow).get(id).copied();
        let at = at.ok_or_else(|| FoldError::NotOpen(flow.delta(), id.to_owned()))?;
        if let Some(Value::Text(text)) = self.parts[at].fields.get_mut("text") {
            let before = text.bytes();
            text.push(piece);
            self.bytes = self.bytes + text.bytes() - before;
        }
        if metadata.is_some() {
            self.change(at, |part| part.fields.set("providerMetadata", metadata));
        }
        Ok(WRITTEN)
    }

    pub(super) fn flow_end(&mut self, flow: Flow, chunk: &Reader<'_>) -> Result<Applied, FoldError> {
        let id = chunk.id("id")?;
        let metadata = chunk.provider_metadata()?;
        let at = self.open(flow).remove(&id).ok_or_else(|| FoldError::NotOpen(flow.end(), id))?;
        self.change(at, |part| {
            if let Some(Value::Text(text)) = part.fields.get_mut("text") {
                text.close();
            }
            part.fields.set_some("providerMetadata", metadata.as_ref());
            part.set_state("done");
        });
        Ok(WRITTEN)
    }
}
