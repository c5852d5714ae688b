//! Words in a code that say what it is up to, where no single call does.

/// Whether a code has one of these.
pub fn has(code: &str, signs: &[&str]) -> bool {
    signs.iter().any(|sign| code.contains(sign))
}

/// A connection to another machine.
pub const CONNECTS: &[&str] = &[
    "socket.socket",
    "socket(",
    "create_connection(",
    "TCPSocket",
    "fsockopen",
    "net.connect",
    "net.Socket",
    "require(\"net\")",
    "require('net')",
    "IO::Socket",
    "/inet/tcp",
    "require(\"socket\")",
    "require('socket')",
    "ztcp",
];

/// A shell, or commands that are read from elsewhere.
pub const SHELLS: &[&str] = &[
    "dup2",
    "pty.spawn",
    "/bin/sh",
    "/bin/bash",
    "\"sh\"",
    "'sh'",
    "cmd.exe",
    "popen(",
    "getline",
    "execSync(",
];

/// Something is sent, or asked for with an address that can carry it.
pub const SENDS: &[&str] = &[
    "requests.post",
    "requests.put",
    "requests.get",
    "urlopen(",
    "urllib",
    "fetch(",
    "http.request",
    "https.request",
    "https').get",
    "https\").get",
    "http').get",
    "http\").get",
    "https.get",
    "axios",
    ".sendall(",
    ".send(",
    "Net::HTTP",
    "URI(",
    "LWP::",
    "HTTP::Tiny",
    "curl_exec",
    ".request(",
    "http.client",
    "file_get_contents(\"http",
    "file_get_contents('http",
    "stream_context_create",
];

/// Files with secrets, however their path is put together.
pub const SECRET_FILES: &[&str] = &[
    ".ssh/id_",
    ".aws/credentials",
    ".gnupg",
    ".netrc",
    ".docker/config.json",
    ".kube/config",
    "/etc/shadow",
    ".git-credentials",
    ".config/gh/hosts",
    ".pypirc",
    ".pgpass",
    "Login Data",
    "cookies.sqlite",
    "key4.db",
    ".bash_history",
    ".zsh_history",
];

/// A database that may be emptied.
pub const TEST_DATABASE: &[&str] = &[":memory:", "test", "tmp", "scratch"];

/// All variables of the environment.
pub const ENVIRONMENT: &[&str] = &[
    "dict(os.environ)",
    "str(os.environ)",
    "os.environ)",
    "os.environ.copy",
    "os.environ.items",
    "os.environ,",
    "process.env)",
    "process.env,",
    "ENV.to_h",
    "ENV.to_a",
    "ENV.inspect",
    "$_ENV",
    "getenv()",
    "\\%ENV",
    "%ENV",
];

pub const FORKS: &[&str] = &[
    "fork while",
    "while True:os.fork()",
    "while 1:os.fork()",
    "while True: os.fork()",
    "while 1: os.fork()",
    "fork()while",
    "while(1){fork",
    "loop { fork",
    "loop{fork",
    "loop do fork",
    "fork { loop",
];

/// A loop without end, and something that it starts.
pub const LOOPS: &[&str] = &[
    "while True",
    "while 1",
    "while(1)",
    "while(true)",
    "while (true)",
    "for(;;)",
    "for (;;)",
    "loop {",
    "loop do",
    "setImmediate(",
    "process.nextTick(",
    "itertools.count(",
    "iter(int, 1)",
    "iter(int,1)",
];
pub const STARTS: &[&str] = &[
    "os.fork(",
    "pcntl_fork(",
    "cp.fork(",
    "os.fork()",
    "fork()",
    "fork;",
    "spawn(",
    "Popen(",
    "Process(target",
    "Thread(",
];
pub const WAITS: &[&str] = &["wait", "sleep", "join(", "break", "input(", "readline(", ".read("];

/// A file that gets longer.
pub const FILLS: &[&str] = &[
    ".write(",
    "appendFileSync(",
    "writeFileSync(",
    "fwrite(",
    "file_put_contents(",
    "print $",
    "print F",
    "print {$",
    "file=f",
];

/// Characters of a loop in which what it does is looked for.
const BODY: usize = 240;

/// Whether a loop without end does one of these, and nothing in the code ever stops or waits.
pub fn loops_with(code: &str, signs: &[&str]) -> bool {
    const STOPS: &[&str] =
        &["return", "exit", "raise", "throw", "recv", "accept(", "yield", "stdout", "socket"];
    let body = |at: usize| {
        let end =
            (at..=code.len().min(at + BODY)).rev().find(|end| code.is_char_boundary(*end)).unwrap_or(at);
        &code[at..end]
    };
    let mut starts = LOOPS.iter().flat_map(|sign| code.match_indices(sign).map(|(at, _)| at).take(64));
    !has(code, WAITS) && !has(code, STOPS) && starts.any(|at| has(body(at), signs))
}

pub const BECOMES_ROOT: &[&str] = &["setuid(0)", "setresuid(0", "setreuid(0"];

/// Resources in a cloud are deleted with a library of it.
pub const CLOUD: &[&str] = &["boto3", "aws-sdk", "@aws-sdk", "google.cloud", "azure.mgmt"];
pub const DELETES: &[&str] =
    &[".delete()", ".delete(", ".terminate()", "delete_", "deleteBucket", "terminate_", "terminateInstances"];

/// Code from the network.
pub const FETCHES: &[&str] = &[
    "urlopen(",
    "requests.get(",
    "file_get_contents('http",
    "file_get_contents(\"http",
    "URI.open",
    "open-uri",
    "Net::HTTP.get",
    "await fetch(",
    "LWP::Simple",
    "https.get",
];

/// A text that says something else than it seems to.
pub const HIDES: &[&str] = &[
    "b64decode",
    "fromhex",
    "unhexlify",
    "atob(",
    "'base64'",
    "\"base64\"",
    "decode_base64",
    "pack(",
    "Base64.decode64",
    "rot13",
    "rot_13",
    "zlib.decompress",
    "marshal.loads",
    "base64_decode",
    "gzinflate",
    "codecs.decode",
    "fromCharCode",
    "map(chr",
    "map{chr}",
    "map { chr",
    "chr(",
    "'hex'",
    "\"hex\"",
    "[::-1]",
    ".reverse",
];

/// A text is run as code of the language itself.
pub const EVALUATES: &[&str] = &["exec(", "eval(", "eval ", "exec ", "instance_eval", "Function("];

/// A text is run as a command.
pub const RUNS: &[&str] =
    &["os.system(", "system(", "subprocess", "popen(", "child_", "execSync", "shell_exec"];
