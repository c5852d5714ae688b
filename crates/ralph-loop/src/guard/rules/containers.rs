//! The walls of containers, the host mounted into one, and containers deleted.

use super::facts::touch::something_in;
use super::facts::variables::{SETTERS, moves_docker};
use super::{Rule, always};
use crate::guard::arg::Arg;
use crate::guard::paths::{self, Zone, locate};
use crate::guard::{Category, Verdict};
use crate::guard::{Invocation, World};

pub const RULES: &[Rule] = &[
    Rule {
        id: "privileged-container",
        category: Category::Containers,
        verdict: Verdict::Block,
        patterns: &[
            "docker|podman|nerdctl run|create",
            "docker|podman|nerdctl container run|create",
            "docker|podman|nerdctl exec --privileged",
            "docker|podman|nerdctl compose run --privileged",
            "ctr|crictl|runc|lxc-start ~--privileged|privileged",
        ],
        when: is_privileged,
        why: "gives a container the rights of the host",
        instead: "run it without these flags",
        catches: "docker run --rm --privileged alpine sh",
        passes: r#"docker run --rm alpine sh -c "echo hello""#,
    },
    Rule {
        id: "host-mount",
        category: Category::Containers,
        verdict: Verdict::Block,
        patterns: &[
            "docker|podman|nerdctl run|create",
            "docker|podman|nerdctl container run|create",
            "docker|podman|nerdctl|docker-compose|podman-compose ~run|create",
        ],
        when: mounts_host,
        why: "mounts a part of the host that is not in the workspace",
        instead: "mount a directory of the workspace",
        catches: "docker run -v /:/host alpine chroot /host",
        passes: r#"docker run --rm -v "$PWD":/app -w /app node:22 npm test"#,
    },
    Rule {
        id: "host-in-manifest",
        category: Category::Containers,
        verdict: Verdict::Block,
        patterns: &[
            "kubectl|oc|k|kubecolor apply|create|replace",
            "docker|podman compose",
            "docker-compose|podman-compose|docker stack",
        ],
        when: is_handed_privileges,
        why: "gives a container the rights or the files of the host",
        instead: "leave these settings out",
        catches: r#"docker compose -f - up -d <<< '{"services":{"x":{"image":"alpine","privileged":true}}}'"#,
        passes: r#"docker compose -f - up -d <<< '{"services":{"x":{"image":"alpine"}}}'"#,
    },
    Rule {
        id: "host-network",
        category: Category::Containers,
        verdict: Verdict::Warn,
        patterns: &["docker|podman|nerdctl run|create --network=host|--net=host"],
        when: always,
        why: "the container shares the network of the host",
        instead: "publish the ports that are needed",
        catches: "docker run --rm --network host nginx",
        passes: "docker run --rm -p 8080:80 nginx",
    },
    Rule {
        id: "namespaces",
        category: Category::Containers,
        verdict: Verdict::Block,
        patterns: &[
            "nsenter|unshare|chroot|pivot_root|lxc-attach|machinectl|systemd-nspawn|debootstrap",
            "bwrap|firejail ~--dev-bind|--bind|--noprofile",
        ],
        when: always,
        why: "leaves or makes a container's walls",
        instead: "use docker run",
        catches: "nsenter -t 1 -m -u -i -n sh",
        passes: r#"docker exec app sh -c "ls""#,
    },
    Rule {
        id: "docker-api",
        category: Category::Containers,
        verdict: Verdict::Block,
        patterns: &[
            "curl|wget|http|socat|nc ~*docker.sock*|*containerd.sock*|*podman.sock*|*crio.sock*",
            "docker|podman -H|--host",
            "docker context create|use|rm|update|import",
            "dockerd|containerd",
        ],
        when: always,
        why: "talks to the container service around its usual limits",
        instead: "use docker as the user has set it up",
        catches: "curl --unix-socket /var/run/docker.sock http://localhost/containers/json",
        passes: "docker ps",
    },
    Rule {
        id: "volume-deleted",
        category: Category::Containers,
        verdict: Verdict::Block,
        patterns: &["docker|podman|nerdctl volume rm|remove"],
        when: names_real_volume,
        why: "deletes the data of a container",
        instead: "use a volume with `test` in its name, and delete that",
        catches: "docker volume rm app_pgdata",
        passes: "docker volume rm app_test_pgdata",
    },
    Rule {
        id: "volumes-deleted",
        category: Category::Containers,
        verdict: Verdict::Block,
        patterns: &[
            "docker|podman|nerdctl volume prune",
            "docker|podman|nerdctl system prune -a|--all|--volumes",
            "docker|podman system reset",
            "docker|podman machine rm|reset",
            "docker-compose|podman-compose down --rmi=all",
            "docker swarm leave|init",
            "docker stack|service|node|secret|config rm|remove",
            "lxc|incus delete",
            "lxc|incus config set|device",
        ],
        when: always,
        why: "deletes volumes or images, with the data in them",
        instead: "remove the containers of this project by name",
        catches: "docker volume prune -f",
        passes: "docker compose down",
    },
    Rule {
        id: "compose-volumes",
        category: Category::Containers,
        verdict: Verdict::Warn,
        patterns: &[
            "docker|podman compose down -v|--volumes",
            "docker-compose|podman-compose down -v|--volumes",
        ],
        when: always,
        why: "deletes the volumes of the project, with their data",
        instead: "leave out the flag",
        catches: "docker compose down -v",
        passes: "docker compose down --remove-orphans",
    },
    Rule {
        id: "compose-production",
        category: Category::Containers,
        verdict: Verdict::Block,
        patterns: &[
            "docker|podman compose down|rm|kill -v|--volumes",
            "docker-compose|podman-compose down|rm|kill -v|--volumes",
        ],
        when: names_production,
        why: "deletes the volumes of what others use, with their data",
        instead: "leave it to the user",
        catches: "docker compose -f docker-compose.prod.yml down -v",
        passes: "docker compose -f docker-compose.test.yml down -v",
    },
    Rule {
        id: "docker-elsewhere",
        category: Category::Containers,
        verdict: Verdict::Block,
        patterns: SETTERS,
        when: moves_docker,
        why: "docker would work on another machine",
        instead: "use docker as the user has set it up",
        catches: "DOCKER_HOST=ssh://root@prod docker rm -f web",
        passes: "DOCKER_HOST=tcp://localhost:2375 docker ps",
    },
    Rule {
        id: "every-container",
        category: Category::Containers,
        verdict: Verdict::Block,
        patterns: &["docker|podman|nerdctl rm|rmi|kill", "docker|podman|nerdctl container|image rm|kill"],
        when: deletes_every,
        why: "deletes containers or images of every project",
        instead: "name the containers of this project",
        catches: "docker rm -f $(docker ps -aq)",
        passes: "docker rm -f app-test",
    },
    Rule {
        id: "stop-every-container",
        category: Category::Containers,
        verdict: Verdict::Warn,
        patterns: &[
            "docker|podman|nerdctl stop|restart|pause|rm|rmi",
            "docker|podman|nerdctl image|builder|container|network prune",
        ],
        when: names_every,
        why: "stops or deletes what other projects use",
        instead: "name the containers of this project",
        catches: "docker stop $(docker ps -q)",
        passes: "docker stop app-test",
    },
    Rule {
        id: "node-shell",
        category: Category::Containers,
        verdict: Verdict::Block,
        patterns: &[
            "kubectl|oc|k debug node/*",
            "kubectl|oc|k debug --profile=sysadmin",
            "kubectl|oc|k run|create|apply|patch ~*hostPID*|*privileged*|*hostPath*|*hostNetwork*",
            "kubectl-node-shell|kubectl-node_shell|node-shell",
            "kubectl|oc|k node-shell|ssh",
            "oc adm policy",
        ],
        when: always,
        why: "gives a shell or the rights of a node of the cluster",
        instead: "work inside a pod",
        catches: "kubectl debug node/worker-1 -it --image=busybox",
        passes: "kubectl debug pod/app -it --image=busybox",
    },
    Rule {
        id: "release-agent",
        category: Category::Containers,
        verdict: Verdict::Block,
        patterns: &["<write>|tee"],
        when: is_escape_file,
        why: "is a way out of a container",
        instead: "there is no task that needs it",
        catches: "echo /cmd > /sys/fs/cgroup/rdma/release_agent",
        passes: "echo value > build/release_agent",
    },
];

