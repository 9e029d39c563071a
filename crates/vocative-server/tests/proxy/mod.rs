//! A TCP proxy that can be cut and joined: a network between one node and a server.

#![allow(dead_code, unreachable_pub, reason = "shared by test programs that use parts of it")]

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::select;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What the network does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// It carries.
    Joined,
    /// It closes what is open and whatever is opened.
    Cut,
    /// It holds everything back and says nothing. Once joined again it carries what it has held.
    Silent,
}

/// The link, and how often it was cut: a cut ends what is open even if the link is joined again at once.
#[derive(Clone, Copy)]
struct Network {
    link: Link,
    cuts: usize,
}

/// A proxy in front of one address. Dropping it cuts it for ever.
pub struct Proxy {
    address: SocketAddr,
    link: Arc<watch::Sender<Network>>,
    opened: watch::Receiver<usize>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    pub async fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let link = Arc::new(watch::Sender::new(Network { link: Link::Joined, cuts: 0 }));
        let (count, opened) = watch::channel(0);
        let accepting = tokio::spawn({
            let link = Arc::clone(&link);
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    count.send_modify(|count| *count += 1);
                    tokio::spawn(connection(stream, server, link.subscribe()));
                }
            }
        });
        Self { address, link, opened, accepting }
    }

    pub fn set(&self, link: Link) {
        self.link.send_modify(|network| {
            network.link = link;
            network.cuts += usize::from(link == Link::Cut);
        });
    }

    /// How many connections were opened to it so far.
    pub fn opened(&self) -> watch::Receiver<usize> {
        self.opened.clone()
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.set(Link::Cut);
    }
}

/// Carries one connection until one end closes it or the link is cut.
async fn connection(client: TcpStream, server: SocketAddr, link: watch::Receiver<Network>) {
    let mut cut = link.clone();
    let before = cut.borrow().cuts;
    let is_cut = |network: &Network| network.link == Link::Cut || network.cuts > before;
    let cut = async { drop(cut.wait_for(is_cut).await) };
    let carry = async {
        let mut joined = link.clone();
        drop(joined.wait_for(|network| network.link == Link::Joined).await);
        let Ok(server) = TcpStream::connect(server).await else { return };
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let there = pump(from_client, to_server, link.clone());
        let back = pump(from_server, to_client, link.clone());
        drop(select(pin!(there), pin!(back)).await);
    };
    select(pin!(cut), pin!(carry)).await;
}

async fn pump<R, W>(mut from: R, mut to: W, mut link: watch::Receiver<Network>) -> io::Result<()>
where
    R: AsyncReadExt + Unpin,
    W: AsyncWriteExt + Unpin,
{
    let mut bytes = [0; 4096];
    loop {
        let count = from.read(&mut bytes).await?;
        drop(link.wait_for(|network| network.link == Link::Joined).await);
        if count == 0 {
            return Ok(());
        }
        to.write_all(&bytes[..count]).await?;
    }
}
