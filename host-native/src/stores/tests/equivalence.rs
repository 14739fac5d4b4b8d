//! Random sequences of calls, the same to both stores: every answer has to be the same.

use std::fmt::Debug;

use crate::ports::{ListQuery, MessageRecord, Ownership, ResumeChange, ResumeState, Save, Status, Store, StoreError};
use crate::stores::{MemoryStore, SqliteOptions, SqliteStore};
use crate::testing::{TestClock, sample_save};

const SEEDS: u64 = 12;
const CALLS: usize = 400;

/// A small generator of its own, so that a seed means the same sequence for ever.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn small(&mut self, bound: u32) -> u32 {
        u32::try_from(self.below(bound.into())).unwrap()
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()].clone()
    }

    fn session(&mut self) -> String {
        self.pick(&["a", "b", "c", "d", "é"]).to_owned()
    }

    fn owner(&mut self) -> String {
        self.pick(&["one", "two"]).to_owned()
    }

    fn save(&mut self, known: &[(u64, u64)]) -> Save {
        // Mostly the revision that follows, so that enough writes succeed.
        let (generation, revision) = self.pick(known);
        let mut save = sample_save(&self.session(), revision + 1 - u64::from(self.below(12) == 0).min(revision));
        save.generation = generation;
        save.write_id = format!("w{}", self.below(40));
        save.summary.status = self.pick(&Status::ALL);
        save.summary.updated_at_ms = self.below(6);
        save.summary.metadata = self.pick(&["{}", r#"{"k":1}"#, r#"{"k":"v","l":true}"#, "nonsense", "[1]"]).to_owned();
        save.engine_state = format!("{{\"n\":{}}}", self.below(100));
        let from = self.small(4);
        let messages = (from..from + self.small(3)).map(|index| MessageRecord {
            index,
            id: format!("m{index}"),
            json: format!("{{\"n\":{}}}", self.below(1_000)),
        });
        save.messages = messages.collect();
        save.summary.message_count = self.small(9);
        save.tail_from = self.small(5);
        save.resume = match self.below(4) {
            0 => ResumeChange::Drop,
            1 => ResumeChange::Replace(ResumeState::new(format!("r{}", self.below(100)))),
            _ => ResumeChange::Keep,
        };
        save.ownership = match self.below(3) {
            0 => Ownership::Released,
            _ => Ownership::Held { owner: self.owner(), lease_ms: self.below(50) },
        };
        save
    }

    fn query(&mut self, cursor: Option<String>) -> ListQuery {
        let statuses = (0..self.below(4)).map(|_| self.pick(&Status::ALL)).collect();
        let metadata = match self.below(3) {
            0 => vec![("k".to_owned(), self.pick(&["1", "1.0", r#""v""#, "null", "{}"]).to_owned())],
            _ => Vec::new(),
        };
        ListQuery { statuses, metadata, limit: self.small(5), cursor }
    }
}

struct Pair {
    memory: MemoryStore,
    sqlite: SqliteStore,
    trace: Vec<String>,
}

impl Pair {
    fn same<T: Debug + PartialEq>(
        &mut self,
        call: &str,
        memory: &Result<T, StoreError>,
        sqlite: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.trace.push(format!("{call} -> {memory:?}"));
        let last = self.trace.len().saturating_sub(12);
        assert_eq!(*memory, sqlite, "the stores differ after\n{}", self.trace[last..].join("\n"));
        sqlite
    }
}

/// Makes one call to both stores and compares the answers.
macro_rules! both {
    ($pair:ident . $call:ident ( $($argument:expr),* )) => {{
        let memory = $pair.memory.$call($($argument),*).await;
        let sqlite = $pair.sqlite.$call($($argument),*).await;
        let call = format!(concat!(stringify!($call), "{:?}"), ($(&$argument,)*));
        $pair.same(&call, &memory, sqlite)
    }};
}

async fn run(seed: u64, pair: &mut Pair, clock: &TestClock) -> usize {
    let mut random = Random(seed);
    let mut known = vec![(1, 0)];
    let mut cursor = None;
    let mut written = 0;
    for _ in 0..CALLS {
        match random.below(16) {
            0..=6 => {
                let save = random.save(&known);
                if both!(pair.save(save.clone())).is_ok() {
                    written += 1;
                    known.push((save.generation, save.revision));
                }
            }
            7 => {
                let (owner, lease_ms, limit) = (random.owner(), random.below(60), random.small(4));
                let after = random.pick(&[None, Some("b")]);
                let claimed = both!(pair.claim_live(&owner, lease_ms, after, limit)).unwrap();
                known.extend(claimed.sessions.iter().map(|session| (session.generation, session.revision)));
            }
            8 | 9 => {
                let (session, owner, lease_ms) = (random.session(), random.owner(), random.below(60));
                if let Ok(Some(claimed)) = both!(pair.claim(&session, &owner, lease_ms)) {
                    known.push((claimed.generation, claimed.revision));
                }
            }
            10 => {
                let mine: Vec<_> = (0..3).map(|_| (random.session(), random.pick(&known).0)).collect();
                let owner = random.owner();
                both!(pair.renew(&owner, 40, &mine)).unwrap();
            }
            11 => {
                let session = random.session();
                both!(pair.load(&session)).unwrap();
            }
            12 | 13 => {
                let query = random.query(cursor.take());
                cursor = both!(pair.list(&query)).ok().and_then(|page| page.next);
            }
            14 => {
                let (for_ms, limit) = (random.below(60), random.small(4));
                both!(pair.list_due(for_ms, limit)).unwrap();
            }
            _ if random.below(3) == 0 => {
                let (session, generation) = (random.session(), random.pick(&known).0);
                let _ = both!(pair.delete(&session, generation));
            }
            _ => clock.advance(random.below(40)).await,
        }
        let recent = known.len().saturating_sub(4);
        known.drain(..recent);
    }
    written
}

#[tokio::test]
async fn memory_and_sqlite_answer_alike() {
    let directory = tempfile::tempdir().unwrap();
    let mut written = 0;
    for seed in 0..SEEDS {
        let clock = TestClock::manual(1_700_000_000_000);
        let options = SqliteOptions { clock: clock.store_clock(), readers: 1, ..SqliteOptions::default() };
        let sqlite = SqliteStore::open(directory.path().join(format!("{seed}.db")), options).await.unwrap();
        let memory = MemoryStore::with_clock(clock.store_clock());
        let mut pair = Pair { memory, sqlite, trace: vec![format!("seed {seed}")] };
        written += run(seed, &mut pair, &clock).await;
        for session in ["a", "b", "c", "d", "é"] {
            both!(pair.load(session)).unwrap();
        }
    }
    assert!(written > 100, "too few of the writes succeeded to mean something: {written}");
}
