//! A client of HTTP/1.1 with one connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A connection that stays open between requests.
pub struct Connection(BufReader<TcpStream>);

impl Connection {
    pub fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Connection(BufReader::new(stream))
    }

    /// Sends a request without waiting for the response.
    pub fn send(&mut self, path: &str, state: Option<&str>, body: &str) {
        let state = state.map_or_else(String::new, |state| format!("interlock-state: {state}\r\n"));
        let length = body.len();
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{state}content-type: application/json\r\n");
        let request = format!("{head}content-length: {length}\r\n\r\n{body}");
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
    }

    /// Returns the status and the body of the response to a request with a body.
    pub fn post(&mut self, path: &str, state: Option<&str>, body: &str) -> (u16, String) {
        self.send(path, state, body);
        self.receive()
    }

    /// Returns the status and the body of the response to a request without a body.
    pub fn get(&mut self, path: &str) -> (u16, String) {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
        self.receive()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_ascii_lowercase()
    }

    fn receive(&mut self) -> (u16, String) {
        let status = self.line().split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
        let mut length = 0;
        loop {
            let line = self.line();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        (status, String::from_utf8(body).unwrap())
    }
}
