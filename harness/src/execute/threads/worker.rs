//! The process of a device: `placebench execute-worker`.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::clock::{Nanos, be_precise, now, pin};
use super::device::{Arrivals, carry_all, execute, readable_at};
use super::kernel::Kernels;
use super::link::{Hello, Job, Order, Parcel, Report, Token, answer, greet, receive, send};
use super::memory::{COURIER_PRIORITY, DEVICE_PRIORITY};
use super::payload::Payload;

/// How long the other devices have to call before this one gives up.
const CALL_LIMIT: Duration = Duration::from_secs(30);

/// Serves runs, one at a time: each greeted control connection is one. Callers without the token are sent away. Returns
/// after the first session if `once`.
///
/// # Errors
/// If no connection can be accepted.
pub fn serve(listener: &TcpListener, token: &str, once: bool) -> io::Result<()> {
    let token = Token::of(token);
    let (sender, calls) = channel();
    let accepting = listener.try_clone()?;
    let answering = token.clone();
    thread::spawn(move || {
        for stream in accepting.incoming() {
            let (sender, token) = (sender.clone(), answering.clone());
            let Ok(mut stream) = stream else { continue };
            // A caller that says nothing keeps nobody waiting.
            thread::spawn(move || {
                if let Ok(hello) = answer(&mut stream, &token) {
                    // After the last session nobody listens.
                    let _ = sender.send((hello, stream));
                }
            });
        }
    });
    while let Ok((hello, stream)) = calls.recv() {
        // Data connections without a session are left over from one that ended.
        if hello == Hello::Control {
            // How a session fails is the other side's to tell.
            let _ = session(stream, &calls, &token);
            if once {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// What a session waits for.
enum Event {
    Order(Order),
    /// The process that runs the run is gone.
    Left,
    /// The device executed its tasks, or gave up.
    Executed {
        times: Option<Vec<(Nanos, Nanos)>>,
        is_precise: bool,
        damaged: Option<usize>,
    },
    /// A connection broke, or another device misbehaves.
    Fault(String),
}

type Calls = Receiver<(Hello, TcpStream)>;

/// One run, as often as the other side wants it.
fn session(mut control: TcpStream, calls: &Calls, token: &Token) -> io::Result<()> {
    let (sender, events) = channel();
    let mut orders = control.try_clone()?;
    let reading = sender.clone();
    let reader = thread::spawn(move || {
        while let Ok(order) = receive(&mut orders) {
            if reading.send(Event::Order(order)).is_err() {
                return;
            }
        }
        let _ = reading.send(Event::Left);
    });
    let ended = follow(&mut control, calls, token, &sender, &events);
    if let Err(error) = &ended {
        // The other side may be gone.
        let _ = send(&mut control, &Report::Fault(error.to_string()));
    }
    let _ = control.shutdown(Shutdown::Both);
    let _ = reader.join();
    ended
}

/// Follows orders until the other side leaves.
fn follow(
    control: &mut TcpStream,
    calls: &Calls,
    token: &Token,
    sender: &Sender<Event>,
    events: &Receiver<Event>,
) -> io::Result<()> {
    let mut device: Option<Device> = None;
    while let Ok(event) = events.recv() {
        match (event, &mut device) {
            (Event::Order(Order::Ping), _) => send(control, &Report::Pong(now()))?,
            (Event::Order(Order::Prepare(job)), None) => {
                device = Some(Device::new(*job, calls, token, sender)?);
                send(control, &Report::Ready)?;
            }
            (Event::Order(Order::Run { run, base, checks }), Some(device)) => device.start(run, base, checks, sender),
            (Event::Executed { times: Some(times), is_precise, damaged }, Some(device)) => {
                send(control, &device.report(times, is_precise, damaged))?;
            }
            // What made it give up is another event.
            (Event::Executed { times: None, .. }, _) => {}
            (Event::Fault(reason), _) => return Err(io::Error::other(reason)),
            (Event::Left, _) => return Ok(()),
            _ => return Err(io::Error::other("an order came out of turn")),
        }
    }
    Ok(())
}

/// A device with its job and its connections.
struct Device {
    shared: Arc<Shared>,
    /// Connections to the devices that it sends to.
    outgoing: BTreeMap<usize, TcpStream>,
    /// Connections from the devices that send to it.
    incoming: Vec<TcpStream>,
    threads: Vec<thread::JoinHandle<()>>,
}

/// What the threads of a device share.
struct Shared {
    job: Job,
    kernels: Kernels,
    payload: Payload,
    /// For each transfer to this device what it writes to, and when it was sent; empty for others.
    buffers: Vec<Mutex<(Vec<u8>, Nanos)>>,
    /// The latest run, and what arrived in it: a tensor can come before the order to run.
    latest: Mutex<(u32, Arc<Arrivals>)>,
}

impl Shared {
    fn arrivals(&self, run: u32) -> Arc<Arrivals> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if latest.0 < run {
            *latest = (run, Arc::new(Arrivals::new(self.job.moves.len(), self.job.addresses.len())));
        }
        Arc::clone(&latest.1)
    }

    fn buffer(&self, transfer: usize) -> std::sync::MutexGuard<'_, (Vec<u8>, Nanos)> {
        self.buffers[transfer].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Receives tensors from a device until the connection ends.
    fn take_in(&self, from: usize, stream: &mut impl Read) -> io::Result<()> {
        loop {
            let Parcel { run, transfer, sent } = match Parcel::receive(stream) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                parcel => parcel?,
            };
            let moved = self.job.moves.get(transfer);
            let Some(moved) = moved.filter(|moved| (moved.from, moved.to) == (from, self.job.device)) else {
                return Err(io::Error::other(format!(
                    "device {from} sent a transfer {transfer} that it must not send"
                )));
            };
            let mut buffer = self.buffer(transfer);
            stream.read_exact(&mut buffer.0)?;
            buffer.1 = sent;
            drop(buffer);
            let instant = readable_at(moved, sent + self.job.clock_offset);
            self.arrivals(run).deliver(transfer, self.job.device, instant);
        }
    }
}

impl Device {
    /// Takes the memory for a job, calls the devices that it sends to, and waits for the calls of those that send to it.
    fn new(job: Job, calls: &Calls, token: &Token, sender: &Sender<Event>) -> io::Result<Self> {
        let own = job.device;
        let largest = job.moves.iter().map(|moved| moved.bytes).max().unwrap_or(0);
        let size = |to: usize, bytes: u64| if to == own { bytes as usize } else { 0 };
        let buffers = job.moves.iter().map(|moved| Mutex::new((vec![0; size(moved.to, moved.bytes)], 0))).collect();
        let shared = Arc::new(Shared {
            kernels: Kernels::new(job.kernel, job.ahead),
            payload: Payload::new(job.payload_seed, largest),
            buffers,
            latest: Mutex::new((0, Arc::new(Arrivals::new(0, 0)))),
            job,
        });
        let job = &shared.job;
        let mut device =
            Self { shared: Arc::clone(&shared), outgoing: BTreeMap::new(), incoming: Vec::new(), threads: Vec::new() };
        for moved in job.moves.iter().filter(|moved| moved.from == own) {
            if let std::collections::btree_map::Entry::Vacant(entry) = device.outgoing.entry(moved.to) {
                let address = &job.addresses[moved.to];
                let at = |error: io::Error| io::Error::other(format!("device {own} cannot call {address}: {error}"));
                let mut stream = TcpStream::connect(address).map_err(at)?;
                greet(&mut stream, token, &Hello::Data { from: own, session: job.session }).map_err(at)?;
                entry.insert(stream);
            }
        }
        let mut missing: Vec<usize> =
            job.moves.iter().filter(|moved| moved.to == own).map(|moved| moved.from).collect();
        missing.sort_unstable();
        missing.dedup();
        let deadline = Instant::now() + CALL_LIMIT;
        while !missing.is_empty() {
            let (hello, mut stream) = match calls.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(call) => call,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other(format!("device {own} waited in vain for device {}", missing[0])));
                }
            };
            let Hello::Data { from, session } = hello else { continue };
            if session != job.session || !missing.contains(&from) {
                continue;
            }
            missing.retain(|&other| other != from);
            device.incoming.push(stream.try_clone()?);
            let (shared, sender) = (Arc::clone(&shared), sender.clone());
            device.threads.push(thread::spawn(move || {
                be_precise(COURIER_PRIORITY);
                if let Err(error) = shared.take_in(from, &mut stream) {
                    let _ = sender.send(Event::Fault(format!("from device {from}: {error}")));
                }
            }));
        }
        Ok(device)
    }

    /// Starts a run.
    fn start(&mut self, run: u32, base: Nanos, checks: bool, sender: &Sender<Event>) {
        let (courier, parcels) = channel();
        let arrivals = self.shared.arrivals(run);
        let (shared, giving_up, failing) = (Arc::clone(&self.shared), Arc::clone(&arrivals), sender.clone());
        let streams = self.outgoing.iter().map(|(&to, stream)| Ok((to, stream.try_clone()?)));
        let mut streams: BTreeMap<usize, TcpStream> = match streams.collect::<io::Result<_>>() {
            Ok(streams) => streams,
            Err(error) => {
                let _ = sender.send(Event::Fault(error.to_string()));
                return;
            }
        };
        self.threads.push(thread::spawn(move || {
            be_precise(COURIER_PRIORITY);
            carry_all(&parcels, |transfer, sent| {
                let moved = &shared.job.moves[transfer];
                let parcel = Parcel { run, transfer, sent: sent - shared.job.clock_offset };
                let Some(stream) = streams.get_mut(&moved.to) else { return false };
                match parcel.send(stream, shared.payload.of(moved.content, moved.bytes)) {
                    Ok(()) => true,
                    Err(error) => {
                        giving_up.give_up();
                        let _ = failing.send(Event::Fault(format!("to device {}: {error}", moved.to)));
                        false
                    }
                }
            });
        }));
        let (shared, sender) = (Arc::clone(&self.shared), sender.clone());
        self.threads.push(thread::spawn(move || {
            if let Some(core) = shared.job.core {
                pin(core);
            }
            let is_precise = shared.kernels.sleep() && be_precise(DEVICE_PRIORITY);
            let job = &shared.job;
            let damaged = Mutex::new(None);
            let check = |transfer: usize| {
                let moved = &job.moves[transfer];
                if checks && shared.buffer(transfer).0 != shared.payload.of(moved.content, moved.bytes) {
                    *damaged.lock().unwrap_or_else(PoisonError::into_inner) = Some(transfer);
                }
            };
            let base = base + job.clock_offset;
            let times = execute(job.device, &job.steps, base, &arrivals, &shared.kernels, &courier, &check);
            let damaged = damaged.into_inner().unwrap_or_else(PoisonError::into_inner);
            let _ = sender.send(Event::Executed { times, is_precise, damaged });
        }));
    }

    /// What happened in the latest run.
    fn report(&mut self, times: Vec<(Nanos, Nanos)>, is_precise: bool, damaged: Option<usize>) -> Report {
        let job = &self.shared.job;
        let arrivals = {
            let latest = self.shared.latest.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(&latest.1)
        };
        let own = job.moves.iter().enumerate().filter(|(_, moved)| moved.to == job.device);
        let moves = own.map(|(transfer, _)| {
            (transfer, self.shared.buffer(transfer).1, arrivals.instant(transfer) - job.clock_offset)
        });
        let steps = times.into_iter().map(|(start, end)| (start - job.clock_offset, end - job.clock_offset));
        Report::Done { steps: steps.collect(), moves: moves.collect(), is_precise, damaged }
    }
}

impl Drop for Device {
    /// Ends all threads of the device: those that wait, and those that read or write.
    fn drop(&mut self) {
        self.shared.latest.lock().unwrap_or_else(PoisonError::into_inner).1.give_up();
        for stream in self.outgoing.values().chain(&self.incoming) {
            // A connection that is closed already is what is wanted.
            let _ = stream.shutdown(Shutdown::Both);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
