//! The disciplines of every device at the end of a run, in the form of `tc -s -j qdisc show` and `tc -s class show`.
//!
//! Handles are assigned from `1:` on, parents first; the parent of a child is its class, or the class of its index
//! (`1:1`, `1:2` …). Options are not included, since the scenario has them.

use serde_json::{Map, Value, json};
use tailback_qdisc::{Part, PartKind, Qdisc};

use crate::device::Device;
use crate::journal::Journal;

/// A JSON array of all disciplines, device by device.
pub(crate) fn qdisc_stats(devices: &[Device], journal: &Journal) -> String {
    let mut found = Vec::new();
    for (device, name) in devices.iter().zip(&journal.devices) {
        let Some(root) = &device.root else { continue };
        let name = journal.record.names.text(*name);
        let mut shown = Shown { device: name, handles: 0, found: &mut found };
        shown.add(&**root, &Place::Root);
    }
    Value::Array(found).to_string()
}

enum Place {
    Root,
    Class(String),
}

struct Shown<'a> {
    device: &'a str,
    handles: u32,
    found: &'a mut Vec<Value>,
}

impl Shown<'_> {
    fn add(&mut self, qdisc: &dyn Qdisc, place: &Place) {
        self.handles += 1;
        let handle = self.handles;
        let parts = qdisc.parts();
        self.found.push(self.row(qdisc, place, &parts));
        let mut classes = parts.iter().filter_map(|part| match part.kind {
            PartKind::Class { minor, leaf: true, .. } => Some(minor),
            _ => None,
        });
        let mut number = 0;
        qdisc.visit_children(&mut |child| {
            number += 1;
            let minor = classes.next().unwrap_or(number);
            self.add(child, &Place::Class(format!("{handle:x}:{minor:x}")));
        });
    }

    fn row(&self, qdisc: &dyn Qdisc, place: &Place, parts: &[Part]) -> Value {
        let (counters, backlog) = (qdisc.counters(), qdisc.backlog());
        let mut row = Map::new();
        row.insert("dev".into(), self.device.into());
        row.insert("kind".into(), qdisc.kind().into());
        row.insert("handle".into(), format!("{:x}:", self.handles).into());
        match place {
            Place::Root => row.insert("root".into(), true.into()),
            Place::Class(parent) => row.insert("parent".into(), parent.clone().into()),
        };
        row.insert("bytes".into(), counters.sent_bytes.into());
        row.insert("packets".into(), counters.sent_packets.into());
        row.insert("drops".into(), counters.dropped.into());
        row.insert("overlimits".into(), counters.overlimits.into());
        row.insert("requeues".into(), counters.requeues.into());
        row.insert("backlog".into(), backlog.bytes.into());
        row.insert("qlen".into(), backlog.packets.into());
        let mut own = Map::new();
        qdisc.own_counters(&mut |name, value| drop(own.insert(name.into(), value.into())));
        qdisc.own_levels(&mut |name, value| drop(own.insert(name.into(), value.into())));
        row.insert("own".into(), own.into());
        row.insert("parts".into(), parts.iter().map(|part| part_row(part, self.handles)).collect());
        row.into()
    }
}

fn part_row(part: &Part, handle: u32) -> Value {
    let mut row: Map<String, Value> =
        part.counters.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    if let PartKind::Class { minor, parent, leaf } = part.kind {
        row.insert("class".into(), format!("{handle:x}:{minor:x}").into());
        row.insert("leaf".into(), leaf.into());
        if parent != 0 {
            row.insert("parent".into(), format!("{handle:x}:{parent:x}").into());
        }
    }
    row.into()
}
