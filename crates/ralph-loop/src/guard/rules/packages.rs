//! Packages that are published, or installed for the whole machine.

use super::facts::variables::is_strange_registry;
use super::on_a_machine;
use super::{Rule, always};
use crate::guard::arg::Arg;
use crate::guard::hosts::{host_of, is_local};
use crate::guard::{Category, Verdict};
use crate::guard::{Invocation, World};

pub const RULES: &[Rule] = &[
    Rule {
        id: "publish",
        category: Category::Packages,
        verdict: Verdict::Block,
        patterns: &[
            "npm|yarn|pnpm|bun|lerna|changeset|vsce publish|unpublish !--dry-run|-n",
            "ovsx|jsr|deno|nx|rush|wally|elm-publish publish|unpublish !--dry-run|-n",
            "npm|pnpm deprecate|undeprecate|owner|access|team|star",
            "npm|pnpm|yarn dist-tag|tag add|rm|remove",
            "yarn npm publish|tag",
            "npm|yarn|pnpm token|hook|profile create|revoke|set",
            "semantic-release|np|release-it !--dry-run|-n|--dryRun|--dry-run=true",
            "release-please|auto|standard-version !--dry-run|-n|--dryRun|--dry-run=true",
            "cargo publish|release !--dry-run|-n|--list",
            "cargo yank|owner|login|logout",
            "cargo workspaces|ws publish",
            "twine upload",
            "poetry|flit|hatch|uv|pdm|maturin|rye publish !--dry-run",
            "setup.py|python|python3 ~upload",
            "gem push|yank|owner|signout",
            "mvn|mvnw ~deploy|release:perform|release:prepare|nexus-staging:release !-DdryRun=true",
            "gradle|gradlew ~publish|publishPlugins|publishAllPublications* !--dry-run|-m",
            "gradle|gradlew ~*:publish|uploadArchives !--dry-run|-m",
            "gradle|gradlew ~publishToSonatype|closeAndRelease* !--dry-run|-m",
            "dotnet nuget push|delete",
            "nuget push|delete",
            "docker|podman|nerdctl|buildah|skopeo|crane|oras|regctl push|copy|delete",
            "docker|podman image|manifest push",
            "docker buildx build --push",
            "docker|podman build --push",
            "docker compose push",
            "helm push",
            "helm registry|cm-push *",
            "cosign sign",
            "gh release create|delete|upload|edit|delete-asset",
            "glab release create|delete|upload",
            "goreleaser release !--snapshot|--skip=publish",
            "pod trunk push|delete|deprecate",
            "mix hex.publish|hex.retire",
            "sbt|sbtn ~publish|publishSigned|sonatypeRelease|release",
            "conan upload",
            "dart|flutter pub publish",
            "opam publish",
            "composer publish",
            "luarocks upload",
            "stack|cabal upload",
            "clojure|lein deploy",
            "snapcraft upload|release|push",
            "fastlane release|deliver|supply|pilot|beta|deploy",
            "expo|eas submit|publish|update",
            "conda|anaconda upload",
            "hackage-upload|cpan-upload|chromatic",
            "wasm-pack|wapm publish",
        ],
        when: always,
        why: "publishes a release, which others get and which cannot be taken back",
        instead: "prepare the release (`--dry-run`) and let the user publish it",
        catches: "npm publish --access public",
        passes: "cargo publish --dry-run",
    },
    Rule {
        id: "registry-changed",
        category: Category::Packages,
        verdict: Verdict::Block,
        patterns: &[
            "npm|pnpm|yarn|bun config set registry|//*|*:registry|npmRegistryServer|strict-ssl|proxy",
            "npm|pnpm|yarn|bun config set https-proxy|ignore-scripts",
            "npm|pnpm|yarn|bun config set script-shell|prefix|npmAuthToken|globalFolder",
            "npm|pnpm set registry",
            "pip|pip3 config set *index-url|*trusted-host|*extra-index-url|*proxy|*target",
            "gem sources -a|--add|-r",
            "bundle config set ~mirror.*",
            "helm repo add ~http://*",
            "go env -w ~GOPROXY=*|GOSUMDB=*|GONOSUMDB=*|GOINSECURE=*|GOFLAGS=*",
            "cargo config set",
            "nuget|dotnet sources|nuget add|update",
            "poetry source add",
            "add-apt-repository|apt-add-repository|apt-key|yum-config-manager|rpmkeys",
        ],
        when: always,
        why: "packages would come from another source",
        instead: "use the registry that is set up",
        catches: "npm config set registry https://registry.example.com",
        passes: "npm config get registry",
    },
    Rule {
        id: "strange-index",
        category: Category::Packages,
        verdict: Verdict::Block,
        patterns: &[
            "pip|pip3|uv|pipx|poetry|pdm install|add|pip|download|sync|run|wheel",
            "npm|pnpm|yarn|bun install|i|add|ci",
            "gem install",
            "cargo install",
            "go get|install",
        ],
        when: installs_from_stranger,
        why: "installs packages from a source that is not the usual registry",
        instead: "install from the usual registry, or ask the user",
        catches: "pip install --index-url https://packages.example.com/simple internal-lib",
        passes: "pip install -r requirements.txt",
    },
    Rule {
        id: "install-global",
        category: Category::Packages,
        verdict: Verdict::Block,
        patterns: &[
            "npm|pnpm|bun install|i|add|update|up -g|--global|--location=global",
            "npm|pnpm|bun uninstall|remove|rm|un|link|upgrade -g|--global|--location=global",
            "npm|pnpm -g",
            "yarn global add|remove|upgrade",
            "volta|fnm|nvm uninstall",
            "pip|pip3|uv --break-system-packages",
            "uv|pip --system",
            "easy_install",
            "nix-env -i|-e|-u|--install|--uninstall|--upgrade",
            "nix profile install|remove|upgrade",
            "conda|mamba install|remove|update -n=base|--name=base",
        ],
        when: on_a_machine,
        why: "installs for the whole machine, not for the project",
        instead: "install it in the project",
        catches: "npm install -g typescript",
        passes: "npm install --save-dev typescript",
    },
    Rule {
        id: "system-packages",
        category: Category::Packages,
        verdict: Verdict::Block,
        patterns: &[
            "apt|apt-get|aptitude install|remove|purge|autoremove|upgrade|dist-upgrade",
            "apt|apt-get|aptitude full-upgrade|update|reinstall",
            "apt|apt-get|aptitude build-dep|clean|autoclean|edit-sources",
            "dpkg -i|--install|-r|-P|--remove|--purge|--configure|--force-all",
            "yum|dnf|microdnf|tdnf|zypper install|in|remove|rm|erase",
            "yum|dnf|microdnf|tdnf|zypper update|up|upgrade|downgrade|reinstall",
            "yum|dnf|microdnf|tdnf|zypper autoremove|distro-sync|localinstall",
            "yum|dnf|microdnf|tdnf|zypper group|groupinstall|module|copr|addrepo|ar",
            "rpm -i|-U|-e|-F|--install|--erase|--upgrade !-q|--query",
            "pacman|yay|paru -S|-R|-U|-Syu|-Sy|-Rns|-Rs !-Ss|-Si|-Sg",
            "apk add|del|upgrade|fix|update",
            "emerge|eopkg|xbps-install|xbps-remove !--search|-s|--pretend|-p",
            "slackpkg|urpmi|swupd|pkg_add|pkg_delete|guix !--search|-s|--pretend|-p",
            "pkg install|delete|remove|upgrade|update",
            "brew install|uninstall|remove|rm|upgrade|reinstall|link",
            "brew unlink|tap|untap|cleanup|autoremove|update|cask|tap-new",
            "port|snap|flatpak|mas|choco|scoop|winget install|uninstall|remove|upgrade|update",
            "port|snap|flatpak|mas|choco|scoop|winget refresh|selfupdate|disable|revert|purge",
            "installer|softwareupdate ~-pkg|-i|--install",
            "alien|gdebi|apt-mark|unattended-upgrade",
        ],
        when: on_a_machine,
        why: "changes the packages of the machine",
        instead: "ask the user to install it, or install it in the project",
        catches: "apt-get install -y postgresql",
        passes: "apt list --installed",
    },
    Rule {
        id: "run-package",
        category: Category::Packages,
        verdict: Verdict::Warn,
        patterns: &[
            "npx|bunx|pnpx|uvx !--no-install|--no|--offline",
            "pnpm|yarn dlx",
            "npm exec|x|create|init",
            "pipx run|install",
            "deno run|install ~http*",
        ],
        when: runs_new_package,
        why: "runs a package that may be downloaded just now",
        instead: "add it to the project",
        catches: "npx create-vite my-app",
        passes: "npm run build",
    },
    Rule {
        id: "install-tool",
        category: Category::Packages,
        verdict: Verdict::Warn,
        patterns: &[
            "cargo install|uninstall !--root|--path=.|--list",
            "gem install|uninstall !--user-install|--install-dir|-i",
            "go install !./...",
            "dotnet tool install -g|--global",
            "uv tool install",
            "corepack enable|disable",
            "rustup default|update|toolchain|self",
        ],
        when: on_a_machine,
        why: "installs a tool in the user's home",
        instead: "use what the project declares",
        catches: "cargo install ripgrep",
        passes: "cargo build",
    },
];

