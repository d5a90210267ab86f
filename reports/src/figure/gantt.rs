//! What each device does when (L Fig. 7.9, B Fig. 5.4).

use std::collections::BTreeMap;

use super::Figure;
use super::axis::{Axis, draw_title};
use super::drawing::{Anchor, Area, Color, Datum, Drawing, Paint, Shape, Stroke};
use super::font;
use super::hatch::Hatch;
use super::look::Look;
use super::quantity::{Quantity, Unit};
use super::scale::Scale;
use super::style::{AXIS, Style};
use crate::export::{TextTable, number_text};

/// A row a device, a bar for each op, white where it idles; how busy it was stands at the right. Bars have the colours of the
/// groups of ops that take most time, thin lines are transfers. Several runs stand below each other over one axis.
///
/// Ops too short to be seen apart are joined to one bar, whose hover text says how many it holds; the table has each.
#[derive(Clone, Debug, PartialEq)]
pub struct Gantt {
    /// One line above the figure; may be empty.
    pub title: String,
    /// The unit of times.
    pub unit: Unit,
    /// What groups of ops are: `layer`; `None` if ops have no groups.
    pub grouped_by: Option<String>,
    /// The runs, from top to bottom.
    pub runs: Vec<GanttRun>,
}

/// What all devices did in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct GanttRun {
    /// What tells it from the others; empty if there are none.
    pub name: String,
    /// When it ends.
    pub makespan: f64,
    /// The devices, in order.
    pub devices: Vec<GanttDevice>,
    /// What moved between them.
    pub transfers: Vec<Moved>,
}

/// A transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// The op whose output moved.
    pub name: String,
    /// Index of the device that it left.
    pub from: usize,
    /// Index of the device that it reached.
    pub to: usize,
    /// When it left.
    pub start: f64,
    /// When it arrived.
    pub end: f64,
}

/// A device and what it did.
#[derive(Clone, Debug, PartialEq)]
pub struct GanttDevice {
    /// Its name.
    pub name: String,
    /// What it executed, by ascending start; no two overlap.
    pub tasks: Vec<Task>,
}

/// What sort of task a device executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// An op of the graph.
    Op,
    /// The send op of a transfer.
    Send,
    /// The receive op of a transfer.
    Receive,
}

impl TaskKind {
    fn name(self) -> &'static str {
        match self {
            Self::Op => "op",
            Self::Send => "send",
            Self::Receive => "receive",
        }
    }

    /// The name in texts.
    fn label(self) -> &'static str {
        match self {
            Self::Op => "op",
            Self::Send => "send op",
            Self::Receive => "receive op",
        }
    }
}

/// Something that a device executed.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The op, or what is sent or received.
    pub name: String,
    /// What sort of task it is.
    pub what: TaskKind,
    /// The group of the op, such as its layer; empty if it has none.
    pub group: String,
    /// When it began.
    pub start: f64,
    /// When it ended.
    pub end: f64,
}

const OP: Paint = Paint::opaque(Color::Rgb(0x2f, 0x6d, 0xa8));
const SEND: Paint = Paint::opaque(Color::Rgb(0xf0, 0xb2, 0x5a));
const BETWEEN: Stroke = Stroke::solid(Paint::opaque(Color::Rgb(0x16, 0x3c, 0x63)), 0.25);
/// Ops of no group, or of one that takes less time than those with a colour.
const OTHER: Paint = Paint::opaque(Color::Rgb(0xa9, 0xae, 0xb5));
const TRANSFER: Stroke = Stroke::solid(Paint::ink(0.6), 0.35);
/// Groups with a colour: those that take most time.
const MOST_GROUPS: usize = 8;
/// Transfers that are drawn: those that take longest.
const MOST_TRANSFERS: usize = 200;
/// What is narrower than this, in points, may be joined with its neighbours.
const NARROW: f64 = 1.2;
/// And this if there are more than [`MANY`] tasks.
const NARROW_OF_MANY: f64 = 4.0;
const MANY: usize = 4000;
/// The thinnest bar, in points, that can be seen.
const THINNEST: f64 = 0.4;
/// Gaps narrower than this cannot be seen.
const UNSEEN: f64 = 0.2;

