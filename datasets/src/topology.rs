//! Network topology: hosts, switches and the links between them, from which the rate of each pair of devices follows.

use petgraph::algo::dijkstra;
use petgraph::graph::{NodeIndex, UnGraph};
use petgraph::visit::EdgeRef;

use crate::{Link, SharedLinks};

/// A link between two vertices of a [`Topology`], with the same rate in each direction at once (full duplex).
#[derive(Clone, Debug, PartialEq)]
pub struct TopologyLink {
    /// One end: a vertex number.
    pub a: usize,
    /// The other end.
    pub b: usize,
    /// Rate and latency of the link.
    pub link: Link,
}

/// Vertices and links. Vertex `i` is device `i` for `i < device_count`; the others are hosts and switches.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Topology {
    /// Names of all vertices, devices first.
    pub vertices: Vec<String>,
    /// The links.
    pub links: Vec<TopologyLink>,
}

/// Why a topology does not describe a cluster.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TopologyError {
    /// A link names a vertex that does not exist.
    #[error("link {link} of the topology names vertex {vertex}, but there are only {count}")]
    UnknownVertex {
        /// Position of the link.
        link: usize,
        /// The vertex named.
        vertex: usize,
        /// How many there are.
        count: usize,
    },
    /// No route between two devices.
    #[error("the topology has no route from '{from}' to '{to}'")]
    Disconnected {
        /// One device.
        from: String,
        /// The other.
        to: String,
    },
    /// Fewer vertices than devices.
    #[error("the topology has {vertices} vertices for {devices} devices")]
    TooFewVertices {
        /// Number of vertices.
        vertices: usize,
        /// Number of devices.
        devices: usize,
    },
}

impl Topology {
    /// Rate and latency for each ordered pair of devices, row-major, and the links on the way: along the route of least
    /// latency (then fewest links, then lowest vertex numbers), latencies add up and the least rate counts.
    ///
    /// # Errors
    /// If a link's vertex does not exist or two devices are not connected.
    ///
    /// # Complexity
    /// O(devices · links · log vertices).
    pub fn routes(&self, device_count: usize) -> Result<(Vec<Link>, SharedLinks), TopologyError> {
        if self.vertices.len() < device_count {
            return Err(TopologyError::TooFewVertices { vertices: self.vertices.len(), devices: device_count });
        }
        let mut graph = UnGraph::<(), Link>::with_capacity(self.vertices.len(), self.links.len());
        for _ in &self.vertices {
            graph.add_node(());
        }
        for (position, link) in self.links.iter().enumerate() {
            if let Some(&vertex) = [link.a, link.b].iter().find(|&&vertex| vertex >= self.vertices.len()) {
                return Err(TopologyError::UnknownVertex { link: position, vertex, count: self.vertices.len() });
            }
            graph.add_edge(NodeIndex::new(link.a), NodeIndex::new(link.b), link.link);
        }
        let mut links = vec![Link { rate: f64::INFINITY, latency: 0.0 }; device_count * device_count];
        let (mut offsets, mut routes) = (vec![0], Vec::new());
        for from in 0..device_count {
            let found =
                dijkstra(&graph, NodeIndex::new(from), None, |edge| Route { latency: edge.weight().latency, hops: 1 });
            let mut cost = vec![None; self.vertices.len()];
            for (vertex, route) in found {
                cost[vertex.index()] = Some(route);
            }
            for to in 0..device_count {
                if to != from {
                    links[from * device_count + to] = self.walk_back(&graph, &cost, from, to, &mut routes)?;
                }
                offsets.push(routes.len() as u32);
            }
        }
        let name = |a: usize, b: usize| format!("the link from '{}' to '{}'", self.vertices[a], self.vertices[b]);
        let names = self.links.iter().flat_map(|link| [name(link.a, link.b), name(link.b, link.a)]).collect();
        let capacities = self.links.iter().flat_map(|link| [link.link.rate; 2]).collect();
        Ok((links, SharedLinks::new(names, capacities, device_count, offsets, routes)))
    }

