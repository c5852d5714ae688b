//! Flags that take the next word as their value, so that it is neither a subcommand nor an operand.
//!
//! Only flags that matter for some rule are here: those that can come before a subcommand, and those of programs
//! whose operands are paths or hosts.

use super::pattern::is_one_of;

/// Flags of some programs.
struct Row {
    programs: &'static str,
    place: Place,
    flags: &'static str,
}

/// Where a flag has this meaning.
enum Place {
    Anywhere,
    /// After exactly these words: `""` is before the subcommand.
    After(&'static str),
    /// Of these subcommands, also behind their operands.
    Of(&'static str),
}

use Place::{After, Anywhere, Of};

const COMPOSE: &str =
    "-f --file -p --project-name --profile --env-file --project-directory --ansi --progress --parallel";

const ROWS: &[Row] = &[
    // Version control and hosting.
    row(
        "git",
        After(""),
        "-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source",
    ),
    row("git", Of("push"), "-o --push-option --repo --receive-pack --exec"),
    row("git", Of("commit"), "-m --message -F --file -C -c --author --date -t --template --fixup --squash"),
    row("git", Of("config"), "-f --file --blob --type --default --comment --value"),
    row("git", Of("tag"), "-m --message -F --file -u --local-user"),
    row("git", Of("rebase"), "-s -X --onto --strategy --strategy-option --exec -x"),
    row("git", Of("update-ref"), "-m"),
    row("git", Of("branch"), "-u --set-upstream-to"),
    row("git", Of("merge|cherry-pick|revert"), "-m -F -s -X --strategy --strategy-option --mainline"),
    row("git", Of("worktree"), "--reason"),
    row(
        "git",
        Of("clone"),
        "-b --branch -o --origin -u --upload-pack --depth --shallow-since --reference --template -c --config -j --jobs \
         --filter --separate-git-dir",
    ),
    row(
        "gh|glab|hub",
        Anywhere,
        "-R --repo -X --method -H --header -f -F --field --raw-field -q --jq -t --title -b --body --hostname --input",
    ),
    // Containers and clusters.
    row(
        "docker|podman|nerdctl",
        After(""),
        "-H --host -c --context --config -l --log-level --url --connection --tlscacert --tlscert --tlskey -n --namespace",
    ),
    row("docker|podman|nerdctl", After("compose"), COMPOSE),
    row("docker-compose|podman-compose", After(""), COMPOSE),
    row("docker|podman|nerdctl", After("rm"), "-l --link"),
    row(
        "kubectl|oc|k|kubecolor",
        Anywhere,
        "-n --namespace --context --kubeconfig --cluster --user -l --selector -f --filename -o --output -c --container \
         --as --as-group -s --server --token --timeout --grace-period -p --patch --patch-file --type \
         --field-selector --replicas -k --kustomize --cascade --request-timeout --overrides --image --subresource",
    ),
    row(
        "helm",
        Anywhere,
        "-n --namespace --kube-context --kubeconfig -f --values --set --set-string --version --timeout -o --output",
    ),
    row(
        "argocd|flux|istioctl|linkerd|velero|eksctl|kops|kustomize|k9s",
        Anywhere,
        "-n --namespace --context --kubeconfig --server --grpc-web-root-path --name --region --profile --state",
    ),
    // Clouds.
    row(
        "aws",
        Anywhere,
        "--profile --region --output --query --endpoint-url --ca-bundle --color --acl --exclude --include \
         --storage-class --content-type --cache-control --metadata --cli-input-json",
    ),
    row(
        "gcloud|gsutil|bq",
        Anywhere,
        "--project --region --zone --account --format --filter --configuration --project_id --location \
         --impersonate-service-account -o -h --verbosity",
    ),
    row(
        "az",
        Anywhere,
        "-g --resource-group -n --name --subscription -o --output --query --ids --vault-name",
    ),
    row(
        "terraform|tofu|terragrunt",
        Anywhere,
        "-chdir -var -var-file -target -state -lock-timeout --terragrunt-working-dir --working-dir -backend-config",
    ),
    row("pulumi", Anywhere, "-s --stack -C --cwd -c --config --color -t --target"),
    row(
        "cdk|cdktf|sam|sls|serverless|amplify|copilot|eb",
        Anywhere,
        "-a --app --profile --region -s --stage --stack-name -c --context --config-file -o --output --config-env",
    ),
    row(
        "heroku|fly|flyctl|railway|netlify|firebase|wrangler|supabase|pscale|doctl|hcloud|linode-cli|scw|civo",
        Anywhere,
        "-a --app --remote -c --config -e --env -P --project --token -t --access-token --context --org --region -s \
         --site --project-ref --confirm --config-path --auth",
    ),
    row("vercel", Anywhere, "--token -t --scope -S --cwd -A --local-config -Q --global-config"),
    row("rclone", Anywhere, "--config --exclude --include --filter --transfers --bwlimit --log-file"),
    row("ansible", Anywhere, "-i -m -a -u -l -e -f -c --limit --inventory --module-name --args --extra-vars"),
    row(
        "vault|consul|nomad|etcdctl",
        Anywhere,
        "-address -namespace -format -field --endpoints --cacert --cert --key",
    ),
    // Packages.
    row(
        "npm|pnpm|yarn|bun|lerna|pnpx|npx|bunx",
        Anywhere,
        "--prefix -C --dir --cwd -w --workspace --filter -F --tag --registry --otp -p --package --loglevel --cache",
    ),
    row(
        "cargo",
        Anywhere,
        "--color --config -Z -C --manifest-path -p --package --target --target-dir --features -F -j --registry --index",
    ),
    row(
        "pip|pip3|pipx|uv|poetry|pdm|hatch|flit|twine|maturin",
        Anywhere,
        "-r --requirement -c --constraint -i --index-url --extra-index-url -t --target --trusted-host --prefix --root -f \
         --find-links -C --directory --project --python -p --publish-url --repository --repository-url -u -P",
    ),
    row("mvn|mvnw", Anywhere, "-f --file -s --settings -pl --projects -P -T"),
    row("gradle|gradlew", Anywhere, "-p --project-dir -b --build-file -x --exclude-task -c"),
    row(
        "gem|bundle",
        Anywhere,
        "-v --version -i --install-dir --source -n --bindir --gemfile --host --key -k",
    ),
    row("apt|apt-get|aptitude", Anywhere, "-o --option -t --target-release -c"),
    // The system.
    row(
        "systemctl|loginctl|journalctl",
        Anywhere,
        "-H --host -M --machine -t --type -p --property -n -o -u --unit -s",
    ),
    row("date", Anywhere, "-d --date -I -r -f"),
    row("crontab", Anywhere, "-u"),
    row(
        "pkill|pgrep",
        Anywhere,
        "-u -U -g -G -P -s -t --signal --euid --uid --group --parent --session --terminal",
    ),
    row("killall", Anywhere, "-u --user -s --signal -o --older-than -y --younger-than"),
    row("kill", Anywhere, "-s -n --signal"),
    row("useradd|usermod|adduser", Anywhere, "-G -g -s -d -u -c -p"),
    row("iptables|ip6tables", Anywhere, "-t --table"),
    // Files.
    row("cp|mv|ln", Anywhere, "-t --target-directory -S --suffix"),
    row("install", Anywhere, "-m --mode -o --owner -g --group -t --target-directory -S --suffix"),
    row("truncate", Anywhere, "-s --size -r --reference"),
    row("fallocate", Anywhere, "-l --length -o --offset"),
    row("shred", Anywhere, "-n --iterations -s --size --random-source"),
    row("touch", Anywhere, "-d --date -r --reference -t"),
    row("mkdir", Anywhere, "-m --mode"),
    row("chmod|chown|chgrp", Anywhere, "--reference --from"),
    row("setfacl", Anywhere, "-m --modify -x --remove -M -X --set --set-file --restore"),
    row("unzip", Anywhere, "-d -x -P"),
    row("zip", Anywhere, "-x -i -b -P -n"),
    row("head|tail", Anywhere, "-n --lines -c --bytes -s --pid"),
    row(
        "grep|egrep|fgrep|zgrep",
        Anywhere,
        "-e --regexp -f --file -A -B -C -m --max-count --include --exclude --exclude-dir -d -D --context",
    ),
    row(
        "rg|ag|ack",
        Anywhere,
        "-e --regexp -f --file -g --glob -t --type -T -A -B -C -m -r --replace -d --max-depth",
    ),
    row("sed|gsed", Anywhere, "-e --expression -f --file -l"),
    row("awk|gawk|mawk|nawk", Anywhere, "-F -v -f --field-separator --assign --file"),
    row("cut", Anywhere, "-d -f -c -b --delimiter --fields --output-delimiter"),
    row("sort|shuf", Anywhere, "-k -t -o --output -S -T -n"),
    row("strings", Anywhere, "-n -t -e"),
    row("base64|base32", Anywhere, "-w --wrap"),
    row("xxd|od|hexdump", Anywhere, "-l -s -c -g -A -t -N -j -n -e"),
    row("jq|yq", Anywhere, "--indent -f --from-file"),
    row("split", Anywhere, "-b -l -n -a"),
    // The network.
    row(
        "curl",
        Anywhere,
        "-X --request -H --header -d --data --data-raw --data-binary --data-urlencode --data-ascii --json -F --form \
         --form-string -o --output -u --user -T --upload-file -A --user-agent -e --referer -b --cookie -c --cookie-jar \
         -m --max-time -w --write-out -x --proxy --retry --retry-delay --retry-max-time --connect-timeout -E --cert --key \
         --cacert --capath --resolve --connect-to -r --range -C --continue-at --limit-rate -K --config -D \
         --dump-header --unix-socket --oauth2-bearer --interface --output-dir --url-query -Y -y -z --time-cond --tlsv1 \
         --ciphers --max-redirs --noproxy --socks5 --socks5-hostname --trace --trace-ascii --stderr -Q --quote -P",
    ),
    row(
        "wget|wget2",
        Anywhere,
        "-O --output-document -o --output-file -a --append-output -P --directory-prefix --header --user --password \
         --post-data --post-file --body-data --body-file --method -t --tries -T --timeout -w --wait -U --user-agent \
         --referer -e --execute -i --input-file -A -R -D -I -X -l --level -Q --limit-rate --load-cookies --bind-address",
    ),
    row(
        "http|https|xh|xhs",
        Anywhere,
        "-a --auth -A --auth-type -o --output --timeout -s --style -p --print --session",
    ),
    row("scp|sftp", Anywhere, "-i -P -o -F -l -c -S -J -b -B -D -s -X"),
    row("ssh", Anywhere, "-i -p -o -F -l -c -J -L -R -D -W -b -e -E -I -m -O -Q -S -w -B"),
    row(
        "rsync",
        Anywhere,
        "-e --rsh --exclude --include --exclude-from --include-from --files-from --filter --rsync-path --bwlimit \
         --timeout --port -B --block-size --partial-dir --backup-dir --chmod --chown --log-file --link-dest -T --temp-dir \
         --password-file --max-size --min-size --info --compare-dest --suffix -M",
    ),
    row(
        "nc|ncat|netcat|nc.openbsd|nc.traditional",
        Anywhere,
        "-p -s -w -q -i -e -c -x -X -g -G -I -O -T -V -m --proxy",
    ),
    row("ping|ping6", Anywhere, "-c -i -W -w -s -t -I -l -p -Q -S -M -m"),
    row("dig|host|nslookup|drill", Anywhere, "-p -t -b -f -k -y -c -W -R -N -m"),
    row(
        "ab|wrk|wrk2|hey|siege|vegeta|k6|bombardier|oha",
        Anywhere,
        "-n -c -t -d -z -s -H -m -q -T -p -r -l -D",
    ),
    // Databases.
    row(
        "psql|pg_dump|pg_restore|createdb|dropdb|dropuser|pg_dumpall|createuser",
        Anywhere,
        "-h --host -p --port -U --username -d --dbname -c --command -f --file -v --set -o --output -L -P -F -R -T -t -n \
         --maintenance-db -j",
    ),
    row(
        "mysql|mariadb|mysqladmin|mysqldump|mycli",
        Anywhere,
        "-h --host -u --user -P --port -D --database -e --execute -S --socket --defaults-file --protocol",
    ),
    row("sqlite3|duckdb", Anywhere, "-cmd -separator -init -nullvalue -newline -c"),
    row(
        "redis-cli|valkey-cli|keydb-cli",
        Anywhere,
        "-h -p -a -n -u --user --pass -s -i -r -d --cacert --cert --key",
    ),
    row(
        "mongosh|mongo|mongorestore|mongodump",
        Anywhere,
        "--eval --host --port -u -p --username --password --file --uri -d --db -c",
    ),
    row(
        "cqlsh|clickhouse-client|clickhouse|sqlcmd|snowsql|bq",
        Anywhere,
        "-e -q --query -Q -S -U -P -d -u -p -f -k -h --host",
    ),
    // Others.
    row("tmux", After(""), "-L -S -f -c"),
    row("make|gmake", Anywhere, "-C -f -j -I -o -W --directory --file"),
];

const fn row(programs: &'static str, place: Place, flags: &'static str) -> Row {
    Row { programs, place, flags }
}

/// Whether a flag of a program, after some words, takes the next word as its value.
pub fn takes_value(program: &str, words: &[&str], flag: &str) -> bool {
    let rows = ROWS.iter().filter(|row| {
        is_one_of(row.programs, program)
            && match row.place {
                Anywhere => true,
                After(before) => before.split_ascii_whitespace().eq(words.iter().copied()),
                Of(subcommands) => words.first().is_some_and(|word| is_one_of(subcommands, word)),
            }
    });
    let mut known = rows.flat_map(|row| row.flags.split_ascii_whitespace());
    let is_cluster =
        flag.len() > 2 && flag.starts_with('-') && flag[1..].bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_cluster {
        return known.any(|takes| takes == flag);
    }
    let known: Vec<&str> = known.collect();
    if known.contains(&flag) {
        return true;
    }
    // Of `-xzf`, the first letter that takes a value has the rest of the cluster, or the next word.
    let is_valued = |letter: &u8| known.iter().any(|takes| takes.as_bytes() == [b'-', *letter]);
    match flag.as_bytes()[1..].iter().position(is_valued) {
        Some(at) => at + 2 == flag.len(),
        None => false,
    }
}

/// Whether a short flag of a program takes a value wherever it is given.
pub fn letter_takes_value(program: &str, letter: char) -> bool {
    let is_short = |flag: &str| flag.len() == 2 && flag.ends_with(letter);
    ROWS.iter().any(|row| {
        matches!(row.place, Anywhere)
            && row.flags.split_ascii_whitespace().any(is_short)
            && is_one_of(row.programs, program)
    })
}

#[cfg(test)]
mod tests {
    use super::takes_value;

    #[test]
    fn a_flag_has_a_value_where_its_program_says_so() {
        for (program, words, flag, expected) in [
            ("git", &[][..], "-C", true),
            ("git", &["switch"], "-c", false),
            ("git", &["push"], "-o", true),
            ("git", &["rebase", "main"], "--exec", true),
            ("git", &["cherry-pick"], "-m", true),
            ("docker", &["compose"], "-f", true),
            ("docker", &["build"], "-f", false),
            ("kubectl", &["delete"], "-n", true),
            ("kubectl", &[], "-nprod", false),
            ("curl", &[], "-sSLo", true),
            ("curl", &[], "-ofile", false),
            ("terraform", &[], "-chdir", true),
            ("terraform", &[], "-chdir=x", false),
            ("rm", &[], "-rf", false),
        ] {
            assert_eq!(takes_value(program, words, flag), expected, "{program} {words:?} {flag}");
        }
    }
}
