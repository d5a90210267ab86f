//! What one sample keeps busy, and for how long (after Tarnawski et al. 2020, Fig. 2: the load of each device).

use placebench_base::significant::{bytes_text, time_text};

use super::Figure;
use super::axis::{Axis, draw_title};
use super::drawing::{Anchor, Area, Color, Datum, Drawing, Paint, Shape, Stroke};
use super::font;
use super::quantity::{Quantity, Unit};
use super::scale::Scale;
use super::style::{AXIS, Style};
use crate::export::{TextTable, number_text};

/// A row a device, as long as a sample keeps it busy, in the colours of the groups of ops that it executes: from the first group
/// of the graph to the last, so that a pipeline shows as a staircase of colours. Below stand the ports or links that are busiest.
/// A line marks the period, another its lower bound; what a device holds at the period stands at the right.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// One line above the figure; may be empty.
    pub title: String,
    /// The unit of times.
    pub unit: Unit,
    /// What groups of ops are: `layer`.
    pub grouped_by: String,
    /// The groups, from the first of the graph to the last.
    pub groups: Vec<String>,
    /// The devices, in order.
    pub devices: Vec<LoadedDevice>,
    /// What transfers share, and how long a sample keeps it busy: the busiest first.
    pub shared: Vec<(String, f64)>,
    /// The time between two samples.
    pub period: f64,
    /// No placement has a shorter period.
    pub bound: f64,
}

/// A device, and for how long one sample keeps it busy.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedDevice {
    /// Its name.
    pub name: String,
    /// By group: index and time of its ops here, by ascending index.
    pub ops: Vec<(usize, f64)>,
    /// What it spends on transfers beside ops: sends, receives, or its part in them.
    pub transfers: f64,
    /// What it holds when samples follow each other at the period.
    pub held_bytes: u64,
    /// What it has.
    pub memory_bytes: Option<u64>,
}

impl LoadedDevice {
    fn busy(&self) -> f64 {
        self.ops.iter().map(|(_, time)| time).sum::<f64>() + self.transfers
    }

    /// What it holds of what it has.
    fn memory_text(&self) -> String {
        let held = bytes_text(self.held_bytes as f64);
        match self.memory_bytes {
            None => held,
            Some(memory) => format!("{held} of {}", bytes_text(memory as f64)),
        }
    }
}

const PERIOD: Stroke = Stroke::solid(Paint::INK, 0.9);
const BOUND: Stroke = Stroke { paint: Paint::ink(0.7), width: 0.7, dash: &[2.5, 1.8] };
const TRANSFERS: Paint = Paint::opaque(Color::Rgb(0xf0, 0xb2, 0x5a));
const SHARED: Paint = Paint::opaque(Color::Rgb(0xa9, 0xae, 0xb5));
/// Parts of the network that are shown: the busiest.
const MOST_SHARED: usize = 6;
/// The colours of the first group, the last, and three between.
const RAMP: [(u8, u8, u8); 5] =
    [(0x44, 0x01, 0x54), (0x3b, 0x52, 0x8b), (0x21, 0x91, 0x8c), (0x5e, 0xc9, 0x62), (0xfd, 0xe7, 0x25)];

/// The colour at a share of the way from the first group to the last.
fn ramp(share: f64) -> Paint {
    let place = share.clamp(0.0, 1.0) * (RAMP.len() - 1) as f64;
    let from = (place as usize).min(RAMP.len() - 2);
    let part = place - from as f64;
    let mix = |a: u8, b: u8| (f64::from(a) + part * (f64::from(b) - f64::from(a))).round() as u8;
    let (a, b) = (RAMP[from], RAMP[from + 1]);
    Paint::opaque(Color::Rgb(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2)))
}

impl Figure for Load {
    fn table(&self) -> TextTable {
        let time = format!("busy_{}", self.unit.name());
        let mut table = TextTable::new(["part".to_owned(), "what".into(), self.grouped_by.replace(' ', "_"), time]);
        for device in &self.devices {
            for &(group, time) in &device.ops {
                table.push([device.name.clone(), "ops".into(), self.groups[group].clone(), number_text(time)]);
            }
            if device.transfers > 0.0 {
                table.push([device.name.clone(), "transfers".into(), String::new(), number_text(device.transfers)]);
            }
        }
        for (name, time) in &self.shared {
            table.push([name.clone(), "network".into(), String::new(), number_text(*time)]);
        }
        for (name, time) in [("period", self.period), ("lower bound", self.bound)] {
            table.push([name.to_owned(), String::new(), String::new(), number_text(time)]);
        }
        table
    }

