//! The tables that a run records, each in a file of [`tables`]; columns and units are declared once.
//!
//! A row is a plain struct in the units of the simulation (`SimTime`, `Span`, `Bytes`, `Segs`, `Rate`); pushing
//! it appends one cell to each column and does nothing else. [`Record::finish`] turns the columns into Arrow IPC
//! streams, with the unit of each column in its field metadata under `unit`. The same rows give the same bytes.
//!
//! ```
//! use tailback_record::{FlowsRow, Record};
//! use tailback_units::{Bytes, SimTime};
//!
//! let mut record = Record::default();
//! let upload = record.names.give("upload");
//! record.flows.push(FlowsRow { t: SimTime::from_nanos(100_000_000), flow: upload, bytes: Bytes(125_000) });
//! let tables = record.finish();
//! assert_eq!(tables[0].0, "flows");
//! ```
//!
//! This crate depends on no protocol. Text has two forms here: a [`Name`] is a name from the experiment file
//! (a flow, a device), given once and then pushed as an index; a *word* (`&'static str`) is a state or a reason
//! of the simulator's own vocabulary.
//!
//! `docs/contracts.md` defines the meaning of the columns; a test compares the two.

mod measure;
mod names;
mod table;
pub mod tables;

pub use names::{Name, Names};
pub use table::{ColumnSpec, TableSpec};
pub use tables::{
    Datagrams, DatagramsRow, Events, EventsRow, Flows, FlowsRow, Objects, ObjectsRow, Ping, PingRow, Qdisc,
    QdiscRow, Requests, RequestsRow, TcpInfo, TcpInfoRow, Udp, UdpRow, Video, VideoRow, Wifi, WifiRow,
};

/// All rows recorded during one run.
#[derive(Debug, Default)]
pub struct Record {
    /// The names that rows refer to.
    pub names: Names,
    /// Bytes read by receiving applications.
    pub flows: Flows,
    /// The sending sockets.
    pub tcp_info: TcpInfo,
    /// Echo requests.
    pub ping: Ping,
    /// Queue disciplines.
    pub qdisc: Qdisc,
    /// What happened to packets and flows.
    pub events: Events,
    /// UDP flows; `None` without any.
    pub udp: Option<Udp>,
    /// Datagrams of calls and games; `None` without any.
    pub datagrams: Option<Datagrams>,
    /// Requests over TCP; `None` without any.
    pub requests: Option<Requests>,
    /// Objects of web pages; `None` without any.
    pub objects: Option<Objects>,
    /// Segments of videos; `None` without any.
    pub video: Option<Video>,
    /// The PPDUs on the air; `None` without a Wi-Fi cell.
    pub wifi: Option<Wifi>,
}

impl Record {
    /// All possible tables, in the order of [`Record::finish`].
    #[cfg(test)]
    fn specs() -> [TableSpec; 11] {
        [
            Flows::spec(),
            TcpInfo::spec(),
            Ping::spec(),
            Qdisc::spec(),
            Events::spec(),
            Udp::spec(),
            Datagrams::spec(),
            Requests::spec(),
            Objects::spec(),
            Video::spec(),
            Wifi::spec(),
        ]
    }

    /// Memory that a row of each table takes, in the order of [`Record::finish`].
    pub fn row_bytes() -> [(&'static str, usize); 11] {
        [
            (Flows::NAME, Flows::row_bytes()),
            (TcpInfo::NAME, TcpInfo::row_bytes()),
            (Ping::NAME, Ping::row_bytes()),
            (Qdisc::NAME, Qdisc::row_bytes()),
            (Events::NAME, Events::row_bytes()),
            (Udp::NAME, Udp::row_bytes()),
            (Datagrams::NAME, Datagrams::row_bytes()),
            (Requests::NAME, Requests::row_bytes()),
            (Objects::NAME, Objects::row_bytes()),
            (Video::NAME, Video::row_bytes()),
            (Wifi::NAME, Wifi::row_bytes()),
        ]
    }

    /// Memory of all rows by now.
    pub fn held(&self) -> usize {
        self.flows.held()
            + self.tcp_info.held()
            + self.ping.held()
            + self.qdisc.held()
            + self.events.held()
            + self.udp.as_ref().map_or(0, Udp::held)
            + self.datagrams.as_ref().map_or(0, Datagrams::held)
            + self.requests.as_ref().map_or(0, Requests::held)
            + self.objects.as_ref().map_or(0, Objects::held)
            + self.video.as_ref().map_or(0, Video::held)
            + self.wifi.as_ref().map_or(0, Wifi::held)
    }

    /// Each table of the run as an Arrow IPC stream, by name; a table without rows still has its columns.
    pub fn finish(self) -> Vec<(&'static str, Vec<u8>)> {
        let names = &self.names;
        let mut tables = vec![
            (Flows::NAME, self.flows.finish(names)),
            (TcpInfo::NAME, self.tcp_info.finish(names)),
            (Ping::NAME, self.ping.finish(names)),
            (Qdisc::NAME, self.qdisc.finish(names)),
            (Events::NAME, self.events.finish(names)),
        ];
        tables.extend(self.udp.map(|udp| (Udp::NAME, udp.finish(names))));
        tables.extend(self.datagrams.map(|each| (Datagrams::NAME, each.finish(names))));
        tables.extend(self.requests.map(|each| (Requests::NAME, each.finish(names))));
        tables.extend(self.objects.map(|each| (Objects::NAME, each.finish(names))));
        tables.extend(self.video.map(|each| (Video::NAME, each.finish(names))));
        tables.extend(self.wifi.map(|wifi| (Wifi::NAME, wifi.finish(names))));
        tables
    }
}

#[cfg(test)]
mod tests;
