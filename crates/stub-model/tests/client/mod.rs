//! A client as small as the server, kept apart from it: it shares no code that could be wrong
//! on both sides.

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use stub_model::Server;

pub struct Client {
    reader: BufReader<TcpStream>,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Client {
    pub fn to(server: &Server) -> Client {
        let stream = TcpStream::connect(server.url().trim_start_matches("http://")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Client { reader: BufReader::new(stream) }
    }

    #[track_caller]
    pub fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.try_post(path, body).unwrap()
    }

    pub fn try_post(&mut self, path: &str, body: &Value) -> io::Result<Answer> {
        self.send("POST", path, Some(body));
        self.answer()
    }

    #[track_caller]
    pub fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, None);
        self.answer().unwrap()
    }

    /// All that comes until the connection ends, however it ends.
    pub fn raw(&mut self, path: &str, body: &Value) -> String {
        self.send("POST", path, Some(body));
        let mut bytes = Vec::new();
        let _ = self.reader.read_to_end(&mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    pub fn send(&mut self, method: &str, path: &str, body: Option<&Value>) {
        let body = body.map(ToString::to_string).unwrap_or_default();
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: stub\r\nContent-Length: {}\r\n\r\n", body.len());
        self.reader.get_mut().write_all((head + &body).as_bytes()).unwrap();
    }

    fn answer(&mut self) -> io::Result<Answer> {
        let status = self.line()?.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_owned(), value.to_owned()));
        }
        let mut answer = Answer { status, headers, body: String::new() };
        answer.body = match answer.header("content-length") {
            Some(length) => self.text(length.parse().unwrap())?,
            None => self.chunks()?,
        };
        Ok(answer)
    }

    fn chunks(&mut self) -> io::Result<String> {
        let mut all = String::new();
        loop {
            let size = usize::from_str_radix(&self.line()?, 16).unwrap();
            all.push_str(&self.text(size)?);
            self.line()?;
            if size == 0 {
                return Ok(all);
            }
        }
    }

    fn text(&mut self, length: usize) -> io::Result<String> {
        let mut bytes = vec![0; length];
        self.reader.read_exact(&mut bytes)?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The events of a stream: names and data.
    #[track_caller]
    pub fn events(&self) -> Vec<(String, Value)> {
        assert!(self.header("content-type").unwrap().starts_with("text/event-stream"));
        let event = |block: &str| {
            let (name, data) = block.split_once('\n').unwrap();
            let data = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            (name.strip_prefix("event: ").unwrap().to_owned(), data)
        };
        self.body.split("\n\n").filter(|block| !block.is_empty()).map(event).collect()
    }
}

pub fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

/// The first event of that name.
#[track_caller]
pub fn data_of<'a>(events: &'a [(String, Value)], name: &str) -> &'a Value {
    &events.iter().find(|(known, _)| known == name).unwrap().1
}
