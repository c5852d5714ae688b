"""What attacks need beside a shell: sockets, and calls of the system that no program makes.

`python3 tools.py NAME ARGS...`; a function per name. Standard library only.
"""

import ctypes
import os
import socket
import struct
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)


def checked(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number, *args):
    words = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    return checked(libc.syscall(ctypes.c_long(number), *words), f"system call {number}")


def eventually(look):
    """What it returns, once that is something. With an end."""
    for _ in range(2000):
        found = look()
        if found:
            return found
        time.sleep(0.01)
    sys.exit("waited in vain")


# Sockets: `unix:PATH`, `abstract:NAME`, or `local:FILE` for a port of localhost whose number is in a file.


def address(spec):
    kind, _, rest = spec.partition(":")
    if kind == "local":
        return socket.AF_INET, ("127.0.0.1", int(open(rest).read()) if os.path.exists(rest) else 0)
    return socket.AF_UNIX, rest if kind == "unix" else "\0" + rest


def listen(spec, log, ready=None):
    """Writes all that is said to it to a file."""
    family, where = address(spec)
    server = socket.socket(family, socket.SOCK_STREAM)
    server.bind(where)
    server.listen()
    if family == socket.AF_INET:
        with open(spec.partition(":")[2] + ".new", "w") as file:
            file.write(str(server.getsockname()[1]))
        os.rename(file.name, spec.partition(":")[2])
    if ready:
        open(ready, "w").close()
    while True:
        client, _ = server.accept()
        heard = client.recv(4096)
        with open(log, "ab") as file:
            file.write(heard)
        client.sendall(b"heard")
        client.close()


def say(spec, text):
    """Returns once it was heard."""
    family, where = address(spec)
    client = socket.socket(family, socket.SOCK_STREAM)
    client.connect(where)
    client.sendall(text.encode())
    client.recv(16)


# The network. Addresses are those of loopback, with the port in a file; where a proxy is named, it is used.


def serve(host, port_file, log, location_file=None):
    """Writes all that is said to it to a file. Answers, with the address in another file if there is one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = socket.create_server((host, 0), family=family)
    with open(port_file + ".new", "w") as file:
        file.write(str(server.getsockname()[1]))
    os.rename(file.name, port_file)
    while True:
        client, _ = server.accept()
        heard = client.recv(4096)
        with open(log, "ab") as file:
            file.write(heard)
        status = "200 OK"
        if location_file:
            status = f"302 Found\r\nLocation: http://127.0.0.3:{open(location_file).read()}/evil"
        client.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        client.close()


def proxy():
    url = os.environ.get("HTTP_PROXY")
    return socket.create_connection(url.removeprefix("http://").split(":")) if url else None


def tunnel(host, port_file, text):
    """Says something to a server, through a tunnel where there is a proxy."""
    port = int(open(port_file).read())
    client = proxy()
    if client:
        client.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\n\r\n".encode())
        answer = client.recv(4096).decode()
        if " 200 " not in answer:
            sys.exit(answer)
    else:
        client = socket.create_connection((host, port))
    client.sendall(text.encode())
    client.recv(4096)


def ask(host, port_file, site):
    """A plain request to a server, for a site that may be another one."""
    port = int(open(port_file).read())
    client = proxy()
    target = f"http://{host}:{port}/" if client else "/"
    client = client or socket.create_connection((host, port))
    client.sendall(f"GET {target} HTTP/1.1\r\nHost: {site}\r\nConnection: close\r\n\r\n".encode())
    client.recv(4096)


def follow(host, port_file):
    """A request that goes where it is sent on to."""
    import urllib.request

    os.environ.pop("NO_PROXY", None)
    os.environ.pop("no_proxy", None)
    urllib.request.urlopen(f"http://{host}:{open(port_file).read()}/")


def hear(port_file, log):
    """Writes what comes by UDP to a file."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    with open(port_file + ".new", "w") as file:
        file.write(str(server.getsockname()[1]))
    os.rename(file.name, port_file)
    while True:
        heard, sender = server.recvfrom(4096)
        with open(log, "ab") as file:
            file.write(heard)
        server.sendto(b"heard", sender)


def throw(port_file, text):
    """Says something by UDP, and waits for the answer."""
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(30)
    client.sendto(text.encode(), ("127.0.0.1", int(open(port_file).read())))
    client.recv(16)


def look_up(port_file, name):
    """Asks a name server for a name."""
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    query = struct.pack(">6H", 7, 256, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 1, 1)
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(30)
    client.sendto(query, ("127.0.0.1", int(open(port_file).read())))
    client.recv(512)


def raw(to):
    """Sends a packet past TCP and UDP."""
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).sendto(b"\x08\0" + b"\0" * 6, ("127.0.0.1", 0))
    open(to, "w").close()


# Processes.


def keeper_of(pid_file, to):
    """Writes the number of the keeper of the ralph whose number is in a file."""

    def look():
        try:
            parent = int(open(pid_file).read())
        except (OSError, ValueError):
            return None
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                command, rest = open(f"/proc/{name}/stat").read().rsplit(")", 1)
            except OSError:
                continue
            if command.endswith("(ralph-keeper") and int(rest.split()[1]) == parent:
                return name
        return None

    found = eventually(look)
    with open(to + ".new", "w") as file:
        file.write(found)
    os.rename(file.name, to)


