//! Conversions between the contract's types and the engine's, which have the same shape and stay apart: the contract
//! is frozen per version, the engine is not. Every field and case is named, so that a new one fails to compile here.

mod inward;
mod outward;

use crate::bindings::exports::tackroom::engine as wit;
use tackroom_core as engine;

/// Makes of a value the one that stands for it on the other side.
pub(crate) trait Convert<T> {
    /// The value on the other side.
    fn convert(self) -> T;
}

macro_rules! same_on_both_sides {
    ($($type:ty),+) => {
        $(impl Convert<$type> for $type {
            fn convert(self) -> $type {
                self
            }
        })+
    };
}

same_on_both_sides!(bool, u16, u32, u64, String);

impl<A: Convert<B>, B> Convert<Option<B>> for Option<A> {
    fn convert(self) -> Option<B> {
        self.map(Convert::convert)
    }
}

impl<A: Convert<B>, B> Convert<Vec<B>> for Vec<A> {
    fn convert(self) -> Vec<B> {
        self.into_iter().map(Convert::convert).collect()
    }
}

/// Converts a record field by field.
macro_rules! record {
    ($($from:ident)::+ => $($to:ident)::+: $name:ident { $($field:ident),+ $(,)? }) => {
        impl Convert<$($to)::+::$name> for $($from)::+::$name {
            fn convert(self) -> $($to)::+::$name {
                let Self { $($field),+ } = self;
                $($to)::+::$name { $($field: $field.convert()),+ }
            }
        }
    };
}

/// Converts a variant case by case.
macro_rules! variant {
    ($($from:ident)::+ => $($to:ident)::+: $name:ident { $($case:ident $(($value:ident))?),+ $(,)? }) => {
        impl Convert<$($to)::+::$name> for $($from)::+::$name {
            fn convert(self) -> $($to)::+::$name {
                use $($to)::+::$name as To;
                match self {
                    $(Self::$case $(($value))? => To::$case $(($value.convert()))?),+
                }
            }
        }
    };
}

use {record, variant};
