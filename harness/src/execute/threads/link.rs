//! Connections between the processes of a run: how they know each other, and what they say.
//!
//! Both sides prove that they know the run's token without sending it: each hashes it with random numbers of both. After
//! that come frames: a length and a message in JSON. Nothing that arrives is executed.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::clock::Nanos;
use super::program::{Move, Step};
use crate::execute::Kernel;
use crate::execute::token::random;

/// What a connection begins with.
const MAGIC: &[u8; 16] = b"placebench run 1";

/// How long a greeting may take.
const GREETING_LIMIT: Duration = Duration::from_secs(10);

/// The largest message.
const MOST_BYTES: u32 = 1 << 30;

type Nonce = [u8; 16];
type Proof = [u8; 32];

/// What the processes of a run know, and nobody else.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Token(Proof);

impl Token {
    /// The token of a text.
    pub(super) fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    fn proof(&self, role: &[u8; 6], nonces: [&Nonce; 2]) -> Proof {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update(role);
        nonces.into_iter().for_each(|nonce| hash.update(nonce));
        hash.finalize().into()
    }
}

/// Compares in a time that does not depend on where the first difference is.
fn is_same(a: &Proof, b: &Proof) -> bool {
    std::hint::black_box(a.iter().zip(b).fold(0, |different, (a, b)| different | (a ^ b))) == 0
}

fn stranger() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "the other side does not know the token of this run")
}

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Hello {
    /// The process that runs the run.
    Control,
    /// The process of a device, which will send tensors in this session.
    Data {
        /// The device.
        from: usize,
        /// The session.
        session: u64,
    },
}

/// A wait that ended without an answer, in words.
fn explained(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", GREETING_LIMIT.as_secs()))
        }
        _ => error,
    }
}

/// Calls: proves that this side knows the token, sees that the other does, and says who it is.
pub(super) fn greet(stream: &mut TcpStream, token: &Token, hello: &Hello) -> io::Result<()> {
    introduce(stream, token, hello).map_err(explained)
}

fn introduce(stream: &mut TcpStream, token: &Token, hello: &Hello) -> io::Result<()> {
    prepare(stream)?;
    let own: Nonce = random()?;
    stream.write_all(MAGIC)?;
    stream.write_all(&own)?;
    let (mut other, mut proof) = (Nonce::default(), Proof::default());
    stream.read_exact(&mut other)?;
    stream.read_exact(&mut proof)?;
    if !is_same(&proof, &token.proof(b"server", [&own, &other])) {
        return Err(stranger());
    }
    stream.write_all(&token.proof(b"client", [&other, &own]))?;
    send(stream, hello)?;
    stream.set_read_timeout(None)
}

/// Answers a call: proves that this side knows the token, sees that the other does, and learns who it is.
pub(super) fn answer(stream: &mut TcpStream, token: &Token) -> io::Result<Hello> {
    prepare(stream)?;
    let (mut magic, mut other) = ([0; MAGIC.len()], Nonce::default());
    stream.read_exact(&mut magic)?;
    stream.read_exact(&mut other)?;
    if magic != *MAGIC {
        return Err(stranger());
    }
    let own: Nonce = random()?;
    stream.write_all(&own)?;
    stream.write_all(&token.proof(b"server", [&other, &own]))?;
    let mut proof = Proof::default();
    stream.read_exact(&mut proof)?;
    if !is_same(&proof, &token.proof(b"client", [&own, &other])) {
        return Err(stranger());
    }
    let hello = receive(stream)?;
    stream.set_read_timeout(None)?;
    Ok(hello)
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(GREETING_LIMIT))
}

/// What the process that runs the run says to that of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Order {
    /// What time is it?
    Ping,
    /// Get ready.
    Prepare(Box<Job>),
    /// Run the program once.
    Run {
        /// Which run, from 1.
        run: u32,
        /// When it starts, by the clock of the process that runs the run.
        base: Nanos,
        /// Whether the bytes of transfers are compared with what was sent.
        checks: bool,
    },
}

/// What a device has to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Job {
    /// Random; data connections of other sessions are refused.
    pub(super) session: u64,
    /// The device.
    pub(super) device: usize,
    /// Its tasks.
    pub(super) steps: Vec<Step>,
    /// The transfers of all devices.
    pub(super) moves: Vec<Move>,
    /// The addresses of all devices.
    pub(super) addresses: Vec<String>,
    /// What the clock of this process says more than that of the process that runs the run.
    pub(super) clock_offset: Nanos,
    /// What a task does.
    pub(super) kernel: Kernel,
    /// How long before an instant it looks at the clock.
    pub(super) ahead: Nanos,
    /// The core to stay on.
    pub(super) core: Option<usize>,
    /// What tensors are made of.
    pub(super) payload_seed: u64,
}

