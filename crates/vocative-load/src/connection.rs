//! Connections to a relay.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::cast::Batch;
use crate::wire::{self, Said};

/// A connection to a relay.
pub(crate) type Socket = WebSocketStream<TcpStream>;

/// How long a relay may take for an answer that nothing is measured by.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Connects.
///
/// # Errors
/// What the network or the relay had against it; too many open files among it.
pub(crate) async fn open(address: SocketAddr) -> Result<Socket, String> {
    let connect = async {
        let stream = TcpStream::connect(address).await.map_err(|error| match error.raw_os_error() {
            Some(24) => "too many open files; raise the limit with `ulimit -n 20000`".to_owned(),
            _ => error.to_string(),
        })?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        // Thousands of connections with the default buffers would take hundreds of megabytes.
        let config = WebSocketConfig::default().read_buffer_size(16 * 1024).write_buffer_size(64 * 1024);
        let handshake = client_async_with_config(format!("ws://{address}/"), stream, Some(config)).await;
        handshake.map(|(socket, _)| socket).map_err(|error| error.to_string())
    };
    let opened = timeout(PATIENCE, connect).await.map_err(|_| "no answer to the handshake".to_owned())?;
    opened.map_err(|error| format!("cannot connect to {address}: {error}"))
}

/// Publishes events one after another, each after the one before was accepted.
///
/// # Errors
/// The first refusal, and a relay that does not answer.
pub(crate) async fn publish(socket: &mut Socket, batch: &Batch) -> Result<(), String> {
    for (number, frame) in batch.frames.iter().enumerate() {
        socket.send(Message::Text(frame.clone())).await.map_err(|error| error.to_string())?;
        loop {
            let text = receive(socket).await?;
            if let Said::Ok { id, accepted, reason } = wire::read(&text)
                && batch.number(id) == u32::try_from(number).ok()
            {
                if !accepted {
                    return Err(format!("an event was refused: {reason}\n{frame}"));
                }
                break;
            }
        }
    }
    Ok(())
}

/// The next message.
///
/// # Errors
/// A relay that says nothing for [`PATIENCE`], or ends the connection.
pub(crate) async fn receive(socket: &mut Socket) -> Result<Utf8Bytes, String> {
    loop {
        let message = timeout(PATIENCE, socket.next()).await;
        match message.map_err(|_| "the relay does not answer".to_owned())? {
            Some(Ok(Message::Text(text))) => return Ok(text),
            Some(Ok(Message::Close(_))) | None => return Err("the relay closed the connection".into()),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error.to_string()),
        }
    }
}
