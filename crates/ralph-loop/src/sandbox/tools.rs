//! What of the home is visible in a sandbox, a row per tool; all of it read-only.
//!
//! A row names what a tool needs to run, and nothing that it keeps its credentials in. Files that
//! may hold both are shown without the credentials. Rows that are nothing but credentials are not
//! in use until the user names them in `sandbox.tools`.
//!
//! Deliberately absent: package caches, which have to be writable ([`super::caches`]), and what
//! belongs to an agent ([`super::agents`]).

use super::redact::Syntax;
use thiserror::Error;

#[derive(Debug, PartialEq, Eq)]
pub struct Tool {
    /// As in `sandbox.tools`.
    pub name: &'static str,
    pub when: When,
    pub shown: &'static [(&'static str, Show)],
    /// What fails without it.
    pub why: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Always,
    /// If the user names it.
    Named,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// A file, or a directory with all that is in it.
    Whole,
    /// The same, and what links directly in it lead to: programs are often links to where they
    /// were installed.
    Links,
    /// All entries of a directory whose names begin with the last part of the path.
    Beginning,
    /// A copy of a file without what looks like a credential.
    Redacted(Syntax),
}

use Show::{Beginning, Links, Redacted, Whole};
use Syntax::{Lines, Toml, Xml};
use When::{Always, Named};

