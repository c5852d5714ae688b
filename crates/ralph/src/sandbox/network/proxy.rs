//! The proxy of one run: a thread of ralph's that accepts connections of programs inside.
//!
//! Invariant: bounded. So many connections are served at once, others wait to be accepted; each costs a task, two
//! sockets, and a buffer only while bytes are on their way. When a step is over, so are its connections.

use super::door::{self, BACKLOG, MOST_PORTS};
use super::resolve::MOST_LOOKUPS;
use super::{Policy, exchange, relay};
use crate::fsx;
use ralph_loop::sandbox::network::Host;
use rustix::net::sockopt;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

/// Served at once.
pub const MOST_CONNECTIONS: usize = 1024;

/// Two sockets a connection, and the files of the run itself.
const FILES: u64 = 2 * MOST_CONNECTIONS as u64 + 1024;

/// Sockets that were handed over and are listened to.
const MOST_LISTENERS: usize = 2 * MOST_PORTS;

/// A program that opens the door and says nothing.
const AT_THE_DOOR: Duration = Duration::from_secs(5);

/// How programs inside reach the proxy.
#[derive(Clone, Debug)]
pub enum Entrance {
    /// They have a network of their own, and hand over sockets of it through a unix socket at this path.
    Door(PathBuf),
    /// They share the network: a port of loopback.
    Loopback,
}

#[derive(Debug)]
pub struct Proxy {
    pub policy: Arc<Policy>,
    /// The port of [`Entrance::Loopback`].
    pub port: Option<u16>,
    /// The soft limit of open files as it was before.
    pub open_files: Option<u64>,
    /// Counts the steps. Dropped, it ends the thread.
    steps: Option<watch::Sender<u64>>,
    thread: Option<JoinHandle<()>>,
    door: Option<PathBuf>,
}

/// What every connection needs.
#[derive(Clone)]
struct Common {
    policy: Arc<Policy>,
    places: Arc<Semaphore>,
    /// Those that were handed over, the oldest first.
    listeners: Arc<Mutex<VecDeque<AbortHandle>>>,
    steps: watch::Receiver<u64>,
}

impl Proxy {
    pub fn start(policy: Policy, entrance: &Entrance) -> io::Result<Proxy> {
        let open_files = raise_open_files();
        let policy = Arc::new(policy);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(MOST_LOOKUPS)
            .build()?;
        let (sender, steps) = watch::channel(0);
        let common = Common {
            policy: Arc::clone(&policy),
            places: Arc::new(Semaphore::new(MOST_CONNECTIONS)),
            listeners: Arc::default(),
            steps,
        };
        let (open, port) = {
            let _inside = runtime.enter();
            open(entrance)?
        };
        let served = move || {
            runtime.block_on(async move {
                match open {
                    Open::Door(door) => guard(door, common).await,
                    Open::Loopback(listener) => serve(listener, Service::Proxy, Lasts::Run, common).await,
                }
            });
            // A name that is still being looked up must not hold up the end.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("network".to_owned()).spawn(served)?;
        let door = match entrance {
            Entrance::Door(path) => Some(path.clone()),
            Entrance::Loopback => None,
        };
        Ok(Proxy { policy, port, open_files, steps: Some(sender), thread: Some(thread), door })
    }

    /// Ends all connections: nothing runs inside any more.
    pub fn step_is_over(&self) {
        if let Some(steps) = &self.steps {
            steps.send_modify(|step| *step += 1);
        }
    }

    pub fn door(&self) -> Option<&Path> {
        self.door.as_deref()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.steps = None;
        if let Some(thread) = self.thread.take() {
            // It ends at once, and one that has panicked serves nothing any more.
            let _ = thread.join();
        }
        if let Some(door) = &self.door {
            let _ = fsx::remove(door);
        }
    }
}

enum Open {
    Door(UnixListener),
    Loopback(TcpListener),
}

fn open(entrance: &Entrance) -> io::Result<(Open, Option<u16>)> {
    match entrance {
        Entrance::Door(path) => {
            // Of a process that was killed.
            let _ = fsx::remove(path);
            Ok((Open::Door(bind(path)?), None))
        }
        Entrance::Loopback => {
            let socket = TcpSocket::new_v4()?;
            socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
            let listener = socket.listen(BACKLOG.unsigned_abs())?;
            let port = listener.local_addr()?.port();
            Ok((Open::Loopback(listener), Some(port)))
        }
    }
}

/// A socket's path has little more than 100 bytes. A longer one is reached through its directory.
fn bind(path: &Path) -> io::Result<UnixListener> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    fsx::private_dir(dir)?;
    let dir = File::open(dir)?;
    let listener =
        UnixListener::bind(PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd())).join(name))?;
    fsx::only_for_user(path)?;
    Ok(listener)
}

/// As far as the system lets it; fewer connections are served otherwise. What it was before.
fn raise_open_files() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let before = current.filter(|current| *current < FILES)?;
    let raised = maximum.map_or(FILES, |most| most.min(FILES));
    setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }).ok().map(|()| before)
}

