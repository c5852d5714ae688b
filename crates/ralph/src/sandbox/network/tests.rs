//! The proxy as programs inside see it, with servers on loopback and a name server of the test's own.

use super::proxy::{Entrance, Proxy};
use super::{Patience, Policy};
use ralph_loop::sandbox::network::endpoints::Endpoint;
use ralph_loop::sandbox::network::upstream::Upstream;
use ralph_loop::sandbox::network::{Allowlist, Entry, Host};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// No test waits longer for what has to come.
const LONG: Duration = Duration::from_secs(60);

/// What a name leads to. `here.test` and all that begins with `here` is this machine, as the user has allowed it.
fn lookup(name: &str) -> io::Result<Vec<IpAddr>> {
    let addresses = |text: &str| Ok(text.split(' ').map(|address| address.parse().unwrap()).collect());
    match name {
        _ if name.starts_with("here") => addresses("127.0.0.1"),
        "evil.test" => addresses("127.0.0.1"),
        "mapped.test" => addresses("::ffff:127.0.0.1"),
        "mixed.test" => addresses("8.8.8.8 127.0.0.1"),
        "metadata.test" => addresses("169.254.169.254"),
        "many.test" => Ok((1..=20).map(|last| IpAddr::from([127, 0, 0, last])).collect()),
        "empty.test" => Ok(Vec::new()),
        _ => Err(io::Error::other("no such name")),
    }
}

fn policy(ports: &[u16]) -> Policy {
    let mut allowed = Allowlist::default();
    for port in ports {
        for name in ["here.test", "here2.test", "many.test", "127.0.0.1"] {
            let host = Host::parse(name).unwrap();
            allowed.add_endpoint(&Endpoint { host, port: *port, from: String::new() });
        }
    }
    for entry in [
        "evil.test:*",
        "mapped.test",
        "mixed.test",
        "metadata.test",
        "silent.test",
        "empty.test",
        "gone.test",
    ] {
        allowed.add_entry(Entry::parse(entry).unwrap());
    }
    Policy { lookup: Arc::new(lookup), ..Policy::new(allowed, Vec::new(), Ok(Upstream::default())) }
}

fn start(policy: Policy) -> Proxy {
    Proxy::start(policy, &Entrance::Loopback).unwrap()
}

fn client(proxy: &Proxy) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", proxy.port.unwrap())).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

/// What the proxy answers to these bytes, until it ends the connection.
fn answer_to(proxy: &Proxy, request: &[u8]) -> String {
    let mut stream = client(proxy);
    // It may answer before it has read all of them.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// A server on loopback; each connection has a thread.
fn server(work: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let work = Arc::new(work);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let work = Arc::clone(&work);
            thread::Builder::new().stack_size(128 << 10).spawn(move || work(stream)).unwrap();
        }
    });
    port
}

/// Sends back what it gets.
fn echo() -> u16 {
    server(|mut stream| {
        let mut back = stream.try_clone().unwrap();
        let _ = io::copy(&mut stream, &mut back);
        let _ = back.shutdown(Shutdown::Write);
    })
}

fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// Answers each request with its head, and counts connections.
fn mirror(connections: Arc<AtomicUsize>) -> u16 {
    server(move |mut stream| {
        connections.fetch_add(1, Ordering::SeqCst);
        while let Some(head) = read_head(&mut stream) {
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
            if stream.read_exact(&mut body).is_err() {
                return;
            }
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", head.len() + body.len());
            let _ = stream.write_all(&[answer.as_bytes(), head.as_bytes(), &body].concat());
        }
    })
}

fn read_response(stream: &mut TcpStream) -> (String, String) {
    let head = read_head(stream).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    (head, String::from_utf8(body).unwrap())
}

fn tunnel(proxy: &Proxy, target: &str) -> TcpStream {
    let mut stream = client(proxy);
    write!(stream, "CONNECT {target} HTTP/1.1\r\n\r\n").unwrap();
    let head = read_head(&mut stream).unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    stream
}