pub const TOOLS: &[Tool] = &[
    Tool {
        name: "rust",
        when: Always,
        shown: &[
            ("$RUSTUP_HOME", Whole),
            ("$CARGO_HOME/bin", Links),
            ("$CARGO_HOME/env", Whole),
            ("$CARGO_HOME/config.toml", Redacted(Toml)),
            ("$CARGO_HOME/config", Redacted(Toml)),
        ],
        why: "rustup finds no toolchain, cargo no registry that was configured",
    },
    Tool {
        name: "node",
        when: Always,
        shown: &[
            ("$NVM_DIR", Whole),
            ("$VOLTA_HOME", Whole),
            ("$FNM_DIR", Whole),
            ("$N_PREFIX/bin", Links),
            ("$N_PREFIX/n", Whole),
            ("$N_PREFIX/lib/node_modules", Whole),
            ("~/.nodenv", Whole),
            ("~/.nvmrc", Whole),
            // Many have it at `~/.local`, which holds more than packages.
            ("$npm_config_prefix/bin", Links),
            ("$npm_config_prefix/lib/node_modules", Whole),
            ("~/.npm-packages", Whole),
            ("~/.local/lib/node_modules", Whole),
            ("~/.npmrc", Redacted(Lines)),
        ],
        why: "a node of a version manager and packages that were installed globally are missing",
    },
    Tool {
        name: "pnpm",
        when: Always,
        shown: &[
            ("$PNPM_HOME/pnpm", Whole),
            ("$PNPM_HOME/bin", Links),
            ("$PNPM_HOME/global", Whole),
            ("$PNPM_HOME/.tools", Whole),
            ("$XDG_CONFIG_HOME/pnpm/rc", Redacted(Lines)),
        ],
        why: "pnpm and its global packages are missing",
    },
    Tool {
        name: "yarn",
        when: Always,
        shown: &[
            ("~/.yarn/bin", Links),
            ("~/.yarn/releases", Whole),
            ("~/.yarnrc", Redacted(Lines)),
            ("~/.yarnrc.yml", Redacted(Lines)),
        ],
        why: "yarn is missing, or does not know its registry",
    },
    Tool {
        name: "bun",
        when: Always,
        shown: &[
            ("$BUN_INSTALL/bin", Links),
            ("$BUN_INSTALL/install/global", Whole),
            ("~/.bunfig.toml", Redacted(Toml)),
        ],
        why: "bun is missing, or does not know its registry",
    },
    Tool { name: "deno", when: Always, shown: &[("$DENO_INSTALL/bin", Links)], why: "deno is missing" },
    Tool {
        name: "python",
        when: Always,
        shown: &[
            ("$PYENV_ROOT", Whole),
            ("~/.local/lib/python", Beginning),
            ("$PIPX_HOME", Whole),
            ("~/.local/pipx", Whole),
            ("~/.virtualenvs", Whole),
            ("$XDG_CONFIG_HOME/pip/pip.conf", Redacted(Lines)),
            ("~/.pip/pip.conf", Redacted(Lines)),
            ("$XDG_DATA_HOME/pypoetry", Whole),
            ("$XDG_CONFIG_HOME/pypoetry/config.toml", Redacted(Toml)),
        ],
        why: "a Python of pyenv, packages in the user's site and programs of pipx are missing",
    },
    Tool {
        name: "uv",
        when: Always,
        // Beside these it keeps the credentials of `uv auth`.
        shown: &[
            ("$UV_PYTHON_INSTALL_DIR", Whole),
            ("$UV_TOOL_DIR", Whole),
            ("$XDG_CONFIG_HOME/uv/uv.toml", Redacted(Toml)),
        ],
        why: "virtual environments that uv made have no interpreter",
    },
    Tool {
        name: "conda",
        when: Always,
        shown: &[
            ("~/miniconda3", Whole),
            ("~/anaconda3", Whole),
            ("~/miniforge3", Whole),
            ("~/mambaforge", Whole),
            ("~/micromamba", Whole),
            ("~/.condarc", Redacted(Lines)),
            ("~/.pixi", Whole),
        ],
        why: "environments of conda are missing",
    },
    Tool {
        name: "mise",
        when: Always,
        shown: &[
            ("$MISE_DATA_DIR", Whole),
            ("$XDG_CONFIG_HOME/mise/config.toml", Redacted(Toml)),
            // Which projects the user trusts.
            ("$XDG_STATE_HOME/mise", Whole),
        ],
        why: "the tools of a project are missing, or mise asks whether to trust it",
    },
    Tool {
        name: "asdf",
        when: Always,
        shown: &[
            ("$ASDF_DIR", Whole),
            ("$ASDF_DATA_DIR", Whole),
            ("~/.tool-versions", Whole),
            ("~/.asdfrc", Whole),
        ],
        why: "the tools of a project are missing",
    },
    Tool {
        name: "java",
        when: Always,
        shown: &[
            ("$SDKMAN_DIR", Whole),
            ("~/.jenv", Whole),
            ("~/.jdks", Whole),
            ("~/.m2/settings.xml", Redacted(Xml)),
            ("~/.m2/toolchains.xml", Redacted(Xml)),
            ("$GRADLE_USER_HOME/gradle.properties", Redacted(Lines)),
            ("$GRADLE_USER_HOME/init.gradle", Whole),
            ("$GRADLE_USER_HOME/init.d", Links),
        ],
        why: "a JDK of sdkman is missing, maven and gradle do not know their mirrors",
    },
    Tool {
        name: "ruby",
        when: Always,
        shown: &[
            ("$RBENV_ROOT", Whole),
            ("~/.rubies", Whole),
            ("~/.rvm", Whole),
            ("~/.gemrc", Redacted(Lines)),
        ],
        why: "a Ruby of a version manager is missing",
    },
    Tool {
        name: "go",
        when: Always,
        shown: &[
            ("$GOPATH/bin", Links),
            ("~/sdk", Whole),
            ("~/.goenv", Whole),
            ("~/.local/go", Whole),
            ("$XDG_CONFIG_HOME/go/env", Redacted(Lines)),
        ],
        why: "programs of `go install` are missing, go does not know its proxy",
    },
    Tool {
        name: "dotnet",
        when: Always,
        // Beside these it keeps the keys of development certificates.
        shown: &[
            ("~/.dotnet/dotnet", Whole),
            ("~/.dotnet/host", Whole),
            ("~/.dotnet/shared", Whole),
            ("~/.dotnet/packs", Whole),
            ("~/.dotnet/templates", Whole),
            ("~/.dotnet/sdk", Beginning),
            ("~/.dotnet/tools", Links),
        ],
        why: "a .NET of the user's own and its tools are missing",
    },
    Tool {
        name: "haskell",
        when: Always,
        shown: &[("~/.ghcup", Whole), ("~/.cabal/bin", Links)],
        why: "ghc is missing",
    },
    Tool { name: "ocaml", when: Always, shown: &[("~/.opam", Whole)], why: "a switch of opam is missing" },
    Tool { name: "android", when: Always, shown: &[("$ANDROID_HOME", Whole)], why: "gradle finds no SDK" },
    Tool {
        name: "flutter",
        when: Always,
        shown: &[("~/flutter", Whole), ("~/.pub-cache/bin", Links)],
        why: "flutter is missing",
    },
    Tool {
        name: "swift",
        when: Always,
        shown: &[("~/.swiftly", Whole), ("$XDG_DATA_HOME/swiftly", Whole)],
        why: "swift is missing",
    },
    Tool {
        name: "nix",
        when: Always,
        shown: &[("~/.nix-profile", Whole), ("$XDG_STATE_HOME/nix/profile", Whole)],
        why: "programs of a nix profile are missing",
    },
    Tool {
        name: "homebrew",
        when: Always,
        shown: &[("~/.linuxbrew", Whole)],
        why: "programs of a Homebrew in the home are missing",
    },
    Tool {
        name: "bin",
        when: Always,
        shown: &[("~/.local/bin", Links), ("~/bin", Links)],
        why: "programs that the user installed are missing",
    },
    Tool {
        name: "git",
        when: Always,
        // Name and email are in a file that is written for the sandbox.
        shown: &[("$XDG_CONFIG_HOME/git/ignore", Whole), ("$XDG_CONFIG_HOME/git/attributes", Whole)],
        why: "files that git ignores for this user are committed",
    },
    Tool {
        name: "terminal",
        when: Always,
        shown: &[("~/.terminfo", Whole), ("~/.editorconfig", Whole), ("~/.inputrc", Whole)],
        why: "programs do not know the terminal",
    },
    Tool {
        name: "claude",
        when: Always,
        shown: &[("~/.claude/local", Whole), ("$XDG_DATA_HOME/claude/versions", Whole)],
        why: "Claude Code is missing",
    },
    Tool { name: "opencode", when: Always, shown: &[("~/.opencode/bin", Links)], why: "opencode is missing" },
    Tool { name: "droid", when: Always, shown: &[("~/.factory/bin", Links)], why: "droid has no search" },
    Tool {
        name: "gh",
        when: Named,
        shown: &[("$XDG_CONFIG_HOME/gh", Whole)],
        why: "gh is not logged in; with it, the agent acts as you on GitHub",
    },
    Tool {
        name: "aws",
        when: Named,
        shown: &[("~/.aws", Whole)],
        why: "aws is not logged in; with it, the agent acts as you",
    },
    Tool {
        name: "gcloud",
        when: Named,
        shown: &[("$XDG_CONFIG_HOME/gcloud", Whole)],
        why: "gcloud is not logged in; with it, the agent acts as you",
    },
    Tool {
        name: "kubectl",
        when: Named,
        shown: &[("~/.kube", Whole)],
        why: "kubectl knows no cluster; with it, the agent acts as you there",
    },
    Tool {
        name: "huggingface",
        when: Named,
        shown: &[("$XDG_CACHE_HOME/huggingface/hub", Whole), ("$XDG_CACHE_HOME/huggingface/datasets", Whole)],
        why: "models and datasets are downloaded again",
    },
];