impl Figure for Gantt {
    fn table(&self) -> TextTable {
        let unit = self.unit.name();
        let times = [format!("start_{unit}"), format!("end_{unit}")];
        let names = ["device".to_owned(), "task".into(), "what".into()];
        let header =
            names.into_iter().chain(self.grouped_by.as_ref().map(|group| group.replace(' ', "_"))).chain(times);
        let several = self.runs.len() > 1;
        let mut table = TextTable::new(several.then(|| "run".to_owned()).into_iter().chain(header));
        for run in &self.runs {
            for device in &run.devices {
                for task in &device.tasks {
                    let names = [device.name.clone(), task.name.clone(), task.what.name().to_owned()];
                    let times = [task.start, task.end].map(number_text);
                    let group = self.grouped_by.as_ref().map(|_| task.group.clone());
                    let run = several.then(|| run.name.clone());
                    table.push(run.into_iter().chain(names).chain(group).chain(times));
                }
            }
            for Moved { name, from, to, start, end } in &run.transfers {
                let [from, to] = [from, to].map(|&device| run.devices.get(device).map_or("", |device| &device.name));
                let names = [from.to_owned(), format!("{name} to {to}"), "transfer".to_owned()];
                let group = self.grouped_by.as_ref().map(|_| String::new());
                let run = several.then(|| run.name.clone());
                table.push(run.into_iter().chain(names).chain(group).chain([*start, *end].map(number_text)));
            }
        }
        table
    }

    fn draw(&self, style: &Style) -> Drawing {
        let mut drawing = Drawing::new(style.width(), style.theme, self.title.clone(), self.table());
        let top = draw_title(&mut drawing, &self.title, style) + style.half_capital();
        let shown = |device: &GanttDevice| font::shortened(&device.name, style.font_pt, drawing.width * 0.25);
        let names: Vec<Vec<String>> = self.runs.iter().map(|run| run.devices.iter().map(shown).collect()).collect();
        let left = names.iter().flatten().map(|name| style.text_width(name)).fold(0.0, f64::max) + 4.0;
        let rows: usize = self.runs.iter().map(|run| run.devices.len()).sum();
        let pitch = (style.line() * 1.5).min((340.0 / rows.max(1) as f64).max(2.6));
        let right = style.text_width("100%") + 4.0;
        let width = drawing.width - left - right;
        let makespan = self.runs.iter().map(|run| run.makespan).fold(0.0, f64::max);
        let scale = Scale::Linear { low: 0.0, high: if makespan > 0.0 { makespan } else { 1.0 } };
        let quantity = Quantity::new("time", self.unit.clone());
        let axis = Axis::below(scale, &quantity, width, style);
        let groups = self.groups();
        let mut area = Area::new(left, top, width, 0.0);
        drawing.height = top;
        for (index, (run, names)) in self.runs.iter().zip(&names).enumerate() {
            if !run.name.is_empty() {
                area.y += style.line();
                let name = font::shortened(&run.name, style.font_pt, width);
                drawing.text(area.x, area.y - style.half_capital(), style.font_pt, Anchor::Start, name);
            }
            area.height = pitch * run.devices.len().max(1) as f64;
            let is_last = index + 1 == self.runs.len();
            axis.draw_below(&mut drawing, &area, style, is_last);
            drawing.line((area.x, area.y), (area.x, area.bottom()), AXIS);
            self.draw_run(&mut drawing, run, names, &axis, (&area, pitch), (&groups, style));
            drawing.height = area.bottom() + axis.below_room(style, is_last) + 1.0;
            area.y = drawing.height;
        }
        let entries = self.key(&groups);
        if entries.len() > 1 {
            draw_key(&mut drawing, left, style, &entries);
        }
        drawing
    }
}

/// The groups with a colour, those that take most time first.
type Groups = Vec<String>;
/// What stands before a name in the key.
type Swatch = fn(Area, Paint) -> Vec<Shape>;

