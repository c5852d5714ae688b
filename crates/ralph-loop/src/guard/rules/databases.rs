//! Data that is dropped or deleted. Databases for tests are left alone.

use super::facts::sql::{CLIENTS, destroys_data, drops_collections, empties_redis, is_production};
use super::{Rule, always};
use crate::guard::arg::Arg;
use crate::guard::hosts::host_of;
use crate::guard::{Category, Verdict};
use crate::guard::{Invocation, World};

pub const RULES: &[Rule] = &[
    Rule {
        id: "sql",
        category: Category::Databases,
        verdict: Verdict::Block,
        patterns: CLIENTS,
        when: destroys_data,
        why: "deletes data of a database that is not for tests",
        instead: "work on a test database, or limit it with WHERE and let the user run it",
        catches: "psql -c 'DROP TABLE users'",
        passes: "psql -d app_test -c 'DROP TABLE users'",
    },
    Rule {
        id: "drop-database",
        category: Category::Databases,
        verdict: Verdict::Block,
        patterns: &[
            "dropdb|dropuser",
            "mysqladmin|mariadb-admin ~drop|shutdown|flush-privileges",
            "pg_restore -c|--clean|--create",
            "mongorestore --drop",
            "pg_resetwal|pg_ctl|pg_dropcluster|initdb !status|--version",
            "wp db drop|reset|clean",
            "cockroach|couchbase-cli|couch ~drop|bucket-delete",
        ],
        when: is_production,
        why: "deletes a database that is not for tests",
        instead: "name a test database",
        catches: "dropdb shop",
        passes: "dropdb shop_test",
    },
    Rule {
        id: "mongo",
        category: Category::Databases,
        verdict: Verdict::Block,
        patterns: &["mongosh|mongo"],
        when: drops_collections,
        why: "deletes data of a database that is not for tests",
        instead: "work on a test database",
        catches: "mongosh shop --eval 'db.dropDatabase()'",
        passes: "mongosh shop --eval 'db.users.countDocuments()'",
    },
    Rule {
        id: "redis",
        category: Category::Databases,
        verdict: Verdict::Block,
        patterns: &["redis-cli|valkey-cli|keydb-cli|iredis"],
        when: empties_redis,
        why: "deletes everything that a Redis on another machine holds, or stops one",
        instead: "delete the keys that you have made",
        catches: "redis-cli -h cache FLUSHALL",
        passes: "redis-cli -h localhost FLUSHALL",
    },
    Rule {
        id: "memcached",
        category: Category::Databases,
        verdict: Verdict::Block,
        patterns: &["nc|ncat|netcat|telnet"],
        when: flushes_cache,
        why: "deletes everything that the cache holds",
        instead: "delete the keys that you have made",
        catches: "echo flush_all | nc cache 11211",
        passes: "echo stats | nc cache 11211",
    },
    Rule {
        id: "reset-migrations",
        category: Category::Databases,
        verdict: Verdict::Block,
        patterns: &[
            "prisma migrate reset",
            "prisma db push --force-reset|--accept-data-loss",
            "rails|rake db:drop|db:reset|db:purge|db:schema:load|db:migrate:reset",
            "rails|rake db:truncate_all|db:drop:*|db:setup|db:structure:load|db:seed:replant",
            "rails|rake ~db:drop|db:reset|db:purge|db:migrate:reset|db:truncate_all",
            "python*|manage.py|django-admin ~flush|reset_db|sqlflush",
            "python*|manage.py|django-admin ~migrate ~zero",
            "php|artisan|sail ~migrate:fresh|migrate:reset|migrate:refresh|db:wipe",
            "knex migrate:rollback --all",
            "sequelize|sequelize-cli db:drop|db:migrate:undo:all|db:seed:undo:all",
            "typeorm ~schema:drop",
            "mikro-orm schema:drop|schema:fresh|migration:fresh",
            "alembic downgrade base",
            "flask db downgrade",
            "flyway clean",
            "liquibase dropAll|drop-all|rollback*",
            "mix ecto.drop|ecto.reset|ecto.rollback",
            "drizzle-kit drop",
            "hasura metadata clear",
            "hasura migrate delete",
            "doctrine|console|php ~doctrine:database:drop|doctrine:schema:drop",
            "dbmate|sqlx|diesel drop|reset",
            "sqlx|diesel database drop|reset",
            "goose|migrate|tern|atlas ~reset|drop|down-to",
            "dotnet ef database drop",
            "supabase db reset --linked",
            "supabase db push",
            "sqitch|phinx|bytebase|node-pg-migrate ~revert|rollback",
            "strapi|payload ~migrate:fresh|migrate:reset",
        ],
        when: is_production,
        why: "deletes the tables of a database that is not for tests",
        instead: "run it with the test environment set",
        catches: "npx prisma migrate reset --force",
        passes: "RAILS_ENV=test bin/rails db:reset",
    },
    Rule {
        id: "reset-local-database",
        category: Category::Databases,
        verdict: Verdict::Warn,
        patterns: &["supabase db reset !--linked"],
        when: always,
        why: "deletes the local database",
        instead: "write a migration instead",
        catches: "supabase db reset",
        passes: "supabase db diff",
    },
    Rule {
        id: "search-index",
        category: Category::Databases,
        verdict: Verdict::Block,
        patterns: &["curl|http|https|xh|wget"],
        when: deletes_index,
        why: "deletes data of a search index or a store",
        instead: "work on a test index",
        catches: "curl -X DELETE http://localhost:9200/products",
        passes: "curl http://localhost:9200/products/_search",
    },
    Rule {
        id: "stores",
        category: Category::Databases,
        verdict: Verdict::Block,
        patterns: &[
            "etcdctl del --prefix|--from-key",
            "etcdctl snapshot restore",
            "consul kv delete -recurse",
            "consul leave|force-leave|operator",
            "influx delete",
            "influx bucket|org delete",
            "rabbitmqctl reset|force_reset|delete_queue",
            "rabbitmqctl delete_vhost|delete_user|stop|stop_app|purge_queue",
            "rabbitmqadmin|rabbitmqadmin.py delete|purge",
            "kafka-topics|kafka-topics.sh --delete",
            "kafka-delete-records ~--delete|--delete-config|--offset-json-file",
            "kafka-delete-records.sh ~--delete|--delete-config|--offset-json-file",
            "kafka-configs|kafka-configs.sh ~--delete|--delete-config|--offset-json-file",
            "kafka-consumer-groups|kafka-consumer-groups.sh --delete|--reset-offsets",
            "nats stream|kv|consumer rm|purge|del|delete",
            "zkCli.sh|zookeeper-shell ~deleteall|rmr|delete",
            "nodetool drain|decommission|removenode|clearsnapshot|assassinate",
            "odoo|odoo-bin|bench ~--drop|drop-site|reinstall",
            "turso|pscale|neonctl|xata|convex|edgedb|surreal ~destroy|delete|wipe|reset",
        ],
        when: is_production,
        why: "deletes data that others may use",
        instead: "leave it to the user",
        catches: "etcdctl del --prefix /app",
        passes: "etcdctl get --prefix /app",
    },
];