/// Takes sockets at the door until the end of the run.
async fn guard(door: UnixListener, common: Common) {
    let mut steps = common.steps.clone();
    let mut visitors = JoinSet::new();
    loop {
        tokio::select! {
            // A step that is over comes first: a program at the door by now belongs to the next one.
            biased;
            changed = steps.changed() => match changed {
                Ok(()) => visitors.abort_all(),
                Err(_) => return,
            },
            Some(_) = visitors.join_next() => {}
            accepted = door.accept() => match accepted {
                Ok((stream, _)) if visitors.len() < MOST_LISTENERS => {
                    visitors.spawn(take_over(stream, common.clone()));
                }
                Ok(_) => {}
                Err(_) => sleep(Duration::from_millis(50)).await,
            },
        }
    }
}

async fn take_over(stream: UnixStream, common: Common) {
    loop {
        let received = timeout(AT_THE_DOOR, async {
            loop {
                stream.readable().await?;
                let received = stream.try_io(Interest::READABLE, || door::receive(stream.as_fd()));
                match received {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    received => return received,
                }
            }
        });
        let Ok(Ok(sockets)) = received.await else { return };
        if sockets.is_empty() {
            return;
        }
        let taken = sockets.into_iter().all(|socket| take(socket, &common));
        if stream.try_write(&[door::answer(taken)]).is_err() {
            return;
        }
    }
}

/// Listens to a socket, if it is one of the run's ports.
fn take(socket: std::os::fd::OwnedFd, common: &Common) -> bool {
    let Some((listener, port)) = door::listener(socket) else { return false };
    let Some(service) = Service::at(port, &common.policy) else { return false };
    let Ok(listener) = TcpListener::from_std(listener) else { return false };
    let mut listeners = common.listeners.lock().unwrap_or_else(PoisonError::into_inner);
    let mut its = common.clone();
    // Steps that are over by now were others.
    its.steps.mark_unchanged();
    let serving = tokio::spawn(serve(listener, service, Lasts::Step, its));
    listeners.retain(|listener| !listener.is_finished());
    listeners.push_back(serving.abort_handle());
    // A program that hands over more and more ends its own.
    if listeners.len() > MOST_LISTENERS
        && let Some(oldest) = listeners.pop_front()
    {
        oldest.abort();
    }
    true
}

/// What is behind a port.
#[derive(Clone, Copy, Debug)]
enum Service {
    Proxy,
    /// The same port of the user's loopback.
    Forward(u16),
}

impl Service {
    fn at(port: u16, policy: &Policy) -> Option<Service> {
        match port {
            ralph_loop::sandbox::network::PROXY_PORT => Some(Service::Proxy),
            port if policy.forwards(port) => Some(Service::Forward(port)),
            _ => None,
        }
    }
}

/// How long a socket is listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lasts {
    Step,
    Run,
}

async fn serve(listener: TcpListener, service: Service, lasts: Lasts, common: Common) {
    /// An error of one connection is no reason to stop; a socket that gives nothing else is broken.
    const MOST_ERRORS: u32 = 100;
    let Common { policy, places, mut steps, .. } = common;
    let mut connections = JoinSet::new();
    let mut errors = 0;
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        tokio::select! {
            changed = steps.changed() => match (changed, lasts) {
                (Ok(()), Lasts::Run) => connections.abort_all(),
                (Ok(()), Lasts::Step) | (Err(_), _) => return,
            },
            Some(_) = connections.join_next() => {}
            (place, accepted) = next => match accepted {
                Ok((client, _)) => {
                    errors = 0;
                    let policy = Arc::clone(&policy);
                    connections.spawn(async move {
                        connection(client, service, &policy).await;
                        drop(place);
                    });
                }
                Err(_) if errors < MOST_ERRORS => {
                    errors += 1;
                    sleep(Duration::from_millis(20)).await;
                }
                Err(_) => return,
            },
        }
    }
}

/// What goes wrong with it is between the two sides, who see it.
async fn connection(client: TcpStream, service: Service, policy: &Policy) {
    // A program inside could have set another one for its socket, and closing would wait for it.
    let _ = sockopt::set_socket_linger(&client, None);
    let _ = client.set_nodelay(true);
    let _ = match service {
        Service::Proxy => exchange::serve(&client, policy).await,
        Service::Forward(port) => forward(&client, port, policy).await,
    };
}

async fn forward(client: &TcpStream, port: u16, policy: &Policy) -> io::Result<()> {
    let host = Host::Address(Ipv4Addr::LOCALHOST.into());
    let server = match TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await {
        Ok(server) => server,
        // Where `localhost` is the other one.
        Err(_) => TcpStream::connect(SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, port))).await?,
    };
    let _ = server.set_nodelay(true);
    let counter = policy.ledger.counter(&host, port);
    counter.connected();
    relay::both_ways(client, &server, |bytes| counter.add_sent(bytes), |bytes| counter.add_received(bytes))
        .await
}
