//! A short mark of a text, so that a repeated idempotency key can be told from a reused one.
//!
//! FNV-1a with 128 bits. A caller who forges a collision only repeats a turn of their own session.

use alloc::format;
use alloc::string::String;

const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// The mark of these texts in this order.
pub(crate) fn fingerprint(texts: &[&str]) -> String {
    let mut hash = OFFSET;
    for text in texts {
        for byte in text.bytes().chain([0xff]) {
            hash = (hash ^ u128::from(byte)).wrapping_mul(PRIME);
        }
    }
    format!("{hash:032x}")
}
