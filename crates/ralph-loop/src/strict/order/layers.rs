//! The layer of a system that a story works on, by the words of its title.
//!
//! A title with words of two layers, or with none, has no layer: most stories have none.

use super::super::words::{Word, find, stem, subject, words};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layer {
    Schema,
    Backend,
    Api,
    Frontend,
    Integration,
}

impl Layer {
    const ALL: [Layer; 5] = [Layer::Schema, Layer::Backend, Layer::Api, Layer::Frontend, Layer::Integration];

    pub(super) fn name(self) -> &'static str {
        match self {
            Layer::Schema => "schema",
            Layer::Backend => "backend",
            Layer::Api => "API",
            Layer::Frontend => "frontend",
            Layer::Integration => "integration",
        }
    }

    fn phrases(self) -> &'static [&'static str] {
        match self {
            Layer::Schema => &[
                "database column",
                "database index",
                "database model",
                "database schema",
                "database table",
                "database tables",
                "db column",
                "db schema",
                "db table",
                "foreign key",
                "migration",
                "migrations",
                "schema",
            ],
            Layer::Backend => &[
                "back-end",
                "backend",
                "business logic",
                "server action",
                "server actions",
                "server-side",
                "service layer",
            ],
            Layer::Api => &[
                "api endpoint",
                "api endpoints",
                "api route",
                "api routes",
                "endpoint",
                "endpoints",
                "graphql mutation",
                "graphql query",
                "graphql resolver",
                "rest api",
            ],
            Layer::Frontend => &[
                "badge",
                "button",
                "component",
                "components",
                "dialog",
                "dropdown",
                "form",
                "front-end",
                "frontend",
                "modal",
                "navbar",
                "page",
                "screen",
                "sidebar",
                "toolbar",
                "tooltip",
                "ui",
            ],
            Layer::Integration => &[
                "e2e",
                "end-to-end",
                "integration test",
                "integration tests",
                "smoke test",
                "smoke tests",
                "summary view",
                "summary views",
            ],
        }
    }

    fn fits(self, words: &[Word]) -> bool {
        let has = |phrase: &str| find(words, phrase).is_some();
        let fits = self.phrases().iter().any(|phrase| has(phrase));
        match self {
            // Other things have schemas, too.
            Layer::Schema => {
                (fits && !OTHER_SCHEMAS.iter().any(|other| has(other))) || (has("column") && has("table"))
            }
            Layer::Frontend => fits && !OTHER_PAGES.iter().any(|other| has(other)),
            Layer::Backend | Layer::Api | Layer::Integration => fits,
        }
    }
}

const OTHER_SCHEMAS: &[&str] = &[
    "avro schema",
    "config schema",
    "event schema",
    "graphql schema",
    "json schema",
    "message schema",
    "migration guide",
    "openapi schema",
    "schema validation",
    "schema validator",
    "settings schema",
    "xml schema",
    "yaml schema",
    "zod schema",
];
const OTHER_PAGES: &[&str] = &[
    "component test",
    "component tests",
    "man page",
    "page cache",
    "page fault",
    "page number",
    "page size",
    "page table",
    "page token",
];

pub(super) fn layer(title: &str) -> Option<Layer> {
    let words = words(title);
    if words.iter().any(|word| REMOVES.contains(&word.text.as_str())) {
        return None;
    }
    let calls = title.split_whitespace().zip(title.split_whitespace().skip(1)).any(|(method, path)| {
        matches!(method, "GET" | "POST" | "PUT" | "PATCH" | "DELETE") && path.starts_with('/')
    });
    let mut fitting =
        Layer::ALL.into_iter().filter(|layer| layer.fits(&words) || (*layer == Layer::Api && calls));
    let layer = fitting.next()?;
    fitting.next().is_none().then_some(layer)
}

/// What a story is about, whatever layer it works on.
pub(super) fn topic(title: &str) -> Vec<String> {
    let of_layers = Layer::ALL.into_iter().flat_map(Layer::phrases).flat_map(|phrase| phrase.split(' '));
    let mut left_out: Vec<String> = of_layers.map(stem).collect();
    left_out.extend(OF_ANY.iter().map(|word| (*word).to_owned()));
    let mut topic = subject(title);
    topic.retain(|word| !left_out.contains(word));
    topic
}

/// Words of a layer that do not decide it, and those that stand for everything.
const OF_ANY: &[&str] = &[
    "app",
    "application",
    "base",
    "basic",
    "column",
    "core",
    "data",
    "delete",
    "each",
    "feature",
    "field",
    "foundation",
    "get",
    "initial",
    "list",
    "main",
    "management",
    "model",
    "patch",
    "post",
    "project",
    "put",
    "record",
    "return",
    "service",
    "setup",
    "simple",
    "store",
    "system",
    "table",
    "test",
    "view",
];

/// What removes something comes last, whatever layer it is in.
const REMOVES: &[&str] = &["clean", "deprecate", "drop", "legacy", "old", "remove", "retire", "unused"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_is_named_by_its_words_and_only_by_one_layers() {
        for (title, expected) in [
            ("Add a status column to the tasks table", Some(Layer::Schema)),
            ("Write the migration for orders", Some(Layer::Schema)),
            ("Price rules in the backend", Some(Layer::Backend)),
            ("Add GET /orders", Some(Layer::Api)),
            ("Order endpoints", Some(Layer::Api)),
            ("Order page", Some(Layer::Frontend)),
            ("End-to-end test of the checkout", Some(Layer::Integration)),
            ("Publish a JSON schema of the settings", None),
            ("Cursor and page size of lists", None),
            ("Order page and its endpoint", None),
            ("Drop the old migration of orders", None),
            ("Parse the arguments", None),
        ] {
            assert_eq!(layer(title), expected, "{title}");
        }
    }

    #[test]
    fn the_topic_is_the_same_in_all_layers() {
        assert_eq!(topic("Add a status column to the tasks table"), ["status", "task"]);
        assert_eq!(topic("Show a status badge on each task"), ["status", "task"]);
        assert_eq!(topic("Add GET /orders"), ["order"]);
    }
}
