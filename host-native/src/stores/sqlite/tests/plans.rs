//! That the indices are used: what is fast with ten sessions must be fast with a hundred thousand.

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::ports::{ListQuery, Status};
use crate::stores::filter::{Filter, Position};
use crate::stores::sqlite::{claims, reads};

fn plan(connection: &Connection, sql: &str, parameters: Vec<Value>) -> String {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let rows = statement.query_map(rusqlite::params_from_iter(parameters), |row| row.get::<_, String>(3)).unwrap();
    rows.collect::<Result<Vec<_>, _>>().unwrap().join("\n")
}

#[tokio::test]
async fn lists_and_claims_walk_an_index() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.db");
    super::open(&path).await.unwrap().close().await;
    let connection = Connection::open(&path).unwrap();

    let cursor = Position { updated_at_ms: 5, id: "x".to_owned() }.to_cursor();
    for statuses in [vec![], vec![Status::Idle], vec![Status::Idle, Status::Suspended]] {
        for cursor in [None, Some(cursor.clone())] {
            let index = if statuses.is_empty() { "sessions_by_update" } else { "sessions_by_status" };
            let query = ListQuery { statuses: statuses.clone(), cursor, limit: 50, metadata: Vec::new() };
            let (sql, parameters) = reads::list_query(&Filter::parse(&query).unwrap());
            let plan = plan(&connection, &sql, parameters);
            for line in plan.lines().filter(|line| line.contains("sessions")) {
                assert!(line.contains(index), "{plan}");
            }
            assert!(plan.contains(index), "{plan}");
        }
    }
    let parameters = vec!["o".to_owned().into(), 1.into(), "a".to_owned().into(), 9.into()];
    let live = plan(&connection, claims::CLAIMABLE, parameters);
    assert!(live.contains("INDEX sessions_live (id>?)") && !live.contains("TEMP B-TREE"), "{live}");
    let due = plan(&connection, reads::DUE, vec![1.into(), 9.into()]);
    assert!(due.contains("USING COVERING INDEX sessions_due") && !due.contains("TEMP B-TREE"), "{due}");
}