/// What the process of a device says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Report {
    /// The time by its clock.
    Pong(Nanos),
    /// It has its job, and connections to all that it sends to and receives from.
    Ready,
    /// A run ended. All instants are by the clock of the process that runs the run.
    Done {
        /// Start and end of its tasks.
        steps: Vec<(Nanos, Nanos)>,
        /// What it received: transfer, when it was sent, when it could be read.
        moves: Vec<(usize, Nanos, Nanos)>,
        /// Whether it had the priority to wake up in time.
        is_precise: bool,
        /// A transfer whose bytes were not what was sent.
        damaged: Option<usize>,
    },
    /// It cannot go on.
    Fault(String),
}

/// What precedes the bytes of a tensor: run, transfer, and when it was sent, by the clock of the process that runs the run.
pub(super) struct Parcel {
    pub(super) run: u32,
    pub(super) transfer: usize,
    pub(super) sent: Nanos,
}

impl Parcel {
    /// Sends a tensor.
    pub(super) fn send(&self, stream: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
        let mut head = [0; 20];
        head[..4].copy_from_slice(&self.run.to_le_bytes());
        head[4..12].copy_from_slice(&(self.transfer as u64).to_le_bytes());
        head[12..].copy_from_slice(&self.sent.to_le_bytes());
        stream.write_all(&head)?;
        stream.write_all(bytes)
    }

    /// Receives what precedes a tensor.
    pub(super) fn receive(stream: &mut impl Read) -> io::Result<Self> {
        let (mut run, mut transfer, mut sent) = ([0; 4], [0; 8], [0; 8]);
        stream.read_exact(&mut run)?;
        stream.read_exact(&mut transfer)?;
        stream.read_exact(&mut sent)?;
        let transfer = usize::try_from(u64::from_le_bytes(transfer)).unwrap_or(usize::MAX);
        Ok(Self { run: u32::from_le_bytes(run), transfer, sent: Nanos::from_le_bytes(sent) })
    }
}

/// Sends a message.
pub(super) fn send(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let length = u32::try_from(text.len()).ok().filter(|&length| length <= MOST_BYTES);
    let length =
        length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the program is too large to send"))?;
    stream.write_all(&length.to_le_bytes())?;
    stream.write_all(&text)
}

/// Receives a message.
pub(super) fn receive<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a message of {length} bytes is too long")));
    }
    // Memory is taken as bytes come, not as the length promises.
    let mut text = Vec::new();
    if stream.take(u64::from(length)).read_to_end(&mut text)? < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&text)?)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn meet(client: &str, server: &str) -> (io::Result<()>, io::Result<Hello>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let token = Token::of(server);
        let answering = thread::spawn(move || answer(&mut listener.accept().unwrap().0, &token));
        let mut stream = TcpStream::connect(address).unwrap();
        let greeted = greet(&mut stream, &Token::of(client), &Hello::Data { from: 3, session: u64::MAX });
        drop(stream);
        (greeted, answering.join().unwrap())
    }

    #[test]
    fn processes_of_a_run_know_each_other_and_nobody_else() {
        let (greeted, answered) = meet("secret", "secret");
        greeted.unwrap();
        assert_eq!(answered.unwrap(), Hello::Data { from: 3, session: u64::MAX });
        let (greeted, answered) = meet("secret", "another");
        assert_eq!(greeted.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert!(answered.is_err());
    }

    #[test]
    fn a_caller_without_the_token_learns_nothing_and_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let answering = thread::spawn(move || answer(&mut listener.accept().unwrap().0, &Token::of("secret")));
        stream.write_all(MAGIC).unwrap();
        stream.write_all(&[0; 16 + 32]).unwrap();
        assert_eq!(answering.join().unwrap().unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn what_is_no_message_is_refused_without_taking_its_memory() {
        assert!(receive::<Report>(&mut &[255, 255, 255, 255, 1][..]).is_err());
        assert!(receive::<Report>(&mut &[100, 0, 0, 0, 1][..]).is_err());
        assert!(receive::<Report>(&mut &[2, 0, 0, 0, b'{', b'}'][..]).is_err());
        let mut bytes = Vec::new();
        send(&mut bytes, &Report::Pong(7)).unwrap();
        assert_eq!(receive::<Report>(&mut &bytes[..]).unwrap(), Report::Pong(7));
    }
}