    /// Follows a cheapest route from `to` back to `from`, lowest vertex first among equals. Appends the links to `route`:
    /// link `i` is `2 i` from its end `a` to `b`, and `2 i + 1` from `b` to `a`.
    fn walk_back(
        &self,
        graph: &UnGraph<(), Link>,
        cost: &[Option<Route>],
        from: usize,
        to: usize,
        route: &mut Vec<u32>,
    ) -> Result<Link, TopologyError> {
        let disconnected =
            || TopologyError::Disconnected { from: self.vertices[from].clone(), to: self.vertices[to].clone() };
        let mut at = NodeIndex::new(to);
        let mut rate = f64::INFINITY;
        let latency = cost[to].ok_or_else(disconnected)?.latency;
        while at.index() != from {
            let here = cost[at.index()].ok_or_else(disconnected)?;
            let step = graph
                .edges(at)
                .map(|edge| (edge_other_end(edge, at), *EdgeRef::weight(&edge), EdgeRef::id(&edge).index()))
                .filter(|(vertex, link, _)| {
                    cost[vertex.index()].is_some_and(|before| {
                        before + Route { latency: link.latency, hops: 1 } == here && before.hops < here.hops
                    })
                })
                .min_by_key(|(vertex, ..)| vertex.index());
            let (vertex, link, position) = step.ok_or_else(disconnected)?;
            rate = rate.min(link.rate);
            let is_backward = self.links[position].a != vertex.index();
            route.push(2 * position as u32 + u32::from(is_backward));
            at = vertex;
        }
        Ok(Link { rate, latency })
    }
}

fn edge_other_end(edge: petgraph::graph::EdgeReference<'_, Link>, at: NodeIndex) -> NodeIndex {
    if edge.source() == at { edge.target() } else { edge.source() }
}

/// Cost of a route: latency first, then the number of links.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
struct Route {
    latency: f64,
    hops: u32,
}

impl std::ops::Add for Route {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { latency: self.latency + other.latency, hops: self.hops + other.hops }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeviceId;

    fn link(a: usize, b: usize, rate: f64, latency: f64) -> TopologyLink {
        TopologyLink { a, b, link: Link { rate, latency } }
    }

    #[test]
    fn the_slowest_link_of_the_route_gives_the_rate_and_latencies_add_up() {
        // d0 ── switch ── d1, and a slow detour d0 ── far ── d1
        let vertices = ["d0", "d1", "switch", "far"].map(String::from).to_vec();
        let links = vec![link(0, 2, 10.0, 1.0), link(2, 1, 4.0, 2.0), link(0, 3, 99.0, 5.0), link(3, 1, 99.0, 5.0)];
        let (pairs, shared) = Topology { vertices, links }.routes(2).unwrap();
        assert_eq!(pairs[1], Link { rate: 4.0, latency: 3.0 });
        assert_eq!(pairs[2], Link { rate: 4.0, latency: 3.0 });
        let named =
            |from, to| shared.route(DeviceId(from), DeviceId(to)).iter().map(|&link| shared.name(link as usize));
        assert_eq!(
            named(0, 1).collect::<Vec<_>>(),
            ["the link from 'switch' to 'd1'", "the link from 'd0' to 'switch'"]
        );
        assert_eq!(
            named(1, 0).collect::<Vec<_>>(),
            ["the link from 'switch' to 'd0'", "the link from 'd1' to 'switch'"]
        );
        assert_eq!(
            shared.route(DeviceId(0), DeviceId(1)).iter().map(|&link| shared.capacity(link as usize)).sum::<f64>(),
            14.0
        );
    }

    #[test]
    fn devices_without_a_route_are_named() {
        let vertices = ["d0", "d1"].map(String::from).to_vec();
        let error = Topology { vertices, links: vec![] }.routes(2).unwrap_err();
        assert_eq!(error.to_string(), "the topology has no route from 'd0' to 'd1'");
    }
}
