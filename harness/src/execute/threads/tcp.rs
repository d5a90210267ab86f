//! The transport `tcp`: a process a device, tensors over sockets.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use placebench_algorithms::StopToken;

use super::clock::{Nanos, now};
use super::link::{Hello, Job, Order, Report, Token, greet, receive, send};
use super::program::{Program, RunTimes};
use super::transport::{Fault, Run, Session};
use crate::execute::Kernel;
use crate::execute::token::token;

/// The verb of the command that is the process of a device.
pub const WORKER_VERB: &str = "execute-worker";

/// From when on devices wait for the start of a run, so that all know of it.
const HEAD_START: Nanos = 20_000_000;

/// How often a run looks at the stop token.
const POLL: Duration = Duration::from_millis(20);

/// How long a process may take to start, and to get ready.
const START_LIMIT: Duration = Duration::from_secs(60);

/// How long processes that were started by hand may take until they listen: they may have been started just now.
const CALL_LIMIT: Duration = Duration::from_secs(30);

/// How long a process may take for a run beyond what is planned, as a multiple and in seconds.
const PATIENCE: f64 = 5.0;
const PATIENCE_SECONDS: f64 = 15.0;

/// How many times the clock of a process on another host is asked; the fastest answer counts.
const PINGS: usize = 50;

/// What a session is made from.
pub(super) struct TcpOptions<'a> {
    pub(super) program: &'a Program,
    /// Names of the devices, for messages.
    pub(super) names: Vec<String>,
    /// Addresses of processes that were started by hand; empty to start them here.
    pub(super) hosts: &'a [String],
    pub(super) kernel: Kernel,
    /// How long before an instant a device looks at the clock.
    pub(super) ahead: Nanos,
    /// Whether each device keeps to a core of its own.
    pub(super) pinned: bool,
    pub(super) payload_seed: u64,
    /// What a run is planned to take.
    pub(super) planned_seconds: f64,
}

/// Devices as processes.
pub(super) struct OverSockets<'a> {
    options: TcpOptions<'a>,
    workers: Vec<Worker>,
    reports: Receiver<(usize, Result<Report, String>)>,
    runs: u32,
}

/// Connects to an address, where nobody may listen before the deadline.
fn call(address: &str, deadline: Instant, stop: &StopToken) -> io::Result<TcpStream> {
    loop {
        match TcpStream::connect(address) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                if stop.is_stopped() || Instant::now() >= deadline {
                    return Err(error);
                }
                thread::sleep(POLL);
            }
            other => return other,
        }
    }
}

/// The process of a device.
struct Worker {
    control: TcpStream,
    /// `None` if it was started by hand.
    child: Option<Spawned>,
    reader: Option<thread::JoinHandle<()>>,
}

impl<'a> OverSockets<'a> {
    /// Starts the processes, or calls those that were started by hand, and gives each its job.
    pub(super) fn new(options: TcpOptions<'a>, stop: &StopToken) -> Result<Self, Fault> {
        let devices = options.program.devices.len();
        let other = |error: io::Error| Fault::Other(error.to_string());
        if !options.hosts.is_empty() && options.hosts.len() != devices {
            return Err(Fault::Other(format!(
                "{} hosts are given for {devices} devices: give one ADDRESS:PORT a device",
                options.hosts.len()
            )));
        }
        let text = token(options.hosts).map_err(Fault::Other)?;
        let token = Token::of(&text);
        let (sender, reports) = channel();
        let mut session = Self { options, workers: Vec::with_capacity(devices), reports, runs: 0 };
        let mut addresses = Vec::with_capacity(devices);
        for device in 0..devices {
            if stop.is_stopped() {
                return Err(Fault::Stopped);
            }
            let (child, address) = match session.options.hosts.get(device) {
                Some(host) => (None, host.clone()),
                None => {
                    let (child, address) =
                        Spawned::start(&text, stop).map_err(|error| session.fault(device, &error))?;
                    (Some(child), address)
                }
            };
            let deadline = Instant::now() + if child.is_none() { CALL_LIMIT } else { Duration::ZERO };
            let control = call(&address, deadline, stop).and_then(|mut stream| {
                greet(&mut stream, &token, &Hello::Control)?;
                Ok(stream)
            });
            let control =
                control.map_err(|error| session.fault(device, &io::Error::other(format!("{address}: {error}"))))?;
            addresses.push(address);
            let reader = listen(device, &control, &sender).map_err(other)?;
            session.workers.push(Worker { control, child, reader: Some(reader) });
        }
        session.prepare(addresses, stop)?;
        Ok(session)
    }

