//! A server in a process of its own, which ends with the test.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// PyTorch is slow to import on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(180);

/// A server that is ready for requests.
pub struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts a server with these environment variables and waits until it is ready.
    pub fn start(variables: &[(&str, &str)]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_interlock-server"))
            .envs(variables.iter().copied())
            // The server ends with this pipe, also if the test is killed.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = process.stdout.take().unwrap();
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            let _read = BufReader::new(output).read_line(&mut line);
            let _received = sender.send(line);
        });
        let line = receiver.recv_timeout(START_TIMEOUT).unwrap_or_default();
        let address = line.trim().strip_prefix("http://").map(str::parse);
        let Some(Ok(address)) = address else {
            let _killed = process.kill();
            panic!("the server has not started: {line:?}");
        };
        Server { process, address }
    }

    /// Returns the address on the loopback.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the memory of the process that is in RAM; `None` on systems without `/proc`.
    pub fn resident_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _killed = self.process.kill();
        let _status = self.process.wait();
    }
}
