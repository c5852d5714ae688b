//! SQL and other queries that an invocation hands to a database, and whether they destroy data.

use crate::guard::arg::Arg;
use crate::guard::hosts::host_of;
use crate::guard::{Invocation, Site, World};

/// Programs that run the queries they are given.
pub const CLIENTS: &[&str] = &[
    "psql|mysql|mariadb|sqlite3|sqlite|duckdb|sqlcmd|cqlsh",
    "clickhouse-client|clickhouse|bq|snowsql|pgcli|mycli|usql|cockroach",
    "mysqlsh|prisma|wp|dbmate|turso|wrangler|sqlplus|isql|litecli|supabase",
];

/// The queries: flags that hold one, operands of those that take them there, and the standard input.
fn queries(invocation: &Invocation) -> Vec<String> {
    const FLAGS: [&str; 11] =
        ["-c", "--command", "-e", "--execute", "-Q", "-q", "--query", "-cmd", "--sql", "--stdin", "--eval"];
    let mut found: Vec<String> = FLAGS
        .iter()
        .flat_map(|flag| invocation.flag_values(flag))
        .map(|query| query.text().to_owned())
        .collect();
    let takes_operands = matches!(
        invocation.name(),
        "sqlite3" | "sqlite" | "duckdb" | "bq" | "wp" | "turso" | "supabase" | "litecli"
    );
    if takes_operands {
        found.extend(invocation.operands().into_iter().skip(1).map(|word| word.text().to_owned()));
    }
    found.extend(invocation.stdin.text.iter().map(|text| text.text().to_owned()));
    found
}

/// Words of a statement in capitals, without comments and quotes.
fn words(statement: &str) -> Vec<String> {
    let spaced = statement.replace(['(', ')', ','], " ");
    spaced
        .split_whitespace()
        .map(|word| word.trim_matches(['"', '`', '\'', '[', ']']).to_uppercase())
        .collect()
}

fn without_comments(query: &str) -> String {
    let mut text = String::with_capacity(query.len());
    let mut rest = query;
    while let Some(at) = rest.find("/*") {
        text.push_str(&rest[..at]);
        text.push(' ');
        rest = rest[at..].find("*/").map_or("", |end| &rest[at + end + 2..]);
    }
    text.push_str(rest);
    text.lines().map(|line| line.split("--").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// What a statement destroys: the name of the object, which may be that of a test. Nothing if it destroys nothing.
fn destroyed(statement: &str) -> Option<String> {
    let all = words(statement);
    // `EXPLAIN`, `BEGIN` and the like may stand before it; a query in `WITH` as well.
    let skipped =
        all.iter().take_while(|word| matches!(word.as_str(), "BEGIN" | "EXPLAIN" | "ANALYZE")).count();
    let words: Vec<&str> = all.iter().skip(skipped).map(String::as_str).collect();
    let name_after = |at: usize| {
        let mut names = words
            .iter()
            .skip(at)
            .filter(|word| !matches!(**word, "IF" | "EXISTS" | "ONLY" | "TABLE" | "CONCURRENTLY"));
        Some(names.next().copied().unwrap_or_default().to_owned())
    };
    match words.as_slice() {
        [
            "DROP",
            "DATABASE" | "SCHEMA" | "TABLE" | "USER" | "ROLE" | "KEYSPACE" | "COLLECTION" | "DATASET"
            | "OWNED",
            ..,
        ] => name_after(2),
        ["TRUNCATE", ..] => name_after(1),
        ["DELETE", "FROM", ..] if !is_limited(&words) => name_after(2),
        ["UPDATE", ..] if words.contains(&"SET") && !is_limited(&words) => name_after(1),
        ["ALTER", "TABLE", ..] => {
            let drops = words.windows(2).any(|pair| {
                pair[0] == "DROP"
                    && !matches!(
                        pair[1],
                        "CONSTRAINT" | "DEFAULT" | "NOT" | "INDEX" | "KEY" | "FOREIGN" | "IDENTITY"
                    )
            });
            drops.then(|| name_after(2)).flatten()
        }
        _ => None,
    }
}

/// Whether a condition leaves something out.
fn is_limited(words: &[&str]) -> bool {
    let Some(at) = words.iter().position(|word| *word == "WHERE") else { return words.contains(&"LIMIT") };
    let condition: String = words[at + 1..].concat();
    !matches!(condition.as_str(), "1=1" | "TRUE" | "1" | "'1'='1'" | "1=1--")
}

/// Data dropped, and not that of a test.
pub fn destroys_data(invocation: &Invocation, world: &World<'_>) -> bool {
    let is_test = is_test_database(invocation, world);
    queries(invocation).iter().any(|query| {
        without_comments(query).split(';').filter_map(destroyed).any(|name| !is_test && !names_test(&name))
    })
}

/// A name of which one part says that it is for tests.
fn names_test(name: &str) -> bool {
    let lower = name.to_lowercase();
    // `app_dev`, but no directory of that name.
    let last = lower.rsplit('/').next().unwrap_or(&lower);
    let is_dev = last.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part == "dev");
    lower.contains(":memory:")
        || is_dev
        || lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| {
            matches!(
                part,
                "test"
                    | "tests"
                    | "testing"
                    | "tmp"
                    | "temp"
                    | "scratch"
                    | "ci"
                    | "sandbox"
                    | "spec"
                    | "e2e"
                    | "fixture"
                    | "fixtures"
            ) || part.starts_with("test")
                || matches!(part, "unittest" | "apptest" | "dbtest" | "mytest")
        })
}

