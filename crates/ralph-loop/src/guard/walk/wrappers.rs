//! The table of programs that start other programs.

use crate::guard::invocation::Site;

/// A program whose arguments end with another command.
pub struct Wrapper {
    /// Programs, or a program and its first words.
    pub pattern: &'static str,
    /// Words before the command, the subcommand among them.
    pub skips: usize,
    /// Flags that are followed by a value.
    pub valued: &'static str,
    pub site: Site,
}

const fn here(pattern: &'static str, skips: usize, valued: &'static str) -> Wrapper {
    Wrapper { pattern, skips, valued, site: Site::Here }
}

const fn inside(pattern: &'static str, skips: usize, valued: &'static str) -> Wrapper {
    Wrapper { pattern, skips, valued, site: Site::Container }
}

const SUDO: &str =
    "-u -g -h -p -C -T -r -t -D -R -U --user --group --host --prompt --chdir --chroot --role --type";
const DOCKER_EXEC: &str = "-e -u -w --env --user --workdir --env-file --detach-keys -c --container -n --namespace --context -f --file --project-name";
const DOCKER_RUN: &str = "-a -c -e -h -l -m -p -u -v -w --add-host --annotation --attach --blkio-weight --cap-add --cap-drop --cgroup-parent --cgroupns --cidfile --cpu-shares --cpus --cpuset-cpus --device --dns --entrypoint --env --env-file --expose --gpus --group-add --health-cmd --hostname --ip --ipc --isolation --label --link --log-driver --log-opt --mac-address --memory --mount --name --net --network --network-alias --pid --pids-limit --platform --publish --pull --restart --runtime --security-opt --shm-size --stop-signal --storage-opt --sysctl --tmpfs --ulimit --user --userns --uts --volume --volumes-from --workdir --image --overrides -n --namespace -f --file";

pub const WRAPPERS: [Wrapper; 41] = [
    here("sudo|doas|run0", 0, SUDO),
    here(
        "nohup|setsid|chronic|unbuffer|eatmydata|ccache|sccache|busybox|toybox|winpty|catchsegv|exec|builtin|command|torsocks|tsocks|dbus-run-session|dumb-init|tini|cross-env|env-cmd|rlwrap|time|gtime|firejail|valgrind|caffeinate|xvfb-run|proxychains|proxychains4|setpriv|sshpass",
        0,
        "-a -f -o -t -w -p -n -s -e",
    ),
    here(
        "nice|ionice|prlimit|systemd-run|systemd-inhibit|cpulimit|strace|ltrace|perf-stat|fakeroot",
        0,
        "-n -c -o -e -p -s -u -l -P -E --adjustment --class --unit --property --what --why --who --mode",
    ),
    here(
        "timeout|gtimeout|taskset|faketime|setarch|gosu|su-exec|softlimit",
        1,
        "-s -k --signal --kill-after -p",
    ),
    here("chrt", 1, "-T -P -D"),
    here("stdbuf", 0, "-i -o -e"),
    here("entr", 0, ""),
    here("screen", 0, "-S -dmS -DmS -dS -c -h -s -t -T -X -p -e"),
    here("flock", 1, "-w -E --timeout --conflict-exit-code"),
    here("chroot", 1, ""),
    here("unshare|nsenter", 0, "-t --target -S -G"),
    here("runuser", 0, "-u -g -G --user"),
    here("npx|bunx|uvx|pnpx", 0, "-p --package -w --workspace --from --with"),
    here("npm exec|x", 1, "-w --workspace --package"),
    here("pnpm exec|dlx", 1, "-C --filter --package"),
    here("yarn exec|dlx|run", 1, "-p --package"),
    // A program of the project, without a word for it.
    here(
        "yarn|pnpm|bun prisma|knex|sequelize|sequelize-cli|typeorm|drizzle-kit|lerna|changeset|semantic-release",
        0,
        "",
    ),
    here(
        "yarn|pnpm|bun vercel|netlify|firebase|wrangler|serverless|sls|cdk|cdktf|supabase|sst|rimraf|eas|np",
        0,
        "",
    ),
    here("bundle exec", 1, "--gemfile"),
    here("poetry|pipenv|rye|hatch|pdm|pixi run", 1, "-C --directory --project"),
    here("uv run", 1, "-p --python --with --project --directory --extra --group"),
    here("conda|mamba|micromamba run", 1, "-n -p --name --prefix"),
    here("pipx run", 1, "--spec"),
    here("mise|asdf|rbenv|pyenv|nodenv|jenv|goenv exec|x", 1, ""),
    here("direnv exec", 2, ""),
    here("nvm exec", 2, ""),
    here("op|doppler|infisical|dotenvx run", 1, "--env-file -p -c --project --config --env -f"),
    here("chamber|aws-vault|envchain exec", 2, "-n"),
    here("dotenv", 0, "-e -f -c -p"),
    here("rustup run", 2, ""),
    here("perf stat|record", 1, "-e -o -p"),
    here("hyperfine", 0, "-w -r -n -N --warmup --runs --export-json --export-markdown --prepare"),
    here("git bisect run", 2, ""),
    here("deno run|task", 1, ""),
    inside("docker|podman|nerdctl exec", 2, DOCKER_EXEC),
    inside("docker|podman|nerdctl run|create", 2, DOCKER_RUN),
    inside("docker|podman container exec", 3, DOCKER_EXEC),
    inside("docker|podman compose exec|run", 3, DOCKER_RUN),
    inside("docker-compose|podman-compose exec|run", 2, DOCKER_RUN),
    inside("kubectl|oc|k exec|run|rsh", 2, DOCKER_RUN),
    inside("lxc|incus exec", 2, ""),
];