fn is_privileged(invocation: &Invocation, _: &World<'_>) -> bool {
    let values = |flag: &str| invocation.flag_values(flag);
    let is_host = |flag: &str| values(flag).iter().any(|value| value.text().starts_with("host"));
    let capability = values("--cap-add").iter().any(|value| {
        let name = value.text().to_uppercase();
        let name = name.strip_prefix("CAP_").unwrap_or(&name).to_owned();
        name == "ALL"
            || name.starts_with("SYS_") && name != "SYS_NICE"
            || matches!(&*name, "DAC_READ_SEARCH" | "NET_ADMIN" | "MKNOD" | "BPF")
    });
    let unconfined = values("--security-opt").iter().any(|value| {
        let text = value.text();
        text.contains("unconfined") || text.contains("disable") || text.contains("no-new-privileges=false")
    });
    let device = values("--device").iter().any(|value| {
        !["/dev/dri", "/dev/kvm", "/dev/fuse", "/dev/snd", "nvidia"]
            .iter()
            .any(|usual| value.text().starts_with(usual))
    });
    // `--privileged=false` is the default.
    let privileged = invocation
        .args
        .iter()
        .any(|arg| matches!(arg.text(), "--privileged" | "--privileged=true" | "privileged"));
    privileged
        || capability
        || unconfined
        || device
        || ["--pid", "--ipc", "--uts", "--userns", "--cgroupns"].into_iter().any(is_host)
}

