//! Paths as the tables write them: `~/bin`, `$CARGO_HOME/bin`, `/opt/sdk`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The variables that say where something is, and where it is if they are not set.
pub const VARIABLES: &[(&str, &str)] = &[
    ("XDG_CACHE_HOME", "~/.cache"),
    ("XDG_CONFIG_HOME", "~/.config"),
    ("XDG_DATA_HOME", "~/.local/share"),
    ("XDG_STATE_HOME", "~/.local/state"),
    ("CARGO_HOME", "~/.cargo"),
    ("RUSTUP_HOME", "~/.rustup"),
    ("NVM_DIR", "~/.nvm"),
    ("VOLTA_HOME", "~/.volta"),
    ("FNM_DIR", "$XDG_DATA_HOME/fnm"),
    ("N_PREFIX", "~/n"),
    ("PNPM_HOME", "$XDG_DATA_HOME/pnpm"),
    ("BUN_INSTALL", "~/.bun"),
    ("DENO_INSTALL", "~/.deno"),
    ("DENO_DIR", "$XDG_CACHE_HOME/deno"),
    ("npm_config_cache", "~/.npm"),
    ("npm_config_prefix", "~/.npm-global"),
    ("PYENV_ROOT", "~/.pyenv"),
    ("PIPX_HOME", "$XDG_DATA_HOME/pipx"),
    ("PIP_CACHE_DIR", "$XDG_CACHE_HOME/pip"),
    ("UV_CACHE_DIR", "$XDG_CACHE_HOME/uv"),
    ("UV_PYTHON_INSTALL_DIR", "$XDG_DATA_HOME/uv/python"),
    ("UV_TOOL_DIR", "$XDG_DATA_HOME/uv/tools"),
    ("MISE_DATA_DIR", "$XDG_DATA_HOME/mise"),
    ("ASDF_DIR", "~/.asdf"),
    ("ASDF_DATA_DIR", "~/.asdf"),
    ("SDKMAN_DIR", "~/.sdkman"),
    ("RBENV_ROOT", "~/.rbenv"),
    ("GOPATH", "~/go"),
    ("GOMODCACHE", "$GOPATH/pkg/mod"),
    ("GOCACHE", "$XDG_CACHE_HOME/go-build"),
    ("GRADLE_USER_HOME", "~/.gradle"),
    ("NUGET_PACKAGES", "~/.nuget/packages"),
    ("ANDROID_HOME", "~/Android/Sdk"),
    ("CLAUDE_CONFIG_DIR", "~/.claude"),
    ("CODEX_HOME", "~/.codex"),
];

/// One default names another variable, which names the home.
const DEEPEST: usize = 4;

/// Where the paths of the tables are on this machine.
#[derive(Clone, Copy)]
pub struct Places<'a> {
    pub home: &'a Path,
    /// The value of a variable.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
}

impl Places<'_> {
    /// Nothing for a relative path, and for one that begins with a variable that is not set.
    pub fn expand(&self, path: &str) -> Option<PathBuf> {
        self.expand_below(path, DEEPEST)
    }

    fn expand_below(&self, path: &str, depth: usize) -> Option<PathBuf> {
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let root = match first.strip_prefix('$') {
            _ if first == "~" => self.home.to_path_buf(),
            None if path.starts_with('/') => PathBuf::from("/"),
            None => return None,
            Some("HOME") => self.home.to_path_buf(),
            Some(name) => self.root(name, depth.checked_sub(1)?)?,
        };
        // Joined with nothing, a path would only get a slash at its end.
        Some(if rest.is_empty() { root } else { root.join(rest) })
    }

    fn root(&self, name: &str, depth: usize) -> Option<PathBuf> {
        // `GOPATH` may be a list, of which the first counts. A tool that is given a relative path
        // means another directory in each place that it runs in.
        let set = (self.variable)(name).and_then(|value| std::env::split_paths(&value).next());
        set.filter(|path| path.is_absolute()).or_else(|| {
            let (_, default) = VARIABLES.iter().find(|(known, _)| *known == name)?;
            self.expand_below(default, depth)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Option<&str>) {
        let variable = |name: &str| match name {
            "CARGO_HOME" => Some(OsString::from("/data/cargo")),
            "GOPATH" => Some("/a:/b".into()),
            "NVM_DIR" => Some("relative".into()),
            "PYENV_ROOT" => Some("".into()),
            _ => None,
        };
        let places = Places { home: Path::new("/home/me"), variable: &variable };
        assert_eq!(places.expand(path).as_deref(), expected.map(Path::new), "{path}");
    }

    #[test]
    fn a_path_begins_at_the_root_the_home_or_a_variable() {
        check("/opt/x", Some("/opt/x"));
        check("~", Some("/home/me"));
        check("~/bin", Some("/home/me/bin"));
        check("$HOME/bin", Some("/home/me/bin"));
        check("$CARGO_HOME/bin", Some("/data/cargo/bin"));
        check("$XDG_CACHE_HOME", Some("/home/me/.cache"));
        check("$FNM_DIR/x", Some("/home/me/.local/share/fnm/x"));
        check("$GOMODCACHE", Some("/a/pkg/mod"));
        check("bin", None);
        check("/", Some("/"));
        check("", None);
        check("$UNKNOWN/x", None);
    }

    #[test]
    fn a_variable_that_is_empty_or_relative_does_not_count() {
        check("$NVM_DIR", Some("/home/me/.nvm"));
        check("$PYENV_ROOT", Some("/home/me/.pyenv"));
    }

    #[test]
    fn each_default_leads_to_the_home() {
        let places = Places { home: Path::new("/home/me"), variable: &|_| None };
        for (name, _) in VARIABLES {
            let path = places.expand(&format!("${name}")).unwrap();
            assert!(path.starts_with("/home/me"), "{name}: {}", path.display());
        }
    }
}