/// What an entry of `sandbox.tools` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted<'a> {
    Tool(&'static Tool),
    /// The login of an agent that is not among those of the run, such as one that a script starts.
    Agent(&'static super::agents::AgentFiles),
    /// A path as the tables write them.
    Path(&'a str),
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("neither a known tool nor a path that begins with / or ~: {0}")]
pub struct UnknownTool(pub String);

/// An agent's name stands for its login: its installation is visible anyway.
pub fn wanted(entry: &str) -> Result<Wanted<'_>, UnknownTool> {
    if entry.starts_with(['/', '~', '$']) {
        return Ok(Wanted::Path(entry));
    }
    let agent = super::agents::AGENTS.iter().find(|agent| agent.name == entry);
    let tool = || TOOLS.iter().find(|tool| tool.name == entry);
    agent.map(Wanted::Agent).or_else(|| tool().map(Wanted::Tool)).ok_or_else(|| UnknownTool(entry.to_owned()))
}

/// The names that `sandbox.tools` takes.
pub fn names() -> impl Iterator<Item = &'static str> {
    let tools = TOOLS.iter().filter(|tool| tool.when == Named).map(|tool| tool.name);
    tools.chain(super::agents::AGENTS.iter().map(|agent| agent.name))
}

/// The rows that are in use without being named.
pub fn always() -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter().filter(|tool| tool.when == Always)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Places;
    use std::path::{Path, PathBuf};

    fn paths() -> Vec<(&'static str, PathBuf)> {
        let places = Places { home: Path::new("/h"), variable: &|_| None };
        let rows = always().flat_map(|tool| tool.shown);
        rows.map(|(path, _)| (*path, places.expand(path).unwrap())).collect()
    }

    #[test]
    fn each_row_is_below_the_home_and_is_not_the_home() {
        for (row, path) in paths() {
            assert!(path.starts_with("/h") && path != Path::new("/h"), "{row}");
        }
    }

    #[test]
    fn no_row_shows_what_keys_and_credentials_are_kept_in() {
        // No list hides these. It only shows that no row was written too wide.
        for secret in "\
            .ssh .gnupg .aws .kube .netrc .git-credentials .docker/config.json .config/gh \
            .config/gcloud .cargo/credentials.toml .pypirc .password-store .local/share/keyrings \
            .local/share/uv/credentials .mozilla .config/google-chrome .bash_history .bashrc \
            .claude/.credentials.json .claude.json .codex/auth.json .config/ralph \
            .local/state/ralph .vault-token .m2/settings-security.xml \
            .local/share/opencode/auth.json .gem/credentials .config/pypoetry/auth.toml \
            .dotnet/corefx/cryptography/x509stores .android/adbkey .local/share/pnpm/auth.ini"
            .split(' ')
        {
            let secret = Path::new("/h").join(secret);
            for (row, path) in paths() {
                assert!(!secret.starts_with(&path), "{row} shows {}", secret.display());
            }
        }
    }

    #[test]
    fn an_entry_of_the_settings_is_a_name_or_a_path() {
        assert_eq!(wanted("~/x y"), Ok(Wanted::Path("~/x y")));
        assert_eq!(wanted("$OPENSSL_DIR"), Ok(Wanted::Path("$OPENSSL_DIR")));
        assert!(matches!(wanted("gh"), Ok(Wanted::Tool(tool)) if tool.when == Named));
        assert!(matches!(wanted("claude"), Ok(Wanted::Agent(agent)) if agent.name == "claude"));
        for bad in ["", "x/y", "Gh"] {
            assert_eq!(wanted(bad), Err(UnknownTool(bad.to_owned())));
        }
        assert!(names().any(|name| name == "aws") && !names().any(|name| name == "rust"));
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = TOOLS.iter().map(|tool| tool.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TOOLS.len());
    }
}
