//! A model behind the OpenAI interface, on this machine, that keeps every request it gets.
//!
//! The answer depends on the last text of the user only: with `[[read]]` in it, the file `notes.txt` is read
//! first; with `[[long]]`, the answer is long enough to be compacted.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// The running model. Its thread ends with the test.
pub(crate) struct Model {
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Model {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                // A client that goes away, as an aborted run does, is not the model's affair.
                let _ = stream.and_then(|stream| answer(stream, &kept));
            }
        });
        Self { port, requests }
    }

    /// The bodies of all requests so far, as they came over the wire.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// The texts of the user in the last request.
    pub(crate) fn last_asked(&self) -> Vec<String> {
        let last: Value = serde_json::from_str(self.requests().last().expect("the model was asked")).unwrap();
        users(&last)
    }
}

fn answer(mut stream: TcpStream, kept: &Mutex<Vec<String>>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(|_| Error::from(ErrorKind::InvalidData))?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8(body).map_err(|_| Error::from(ErrorKind::InvalidData))?;
    let request: Value = serde_json::from_str(&body)?;
    kept.lock().unwrap().push(body);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes())?;
    for chunk in chunks(&request) {
        write!(stream, "data: {chunk}\n\n")?;
    }
    stream.write_all(b"data: [DONE]\n\n")
}

fn chunks(request: &Value) -> Vec<Value> {
    let chunk = |choices: Value, usage: Value| {
        let model = &request["model"];
        json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices, "usage": usage })
    };
    let choice = |delta: Value, finish: Option<&str>| {
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": finish }]), Value::Null)
    };
    let asked = users(request).pop().unwrap_or_default();
    let is_told =
        request["messages"].as_array().and_then(|all| all.last()).is_some_and(|last| last["role"] == "tool");
    let (delta, finish) = if asked.contains("[[read]]") && !is_told {
        let call = json!({ "name": "read", "arguments": r#"{"path":"notes.txt"}"# });
        let calls = json!([{ "index": 0, "id": "call_1", "type": "function", "function": call }]);
        (json!({ "role": "assistant", "tool_calls": calls }), "tool_calls")
    } else {
        let times = if asked.contains("[[long]]") { 400 } else { 1 };
        (json!({ "role": "assistant", "content": "An answer. ".repeat(times) }), "stop")
    };
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    vec![choice(delta, None), choice(json!({}), Some(finish)), chunk(json!([]), usage)]
}

fn users(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().into_iter().flatten();
    messages.filter(|message| message["role"] == "user").map(|message| text(&message["content"])).collect()
}

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        _ => content.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).collect(),
    }
}
