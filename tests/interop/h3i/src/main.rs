//! Plays scripts of HTTP/3 frames, legal or not, against a server.
//!
//! `frame-rules HOST PORT NAME` reads a script per line from standard input, `{"name": ..., "steps": [...]}`, makes a
//! connection for each, and prints a line for each: the code with which the server closed the connection, null if it did
//! not, and the status of each response and the code of each reset by stream ID.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::Duration;

use h3i::actions::h3::{send_headers_frame, Action, StreamEvent, StreamEventType, WaitType};
use h3i::client::sync_client;
use h3i::config::Config;
use h3i::frame::H3iFrame;
use h3i::quiche;
use h3i::quiche::h3::frame::Frame;
use h3i::quiche::h3::Header;
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Script {
    name: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Step {
    /// Open a unidirectional stream of some type.
    Open { stream: u64, kind: u64 },
    /// Any bytes, in hexadecimal digits.
    Bytes { stream: u64, hex: String, end: bool },
    /// PRIORITY_UPDATE as h3i itself writes it, for a request or a push.
    Update { stream: u64, element: u64, value: String, push: bool },
    Get { stream: u64, path: String, priority: Option<String> },
    Reset { stream: u64 },
    Stop { stream: u64 },
    /// Send what is there before going on.
    Flush,
    WaitMs { ms: u64 },
    /// Wait until a response is complete or cut off.
    WaitFor { stream: u64 },
}

#[derive(Serialize)]
struct Outcome {
    name: String,
    close_code: Option<u64>,
    is_application_close: bool,
    statuses: BTreeMap<u64, String>,
    resets: BTreeMap<u64, u64>,
    problem: Option<String>,
}

fn action(step: &Step, authority: &str) -> Action {
    match step {
        Step::Open { stream, kind } => {
            Action::OpenUniStream { stream_id: *stream, fin_stream: false, stream_type: *kind }
        }
        Step::Bytes { stream, hex, end } => {
            Action::StreamBytes { stream_id: *stream, fin_stream: *end, bytes: from_hex(hex) }
        }
        Step::Update { stream, element, value, push } => Action::SendFrame {
            stream_id: *stream,
            fin_stream: false,
            frame: if *push {
                Frame::PriorityUpdatePush {
                    prioritized_element_id: *element,
                    priority_field_value: value.as_bytes().to_vec(),
                }
            } else {
                Frame::PriorityUpdateRequest {
                    prioritized_element_id: *element,
                    priority_field_value: value.as_bytes().to_vec(),
                }
            },
        },
        Step::Get { stream, path, priority } => {
            let mut fields = vec![
                Header::new(b":method", b"GET"),
                Header::new(b":scheme", b"https"),
                Header::new(b":authority", authority.as_bytes()),
                Header::new(b":path", path.as_bytes()),
            ];
            if let Some(value) = priority {
                fields.push(Header::new(b"priority", value.as_bytes()));
            }
            send_headers_frame(*stream, true, fields)
        }
        Step::Reset { stream } => Action::ResetStream { stream_id: *stream, error_code: 0x10c },
        Step::Stop { stream } => Action::StopSending { stream_id: *stream, error_code: 0x10c },
        Step::Flush => Action::FlushPackets,
        Step::WaitMs { ms } => {
            Action::Wait { wait_type: WaitType::WaitDuration(Duration::from_millis(*ms)) }
        }
        Step::WaitFor { stream } => Action::Wait {
            wait_type: WaitType::StreamEvent(StreamEvent {
                stream_id: *stream,
                event_type: StreamEventType::Finished,
            }),
        },
    }
}

fn from_hex(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits")).collect()
}

fn play(script: &Script, host: &str, port: &str, name: &str) -> Outcome {
    let config = Config::new()
        .with_host_port(format!("{name}:{port}"))
        .with_connect_to(format!("{host}:{port}"))
        .verify_peer(false)
        .with_idle_timeout(5000)
        .build()
        .expect("a configuration");
    let mut actions: Vec<Action> = script.steps.iter().map(|step| action(step, name)).collect();
    actions.push(Action::ConnectionClose {
        error: quiche::ConnectionError { is_app: true, error_code: 0x100, reason: vec![] },
    });
    let mut outcome = Outcome {
        name: script.name.clone(),
        close_code: None,
        is_application_close: false,
        statuses: BTreeMap::new(),
        resets: BTreeMap::new(),
        problem: None,
    };
    match sync_client::connect(config, actions, None) {
        Err(error) => outcome.problem = Some(format!("{error:?}")),
        Ok(summary) => {
            if let Some(error) = summary.conn_close_details.peer_error() {
                outcome.close_code = Some(error.error_code);
                outcome.is_application_close = error.is_app;
            }
            if summary.conn_close_details.timed_out {
                outcome.problem = Some("timed out".to_string());
            }
            for step in &script.steps {
                if let Step::Get { stream, .. } | Step::Bytes { stream, .. } = step {
                    note_stream(&mut outcome, *stream, summary.stream_map.stream(*stream));
                }
            }
        }
    }
    outcome
}

fn note_stream(outcome: &mut Outcome, stream: u64, frames: Vec<H3iFrame>) {
    for frame in frames {
        match frame {
            H3iFrame::Headers(fields) => {
                if let Some(status) = fields.status_code() {
                    outcome.statuses.insert(stream, String::from_utf8_lossy(status).into_owned());
                }
            }
            H3iFrame::ResetStream(reset) => {
                outcome.resets.insert(stream, reset.error_code);
            }
            H3iFrame::QuicheH3(_) => {}
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    for line in std::io::stdin().lock().lines() {
        let script: Script = serde_json::from_str(&line.expect("standard input")).expect("a script per line");
        let outcome = play(&script, &arguments[1], &arguments[2], &arguments[3]);
        println!("{}", serde_json::to_string(&outcome).expect("an outcome"));
    }
}
