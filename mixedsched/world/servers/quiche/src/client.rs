//! One client's connection: what it has asked for, and what of the responses is still to be handed to quiche.

use std::collections::BTreeMap;
use std::time::Instant;

use quiche::h3::{Error, Event, Header, NameValue, Priority};

use crate::site::{Response, Site};

struct Outgoing {
    due: Instant,
    signal: Vec<u8>,             // the request's `priority` field
    fields: Option<Vec<Header>>, // None once they are sent
    body: Vec<u8>,
    written: usize,
}

pub struct Client {
    pub quic: quiche::Connection,
    http: Option<quiche::h3::Connection>,
    outgoing: BTreeMap<u64, Outgoing>,
}

impl Client {
    pub fn new(quic: quiche::Connection) -> Self {
        Self {
            quic,
            http: None,
            outgoing: BTreeMap::new(),
        }
    }

    /// When the next response is due that is not yet.
    pub fn next_due(&self, now: Instant) -> Option<Instant> {
        self.outgoing
            .values()
            .map(|one| one.due)
            .filter(|due| *due > now)
            .min()
    }

    /// Read what was asked, and hand on what quiche has room for.
    pub fn serve(&mut self, site: &Site, settings: &quiche::h3::Config, now: Instant) {
        if self.http.is_none() && self.quic.is_established() {
            self.http = quiche::h3::Connection::with_transport(&mut self.quic, settings).ok();
        }
        let Some(mut http) = self.http.take() else {
            return;
        };
        self.read(&mut http, site, now);
        self.send_heads(&mut http, now);
        self.send_bodies(&mut http);
        self.http = Some(http);
    }

    fn read(&mut self, http: &mut quiche::h3::Connection, site: &Site, now: Instant) {
        loop {
            match http.poll(&mut self.quic) {
                Ok((stream_id, Event::Headers { list, .. })) => {
                    // Trailers are headers, too: the answer to what came first stays.
                    self.outgoing
                        .entry(stream_id)
                        .or_insert_with(|| answer(site, &list, now));
                }
                Ok((stream_id, Event::Data)) => {
                    let mut ignored = [0; 4096];
                    while http
                        .recv_body(&mut self.quic, stream_id, &mut ignored)
                        .is_ok()
                    {}
                }
                Ok((stream_id, Event::Reset(_))) => drop(self.outgoing.remove(&stream_id)),
                Ok(_) => {} // updates are taken when a response begins
                Err(Error::Done) => return,
                // quiche has closed the connection with the error that fits.
                Err(error) => return eprintln!("{}: HTTP/3: {error}", self.quic.trace_id()),
            }
        }
    }

    /// Begin the responses that are due. The priority of each is final: `quiche::h3` has no call to change it later, and
    /// quiche's own server does not either.
    fn send_heads(&mut self, http: &mut quiche::h3::Connection, now: Instant) {
        let quic = &mut self.quic;
        self.outgoing.retain(|stream_id, one| {
            let Some(fields) = one.fields.as_deref().filter(|_| one.due <= now) else {
                return true;
            };
            if let Ok(update) = http.take_last_priority_update(*stream_id) {
                one.signal = update; // the client's latest word (RFC 9218 section 7)
            }
            let priority = Priority::try_from(&one.signal[..]).unwrap_or_default();
            match http.send_response_with_priority(
                quic,
                *stream_id,
                fields,
                &priority,
                one.body.is_empty(),
            ) {
                Ok(()) => one.fields = None,
                Err(Error::StreamBlocked) => return true, // it is tried again when packets were acknowledged
                Err(_) => return false, // the client has given it up, or the connection
            }
            !one.body.is_empty()
        });
    }

    /// Fill the room that quiche has for bodies, in quiche's own order of streams.
    fn send_bodies(&mut self, http: &mut quiche::h3::Connection) {
        for stream_id in self.quic.writable() {
            let Some(one) = self
                .outgoing
                .get_mut(&stream_id)
                .filter(|one| one.fields.is_none())
            else {
                continue;
            };
            match http.send_body(&mut self.quic, stream_id, &one.body[one.written..], true) {
                Ok(written) => one.written += written,
                Err(Error::Done) => {}
                Err(_) => one.written = one.body.len(), // given up
            }
            if one.written == one.body.len() {
                self.outgoing.remove(&stream_id);
            }
        }
    }
}

fn answer(site: &Site, asked: &[Header], now: Instant) -> Outgoing {
    let field = |name: &[u8]| {
        let values: Vec<_> = asked
            .iter()
            .filter(|one| one.name() == name)
            .map(|one| one.value())
            .collect();
        String::from_utf8_lossy(&values.join(&b", "[..])).into_owned() // RFC 9110 section 5.3
    };
    let method = field(b":method");
    let found = site.find(&method, &field(b":authority"), &field(b":path"));
    let (fields, body) = found
        .and_then(|one| contents(one, method == "HEAD"))
        .unwrap_or_else(nothing_here);
    Outgoing {
        due: now + found.map(Response::delay).unwrap_or_default(),
        signal: field(b"priority").into_bytes(),
        fields: Some(fields),
        body,
        written: 0,
    }
}

/// Fields and body of an answer; None if its file cannot be read.
fn contents(answer: &Response, head_only: bool) -> Option<(Vec<Header>, Vec<u8>)> {
    let mut fields = vec![Header::new(
        b":status",
        answer.status.to_string().as_bytes(),
    )];
    fields.extend(
        answer.fields.iter().map(|(name, value)| {
            Header::new(name.to_ascii_lowercase().as_bytes(), value.as_bytes())
        }),
    );
    if answer.file.as_os_str().is_empty() {
        return Some((fields, Vec::new()));
    }
    let body = std::fs::read(&answer.file).ok()?;
    fields.push(Header::new(
        b"content-length",
        body.len().to_string().as_bytes(),
    ));
    Some((fields, if head_only { Vec::new() } else { body }))
}

fn nothing_here() -> (Vec<Header>, Vec<u8>) {
    let fields = vec![
        Header::new(b":status", b"404"),
        Header::new(b"content-type", b"text/plain; charset=utf-8"),
    ];
    (fields, b"there is nothing here\n".to_vec())
}