/// Whether the package that is run is neither the project's own nor a tool that most projects use.
fn runs_new_package(invocation: &Invocation, world: &World<'_>) -> bool {
    const USUAL: [&str; 62] = [
        "tsc",
        "tsx",
        "ts-node",
        "typescript",
        "eslint",
        "prettier",
        "vitest",
        "jest",
        "mocha",
        "ava",
        "playwright",
        "cypress",
        "vite",
        "webpack",
        "rollup",
        "esbuild",
        "tsup",
        "swc",
        "babel",
        "next",
        "nuxt",
        "astro",
        "svelte-kit",
        "svelte-check",
        "vue-tsc",
        "ng",
        "nx",
        "turbo",
        "lerna",
        "changeset",
        "husky",
        "lint-staged",
        "biome",
        "oxlint",
        "stylelint",
        "tailwindcss",
        "postcss",
        "prisma",
        "drizzle-kit",
        "knex",
        "typeorm",
        "sequelize-cli",
        "storybook",
        "expo",
        "react-native",
        "serve",
        "http-server",
        "nodemon",
        "concurrently",
        "rimraf",
        "c8",
        "nyc",
        "markdownlint",
        "typedoc",
        "ruff",
        "black",
        "mypy",
        "pytest",
        "flake8",
        "isort",
        "pyright",
        "pre-commit",
    ];
    let at = usize::from(!matches!(invocation.name(), "npx" | "bunx" | "pnpx" | "uvx"));
    let Some(package) = invocation.operand(at).map(Arg::text) else { return false };
    let installs =
        at == 1 && matches!(invocation.operand(0).map(Arg::text), Some("install" | "create" | "init"));
    // `@playwright/test@1.50`: the program is called like the package, without its version.
    let name = match package.rfind('@') {
        Some(end) if end > 0 => &package[..end],
        _ => package,
    };
    let scoped = name.strip_prefix('@').and_then(|rest| rest.split_once('/'));
    let is_usual = USUAL.contains(&name)
        || scoped.is_some_and(|(scope, name)| {
            matches!(
                (scope, name),
                ("playwright", "test") | ("biomejs", "biome") | ("changesets", "cli") | ("angular", "cli")
            )
        });
    installs || !(is_usual || is_installed(name, invocation, world))
}

