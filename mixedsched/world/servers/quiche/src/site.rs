//! What is served: answers by method, host and target.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

/// The address to listen at, files of the certificate and its key, and all answers.
#[derive(Deserialize)]
pub struct Config {
    pub listen: std::net::SocketAddr,
    pub certificate: String,
    pub key: String,
    pub responses: Vec<Response>,
}

/// One answer. `target`: path and query, as requests have them. `file`: empty for an answer without content.
#[derive(Deserialize)]
pub struct Response {
    method: String,
    host: String,
    target: String,
    pub file: PathBuf,
    pub status: u16,
    delay_ms: f64,
    pub fields: Vec<(String, String)>,
}

impl Response {
    pub fn delay(&self) -> Duration {
        Duration::from_secs_f64(self.delay_ms.max(0.0) / 1000.0)
    }
}

/// All answers, and which of them have the same path.
pub struct Site {
    responses: Vec<Response>,
    of_path: HashMap<(String, String, String), Vec<usize>>,
}

fn path_of(target: &str) -> &str {
    target.split_once('?').map_or(target, |(path, _)| path)
}

fn shared_bytes(one: &str, other: &str) -> usize {
    one.bytes()
        .zip(other.bytes())
        .take_while(|(a, b)| a == b)
        .count()
}

impl Site {
    pub fn new(responses: Vec<Response>) -> Self {
        let mut of_path: HashMap<_, Vec<usize>> = HashMap::new();
        for (place, one) in responses.iter().enumerate() {
            let key = (
                one.method.clone(),
                one.host.clone(),
                path_of(&one.target).to_owned(),
            );
            of_path.entry(key).or_default().push(place);
        }
        Self { responses, of_path }
    }

    /// The answer with the same target; else, of one path, the first whose query begins alike for longest.
    pub fn find(&self, method: &str, authority: &str, target: &str) -> Option<&Response> {
        let method = if method == "HEAD" { "GET" } else { method };
        let host = authority
            .rsplit_once(':')
            .map_or(authority, |(host, _)| host);
        let key = (
            method.to_owned(),
            host.to_ascii_lowercase(),
            path_of(target).to_owned(),
        );
        let places = self.of_path.get(&key)?;
        let alike = |place: &&usize| {
            let known = &self.responses[**place].target;
            (known == target, shared_bytes(known, target))
        };
        // Of several that are as good, `max_by_key` takes the last one.
        places
            .iter()
            .rev()
            .max_by_key(alike)
            .map(|place| &self.responses[*place])
    }
}
