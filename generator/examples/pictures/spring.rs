//! Draws an undirected graph whose edges pull and whose vertices push (Fruchterman, Reingold 1991).

use placebench_datasets::UndirectedGraph;

use crate::svg::Picture;

const SIDE: f64 = 300.0;

pub(crate) fn draw(graph: &UndirectedGraph) -> String {
    let count = graph.vertex_count();
    let turn = |vertex: usize| std::f64::consts::TAU * vertex as f64 / count as f64;
    let mut at: Vec<(f64, f64)> =
        (0..count).map(|vertex| (SIDE / 2.0 * turn(vertex).cos(), SIDE / 2.0 * turn(vertex).sin())).collect();
    let ideal = SIDE / (count as f64).sqrt();
    const ROUNDS: usize = 600;
    for round in 0..ROUNDS {
        let mut force = vec![(0.0, 0.0); count];
        for a in 0..count {
            for b in 0..a {
                let (x, y) = (at[a].0 - at[b].0, at[a].1 - at[b].1);
                let push = ideal * ideal / x.mul_add(x, y * y).max(0.01);
                force[a] = (force[a].0 + x * push, force[a].1 + y * push);
                force[b] = (force[b].0 - x * push, force[b].1 - y * push);
            }
        }
        for vertex in graph.vertices() {
            let a = vertex as usize;
            for &b in graph.neighbours(vertex) {
                let (x, y) = (at[a].0 - at[b as usize].0, at[a].1 - at[b as usize].1);
                let pull = x.hypot(y) / ideal;
                force[a] = (force[a].0 - x * pull, force[a].1 - y * pull);
            }
            // All drift to the middle a little, so that components stay together.
            force[a] = (force[a].0 - at[a].0 * 0.3, force[a].1 - at[a].1 * 0.3);
        }
        let most = SIDE / 10.0 * (1.0 - round as f64 / ROUNDS as f64);
        for (at, force) in at.iter_mut().zip(&force) {
            let length = force.0.hypot(force.1).max(1e-9);
            let step = length.min(most) / length;
            *at = (at.0 + force.0 * step, at.1 + force.1 * step);
        }
    }
    let least = at.iter().fold((f64::INFINITY, f64::INFINITY), |least, at| (least.0.min(at.0), least.1.min(at.1)));
    let points = at.iter().map(|at| (at.0 - least.0, at.1 - least.1, 0)).collect();
    let lines = graph
        .vertices()
        .flat_map(|a| graph.neighbours(a).iter().filter(move |&&b| a < b).map(move |&b| (a as usize, b as usize)))
        .collect();
    Picture { points, squares: Vec::new(), lines, dashed: Vec::new(), kinds: Vec::new(), arrows: false, radius: 3.0 }
        .svg()
}