/// Whether the project has a program of this name.
fn is_installed(name: &str, invocation: &Invocation, world: &World<'_>) -> bool {
    let Some(cwd) = invocation.cwd.as_ref().filter(|cwd| cwd.starts_with(&world.workspace)) else {
        return false;
    };
    cwd.ancestors().take_while(|dir| dir.starts_with(&world.workspace)).any(|dir| {
        (world.names)(&dir.join("node_modules/.bin"))
            .is_some_and(|names| names.iter().any(|known| known == name))
    })
}

/// `--index-url`, `--registry` and URLs of packages, at a host that is not one of the usual ones.
fn installs_from_stranger(invocation: &Invocation, _: &World<'_>) -> bool {
    let flags = [
        "-i",
        "--index-url",
        "--extra-index-url",
        "--registry",
        "--default-index",
        "--index",
        "-f",
        "--find-links",
        "--source",
    ];
    let takes_index = !matches!(invocation.name(), "npm" | "pnpm" | "yarn" | "bun" | "go" | "gem" | "cargo");
    let named = flags.iter().filter(|flag| takes_index || !matches!(**flag, "-i" | "-f"));
    let mut registries = named.flat_map(|flag| invocation.flag_values(flag));
    let is_url = |arg: &Arg| arg.text().contains("://");
    let strange = registries.any(|url| is_url(&url) && is_strange_registry(url.text()));
    let trusted =
        invocation.flag_values("--trusted-host").iter().any(|host| is_strange_registry(host.text()));
    let plain = invocation.operands().iter().any(|word| {
        word.text().trim_start_matches("git+").starts_with("http://") && !is_local(host_of(word.text()))
    });
    strange || trusted || plain
}
