//! Names of points, each beside its marker or joined to it by a line, and none over another.

use super::drawing::{Anchor, Area, Paint, Text};
use super::font;
use super::legend::MARKER;
use super::style::Style;

/// A name's text, and where the line from the marker to it ends if it is not beside it.
pub(super) type Label = (Text, Option<(f64, f64)>);

/// The box between two points, as much wider.
pub(super) fn around(from: (f64, f64), to: (f64, f64), wider: f64) -> Area {
    let (x, y) = (from.0.min(to.0) - wider, from.1.min(to.1) - wider);
    Area::new(x, y, (from.0 - to.0).abs() + 2.0 * wider, (from.1 - to.1).abs() + 2.0 * wider)
}

/// Places names near their markers, those first in `order` first, and clear of `lines`; `None` for a name that finds no
/// free place.
pub(super) fn place_labels(
    order: &[usize],
    names: &[&str],
    markers: &[(f64, f64)],
    lines: Vec<Area>,
    area: &Area,
    style: &Style,
) -> Vec<Option<Label>> {
    let half = MARKER / 2.0 + 1.9;
    let mut obstacles: Vec<Area> = markers.iter().map(|&at| around(at, at, half)).chain(lines).collect();
    let mut placed: Vec<Area> = Vec::new();
    let mut labels: Vec<Option<Label>> = vec![None; names.len()];
    for &index in order {
        let name = font::shortened(names[index], style.font_pt, area.width * 0.45);
        let found = candidates(&name, markers[index], style).find(|(text, end)| {
            let own = text.area();
            let free = |other: &Area| !other.overlaps(&own, 0.0);
            let leader = end.iter().flat_map(|&end| leader(markers[index], end));
            // A line that crosses another marker would seem to lead to that one.
            let crosses = |part: &Area| {
                let others = markers.iter().enumerate().filter(|(other, _)| *other != index);
                others.map(|(_, &at)| around(at, at, MARKER / 2.0)).any(|other| other.overlaps(part, 0.0))
            };
            area.contains(&own, 0.0)
                && placed.iter().chain(&obstacles).all(free)
                && leader.clone().all(|part| !crosses(&part) && placed.iter().all(|other| !other.overlaps(&part, 0.0)))
        });
        if let Some((text, end)) = found {
            placed.push(text.area());
            obstacles.extend(end.iter().flat_map(|&end| leader(markers[index], end)));
            labels[index] = Some((text, end));
        }
    }
    labels
}

/// Boxes along the line from a marker to its name.
fn leader(from: (f64, f64), to: (f64, f64)) -> impl Iterator<Item = Area> + Clone {
    let parts = 10;
    let at = move |part: u32| {
        let share = f64::from(part) / f64::from(parts);
        (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
    };
    (0..parts).map(move |part| around(at(part), at(part + 1), 0.3))
}

/// Places for a name around its marker, the nearest first.
fn candidates(name: &str, (x, y): (f64, f64), style: &Style) -> impl Iterator<Item = Label> {
    let (near, capital) = (MARKER / 2.0 + 2.6, font::CAPITAL * style.font_pt);
    let text = |x: f64, y: f64, anchor: Anchor| Text {
        x,
        y,
        text: name.to_owned(),
        size: style.font_pt,
        anchor,
        upwards: false,
        paint: Paint::INK,
    };
    let beside = vec![
        (text(x + near, y + capital / 2.0, Anchor::Start), None),
        (text(x - near, y + capital / 2.0, Anchor::End), None),
        (text(x, y - near, Anchor::Middle), None),
        (text(x, y + near + capital, Anchor::Middle), None),
    ];
    let far = (1..=9).flat_map(move |ring| {
        (0..16).map(move |turn| (f64::from(ring) * 5.5 + 3.0, std::f64::consts::TAU * f64::from(turn) / 16.0))
    });
    let far: Vec<Label> = far
        .map(|(radius, angle)| {
            let (end_x, end_y) = (x + radius * angle.cos(), y + radius * angle.sin());
            let anchor = if angle.cos() >= -1e-9 { Anchor::Start } else { Anchor::End };
            let shift = if anchor == Anchor::Start { 1.0 } else { -1.0 };
            (text(end_x + shift, end_y + capital / 2.0, anchor), Some((end_x, end_y)))
        })
        .collect();
    beside.into_iter().chain(far)
}