#[test]
fn a_tunnel_carries_bytes_both_ways_and_each_end_of_it_is_passed_on() {
    let port = echo();
    let proxy = start(policy(&[port]));
    let mut stream = tunnel(&proxy, &format!("here.test:{port}"));
    let sent: Vec<u8> = (0..5_000_000u32).map(|number| (number % 251) as u8).collect();
    let mut writer = stream.try_clone().unwrap();
    let copy = sent.clone();
    let writing = thread::spawn(move || {
        writer.write_all(&copy).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut received = Vec::new();
    stream.read_to_end(&mut received).unwrap();
    writing.join().unwrap();
    assert!(received == sent);
    let news = proxy.policy.ledger.take();
    assert_eq!(
        (news.traffic[0].sent, news.traffic[0].received, news.traffic[0].connections),
        (5_000_000, 5_000_000, 1)
    );
    assert_eq!(news.traffic[0].host, format!("here.test:{port}"));
}

#[test]
fn bytes_that_come_with_connect_reach_the_server() {
    let port = echo();
    let proxy = start(policy(&[port]));
    let mut stream = client(&proxy);
    write!(stream, "CONNECT here.test:{port} HTTP/1.1\r\n\r\nearly").unwrap();
    read_head(&mut stream).unwrap();
    let mut early = [0; 5];
    stream.read_exact(&mut early).unwrap();
    assert_eq!(&early, b"early");
}

#[test]
fn plain_requests_of_one_connection_go_to_their_own_hosts_and_servers_are_kept() {
    let counts = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let ports = [0, 1].map(|one: usize| mirror(Arc::clone(&counts[one])));
    let proxy = start(policy(&ports));
    let mut stream = client(&proxy);
    for (name, port) in [("here.test", ports[0]), ("here.test", ports[0]), ("here2.test", ports[1])] {
        write!(
            stream,
            "GET http://{name}:{port}/x HTTP/1.1\r\nHost: other.test\r\nProxy-Connection: keep-alive\r\n\r\n"
        )
        .unwrap();
        let (_, mirrored) = read_response(&mut stream);
        assert_eq!(mirrored, format!("GET /x HTTP/1.1\r\nHost: {name}:{port}\r\n\r\n"));
    }
    assert_eq!(counts.map(|count| count.load(Ordering::SeqCst)), [1, 1]);
}

#[test]
fn a_request_with_a_body_is_followed_by_the_next_request() {
    let port = mirror(Arc::default());
    let proxy = start(policy(&[port]));
    let mut stream = client(&proxy);
    for body in ["hello", "", "world"] {
        let length = body.len();
        write!(stream, "POST http://here.test:{port}/ HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}")
            .unwrap();
        let (_, mirrored) = read_response(&mut stream);
        assert!(mirrored.ends_with(&format!("\r\n\r\n{body}")), "{mirrored}");
    }
}

#[test]
fn a_server_may_ask_for_the_body_first_and_may_answer_without_a_length() {
    let port = server(|mut stream| {
        let head = read_head(&mut stream).unwrap();
        assert!(head.contains("Expect: 100-continue"));
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
        let mut body = [0; 3];
        stream.read_exact(&mut body).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        stream.write_all(&body).unwrap();
    });
    let proxy = start(policy(&[port]));
    let mut stream = client(&proxy);
    write!(
        stream,
        "PUT http://here.test:{port}/ HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    )
    .unwrap();
    assert!(read_head(&mut stream).unwrap().starts_with("HTTP/1.1 100 "));
    stream.write_all(b"abc").unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "HTTP/1.1 200 OK\r\n\r\nabc");
}

#[test]
fn another_protocol_is_carried_as_it_is_once_the_server_has_agreed() {
    let port = server(|mut stream| {
        let head = read_head(&mut stream).unwrap();
        assert!(head.contains("Upgrade: x"));
        stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\n\r\nhi").unwrap();
        let mut back = stream.try_clone().unwrap();
        let _ = io::copy(&mut stream, &mut back);
    });
    let proxy = start(policy(&[port]));
    let mut stream = client(&proxy);
    write!(stream, "GET http://here.test:{port}/ HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
        .unwrap();
    assert!(read_head(&mut stream).unwrap().starts_with("HTTP/1.1 101 "));
    stream.write_all(b"ho").unwrap();
    let mut said = [0; 4];
    stream.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"hiho");
}

#[test]
fn what_is_not_allowed_is_refused_in_the_first_line_and_recorded_once() {
    let port = echo();
    let proxy = start(policy(&[port]));
    for (request, line) in [
        ("CONNECT example.org:443", "403 network: example.org is not allowed"),
        ("GET http://example.org/", "403 network: example.org is not allowed"),
        ("CONNECT here.test:1", "403 network: here.test is allowed, but not at port 1"),
        (
            "CONNECT evil.test:8080",
            "403 network: evil.test is not allowed, because it leads to 127.0.0.1, this machine",
        ),
        (
            "GET http://mapped.test/",
            "403 network: mapped.test is not allowed, because it leads to ::ffff:127.0.0.1, this machine",
        ),
        (
            "CONNECT mixed.test:443",
            "403 network: mixed.test is not allowed, because it leads to 127.0.0.1, this machine",
        ),
        (
            "CONNECT metadata.test:443",
            "403 network: metadata.test is not allowed, because it leads to 169.254.169.254",
        ),
        ("CONNECT 127.0.0.1:22", "403 network: 127.0.0.1 is allowed, but not at port 22"),
        ("CONNECT [::1]:22", "403 network: [::1]:22 is not allowed"),
        ("CONNECT empty.test:443", "502 cannot resolve empty.test: it has no address"),
        ("CONNECT gone.test:443", "502 cannot resolve gone.test: no such name"),
    ] {
        let answer = answer_to(&proxy, format!("{request} HTTP/1.1\r\n\r\n").as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {line}")), "{request}: {answer}");
    }
    let answer = answer_to(&proxy, b"CONNECT pypi.org:443 HTTP/1.1\r\n\r\n");
    assert!(answer.contains("sandbox.hosts: [\"pypi\"]"), "{answer}");
    let refused = proxy.policy.ledger.take().refused;
    let hosts: Vec<String> =
        refused.iter().map(|refusal| format!("{}:{}", refusal.host, refusal.port)).collect();
    assert_eq!(
        hosts,
        "example.org:443 example.org:80 here.test:1 evil.test:8080 mapped.test:80 mixed.test:443 metadata.test:443 \
         127.0.0.1:22 [::1]:22 pypi.org:443".split_whitespace().collect::<Vec<_>>()
    );
}

#[test]
fn bad_requests_get_a_clear_answer() {
    let proxy = start(policy(&[]));
    let flood = format!("GET http://a.test/ HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(100_000));
    let long = format!("GET http://a.test/{} HTTP/1.1\r\n\r\n", "x".repeat(1_000_000));
    for (request, status) in [
        ("CONNECT a.test:70000 HTTP/1.1\r\n\r\n", "400 bad host: the port"),
        ("CONNECT a.test HTTP/1.1\r\n\r\n", "400 bad host: the port"),
        ("CONNECT ...:443 HTTP/1.1\r\n\r\n", "400 bad host"),
        ("CONNECT b\u{fc}cher.test:443 HTTP/1.1\r\n\r\n", "400 bad host: names have to be ASCII"),
        ("GET / HTTP/1.1\r\n\r\n", "400 this is a proxy"),
        ("GET https://a.test/ HTTP/1.1\r\n\r\n", "400 encrypted requests need CONNECT"),
        ("\u{16}\u{3}\u{1}\r\n\r\n", "400 this is not an HTTP/1 request"),
        (flood.as_str(), "431"),
        (long.as_str(), "431"),
    ] {
        let answer = answer_to(&proxy, request.as_bytes());
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{status}: {}",
            &answer[..answer.len().min(200)]
        );
    }
}

#[test]
fn a_client_that_does_not_finish_its_request_is_not_waited_for() {
    let patience = Patience { first: Duration::from_millis(200), next: LONG };
    let proxy = start(Policy { patience, ..policy(&[]) });
    let answer = answer_to(&proxy, b"GET http://a.test/ HTTP/1.1\r\nA: b");
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[test]
fn a_name_server_that_never_answers_holds_up_only_its_own_request() {
    let (release, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let port = echo();
    let slow = move |name: &str| match name {
        "silent.test" => {
            let _ = wait.lock().unwrap().recv();
            Err(io::Error::other("ended"))
        }
        _ => lookup(name),
    };
    let longest_lookup = Duration::from_secs(1);
    let proxy = start(Policy { lookup: Arc::new(slow), longest_lookup, ..policy(&[port]) });
    let mut silent = client(&proxy);
    silent.write_all(b"CONNECT silent.test:443 HTTP/1.1\r\n\r\n").unwrap();
    drop(tunnel(&proxy, &format!("here.test:{port}")));
    assert!(
        read_head(&mut silent).unwrap().starts_with("HTTP/1.1 502 cannot resolve silent.test: no answer")
    );
    // The thread that still waits does not hold up the end either.
    drop(proxy);
    drop(release);
}

/// A name that leads elsewhere each time it is asked for: what was checked is what is connected to.
#[test]
fn a_name_is_looked_up_once_for_each_connection() {
    let port = echo();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let turning = move |name: &str| match (name, count.fetch_add(1, Ordering::SeqCst)) {
        ("evil.test", 0) => Ok(vec![IpAddr::from([240, 0, 0, 1])]),
        ("evil.test", _) => Ok(vec![IpAddr::from([127, 0, 0, 1])]),
        _ => lookup(name),
    };
    let mut allowed = Allowlist::default();
    let host = Host::parse("evil.test").unwrap();
    allowed.add_entry(Entry::parse(&format!("{host}:{port}")).unwrap());
    let policy =
        Policy { lookup: Arc::new(turning), ..Policy::new(allowed, Vec::new(), Ok(Upstream::default())) };
    let proxy = start(policy);
    let request = format!("CONNECT evil.test:{port} HTTP/1.1\r\n\r\n");
    assert!(answer_to(&proxy, request.as_bytes()).contains("240.0.0.1, a reserved address"));
    assert!(answer_to(&proxy, request.as_bytes()).contains("127.0.0.1, this machine"));
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[test]
fn a_name_with_many_addresses_is_tried_until_one_answers() {
    let listener = TcpListener::bind("127.0.0.20:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let proxy = start(policy(&[port]));
    drop(tunnel(&proxy, &format!("many.test:{port}")));
    assert_eq!(listener.accept().unwrap().0.local_addr().unwrap().ip(), IpAddr::from([127, 0, 0, 20]));
}

#[test]
fn five_hundred_connections_are_served_at_once() {
    let port = echo();
    let proxy = start(policy(&[port]));
    let before = memory();
    let mut streams: Vec<TcpStream> =
        (0..500).map(|_| tunnel(&proxy, &format!("here.test:{port}"))).collect();
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.write_all(&(number as u32).to_le_bytes()).unwrap();
    }
    for (number, stream) in streams.iter_mut().enumerate() {
        let mut back = [0; 4];
        stream.read_exact(&mut back).unwrap();
        assert_eq!(u32::from_le_bytes(back), number as u32);
    }
    // The threads of the test's own server are in it.
    let grown = memory().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes for 500 connections");
}

/// Bytes that this process has in memory.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn all_connections_of_a_step_end_with_it_and_the_next_step_has_its_own() {
    let port = echo();
    let proxy = start(policy(&[port]));
    let mut stream = tunnel(&proxy, &format!("here.test:{port}"));
    proxy.step_is_over();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    drop(tunnel(&proxy, &format!("here.test:{port}")));
}

#[test]
fn nothing_listens_once_the_proxy_is_gone() {
    let proxy = start(policy(&[]));
    let port = proxy.port.unwrap();
    drop(proxy);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

/// A proxy of the user's: answers CONNECT and absolute URLs, and says what it was asked.
fn users_proxy(asked: mpsc::Sender<String>) -> u16 {
    let asked = std::sync::Mutex::new(asked);
    server(move |mut stream| {
        let head = read_head(&mut stream).unwrap();
        asked.lock().unwrap().send(head.clone()).unwrap();
        if head.starts_with("CONNECT refused") {
            let _ = stream.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
        } else if head.starts_with("CONNECT") {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nwelcome");
        } else {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    })
}

#[test]
fn the_users_own_proxy_is_gone_through_with_names_that_are_allowed() {
    let (sender, asked) = mpsc::channel();
    let port = users_proxy(sender);
    let variable = |name: &str| match name {
        "https_proxy" | "http_proxy" => Some(format!("http://me:secret@here-proxy.test:{port}")),
        _ => None,
    };
    let mut allowed = Allowlist::default();
    for entry in ["far.test", "refused.test"] {
        allowed.add_entry(Entry::parse(entry).unwrap());
    }
    let upstream = Upstream::of_variables(&variable);
    let proxy = start(Policy { lookup: Arc::new(lookup), ..Policy::new(allowed, Vec::new(), upstream) });
    let mut stream = tunnel(&proxy, "far.test:443");
    let mut welcome = [0; 7];
    stream.read_exact(&mut welcome).unwrap();
    assert_eq!(&welcome, b"welcome");
    let authorization = "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n";
    assert_eq!(
        asked.recv().unwrap(),
        format!("CONNECT far.test:443 HTTP/1.1\r\nHost: far.test:443\r\n{authorization}\r\n")
    );
    let answer = answer_to(&proxy, b"GET http://far.test/x HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
    let head = asked.recv().unwrap();
    assert!(
        head.starts_with(&format!("GET http://far.test/x HTTP/1.1\r\nHost: far.test\r\n{authorization}")),
        "{head}"
    );
    let answer = answer_to(&proxy, b"CONNECT refused.test:443 HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 502 your proxy here-proxy.test: answered 407"), "{answer}");
    asked.recv().unwrap();
    let answer = answer_to(&proxy, b"CONNECT other.test:443 HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(asked.try_recv().is_err());
}

#[test]
fn a_proxy_of_the_user_that_cannot_be_used_is_named_in_each_refusal() {
    let upstream = Upstream::of_variables(&|name| (name == "https_proxy").then(|| "socks5://p:1".to_owned()));
    let mut allowed = Allowlist::default();
    allowed.add_entry(Entry::parse("far.test").unwrap());
    let proxy = start(Policy { lookup: Arc::new(lookup), ..Policy::new(allowed, Vec::new(), upstream) });
    let answer = answer_to(&proxy, b"CONNECT far.test:443 HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 502 ralph cannot go through the proxy in https_proxy"), "{answer}");
}

#[test]
fn what_is_no_answer_of_a_server_is_not_passed_on() {
    let port = server(|mut stream| {
        read_head(&mut stream);
        let _ = stream.write_all(b"SSH-2.0-x\r\n\r\n");
    });
    let proxy = start(policy(&[port]));
    let answer = answer_to(&proxy, format!("GET http://here.test:{port}/ HTTP/1.1\r\n\r\n").as_bytes());
    assert!(answer.starts_with("HTTP/1.1 502 here.test has given no readable answer"), "{answer}");
}