/// A manifest on the standard input that asks for what flags would be stopped for.
fn is_handed_privileges(invocation: &Invocation, _: &World<'_>) -> bool {
    let text = invocation.stdin.text.as_ref().map_or("", Arg::text);
    let dense: String = text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'')).collect();
    [
        "privileged:true",
        "hostPID:true",
        "hostIPC:true",
        "hostPath:",
        "pid:host",
        "docker.sock",
        "-/:/",
        "[/:/",
        "SYS_ADMIN",
        "cluster-admin",
    ]
    .iter()
    .any(|part| dense.contains(part))
}

/// The host's side of the mounts: `-v host:container:options` and `--mount type=bind,source=host,…`.
fn mounts(invocation: &Invocation) -> Vec<(Arg, bool)> {
    let mut found = Vec::new();
    for flag in ["-v", "--volume"] {
        for value in invocation.flag_values(flag) {
            let mut parts = value.text().split(':');
            let (Some(host), Some(_)) = (parts.next(), parts.next()) else { continue };
            let is_read_only =
                parts.next().is_some_and(|options| options.split(',').any(|option| option == "ro"));
            found.push((Arg::new(host), is_read_only));
        }
    }
    for value in invocation.flag_values("--mount") {
        let setting = |names: &[&str]| {
            value.text().split(',').find_map(|part| {
                let (name, value) = part.split_once('=').unwrap_or((part, ""));
                names.contains(&name).then(|| value.to_owned())
            })
        };
        let is_bind = setting(&["type"]).is_none_or(|kind| kind == "bind");
        let is_read_only = setting(&["readonly", "ro"]).is_some_and(|value| value != "false");
        if let (true, Some(host)) = (is_bind, setting(&["source", "src"])) {
            found.push((Arg::new(host), is_read_only));
        }
    }
    // A name without a slash is a volume.
    found.retain(|(host, _)| host.text().starts_with(['/', '.', '~']));
    found
}

fn mounts_host(invocation: &Invocation, world: &World<'_>) -> bool {
    const HARMLESS: [&str; 4] = ["/etc/localtime", "/etc/timezone", "/etc/ssl/certs", "/usr/share"];
    mounts(invocation).iter().any(|(host, is_read_only)| {
        if *is_read_only && HARMLESS.iter().any(|dir| host.text().starts_with(dir)) {
            return false;
        }
        let place = locate(&something_in(host), invocation, world);
        let holds_secrets = paths::is_secret(&place.path, world) || paths::has_secrets(&place.path, world);
        match place.zone {
            Zone::Home => !is_read_only || holds_secrets,
            Zone::System | Zone::Device | Zone::Outside => true,
            Zone::Workspace
            | Zone::WholeWorkspace
            | Zone::Temp
            | Zone::Cache
            | Zone::Sink
            | Zone::Unknown => false,
        }
    })
}

/// The walker's word for the output of `docker ps -q` and its relatives.
fn names_every(invocation: &Invocation, _: &World<'_>) -> bool {
    let is_prune = invocation.operand(1).is_some_and(|word| word.text() == "prune");
    let is_all = invocation.has_any_flag(&["-a", "--all"]);
    (is_prune && is_all) || invocation.args.iter().any(|arg| arg.text().starts_with("every-"))
}

fn deletes_every(invocation: &Invocation, world: &World<'_>) -> bool {
    let is_forced = invocation.has_any_flag(&["-f", "--force"])
        || invocation.operands().iter().any(|word| word.text() == "kill");
    is_forced && names_every(invocation, world)
}

/// A file, project or context that is named after production.
fn names_production(invocation: &Invocation, _: &World<'_>) -> bool {
    let flags = ["-p", "--project-name", "-f", "--file", "--profile", "--env-file", "--context"];
    let is_production = |value: &Arg| {
        let mut parts = value.base_name().split(['-', '_', '.']);
        parts.any(|part| matches!(part, "prod" | "production" | "live"))
    };
    flags.iter().flat_map(|flag| invocation.flag_values(flag)).any(|value| is_production(&value))
}

fn is_escape_file(invocation: &Invocation, _: &World<'_>) -> bool {
    invocation.args.iter().any(|arg| {
        let text = arg.text();
        let is_kernel =
            text.starts_with("/sys/") || text.starts_with("/proc/") || text.starts_with("/tmp/cg");
        is_kernel
            && [
                "release_agent",
                "core_pattern",
                "notify_on_release",
                "modprobe",
                "uevent_helper",
                "binfmt_misc",
            ]
            .iter()
            .any(|name| text.contains(name))
    })
}

/// A volume that is not one of a test by its name.
fn names_real_volume(invocation: &Invocation, _: &World<'_>) -> bool {
    const SCRATCH: [&str; 5] = ["test", "e2e", "tmp", "scratch", "ci"];
    let is_scratch = |name: &str| name.split(['-', '_', '.']).any(|part| SCRATCH.contains(&part));
    invocation.operands().iter().skip(2).any(|volume| !is_scratch(volume.text()))
}
