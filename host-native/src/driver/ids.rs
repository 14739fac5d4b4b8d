//! Ids that the host mints: UUIDs of version 7, and those derived from them.

use uuid::Uuid;

/// Derived ids belong to this namespace.
const NAMESPACE: Uuid = Uuid::from_u128(0x5f0c_6a52_9d1e_4c7b_8a34_7461_636b_726d);

/// A new id.
pub(super) fn mint() -> String {
    Uuid::now_v7().to_string()
}

/// The id of a turn's answer: the turn's own with another last digit, so that the answer of a turn that is over can be
/// found in the conversation.
pub(super) fn answer_of(turn: &str) -> String {
    match Uuid::try_parse(turn) {
        Ok(id) => Uuid::from_u128(id.as_u128() ^ 1).to_string(),
        Err(_) => format!("{turn}-answer"),
    }
}

/// A UUID for a text: itself where it is one, else always the same for the same text.
pub(super) fn uuid_of(text: &str) -> String {
    match Uuid::try_parse(text) {
        Ok(id) => id.to_string(),
        Err(_) => Uuid::new_v5(&NAMESPACE, text.as_bytes()).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_an_id_of_its_own_that_is_a_uuid_of_version_7() {
        let turn = mint();
        let answer = answer_of(&turn);
        assert_ne!(answer, turn);
        assert_eq!(answer_of(&turn), answer);
        assert_eq!(Uuid::try_parse(&answer).unwrap().get_version_num(), 7);
    }

    #[test]
    fn a_text_has_one_uuid() {
        let turn = mint();
        assert_eq!(uuid_of(&turn), turn);
        assert_eq!(uuid_of("a.1"), uuid_of("a.1"));
        assert_ne!(uuid_of("a.1"), uuid_of("a.2"));
        assert!(Uuid::try_parse(&uuid_of("a.1")).is_ok());
    }
}