impl Gantt {
    /// Draws the rows of a run, each as high as the pitch.
    fn draw_run(
        &self,
        drawing: &mut Drawing,
        run: &GanttRun,
        names: &[String],
        axis: &Axis,
        (area, pitch): (&Area, f64),
        (groups, style): (&Groups, &Style),
    ) {
        // Where rows are lower than a line of text, every second, third, … is named.
        let every = (style.line() / pitch).ceil().max(1.0) as usize;
        for (row, (device, name)) in run.devices.iter().zip(names).enumerate() {
            let y = area.y + row as f64 * pitch;
            if row % every == 0 {
                // The sum of nothing is -0, which would show.
                let busy = 0.0 + device.tasks.iter().map(|task| task.end - task.start).sum::<f64>();
                let share = if run.makespan > 0.0 { 100.0 * busy / run.makespan } else { 0.0 };
                let baseline = y + pitch / 2.0 + style.half_capital();
                drawing.text(area.x - 3.0, baseline, style.font_pt, Anchor::End, name);
                drawing.text(drawing.width, baseline, style.font_pt, Anchor::End, format!("{share:.0}%"));
            }
            let lane = Area::new(area.x, y + pitch * 0.1, area.width, pitch * 0.8);
            self.draw_tasks(drawing, run, device, axis, (&lane, groups));
        }
        let mut transfers: Vec<&Moved> = run.transfers.iter().collect();
        transfers.sort_by(|a, b| (b.end - b.start).total_cmp(&(a.end - a.start)));
        for transfer in transfers.into_iter().take(MOST_TRANSFERS) {
            let at = |time: f64, row: usize| (axis.x(time, area), area.y + (row as f64 + 0.5) * pitch);
            drawing.line(at(transfer.start, transfer.from), at(transfer.end, transfer.to), TRANSFER);
        }
    }

    fn draw_tasks(
        &self,
        drawing: &mut Drawing,
        run: &GanttRun,
        device: &GanttDevice,
        axis: &Axis,
        (lane, groups): (&Area, &Groups),
    ) {
        let x = |time: f64| axis.x(time, lane);
        let tasks: usize = run.devices.iter().map(|device| device.tasks.len()).sum();
        let narrow = if tasks > MANY { NARROW_OF_MANY } else { NARROW };
        let is_narrow = |task: &Task| x(task.end) - x(task.start) < narrow;
        let mut rest = device.tasks.as_slice();
        while let Some(first) = rest.first() {
            let mut taken = 1;
            let mut end = first.end;
            while let Some(next) = rest.get(taken) {
                let narrow = is_narrow(next) && is_narrow(&rest[taken - 1]);
                if next.what != first.what || x(next.start) - x(end) > UNSEEN || !narrow {
                    break;
                }
                end = next.end;
                taken += 1;
            }
            let what = first.what.label();
            let name = if taken == 1 { first.name.clone() } else { format!("{taken} {what}s from {}", first.name) };
            let when = format!("{} to {}", self.unit.text(first.start), self.unit.text(end));
            let of_run = if run.name.is_empty() { String::new() } else { format!(", {}", run.name) };
            let group = busiest_group(&rest[..taken]);
            let of_group = if group.is_empty() { String::new() } else { format!(" ({group})") };
            let title = format!("{name}{of_group} on {}{of_run}: {when}", device.name);
            let area = Area::new(x(first.start), lane.y, (x(end) - x(first.start)).max(THINNEST), lane.height);
            let run_key = if run.name.is_empty() { String::new() } else { format!("{}|", run.name) };
            let datum = Datum { key: format!("{run_key}{}|{}", device.name, first.name), title };
            drawing.mark(datum, bar(area, first.what, self.paint(group, groups)));
            rest = &rest[taken..];
        }
    }
}

impl Gantt {
    /// The groups of ops that take most time, over all runs; the first by name among equals.
    fn groups(&self) -> Groups {
        let mut times: BTreeMap<&str, f64> = BTreeMap::new();
        let ops = self.runs.iter().flat_map(|run| &run.devices).flat_map(|device| &device.tasks);
        for task in ops.filter(|task| task.what == TaskKind::Op && !task.group.is_empty()) {
            *times.entry(&task.group).or_default() += task.end - task.start;
        }
        let mut groups: Vec<(&str, f64)> = times.into_iter().collect();
        groups.sort_by(|a, b| b.1.total_cmp(&a.1));
        groups.into_iter().take(MOST_GROUPS).map(|(group, _)| group.to_owned()).collect()
    }

