//! Repositories, secrets and settings on GitHub and GitLab.

use super::{Rule, always};
use crate::guard::arg::Arg;
use crate::guard::{Category, Verdict};
use crate::guard::{Invocation, World};

pub const RULES: &[Rule] = &[
    Rule {
        id: "repository-on-host",
        category: Category::Git,
        verdict: Verdict::Block,
        patterns: &[
            "gh repo delete|archive|rename|unarchive",
            "gh repo edit ~--visibility*|--default-branch*|--delete-branch-on-merge*",
            "gh repo deploy-key add|delete",
            "gh repo create --public",
            "glab repo|project delete|archive|transfer",
            "hub delete",
            "gh|glab ssh-key|gpg-key|deploy-key add|delete",
            "gh|glab auth logout|refresh|setup-git|switch",
            "glab auth logout",
        ],
        when: always,
        why: "changes a repository or an account on its host",
        instead: "leave it to the user",
        catches: "gh repo delete me/project --yes",
        passes: "gh repo view me/project",
    },
    Rule {
        id: "secrets-on-host",
        category: Category::Git,
        verdict: Verdict::Block,
        patterns: &["gh|glab secret|variable set|delete|remove|update|create"],
        when: always,
        why: "changes secrets that pipelines use",
        instead: "leave secrets to the user",
        catches: "gh secret set TOKEN --body x",
        passes: "gh secret list",
    },
    Rule {
        id: "pipelines-on-host",
        category: Category::Git,
        verdict: Verdict::Block,
        patterns: &[
            "gh workflow disable|enable",
            "gh run|cache|issue|label|ruleset|codespace|project delete",
            "glab pipeline|ci|issue|label delete",
            "gh codespace ssh|cp",
        ],
        when: always,
        why: "deletes or stops what others rely on",
        instead: "leave it to the user",
        catches: "gh run delete 123",
        passes: "gh run view 123",
    },
    Rule {
        id: "merge-as-admin",
        category: Category::Git,
        verdict: Verdict::Block,
        patterns: &["gh pr merge --admin"],
        when: always,
        why: "merges past the rules of the repository",
        instead: "let the checks and reviews decide",
        catches: "gh pr merge 12 --admin --squash",
        passes: "gh pr view 12",
    },
    Rule {
        id: "merge-request",
        category: Category::Git,
        verdict: Verdict::Warn,
        patterns: &["gh|glab pr|mr merge|close", "gh workflow run"],
        when: always,
        why: "decides over the work of others",
        instead: "open a pull request and let the user merge it",
        catches: "gh pr merge 12 --squash",
        passes: "gh pr create --fill",
    },
    Rule {
        id: "api-deletes",
        category: Category::Git,
        verdict: Verdict::Block,
        patterns: &["gh|glab|hub api"],
        when: changes_by_api,
        why: "deletes or changes things on the host",
        instead: "read with the API, and leave changes to the user",
        catches: "gh api -X DELETE repos/me/project/branches/main/protection",
        passes: "gh api repos/me/project/pulls",
    },
];

fn changes_by_api(invocation: &Invocation, _: &World<'_>) -> bool {
    let methods =
        ["-X", "--method"].iter().flat_map(|flag| invocation.flag_values(flag)).collect::<Vec<Arg>>();
    let query = invocation.args.iter().any(|arg| {
        let lower = arg.text().to_lowercase();
        lower.contains("mutation")
            && (lower.contains("delete") || lower.contains("remove") || lower.contains("archive"))
    });
    let is_protected = invocation.args.iter().any(|arg| {
        let text = arg.text();
        ["/protection", "/collaborators", "/hooks", "/keys", "/actions/secrets", "/git/refs", "/rulesets"]
            .iter()
            .any(|end| text.contains(end))
    });
    let is_exposed = invocation.args.iter().any(|arg| {
        matches!(arg.text(), "private=false" | "visibility=public" | "archived=true" | "default_branch=main")
    });
    methods.iter().any(|method| match method.text().to_uppercase().as_str() {
        "DELETE" => true,
        "PUT" | "PATCH" | "POST" => is_protected || is_exposed,
        _ => false,
    }) || query
}