/// What is typed into a connection to memcached.
fn flushes_cache(invocation: &Invocation, _: &World<'_>) -> bool {
    let typed = invocation.stdin.text.as_ref().map_or("", Arg::text).to_lowercase();
    typed.lines().any(|line| {
        line.starts_with("flush_all") || line.trim() == "shutdown" || line.starts_with("flushall")
    })
}
/// `DELETE` of an index, or a query that deletes all of it.
fn deletes_index(invocation: &Invocation, world: &World<'_>) -> bool {
    const STORES: [&str; 8] = [":9200", ":9201", ":8983", ":7700", ":6333", ":8529", ":5984", ":8500"];
    const NAMES: [&str; 6] = ["elastic", "opensearch", "solr", "couch", "meili", "qdrant"];
    let is_store = |text: &str| {
        STORES.iter().any(|port| text.contains(port)) || NAMES.iter().any(|name| host_of(text).contains(name))
    };
    let asks_deletion = invocation.args.iter().any(|arg| {
        let text = arg.text();
        matches!(text, "DELETE" | "-XDELETE" | "--request=DELETE" | "--method=DELETE")
            || text.contains("_delete_by_query")
    });
    let names_production =
        |text: &str| text.contains("://") && (host_of(text).contains("prod") || text.ends_with("/*"));
    let of_store =
        invocation.args.iter().any(|arg| is_store(arg.text()) || names_production(&arg.as_written()));
    of_store && asks_deletion && is_production(invocation, world)
}
