//! The tables that a run records, each in a file of [`tables`]; columns and units are declared once.
//!
//! A row is a plain struct in the units of the simulation (`SimTime`, `Span`, `Bytes`, `Segs`, `Rate`); pushing
//! it appends one cell to each column and does nothing else. [`Record::finish`] gives the columns, each with its name and
//! unit ([`Tables`]).
//!
//! ```
//! use tailback_record::{FlowsRow, Record};
//! use tailback_units::{Bytes, SimTime};
//!
//! let mut record = Record::default();
//! let upload = record.names.give("upload");
//! record.flows.push(FlowsRow { t: SimTime::from_nanos(100_000_000), flow: upload, bytes: Bytes(125_000) });
//! let tables = record.finish();
//! let flows = tables.get("flows").unwrap();
//! assert_eq!(flows.column("bytes").unwrap().number(0), Some(125_000.0));
//! ```
//!
//! This crate depends on no protocol. Text has two forms here: a [`Name`] is a name from the experiment file
//! (a flow, a device), given once and then pushed as an index; a *word* (`&'static str`) is a state or a reason
//! of the simulator's own vocabulary.
//!
//! `docs/contracts.md` defines the meaning of the columns; a test compares the two.

mod columns;
mod measure;
mod names;
mod table;
pub mod tables;

pub use columns::{Cells, Column, ColumnSpec, Kind, Table, TableSpec, Tables};
pub use names::{Name, Names};
pub use tables::{
    Datagrams, DatagramsRow, Delays, DelaysRow, Endpoints, EndpointsRow, Events, EventsRow, Exchanges,
    ExchangesRow, Flows, FlowsRow, Mpdus, MpdusRow, Objects, ObjectsRow, Packets, PacketsRow, Ping, PingRow,
    Qdisc, QdiscRow, Requests, RequestsRow, Senders, SendersRow, Sojourns, SojournsRow, TcpInfo, TcpInfoRow,
    Udp, UdpRow, Video, VideoRow, Wifi, WifiRow,
};

/// Declares [`Record`] by its one list of tables: those that every run has, and those that some runs have.
macro_rules! record {
    (
        every run: { $($(#[$doc:meta])* $table:ident: $Table:ident,)+ }
        some runs: { $($(#[$some_doc:meta])* $some:ident: $Some:ident,)+ }
    ) => {
        /// All rows recorded during one run.
        #[derive(Debug, Default)]
        pub struct Record {
            /// The names that rows refer to.
            pub names: Names,
            $($(#[$doc])* pub $table: $Table,)+
            $($(#[$some_doc])* pub $some: Option<$Some>,)+
        }

        impl Record {
            /// Number of possible tables.
            pub const TABLES: usize = [$($Table::NAME,)+ $($Some::NAME,)+].len();

            /// All possible tables, in the order of [`Record::finish`].
            #[cfg(test)]
            fn specs() -> [TableSpec; Record::TABLES] {
                [$($Table::spec(),)+ $($Some::spec(),)+]
            }

            /// Memory that a row of each table takes, in bytes and in the order of [`Record::finish`].
            pub fn row_bytes() -> [(&'static str, usize); Record::TABLES] {
                [$(($Table::NAME, $Table::row_bytes()),)+ $(($Some::NAME, $Some::row_bytes()),)+]
            }

            /// Memory of all rows by now, in bytes.
            pub fn held(&self) -> usize {
                0 $(+ self.$table.held())+ $(+ self.$some.as_ref().map_or(0, $Some::held))+
            }

            /// The columns of each table of the run; a table without rows still has its columns.
            pub fn finish(self) -> Tables {
                let mut tables = vec![$(self.$table.finish(),)+];
                $(tables.extend(self.$some.map($Some::finish));)+
                Tables { names: self.names, tables }
            }
        }
    };
}

record! {
    every run: {
        /// Bytes read by receiving applications.
        flows: Flows,
        /// The sending sockets.
        tcp_info: TcpInfo,
        /// Echo requests.
        ping: Ping,
        /// Queue disciplines.
        qdisc: Qdisc,
        /// What happened to packets and flows.
        events: Events,
    }
    some runs: {
        /// UDP flows; `None` without any.
        udp: Udp,
        /// Delays of the datagrams of other UDP flows; `None` without any.
        delays: Delays,
        /// Datagrams of calls and games; `None` without any.
        datagrams: Datagrams,
        /// What endpoints of others report; `None` unless one does.
        endpoints: Endpoints,
        /// Requests over TCP; `None` without any.
        requests: Requests,
        /// What the ends of requests, pages and videos have sent; `None` without any.
        exchanges: Exchanges,
        /// Sojourn times in root disciplines; `None` if no packet passed one that tells them.
        sojourns: Sojourns,
        /// Objects of web pages; `None` without any.
        objects: Objects,
        /// Segments of videos; `None` without any.
        video: Video,
        /// The PPDUs on the air; `None` without a Wi-Fi cell.
        wifi: Wifi,
        /// Packets on their way over devices; `None` unless a window of time was asked for.
        packets: Packets,
        /// Packets in PPDUs; `None` unless a window was asked for and there is a cell.
        mpdus: Mpdus,
        /// What held senders at each ACK; `None` unless a window was asked for.
        senders: Senders,
    }
}

#[cfg(test)]
mod tests;
