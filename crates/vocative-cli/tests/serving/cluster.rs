//! Three nodes on one PostgreSQL and one NATS, each with a network of its own to the bus.

use std::sync::Arc;

use crate::community::Community;
use crate::nats;
use crate::node::{Node, Setup};
use crate::postgres;
use crate::proxy::Proxy;

/// Nodes of one community.
pub struct Cluster {
    pub nodes: Vec<Node>,
    pub bus: nats::Server,
    pub links: Vec<Proxy>,
    pub community: Community,
    pub database: String,
    _postgres: Arc<postgres::Server>,
}

impl Cluster {
    pub async fn start() -> Self {
        let postgres = tokio::task::block_in_place(postgres::shared);
        let database = postgres.url(&postgres.database().await);
        let bus = tokio::task::block_in_place(nats::Server::start);
        let community = Community::of(6);
        let setup = Setup::new(&community.owner).with("--database", &database).flag("--shared-folder");
        let (mut nodes, mut links) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let link = Proxy::before(([127, 0, 0, 1], bus.port).into()).await;
            nodes.push(setup.clone().with("--bus", &format!("nats://{}", link.address())).start());
            links.push(link);
        }
        community.found(&nodes[0]).await;
        Self { nodes, bus, links, community, database, _postgres: postgres }
    }
}