/// A flag whose value is shell code.
pub struct CodeFlag {
    pub pattern: &'static str,
    pub flags: &'static [&'static str],
    /// What must be before the code in the value, and is not a part of it.
    pub prefix: &'static str,
}

pub const CODE_FLAGS: [CodeFlag; 15] = [
    CodeFlag { pattern: "su|sg|script|runuser|scriptreplay", flags: &["-c", "--command"], prefix: "" },
    CodeFlag { pattern: "nix-shell|nix", flags: &["--run", "--command", "-c"], prefix: "" },
    CodeFlag { pattern: "tar|gtar|bsdtar", flags: &["--checkpoint-action"], prefix: "exec=" },
    CodeFlag {
        pattern: "tar|gtar|bsdtar",
        flags: &["--to-command", "-I", "--use-compress-program", "-F"],
        prefix: "",
    },
    CodeFlag { pattern: "rsync", flags: &["-e", "--rsh"], prefix: "" },
    CodeFlag { pattern: "zip", flags: &["-TT", "--unzip-command"], prefix: "" },
    CodeFlag { pattern: "vim|vi|nvim|ex|view|gvim", flags: &["-c", "--cmd"], prefix: ":!" },
    CodeFlag { pattern: "vim|vi|nvim|ex|view|gvim", flags: &["-c", "--cmd"], prefix: "!" },
    CodeFlag { pattern: "psql", flags: &["-c", "--command"], prefix: "\\!" },
    CodeFlag { pattern: "mysql|mariadb", flags: &["-e", "--execute"], prefix: "\\!" },
    CodeFlag { pattern: "gdb|lldb", flags: &["-ex", "--eval-command", "-o"], prefix: "shell " },
    CodeFlag { pattern: "git rebase", flags: &["-x", "--exec"], prefix: "" },
    CodeFlag {
        pattern: "git filter-branch",
        flags: &["--tree-filter", "--index-filter", "--msg-filter"],
        prefix: "",
    },
    CodeFlag { pattern: "screen", flags: &["-X"], prefix: "stuff " },
    CodeFlag { pattern: "entr|watchexec|nodemon", flags: &["-x", "--exec", "-s"], prefix: "" },
];

/// A flag whose value is shell code for another machine.
pub const REMOTE_FLAGS: [CodeFlag; 3] = [
    CodeFlag { pattern: "vagrant ssh", flags: &["-c", "--command"], prefix: "" },
    CodeFlag { pattern: "gcloud compute ssh", flags: &["--command"], prefix: "" },
    CodeFlag { pattern: "ansible", flags: &["-a", "--args"], prefix: "" },
];