/// Whether arguments or variables say that the database is for tests.
pub fn is_test_database(invocation: &Invocation, _: &World<'_>) -> bool {
    const ENVIRONMENTS: [&str; 12] = [
        "RAILS_ENV",
        "MIX_ENV",
        "NODE_ENV",
        "APP_ENV",
        "RACK_ENV",
        "FLASK_ENV",
        "DJANGO_SETTINGS_MODULE",
        "DATABASE_URL",
        "PGDATABASE",
        "DB_NAME",
        "DJANGO_ENV",
        "ENVIRONMENT",
    ];
    let queries = queries(invocation);
    let named =
        invocation.args.iter().map(Arg::text).filter(|text| !queries.iter().any(|query| query == text));
    let by_args = named.filter(|text| !text.contains(char::is_whitespace)).any(names_test);
    by_args
        || ENVIRONMENTS
            .iter()
            .filter_map(|name| invocation.variable(name))
            .any(|value| names_test(value.text()))
}

pub fn is_production(invocation: &Invocation, world: &World<'_>) -> bool {
    !is_test_database(invocation, world)
}

/// JavaScript for MongoDB that drops.
pub fn drops_collections(invocation: &Invocation, world: &World<'_>) -> bool {
    const CALLS: [&str; 9] = [
        "dropDatabase(",
        ".drop(",
        "deleteMany({})",
        "remove({})",
        "dropUser(",
        "dropAllUsers(",
        "deleteMany()",
        "dropCollection(",
        "shutdownServer(",
    ];
    let mut code: Vec<String> =
        invocation.flag_values("--eval").iter().map(|arg| arg.text().to_owned()).collect();
    code.extend(invocation.stdin.text.iter().map(|text| text.text().to_owned()));
    !is_test_database(invocation, world)
        && code.iter().any(|code| {
            let dense: String = code.chars().filter(|c| !c.is_whitespace()).collect();
            CALLS.iter().any(|call| dense.contains(call))
        })
}

/// What a command does to a whole Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RedisDeed {
    Empties,
    /// Stops it, or makes it another server's.
    Disables,
}

fn redis_deed(command: &str) -> Option<RedisDeed> {
    let words: Vec<String> = command.split_whitespace().map(str::to_uppercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["FLUSHALL" | "FLUSHDB", ..] | ["SCRIPT" | "FUNCTION", "FLUSH", ..] => Some(RedisDeed::Empties),
        ["SHUTDOWN" | "DEBUG" | "SLAVEOF" | "REPLICAOF", ..]
        | ["CONFIG", "SET", "DIR" | "DBFILENAME" | "REQUIREPASS", ..]
        | ["CLUSTER", "RESET", ..] => Some(RedisDeed::Disables),
        _ => None,
    }
}

/// Commands for Redis that empty or stop it, as arguments or on the standard input.
pub fn empties_redis(invocation: &Invocation, world: &World<'_>) -> bool {
    let host = invocation.flag_value("-h").map(|host| host.text().to_owned());
    let url = invocation.flag_value("-u").map(|url| host_of(url.text()).to_owned());
    let is_this_machine = |host: &String| host == "localhost" || host == "::1" || host.starts_with("127.");
    let is_here = invocation.site == Site::Here && host.iter().chain(&url).all(is_this_machine);
    // Keys that were listed from the server itself.
    let first = invocation.operand(0).map(|word| word.text().to_uppercase());
    let deletes_listed = matches!(first.as_deref(), Some("DEL" | "UNLINK"))
        && invocation.operands().iter().any(|word| word.has_unknown());
    if deletes_listed {
        return (host.is_some() || url.is_some()) && !is_here;
    }
    let typed = invocation.stdin.text.as_ref().map_or("", Arg::text);
    let given: Vec<&str> = invocation.operands().into_iter().map(Arg::text).collect();
    let given = given.join(" ");
    let mut deeds = typed.lines().chain([given.as_str()]).filter_map(redis_deed);
    // The databases after the first are for tests and scratch work.
    let is_scratch = host.is_none() && invocation.flag_value("-n").is_some_and(|number| number.text() != "0");
    // What listens on the agent's own machine is there for its tests: Redis has no names to tell them by.
    !is_scratch
        && !is_test_database(invocation, world)
        && deeds.any(|deed| deed == RedisDeed::Disables || !is_here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_destroy_name_what() {
        for (statement, expected) in [
            ("DROP TABLE IF EXISTS users", Some("USERS")),
            ("drop database \"shop\"", Some("SHOP")),
            ("TRUNCATE TABLE orders CASCADE", Some("ORDERS")),
            ("DELETE FROM users", Some("USERS")),
            ("DELETE FROM users WHERE 1=1", Some("USERS")),
            ("DELETE FROM users WHERE id = 3", None),
            ("UPDATE users SET admin = true", Some("USERS")),
            ("UPDATE users SET admin = true WHERE id = 3", None),
            ("ALTER TABLE users DROP COLUMN email", Some("USERS")),
            ("ALTER TABLE users DROP CONSTRAINT x", None),
            ("DROP INDEX x", None),
            ("SELECT 'DROP TABLE users'", None),
            ("CREATE TABLE users (id int)", None),
        ] {
            assert_eq!(destroyed(statement).as_deref(), expected, "{statement}");
        }
        assert_eq!(
            without_comments("a /* b */ c -- d\ne").split_whitespace().collect::<Vec<_>>(),
            ["a", "c", "e"]
        );
    }

    #[test]
    fn a_test_database_is_known_by_a_part_of_its_name() {
        for (name, expected) in [
            ("app_test", true),
            ("test.db", true),
            ("testdb", true),
            ("/tmp/x.db", true),
            (":memory:", true),
            ("latest", false),
            ("shop", false),
            ("contest", false),
        ] {
            assert_eq!(names_test(name), expected, "{name}");
        }
    }
}