    fn draw(&self, style: &Style) -> Drawing {
        let mut drawing = Drawing::new(style.width(), style.theme, self.title.clone(), self.table());
        let top = draw_title(&mut drawing, &self.title, style);
        let shared = &self.shared[..self.shared.len().min(MOST_SHARED)];
        let names = self.devices.iter().map(|device| &device.name).chain(shared.iter().map(|(name, _)| name));
        let names: Vec<String> = names.map(|name| font::shortened(name, style.font_pt, drawing.width * 0.25)).collect();
        let memories: Vec<String> = self.devices.iter().map(LoadedDevice::memory_text).collect();
        let widest = |texts: &[String]| texts.iter().map(|text| style.text_width(text)).fold(0.0, f64::max);
        let left = widest(&names) + 4.0;
        let width = drawing.width - left - widest(&memories) - 5.0;
        let pitch = (style.line() * 1.5).min((340.0 / self.devices.len().max(1) as f64).max(2.6));
        let busy = self.devices.iter().map(LoadedDevice::busy).chain(shared.iter().map(|(_, time)| *time));
        let longest = busy.fold(self.period, f64::max);
        let scale = Scale::Linear { low: 0.0, high: if longest > 0.0 { longest } else { 1.0 } };
        let quantity = Quantity::new("time busy with one sample", self.unit.clone());
        let axis = Axis::below(scale, &quantity, width, style);
        // The two lines are named above the rows, whose own texts rise above low rows.
        let head = top + style.line() + 2.0 + (style.line() - pitch).max(0.0) / 2.0 + 1.0;
        let gap = if shared.is_empty() { 0.0 } else { style.line() * 0.5 };
        let below = style.line() * 1.2;
        let height = pitch * self.devices.len().max(1) as f64 + gap + below * shared.len() as f64;
        let area = Area::new(left, head, width, height);
        axis.draw_below(&mut drawing, &area, style, true);
        drawing.line((area.x, area.y), (area.x, area.bottom()), AXIS);
        self.draw_devices(&mut drawing, (&names, &memories), &axis, (&area, pitch), style);
        for (row, ((what, time), name)) in shared.iter().zip(&names[self.devices.len()..]).enumerate() {
            let y = area.y + pitch * self.devices.len() as f64 + gap + row as f64 * below;
            let bar = Area::new(area.x, y + below * 0.2, axis.x(*time, &area) - area.x, below * 0.6);
            drawing.text(area.x - 3.0, y + below / 2.0 + style.half_capital(), style.font_pt, Anchor::End, name);
            let title = format!("{what}: {}", self.unit.text(*time));
            let shape = Shape::Rect { area: bar, fill: Some(SHARED), stroke: None };
            drawing.mark(Datum { key: what.clone(), title }, vec![shape]);
        }
        self.draw_marks(&mut drawing, &axis, (&area, top), style);
        drawing.height = area.bottom() + axis.below_room(style, true) + 2.0;
        self.draw_key(&mut drawing, left, style);
        drawing
    }
}

impl Load {
    fn paint(&self, group: usize) -> Paint {
        ramp(if self.groups.len() > 1 { group as f64 / (self.groups.len() - 1) as f64 } else { 0.5 })
    }

    fn draw_devices(
        &self,
        drawing: &mut Drawing,
        (names, memories): (&[String], &[String]),
        axis: &Axis,
        (area, pitch): (&Area, f64),
        style: &Style,
    ) {
        // Where rows are lower than a line of text, every second, third, … is named.
        let every = (style.line() / pitch).ceil().max(1.0) as usize;
        for (row, device) in self.devices.iter().enumerate() {
            let y = area.y + row as f64 * pitch;
            if row % every == 0 {
                let baseline = y + pitch / 2.0 + style.half_capital();
                drawing.text(area.x - 3.0, baseline, style.font_pt, Anchor::End, &names[row]);
                drawing.text(drawing.width, baseline, style.font_pt, Anchor::End, &memories[row]);
            }
            let mut end = 0.0;
            let mut bar = |drawing: &mut Drawing, what: &str, time: f64, fill: Paint| {
                let (from, until) = (axis.x(end, area), axis.x(end + time, area));
                end += time;
                let lane = Area::new(from, y + pitch * 0.1, until - from, pitch * 0.8);
                let title = format!("{what} on {}: {}", device.name, self.unit.text(time));
                let shape = Shape::Rect { area: lane, fill: Some(fill), stroke: None };
                drawing.mark(Datum { key: format!("{}|{what}", device.name), title }, vec![shape]);
            };
            for &(group, time) in device.ops.iter().filter(|(_, time)| *time > 0.0) {
                bar(drawing, &self.groups[group], time, self.paint(group));
            }
            if device.transfers > 0.0 {
                bar(drawing, "transfers", device.transfers, TRANSFERS);
            }
        }
    }

