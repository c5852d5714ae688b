//! What programs in a sandbox reach of the network, and what is said about the rest.

use crate::support::*;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;

const DONE: &str = "<promise>DONE</promise>";

/// Python of programs inside: a request by way of the proxy that the environment names, whatever the host.
const FETCH: &str = r#"
import os, socket, sys
def fetch(url):
    host, port = os.environ["HTTP_PROXY"].removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 30) as proxy:
        proxy.sendall(f"GET {url} HTTP/1.1\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while part := proxy.recv(4096):
            answer += part
    return answer.decode()
def direct(port, address="127.0.0.1"):
    with socket.create_connection((address, int(port)), 30) as server:
        server.sendall(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        answer = b""
        while part := server.recv(4096):
            answer += part
    return answer.decode()
"#;

/// A server of the user's, on their loopback.
fn service(word: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = move |mut stream: TcpStream| {
        let mut head = [0; 4096];
        let _ = stream.read(&mut head);
        let length = word.len();
        let _ =
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{word}");
    };
    thread::spawn(move || listener.incoming().map_while(Result::ok).for_each(answer));
    port
}

/// What a program inside prints.
#[track_caller]
fn inside(sandbox: &Sandbox, env: &[(&str, &str)], python: &str) -> String {
    let mut command = sandbox.command(RALPH);
    command.envs(env.iter().copied());
    command.args([
        "sandbox",
        "shell",
        "--sandbox",
        "bwrap",
        "--",
        "python3",
        "-c",
        &format!("{FETCH}{python}"),
    ]);
    sandbox.spawn(command).end().exits(0).stdout
}

fn with_network(settings: &Value) -> Sandbox {
    let sandbox = Sandbox::git().confined();
    sandbox.settings(&json!({ "sandbox": settings }));
    sandbox
}

#[test]
fn every_step_reaches_what_is_allowed_and_what_is_refused_is_told_once_to_all() {
    let port = service("welcome");
    let sandbox = with_network(&json!({"kind": "bwrap", "hosts": [format!("127.0.0.1:{port}")]}));
    sandbox.write("fetch.py", format!("{FETCH}print(fetch(sys.argv[1]))"));
    let good = format!("python3 fetch.py http://127.0.0.1:{port}/ | grep -q welcome");
    let agent = sandbox.sh_agent(&format!(
        "cat > \"prompt-$RALPH_ITERATION\"; {good} && echo ok >> reached
         python3 fetch.py http://refused.example/; python3 fetch.py http://refused.example/x; echo '{DONE}'"
    ));
    let check = format!("{good} && test $(wc -l < reached) -eq 2");
    let ran = sandbox.run(&["-p", "x", "-n", "3", "--check", &check], &agent).exits(0);
    let refused = "network: refused.example is not allowed (sandbox.hosts: [\"refused.example\"])";
    let ran = ran.says("sandbox bwrap, network allowlist").says(refused);
    assert_eq!(ran.stdout.matches(refused).count(), 1, "{}", ran.stdout);
    assert_eq!(sandbox.read("reached"), "ok\nok\n");
    assert!(!sandbox.read("prompt-1").contains("refused.example"));
    assert!(sandbox.read("prompt-2").contains(&format!("- {refused}\n")), "{}", sandbox.read("prompt-2"));
    let told: Vec<Value> =
        sandbox.facts().into_iter().filter(|fact| fact["network"]["refused"].is_array()).collect();
    assert_eq!(told.len(), 1, "{told:#?}");
    let id = sandbox.only_run();
    let shown = sandbox.ralph(&["show", &id, "--format", "json"]).exits(0).json();
    assert_eq!(shown["network"], json!({"refused": 1, "hosts": ["refused.example:80"]}));
    sandbox.ralph(&["show", &id]).exits(0).says(refused);
    let traffic = sandbox.ralph(&["show", &id, "--network", "--format", "json"]).exits(0).json();
    assert_eq!(traffic["hosts"][0]["host"], format!("127.0.0.1:{port}"));
    assert!(traffic["hosts"][0]["received"].as_u64().unwrap() > 100, "{traffic:#}");
    assert!(traffic["hosts"][0]["connections"].as_u64().unwrap() >= 4, "{traffic:#}");
    assert_eq!(traffic["refused"][0]["setting"], "sandbox.hosts: [\"refused.example\"]");
    sandbox.ralph(&["show", &id, "--network"]).exits(0).says("received").says(refused);
}

#[test]
fn services_of_the_user_are_reached_if_they_are_forwarded_or_the_agents_own_and_no_others_are() {
    let [forwarded, endpoint, other] = ["forwarded", "endpoint", "other"].map(service);
    let sandbox = with_network(&json!({"forward": [format!("db:{forwarded}")]}));
    let url = format!("http://127.0.0.1:{endpoint}/v1");
    let python = format!(
        "print(direct({forwarded}).split()[-1], direct({endpoint}, 'localhost').split()[-1])
try:
    print(direct({other}))
except OSError:
    print('refused')
print(fetch('http://127.0.0.1:{other}/').split()[1])"
    );
    let seen = inside(&sandbox, &[("ANTHROPIC_BASE_URL", &url)], &python);
    assert_eq!(seen, "forwarded endpoint\nrefused\n403\n");
}

#[test]
fn a_server_inside_is_reached_inside_and_nothing_else_is_there() {
    let sandbox = with_network(&json!({}));
    let python = "
server = socket.create_server(('127.0.0.1', 0))
print(socket.create_connection(server.getsockname()).getpeername() == server.getsockname())
print(sorted(name for _, name in socket.if_nameindex()))
";
    assert_eq!(inside(&sandbox, &[], python), "True\n['lo']\n");
}

#[test]
fn a_network_that_is_off_has_no_proxy_and_one_that_is_open_is_the_users() {
    let port = service("mine");
    let proxy = [("HTTP_PROXY", "http://127.0.0.1:1"), ("https_proxy", "http://127.0.0.1:1")];
    let off = with_network(&json!({"network": "off"}));
    let python = format!(
        "print('HTTP_PROXY' in os.environ)
try:
    direct({port})
except OSError:
    print('refused')"
    );
    assert_eq!(inside(&off, &proxy, &python), "False\nrefused\n");
    let open = with_network(&json!({"network": "open"}));
    let python = format!("print(os.environ['HTTP_PROXY'], direct({port}).split()[-1])");
    assert_eq!(inside(&open, &proxy, &python), "http://127.0.0.1:1 mine\n");
}

#[test]
fn settings_that_name_no_host_or_port_are_refused_with_the_reason() {
    for (settings, words) in [
        (json!({"hosts": ["https://example.org"]}), "without scheme"),
        (json!({"hosts": ["b\u{fc}cher.example"]}), "xn--"),
        (json!({"hosts": ["*"]}), "open"),
        (json!({"forward": ["80"]}), "below 1024"),
        (json!({"forward": ["redis"]}), "a port from 1 to 65535"),
        (json!({"network": "closed"}), "allowlist"),
    ] {
        let sandbox = with_network(&settings);
        let agent = sandbox.sh_agent(&format!("echo '{DONE}'"));
        let ran = sandbox.run(&["-p", "x", "-n", "1"], &agent).exits(2);
        assert!(ran.stderr.contains(words), "{settings}: {}", ran.stderr);
        assert!(sandbox.runs().is_empty());
    }
}

#[test]
fn certificates_of_the_user_are_readable_inside_and_open_files_are_limited_as_outside() {
    let sandbox = with_network(&json!({}));
    let file = sandbox.root().join("user/certs/own.pem");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "certificate\n").unwrap();
    let python = "import resource\nprint(open(os.environ['NODE_EXTRA_CA_CERTS']).read().strip())\n\
                  print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])";
    let seen = inside(&sandbox, &[("NODE_EXTRA_CA_CERTS", file.to_str().unwrap())], python);
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap();
    assert_eq!(seen, format!("certificate\n{limit}\n"));
}

#[test]
fn a_host_is_tested_as_programs_inside_would_reach_it() {
    let port = service("here");
    let sandbox = with_network(&json!({"hosts": [format!("127.0.0.1:{port}")]}));
    let host = format!("127.0.0.1:{port}");
    sandbox.ralph(&["sandbox", "check", "--host", &host]).exits(0).says("can be reached");
    let ran = sandbox.ralph(&["sandbox", "check", "--host", "refused.example"]).exits(1);
    ran.says("network: refused.example is not allowed (sandbox.hosts: [\"refused.example\"])");
    let tested =
        sandbox.ralph(&["sandbox", "check", "--host", "[::1]:5432", "--format", "json"]).exits(1).json();
    assert_eq!(
        (&tested["reached"], &tested["setting"]),
        (&false.into(), &"sandbox.forward: [\"5432\"]".into())
    );
    sandbox.ralph(&["sandbox", "check", "--host", "a b"]).exits(2);
}

/// Where the registries can be reached, the real programs fetch a package with nothing but the files of a project.
#[test]
fn package_managers_reach_the_registries_of_their_projects() {
    let cargo = "[package]\nname = \"own\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nitoa = \"1\"\n[workspace]\n";
    for (program, host, file, content, script) in [
        (
            "pip",
            "pypi.org",
            "requirements.txt",
            "six\n",
            "pip download -q --no-deps --no-cache-dir -d got six && ls got | grep -q six",
        ),
        (
            "npm",
            "registry.npmjs.org",
            "package.json",
            "{\"name\": \"own\", \"version\": \"1.0.0\"}",
            "npm install --no-audit --no-fund --cache \"$PWD/.npm\" is-odd && test -d node_modules/is-odd",
        ),
        (
            "cargo",
            "index.crates.io",
            "Cargo.toml",
            cargo,
            "mkdir -p src && : > src/lib.rs && CARGO_HOME=\"$PWD/.own\" cargo fetch && ls .own/registry/cache/*/itoa-*",
        ),
    ] {
        let sandbox = with_network(&json!({}));
        let mut command = Command::new(RALPH);
        command.args(["sandbox", "check", "--host", host]).current_dir(sandbox.project());
        let there =
            Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
        sandbox.write(file, content);
        if !there || !command.output().unwrap().status.success() {
            // The registry of this test's machine is out of reach.
            continue;
        }
        let mut command = sandbox.command(RALPH);
        // The programs and certificates of the machine; version managers find theirs by the home.
        for (name, value) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if ["PATH", "RUSTUP_HOME", "PYENV_ROOT"].contains(&name.as_str()) || name.contains("CERT") {
                command.env(name, value);
            }
        }
        let home = std::env::home_dir().unwrap();
        command.env("HOME", &home).env("RUSTUP_TOOLCHAIN", "");
        command.args(["sandbox", "shell", "--sandbox", "bwrap", "--", "sh", "-c", script]);
        sandbox.spawn(command).end().exits(0);
    }
}