    fn paint(&self, group: &str, groups: &Groups) -> Paint {
        match groups.iter().position(|known| known == group) {
            Some(number) => Look::nth(number).fill(),
            None if groups.is_empty() => OP,
            None => OTHER,
        }
    }

    /// What bars and lines stand for.
    fn key(&self, groups: &Groups) -> Vec<(Swatch, Paint, String)> {
        let tasks = || self.runs.iter().flat_map(|run| &run.devices).flat_map(|device| &device.tasks);
        let mut entries: Vec<(Swatch, Paint, String)> = Vec::new();
        let op: Swatch = |area, paint| bar(area, TaskKind::Op, paint);
        entries.extend(groups.iter().map(|group| (op, self.paint(group, groups), group.clone())));
        if groups.is_empty() {
            entries.push((op, OP, "op".to_owned()));
        } else if tasks().any(|task| task.what == TaskKind::Op && !groups.contains(&task.group)) {
            let by = self.grouped_by.as_deref().unwrap_or("group");
            entries.push((op, OTHER, format!("other {by}s, or none")));
        }
        let kinds: [(TaskKind, Swatch); 2] = [
            (TaskKind::Send, |area, paint| bar(area, TaskKind::Send, paint)),
            (TaskKind::Receive, |area, paint| bar(area, TaskKind::Receive, paint)),
        ];
        for (kind, swatch) in kinds {
            if tasks().any(|task| task.what == kind) {
                entries.push((swatch, SEND, kind.label().to_owned()));
            }
        }
        let most = self.runs.iter().map(|run| run.transfers.len()).max().unwrap_or(0);
        let transfer: Swatch =
            |area, _| vec![super::drawing::line((area.x, area.bottom()), (area.right(), area.y), TRANSFER)];
        if most > MOST_TRANSFERS {
            entries.push((transfer, OP, format!("the {MOST_TRANSFERS} longest of {most} transfers")));
        } else if most > 0 {
            entries.push((transfer, OP, "transfer".to_owned()));
        }
        entries
    }
}

/// The group that takes most of the time of tasks; the first by name among equals.
fn busiest_group(tasks: &[Task]) -> &str {
    let mut times: BTreeMap<&str, f64> = BTreeMap::new();
    for task in tasks {
        *times.entry(&task.group).or_default() += task.end - task.start;
    }
    let most = times.values().copied().fold(0.0, f64::max);
    times.into_iter().find(|(_, time)| *time >= most).map_or("", |(group, _)| group)
}

/// A bar; `paint` is that of an op.
fn bar(area: Area, what: TaskKind, paint: Paint) -> Vec<Shape> {
    // Edges between neighbours, as long as they leave something between them; not white, which is idle.
    let stroke = (area.width > 1.0).then_some(BETWEEN);
    let (fill, hatch) = match what {
        TaskKind::Op => (Some(paint), None),
        TaskKind::Send => (Some(SEND), Some(Hatch::Rising)),
        TaskKind::Receive => (Some(SEND), Some(Hatch::Falling)),
    };
    let inside = Shape::Rect { area, fill, stroke };
    let hatch = hatch.filter(|_| area.width > 3.0).and_then(|hatch| hatch.shape(&area, Paint::INK));
    std::iter::once(inside).chain(hatch).collect()
}

/// Draws swatches with names, in as many lines as they take.
fn draw_key(drawing: &mut Drawing, left: f64, style: &Style, entries: &[(Swatch, Paint, String)]) {
    let mut x = left;
    for (swatch, paint, name) in entries {
        let name = font::shortened(name, style.font_pt, drawing.width - left - 17.0);
        let width = 17.0 + style.text_width(&name);
        if x > left && x + width > drawing.width {
            x = left;
            drawing.height += style.line() + 1.0;
        }
        let middle = drawing.height + style.line() / 2.0;
        for shape in swatch(Area::new(x, middle - 3.0, 14.0, 6.0), *paint) {
            drawing.add(shape);
        }
        drawing.text(x + 17.0, middle + style.half_capital(), style.font_pt, Anchor::Start, name);
        x += width + 10.0;
    }
    drawing.height += style.line() + 1.0;
}