    /// Gives each process its job, and waits until all are ready.
    fn prepare(&mut self, addresses: Vec<String>, stop: &StopToken) -> Result<(), Fault> {
        let mut offsets = Vec::new();
        for device in 0..self.workers.len() {
            offsets.push(self.clock_offset(device, stop)?);
        }
        let program = self.options.program;
        let session = now() as u64;
        for (device, steps) in program.devices.iter().enumerate() {
            let job = Job {
                session,
                device,
                steps: steps.clone(),
                moves: program.moves.clone(),
                addresses: addresses.clone(),
                clock_offset: offsets[device],
                kernel: self.options.kernel,
                ahead: self.options.ahead,
                core: self.options.pinned.then_some(device),
                payload_seed: self.options.payload_seed,
            };
            self.tell(device, &Order::Prepare(Box::new(job)))?;
        }
        self.collect(START_LIMIT, stop, |report| matches!(report, Report::Ready).then_some(())).map(drop)
    }

    /// What the clock of a process says more than ours. Processes on this host share the clock on Linux; they are asked all
    /// the same, since a process that answers is ready to be called by others.
    fn clock_offset(&mut self, device: usize, stop: &StopToken) -> Result<Nanos, Fault> {
        let shares_clock = self.workers[device].child.is_some() && cfg!(target_os = "linux");
        let mut best: Option<(Nanos, Nanos)> = None;
        for _ in 0..if shares_clock { 1 } else { PINGS } {
            let asked = now();
            self.tell(device, &Order::Ping)?;
            let report = self.receive(Instant::now() + START_LIMIT, stop)?;
            let answered = now();
            if let Some((_, Report::Pong(theirs))) = report {
                let offset = theirs - (asked + (answered - asked) / 2);
                best = best.into_iter().chain([(answered - asked, offset)]).min();
            }
        }
        match best {
            Some((_, offset)) => Ok(if shares_clock { 0 } else { offset }),
            None => Err(self.fault(device, &io::Error::other("it does not tell the time"))),
        }
    }

    fn tell(&mut self, device: usize, order: &Order) -> Result<(), Fault> {
        send(&mut self.workers[device].control, order).map_err(|error| self.fault(device, &error))
    }

