//! As much of HTTP/1.1 as the agents' clients use: requests with a length or in chunks,
//! connections that are kept, whole and chunked responses.

use rustix::net::sockopt::set_socket_linger;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// No prompt is larger, and a length beyond it is a broken request.
const LARGEST_BODY: usize = 64 << 20;
const LONGEST_LINE: u64 = 64 << 10;

pub(crate) struct Request {
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

pub(crate) struct Connection {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> io::Result<Connection> {
        stream.set_nodelay(true)?;
        Ok(Connection { writer: stream.try_clone()?, reader: BufReader::new(stream) })
    }

    /// `None` at the end of the connection.
    pub(crate) fn request(&mut self) -> io::Result<Option<Request>> {
        let Some(first) = self.line()? else { return Ok(None) };
        let mut words = first.split_whitespace();
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Err(malformed("no request line"));
        };
        let (method, target) = (method.to_owned(), target.to_owned());
        let mut headers = HashMap::new();
        loop {
            let line = self.line()?.ok_or_else(|| malformed("cut short in the headers"))?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| malformed("a header without a colon"))?;
            headers.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
        if headers.get("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
            self.writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let body = self.body(&headers)?;
        let path = target.split('?').next().unwrap_or_default().to_owned();
        Ok(Some(Request { method, path, headers, body }))
    }

    fn line(&mut self) -> io::Result<Option<String>> {
        let mut bytes = Vec::new();
        self.reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        if bytes.pop() != Some(b'\n') {
            return Err(malformed("a line without an end"));
        }
        Ok(Some(String::from_utf8_lossy(&bytes).trim_end_matches('\r').to_owned()))
    }

    fn body(&mut self, headers: &HashMap<String, String>) -> io::Result<Vec<u8>> {
        if headers.get("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            return self.chunked_body();
        }
        let length = headers.get("content-length").map_or(Ok(0), |value| value.parse());
        self.bytes(length.map_err(|_| malformed("a length that is no number"))?)
    }

    fn chunked_body(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?.ok_or_else(|| malformed("cut short in the body"))?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| malformed("a chunk without a size"))?;
            if body.len().saturating_add(size) > LARGEST_BODY {
                return Err(malformed("a body too large"));
            }
            body.extend(self.bytes(size)?);
            // The line end after the data; after the last chunk also trailers, which no client sends.
            self.line()?;
            if size == 0 {
                return Ok(body);
            }
        }
    }

    fn bytes(&mut self, length: usize) -> io::Result<Vec<u8>> {
        if length > LARGEST_BODY {
            return Err(malformed("a body too large"));
        }
        let mut bytes = vec![0; length];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    pub(crate) fn respond(
        &mut self,
        status: u16,
        headers: &Map<String, Value>,
        body: &Value,
    ) -> io::Result<()> {
        let body = body.to_string();
        let length = format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
        self.writer.write_all(format!("{}{length}\r\n{body}", head(status, headers)).as_bytes())
    }

    /// A response without a body, as `HEAD` wants it.
    pub(crate) fn respond_empty(&mut self, status: u16) -> io::Result<()> {
        self.writer.write_all(format!("{}content-length: 0\r\n\r\n", head(status, &Map::new())).as_bytes())
    }

    pub(crate) fn begin_stream(&mut self, headers: &Map<String, Value>) -> io::Result<()> {
        const STREAM: &str = "content-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n\
                              transfer-encoding: chunked\r\n\r\n";
        self.writer.write_all(format!("{}{STREAM}", head(200, headers)).as_bytes())
    }

    pub(crate) fn send_event(&mut self, name: &str, data: &Value) -> io::Result<()> {
        let event = format!("event: {name}\ndata: {data}\n\n");
        self.writer.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())
    }

    pub(crate) fn end_stream(&mut self) -> io::Result<()> {
        self.writer.write_all(b"0\r\n\r\n")
    }

    /// Ends the connection with a reset, as a dying proxy does.
    pub(crate) fn hang_up(&mut self) -> io::Result<()> {
        // The reset itself comes with the last descriptor, which the server shares.
        Ok(set_socket_linger(&self.writer, Some(Duration::ZERO))?)
    }
}

fn head(status: u16, headers: &Map<String, Value>) -> String {
    let mut head = format!("HTTP/1.1 {status} Scripted\r\nrequest-id: req_stub\r\n");
    for (name, value) in headers {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
