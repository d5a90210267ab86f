//! Markers: what tells lines and points apart without colour.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use super::drawing::{Paint, Shape, Step, Stroke, polygon};

/// The shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// ●
    Circle,
    /// ■
    Square,
    /// ▲
    Up,
    /// ✕
    Cross,
    /// ◆
    Diamond,
    /// ▼
    Down,
    /// ✚
    Plus,
    /// ★
    Star,
    /// ⬟
    Pentagon,
}

impl Marker {
    /// All of them, in the order in which algorithms get them.
    pub const ALL: [Self; 9] = [
        Self::Circle,
        Self::Square,
        Self::Up,
        Self::Cross,
        Self::Diamond,
        Self::Down,
        Self::Plus,
        Self::Star,
        Self::Pentagon,
    ];

    /// The marker around a point; `size` is the side of a square of about the same area.
    pub(crate) fn shape(self, (x, y): (f64, f64), size: f64, fill: Paint, edge: Stroke) -> Shape {
        let radius = size / 2.0;
        let corners = |count: usize, radius: f64, from: f64| -> Vec<(f64, f64)> {
            let angle = |corner: usize| from + TAU * corner as f64 / count as f64;
            (0..count).map(|corner| (x + radius * angle(corner).cos(), y + radius * angle(corner).sin())).collect()
        };
        let points = match self {
            Self::Circle => {
                return Shape::Path { steps: circle(x, y, radius * 1.1), fill: Some(fill), stroke: Some(edge) };
            }
            Self::Square => corners(4, radius * 1.35, PI / 4.0),
            Self::Diamond => corners(4, radius * 1.45, 0.0),
            Self::Up => corners(3, radius * 1.5, -FRAC_PI_2),
            Self::Down => corners(3, radius * 1.5, FRAC_PI_2),
            Self::Pentagon => corners(5, radius * 1.25, -FRAC_PI_2),
            Self::Star => {
                let (outer, inner) =
                    (corners(5, radius * 1.6, -FRAC_PI_2), corners(5, radius * 0.65, -FRAC_PI_2 + PI / 5.0));
                outer.into_iter().zip(inner).flat_map(|(outer, inner)| [outer, inner]).collect()
            }
            Self::Plus => plus(x, y, radius * 1.3, radius * 0.42, 0.0),
            Self::Cross => plus(x, y, radius * 1.4, radius * 0.42, PI / 4.0),
        };
        polygon(&points, Some(fill), Some(edge))
    }
}

/// A circle of four curves; 0.5523 is the handle that makes them round.
fn circle(x: f64, y: f64, radius: f64) -> Vec<Step> {
    let handle = radius * 0.552_284_75;
    vec![
        Step::Move(x + radius, y),
        Step::Curve(x + radius, y + handle, x + handle, y + radius, x, y + radius),
        Step::Curve(x - handle, y + radius, x - radius, y + handle, x - radius, y),
        Step::Curve(x - radius, y - handle, x - handle, y - radius, x, y - radius),
        Step::Curve(x + handle, y - radius, x + radius, y - handle, x + radius, y),
        Step::Close,
    ]
}

/// The twelve corners of a plus with arms of a length and half a thickness, turned by an angle.
fn plus(x: f64, y: f64, arm: f64, half: f64, turn: f64) -> Vec<(f64, f64)> {
    let (sin, cos) = turn.sin_cos();
    let quarter = [(arm, -half), (arm, half), (half, half)];
    (0..4)
        .flat_map(|quarters| {
            quarter.map(|(dx, dy)| {
                let (dx, dy) = match quarters {
                    0 => (dx, dy),
                    1 => (-dy, dx),
                    2 => (-dx, -dy),
                    _ => (dy, -dx),
                };
                (x + dx * cos - dy * sin, y + dx * sin + dy * cos)
            })
        })
        .collect()
}