    /// The next report; `None` after the deadline.
    fn receive(&mut self, deadline: Instant, stop: &StopToken) -> Result<Option<(usize, Report)>, Fault> {
        loop {
            match self.reports.recv_timeout(POLL) {
                Ok((device, Ok(Report::Fault(reason)))) | Ok((device, Err(reason))) => {
                    // Whoever talks to a process that died may say so before the process' own connection does.
                    let (device, reason) = self.dead().map_or((device, reason), |dead| (dead, DIED.to_owned()));
                    return Err(self.fault(device, &io::Error::other(reason)));
                }
                Ok((device, Ok(report))) => return Ok(Some((device, report))),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if stop.is_stopped() {
                return Err(Fault::Stopped);
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
        }
    }

    /// One report of each process, in the order of devices.
    fn collect<T>(
        &mut self,
        limit: Duration,
        stop: &StopToken,
        wanted: impl Fn(Report) -> Option<T>,
    ) -> Result<Vec<T>, Fault> {
        let deadline = Instant::now() + limit;
        let mut answers: Vec<Option<T>> = (0..self.workers.len()).map(|_| None).collect();
        while let Some(silent) = answers.iter().position(Option::is_none) {
            match self.receive(deadline, stop)? {
                Some((device, report)) => match wanted(report) {
                    Some(answer) => answers[device] = Some(answer),
                    None => return Err(self.fault(device, &io::Error::other("it answered out of turn"))),
                },
                None => {
                    let reason = format!("it hangs: no answer within {:.0} s", limit.as_secs_f64());
                    return Err(self.fault(silent, &io::Error::other(reason)));
                }
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// A process on this host that a signal ended. Its connections close a little before anybody can ask how it ended.
    fn dead(&mut self) -> Option<usize> {
        let deadline = Instant::now() + Duration::from_millis(200);
        let is_dead = |worker: &mut Worker| {
            let ended = worker.child.as_mut().and_then(|child| child.child.try_wait().ok().flatten());
            ended.is_some_and(|status| status.code().is_none())
        };
        loop {
            let found = self.workers.iter_mut().position(is_dead);
            if found.is_some() || Instant::now() >= deadline {
                return found;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The error of a process, with how it ended if it did.
    fn fault(&mut self, device: usize, reason: &io::Error) -> Fault {
        let name = &self.options.names[device];
        let process = match self.workers.get_mut(device).and_then(|worker| worker.child.as_mut()) {
            Some(child) => child.describe(),
            None => self
                .options
                .hosts
                .get(device)
                .map_or_else(|| "its process".to_owned(), |host| format!("the worker at {host}")),
        };
        Fault::Other(format!("device '{name}', {process}: {reason}; run it again, or use the transport memory"))
    }
}

impl Session for OverSockets<'_> {
    fn run(&mut self, run: Run, stop: &StopToken) -> Result<RunTimes, Fault> {
        self.runs += 1;
        let base = now() + HEAD_START;
        let order = Order::Run { run: self.runs, base, checks: run.checks };
        for device in 0..self.workers.len() {
            self.tell(device, &order)?;
        }
        let limit = Duration::from_secs_f64(PATIENCE * self.options.planned_seconds + PATIENCE_SECONDS);
        let done = self.collect(limit, stop, |report| match report {
            Report::Done { steps, moves, is_precise, damaged } => Some((steps, moves, is_precise, damaged)),
            _ => None,
        })?;
        let Program { devices, moves } = self.options.program;
        let mut times = RunTimes { steps: Vec::new(), moves: vec![(0, 0); moves.len()], is_precise: true };
        for (device, (steps, received, is_precise, damaged)) in done.into_iter().enumerate() {
            if let Some(transfer) = damaged {
                return Err(Fault::Damaged { transfer });
            }
            let own = moves.iter().filter(|moved| moved.to == device).count();
            let is_own = |&(transfer, ..): &(usize, Nanos, Nanos)| moves.get(transfer).is_some_and(|m| m.to == device);
            if steps.len() != devices[device].len() || received.len() != own || !received.iter().all(is_own) {
                return Err(self.fault(device, &io::Error::other("its report does not fit its job")));
            }
            times.steps.push(steps.into_iter().map(|(start, end)| (start - base, end - base)).collect());
            received.into_iter().for_each(|(transfer, sent, read)| times.moves[transfer] = (sent - base, read - base));
            times.is_precise &= is_precise;
        }
        Ok(times)
    }

    fn processes(&self) -> Vec<u32> {
        self.workers.iter().filter_map(|worker| Some(worker.child.as_ref()?.child.id())).collect()
    }
}

impl Drop for OverSockets<'_> {
    /// Leaves nothing running: a process ends when its control connection does, and is killed besides.
    fn drop(&mut self) {
        for worker in &mut self.workers {
            let _ = worker.control.shutdown(Shutdown::Both);
            worker.child = None;
        }
        for worker in &mut self.workers {
            if let Some(reader) = worker.reader.take() {
                let _ = reader.join();
            }
        }
    }
}

/// What is said of a process whose connection ended.
const DIED: &str = "it died";

/// Passes on what a process says.
fn listen(
    device: usize,
    control: &TcpStream,
    sender: &Sender<(usize, Result<Report, String>)>,
) -> io::Result<thread::JoinHandle<()>> {
    let (mut stream, sender) = (control.try_clone()?, sender.clone());
    Ok(thread::spawn(move || {
        loop {
            let report = receive(&mut stream).map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => DIED.to_owned(),
                _ => error.to_string(),
            });
            let is_last = report.is_err();
            if sender.send((device, report)).is_err() || is_last {
                return;
            }
        }
    }))
}

/// A process that was started here, and is killed when it is dropped.
struct Spawned {
    child: Child,
    stderr: Option<thread::JoinHandle<String>>,
}

impl Spawned {
    /// Starts the process of a device; answers with its address.
    fn start(token: &str, stop: &StopToken) -> io::Result<(Self, String)> {
        let program = placebench_base::process::program()?;
        let mut command = Command::new(&program);
        command.args([WORKER_VERB, "--listen", "127.0.0.1:0", "--once", "--token-from-stdin"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C on the terminal goes to its whole group: this process decides what it means.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child =
            command.spawn().map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", program.display())))?;
        let mut spawned = Self { child, stderr: None };
        if let Some(mut pipe) = spawned.child.stderr.take() {
            spawned.stderr = Some(thread::spawn(move || {
                let mut text = String::new();
                let _ = pipe.by_ref().take(64 << 10).read_to_string(&mut text);
                // A process that writes more must not wait for a reader.
                let _ = io::copy(&mut pipe, &mut io::sink());
                text
            }));
        }
        if let Some(mut pipe) = spawned.child.stdin.take() {
            writeln!(pipe, "{token}")?;
        }
        let (sender, line) = channel();
        if let Some(pipe) = spawned.child.stdout.take() {
            thread::spawn(move || {
                let mut line = String::new();
                let _ = BufReader::new(pipe.take(4096)).read_line(&mut line);
                let _ = sender.send(line);
            });
        }
        let deadline = Instant::now() + START_LIMIT;
        loop {
            match line.recv_timeout(POLL) {
                Ok(line) => match line.trim().strip_prefix("listening ") {
                    Some(address) => return Ok((spawned, address.to_owned())),
                    None => return Err(io::Error::other(format!("{}: {}", program.display(), spawned.describe()))),
                },
                Err(RecvTimeoutError::Timeout) if stop.is_stopped() || Instant::now() >= deadline => {
                    return Err(io::Error::other("it does not start"));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("it does not start")),
            }
        }
    }

    /// The process in words: its number, how it ended, and the last line of what it said.
    fn describe(&mut self) -> String {
        let id = self.child.id();
        // A process whose connection broke is about to end.
        let deadline = Instant::now() + Duration::from_millis(200);
        let ended = loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
                Ok(status) => break status,
                Err(_) => break None,
            }
        };
        let Some(status) = ended else { return format!("process {id}") };
        let said = self.stderr.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        match said.lines().rfind(|line| !line.trim().is_empty()) {
            Some(line) => format!("process {id} ({status}: {})", line.trim()),
            None => format!("process {id} ({status})"),
        }
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        // After a regular end both do nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
