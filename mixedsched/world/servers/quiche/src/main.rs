//! A file server on Cloudflare's quiche: `mixedsched-quiche CONFIG`. It answers what CONFIG lists (JSON, written by
//! ../../_file_server.py), tells quiche the client's priorities, and leaves all order of bytes to it.

mod client;
mod site;

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use client::Client;
use mio::net::UdpSocket;
use site::{Config, Site};

const DATAGRAM_BYTES: usize = 1350; // as quiche's own server
const SOCKET: mio::Token = mio::Token(0);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [word] if word == "--version" => println!("quiche {}", quiche_version()),
        [path] => Server::new(serde_json::from_str(&std::fs::read_to_string(path)?)?)?.run()?,
        _ => {
            eprintln!("usage: mixedsched-quiche CONFIG | --version");
            std::process::exit(2);
        }
    }
    Ok(())
}

/// The library does not say which version it is, but Cargo.toml pins one.
fn quiche_version() -> &'static str {
    let pins = include_str!("../Cargo.toml").lines();
    pins.filter_map(|line| line.strip_prefix("quiche = { version = \"="))
        .find_map(|pin| pin.split('"').next())
        .unwrap_or("?")
}

fn transport(config: &Config) -> quiche::Result<quiche::Config> {
    let mut transport = quiche::Config::new(quiche::PROTOCOL_VERSION)?;
    transport.load_cert_chain_from_pem_file(&config.certificate)?;
    transport.load_priv_key_from_pem_file(&config.key)?;
    transport.set_application_protos(quiche::h3::APPLICATION_PROTOCOL)?;
    transport.set_max_idle_timeout(30_000);
    transport.set_max_recv_udp_payload_size(DATAGRAM_BYTES);
    transport.set_max_send_udp_payload_size(DATAGRAM_BYTES);
    transport.set_initial_max_data(10_000_000);
    transport.set_initial_max_stream_data_bidi_remote(1_000_000);
    transport.set_initial_max_stream_data_uni(1_000_000);
    transport.set_initial_max_streams_bidi(100);
    transport.set_initial_max_streams_uni(100);
    transport.set_disable_active_migration(true);
    Ok(transport)
}

struct Server {
    site: Site,
    transport: quiche::Config,
    http: quiche::h3::Config,
    poll: mio::Poll,
    socket: UdpSocket,
    address: SocketAddr,
    clients: BTreeMap<u64, Client>,
    numbers: HashMap<quiche::ConnectionId<'static>, u64>, // of clients, by the connection IDs that packets may name
    latest: u64,
    unsent: Option<(Vec<u8>, SocketAddr)>, // what the socket had no room for
}

impl Server {
    fn new(config: Config) -> Result<Self, Box<dyn Error>> {
        let transport = transport(&config)?;
        let poll = mio::Poll::new()?;
        let mut socket = UdpSocket::bind(config.listen)
            .map_err(|error| format!("{}: {error}", config.listen))?;
        poll.registry().register(
            &mut socket,
            SOCKET,
            mio::Interest::READABLE | mio::Interest::WRITABLE,
        )?;
        Ok(Self {
            site: Site::new(config.responses),
            transport,
            http: quiche::h3::Config::new()?,
            poll,
            address: socket.local_addr()?,
            socket,
            clients: BTreeMap::new(),
            numbers: HashMap::new(),
            latest: 0,
            unsent: None,
        })
    }

    fn run(mut self) -> Result<(), Box<dyn Error>> {
        let mut events = mio::Events::with_capacity(16);
        let mut patience = None;
        loop {
            match self.poll.poll(&mut events, patience) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {} // it was stopped, and goes on
                other => other?,
            }
            self.receive()?;
            let now = Instant::now();
            for client in self.clients.values_mut() {
                client.quic.on_timeout(); // does nothing before its time
                client.serve(&self.site, &self.http, now);
            }
            self.send();
            self.clients.retain(|_, client| !client.quic.is_closed());
            self.numbers
                .retain(|_, number| self.clients.contains_key(number));
            patience = self.patience(now);
        }
    }

    /// How long nothing has to be done unless a packet comes. served: responses that were due by then are under way.
    fn patience(&self, served: Instant) -> Option<Duration> {
        let timers = self
            .clients
            .values()
            .filter_map(|client| client.quic.timeout());
        let responses = self
            .clients
            .values()
            .filter_map(|client| client.next_due(served))
            .map(|due| due.saturating_duration_since(Instant::now()));
        timers.chain(responses).min()
    }

    fn receive(&mut self) -> std::io::Result<()> {
        let mut packet = [0; 65_535];
        loop {
            let (size, from) = match self.socket.recv_from(&mut packet) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                other => other?,
            };
            let about = quiche::RecvInfo {
                from,
                to: self.address,
            };
            if let Some(client) = self.client_of(&mut packet[..size], from) {
                if let Err(error) = client.quic.recv(&mut packet[..size], about) {
                    eprintln!("{}: {error}", client.quic.trace_id());
                }
            }
        }
    }

    /// The client that a packet belongs to, perhaps a new one. None for packets that belong to nobody.
    fn client_of(&mut self, packet: &mut [u8], from: SocketAddr) -> Option<&mut Client> {
        let header = quiche::Header::from_slice(packet, quiche::MAX_CONN_ID_LEN).ok()?;
        if let Some(number) = self.numbers.get(&header.dcid) {
            return self.clients.get_mut(number);
        }
        if header.ty != quiche::Type::Initial {
            return None;
        }
        if !quiche::version_is_supported(header.version) {
            let mut answer = [0; DATAGRAM_BYTES];
            let size = quiche::negotiate_version(&header.scid, &header.dcid, &mut answer).ok()?;
            self.socket.send_to(&answer[..size], from).ok();
            return None;
        }
        let mut id = [0; quiche::MAX_CONN_ID_LEN];
        getrandom::fill(&mut id).expect("the system has random numbers");
        let own = quiche::ConnectionId::from_vec(id.to_vec());
        let quic = quiche::accept(&own, None, self.address, from, &mut self.transport).ok()?;
        self.latest += 1;
        self.numbers.insert(own, self.latest);
        self.numbers.insert(header.dcid.into_owned(), self.latest); // until the client knows ours
        Some(self.clients.entry(self.latest).or_insert(Client::new(quic)))
    }

    fn send(&mut self) {
        if let Some((packet, to)) = &self.unsent {
            if has_no_room(&self.socket, packet, *to) {
                return;
            }
            self.unsent = None;
        }
        let mut packet = [0; DATAGRAM_BYTES];
        for client in self.clients.values_mut() {
            while let Ok((size, about)) = client.quic.send(&mut packet) {
                if has_no_room(&self.socket, &packet[..size], about.to) {
                    self.unsent = Some((packet[..size].to_vec(), about.to));
                    return;
                }
            }
        }
    }
}

/// Whether a packet has to wait. One that the socket refuses for another reason, such as its address, is lost, as on any network.
fn has_no_room(socket: &UdpSocket, packet: &[u8], to: SocketAddr) -> bool {
    matches!(socket.send_to(packet, to), Err(error) if error.kind() == ErrorKind::WouldBlock)
}