    /// The period and its bound, as lines with their names above.
    fn draw_marks(&self, drawing: &mut Drawing, axis: &Axis, (area, top): (&Area, f64), style: &Style) {
        let baseline = top + style.line() - style.half_capital();
        let mark = |drawing: &mut Drawing, time: f64, stroke: Stroke| {
            let x = axis.x(time, area);
            drawing.line((x, area.y - 2.0), (x, area.bottom()), stroke);
            x
        };
        if self.bound > 0.0 {
            mark(drawing, self.bound, BOUND);
        }
        let x = mark(drawing, self.period, PERIOD);
        let bound = match self.bound > 0.0 {
            true => format!("lower bound {} (dashed), ", time_text(self.bound, self.unit.name())),
            false => String::new(),
        };
        let text = format!("{bound}period {}", time_text(self.period, self.unit.name()));
        // "memory" stands above its column where both have room.
        let memory = style.text_width("memory");
        let x = x.max(style.text_width(&text)).min(drawing.width);
        drawing.text(x, baseline, style.font_pt, Anchor::End, font::shortened(&text, style.font_pt, drawing.width));
        if x + 4.0 <= drawing.width - memory {
            drawing.text(drawing.width, baseline, style.font_pt, Anchor::End, "memory");
        }
    }

    /// Which colours are which groups, and what else has one, in as many lines as it takes.
    fn draw_key(&self, drawing: &mut Drawing, left: f64, style: &Style) {
        let room = drawing.width - left - 17.0;
        let text = |text: &str, room: f64| font::shortened(text, style.font_pt, room);
        let mut x = left;
        // Where an entry of this width begins, and the middle of its line.
        let mut place = |drawing: &mut Drawing, width: f64| {
            if x > left && x + width > drawing.width {
                x = left;
                drawing.height += style.line() + 1.0;
            }
            let at = x;
            x += width + 10.0;
            (at, drawing.height + style.line() / 2.0)
        };
        if let (Some(first), Some(last)) = (self.groups.first(), self.groups.last()) {
            let (steps, ramp_width) = (self.groups.len().min(60), 60.0f64.min(room / 3.0));
            let each = (room - ramp_width) / 2.0 - 8.0;
            let first = text(&format!("{} '{first}'", self.grouped_by), each);
            let last = if steps > 1 { text(&format!("'{last}'"), each) } else { String::new() };
            let ramp_width = if steps > 1 { ramp_width } else { 14.0 };
            let (before, after) = (style.text_width(&first), style.text_width(&last));
            let (x, middle) = place(drawing, before + after + ramp_width + 8.0);
            let baseline = middle + style.half_capital();
            drawing.text(x, baseline, style.font_pt, Anchor::Start, &first);
            let x = x + before + 4.0;
            let width = ramp_width / steps as f64;
            for step in 0..steps {
                let share = if steps > 1 { step as f64 / (steps - 1) as f64 } else { 0.5 };
                let area = Area::new(x + step as f64 * width, middle - 3.0, width, 6.0);
                drawing.add(Shape::Rect { area, fill: Some(ramp(share)), stroke: None });
            }
            if steps > 1 {
                drawing.text(x + ramp_width + 4.0, baseline, style.font_pt, Anchor::Start, last);
            }
        }
        let has_transfers = self.devices.iter().any(|device| device.transfers > 0.0);
        let shown = self.shared.len().min(MOST_SHARED);
        let shared = match self.shared.len() - shown {
            0 => "network".to_owned(),
            more => format!("network: the {shown} busiest parts of {}", shown + more),
        };
        let entries = [(has_transfers, TRANSFERS, "transfers".to_owned()), (shown > 0, SHARED, shared)];
        for (_, paint, name) in entries.into_iter().filter(|(is_there, _, _)| *is_there) {
            let name = text(&name, room);
            let (x, middle) = place(drawing, 17.0 + style.text_width(&name));
            let area = Area::new(x, middle - 3.0, 14.0, 6.0);
            drawing.add(Shape::Rect { area, fill: Some(paint), stroke: None });
            drawing.text(x + 17.0, middle + style.half_capital(), style.font_pt, Anchor::Start, &name);
        }
        drawing.height += style.line() + 1.0;
    }
}