def trace(pid):
    PTRACE_SEIZE = 0x4206
    checked(libc.ptrace(PTRACE_SEIZE, int(pid), None, None), "ptrace")


def memory_of(pid, word):
    """Looks for a word in the memory of a process."""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            where, access = line.split()[:2]
            if "rw" not in access:
                continue
            start, end = (int(part, 16) for part in where.split("-"))
            try:
                memory.seek(start)
                if word.encode() in memory.read(min(end - start, 1 << 24)):
                    return
            except (OSError, ValueError, OverflowError):
                continue
    sys.exit("not found")


def take_descriptor(pid):
    """Takes an open file of another process."""
    pidfd_open, pidfd_getfd = 434, 438
    process = syscall(pidfd_open, int(pid), 0)
    taken = []
    for number in range(64):
        try:
            taken.append(os.readlink(f"/proc/self/fd/{syscall(pidfd_getfd, process, number, 0)}"))
        except OSError as cause:
            if cause.errno == 1:
                raise
    print("\n".join(taken))
    assert any("journal" in name for name in taken), taken


def daemon(mark):
    """In a session of its own, with another parent, and without an environment. Returns once it runs."""
    read, write = os.pipe()
    if os.fork():
        os.close(write)
        os.read(read, 1)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    null = os.open("/dev/null", os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    os.execve("/bin/sh", ["sh", "-c", "sleep 600; :", mark], {"PATH": "/usr/bin:/bin"})


def fork(count, to):
    """How many processes there can be at once."""
    read, write = os.pipe()
    started = 0
    children = []
    for _ in range(int(count)):
        try:
            child = os.fork()
        except OSError:
            break
        if child == 0:
            os.close(write)
            os.read(read, 1)
            os._exit(0)
        children.append(child)
        started += 1
    with open(to, "w") as file:
        file.write(str(started))
    os.close(write)
    for child in children:
        os.waitpid(child, 0)


def memory(mebibytes, to):
    """How much memory one process can have."""
    blocks = []
    try:
        for _ in range(int(mebibytes)):
            blocks.append(bytearray(b"x" * (1 << 20)))
    except MemoryError:
        pass
    count = len(blocks)
    del blocks
    with open(to, "w") as file:
        file.write(str(count))


# The kernel.


def type_in(terminal, text):
    import fcntl
    import termios

    with open(terminal, "rb", 0) as tty:
        for byte in text.encode() + b"\n":
            fcntl.ioctl(tty, termios.TIOCSTI, struct.pack("B", byte))


ADD_KEY, KEYCTL = {"x86_64": (248, 250), "aarch64": (217, 219)}.get(os.uname().machine, (None, None))
SESSION = -3


def with_key(name, secret, *command):
    """Starts a program with a session keyring that has a key."""
    JOIN = 1
    syscall(KEYCTL, JOIN, 0, 0, 0, 0)
    text = secret.encode()
    syscall(ADD_KEY, b"user", name.encode(), text, len(text), SESSION)
    os.execvp(command[0], command)


def read_key(name, to):
    SEARCH, READ = 10, 11
    key = syscall(KEYCTL, SEARCH, SESSION, b"user", name.encode(), 0)
    text = ctypes.create_string_buffer(4096)
    length = syscall(KEYCTL, READ, key, text, 4096, 0)
    with open(to, "wb") as file:
        file.write(text.raw[:length])


def shared_memory(key, size, flags):
    libc.shmat.restype = ctypes.c_void_p
    number = checked(libc.shmget(int(key), size, flags), "shmget")
    return number, libc.shmat(number, None, 0)


def share(key, text):
    """A System V segment with a text."""
    _, where = shared_memory(key, 4096, 0o1600)
    ctypes.memmove(where, text.encode(), len(text))


def read_shared(key, to):
    _, where = shared_memory(key, 0, 0)
    with open(to, "wb") as file:
        file.write(ctypes.string_at(where))


def unshare_memory(key):
    checked(libc.shmctl(checked(libc.shmget(int(key), 0, 0), "shmget"), 0, None), "shmctl")


def adjust_clock():
    """Sets the clock's rate to what it is, which takes the right to change it."""
    ADJ_TICK = 0x4000
    state = ctypes.create_string_buffer(512)
    checked(libc.adjtimex(state), "adjtimex")
    ctypes.c_uint.from_buffer(state, 0).value = ADJ_TICK
    checked(libc.adjtimex(state), "adjtimex")


def rewrite(path):
    """Writes to a file what it says already."""
    with open(path, "rb") as file:
        text = file.read()
    with open(path, "r+b", 0) as file:
        file.write(text)


def writable(*tops):
    """Files that can be opened for writing. Nothing is written."""
    for top in tops:
        for dir, _, names in os.walk(top):
            for path in (os.path.join(dir, name) for name in names):
                try:
                    if not os.path.islink(path):
                        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                        print(path)
                except OSError:
                    continue


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
