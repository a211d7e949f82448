//! Builds the queue disciplines of a device.

use tailback_packet::{ETHERNET_HEADER, HostId};
use tailback_qdisc::{
    Attachment, Class, Entered, Filter, Fits, Inner, Qdisc, Root, Series, SizeTableSpec, Sized,
};
use tailback_tcp::{RedTimer, STACKS};
use tailback_units::{Parameters, Rate};

use crate::error::parameter_error;
use crate::scenario::{
    AttachedQdisc, ClassSpec, FilterSpec, FitsSpec, Host, LinkLayer, QdiscSpec, Scenario, Traffic,
};
use crate::topology::Topology;
use crate::{BuildError, DeviceId};

/// `txqueuelen` of every device. [linux-6.12 DEFAULT_TX_QUEUE_LEN]
const QUEUE_LENGTH: u32 = 1000;

/// What a device has unless a discipline is attached to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unattached {
    /// Packets may wait: the kernel's default discipline.
    Default,
    /// Packets go straight to the driver, which takes them all: `noqueue`. [linux-6.12 IFF_NO_QUEUE]
    Noqueue,
}

/// A device that may get a discipline.
pub(super) struct Bare {
    pub(super) id: DeviceId,
    pub(super) host: u16,
    /// Longest IP packet.
    pub(super) mtu: u32,
    pub(super) rate: Option<u64>,
    pub(super) unattached: Unattached,
}

/// The root discipline of a device: the one attached, else the kernel's default.
pub(super) fn root(
    scenario: &Scenario,
    topology: &Topology,
    device: &Bare,
) -> Result<Option<Root>, BuildError> {
    let attachment = Attachment {
        mtu: device.mtu + ETHERNET_HEADER,
        queue_length: QUEUE_LENGTH,
        rate: device.rate.map_or(Rate::UNLIMITED, Rate::from_bits_per_sec),
        adapts_red: adapts_red(&scenario.hosts[usize::from(device.host)]),
        host: HostId(device.host),
    };
    let this = |attached: &AttachedQdisc| topology.device_of(attached.host, attached.link) == Some(device.id);
    let built = match scenario.qdiscs.iter().position(this) {
        Some(given) => {
            let path = format!("qdiscs[{given}].root");
            discipline(scenario, &scenario.qdiscs[given].root, &attachment, &path)
        }
        None if device.unattached == Unattached::Default => {
            discipline(scenario, &default_qdisc(), &attachment, "qdiscs")
        }
        None => return Ok(None),
    };
    Ok(Some(Root::new(Entered::kept(built?), &attachment)))
}

/// `built` with the size table of its specification, if it has one.
fn measured(spec: &QdiscSpec, built: Box<dyn Qdisc>) -> Box<dyn Qdisc> {
    match &spec.stab {
        None => built,
        Some(stab) => Box::new(Sized::new(
            &SizeTableSpec {
                overhead: stab.overhead,
                mpu: stab.mpu,
                mtu: stab.mtu,
                entries: stab.tsize,
                in_cells: stab.linklayer == Some(LinkLayer::Atm),
            },
            built,
        )),
    }
}

/// Whether the kernel of a host starts the timer of adaptive RED.
fn adapts_red(host: &Host) -> bool {
    STACKS.iter().any(|stack| stack.name == host.stack && stack.red_timer == RedTimer::Runs)
}

/// [linux-6.12 net.core.default_qdisc, as compiled]
fn default_qdisc() -> QdiscSpec {
    QdiscSpec {
        kind: "pfifo_fast".into(),
        options: Default::default(),
        child: None,
        classes: Vec::new(),
        filters: Vec::new(),
        stab: None,
    }
}

/// Disciplines one after another, in the order of the classes of a discipline of this kind.
const SERIES: &str = "series";

/// A discipline with its children.
fn discipline(
    scenario: &Scenario,
    spec: &QdiscSpec,
    attachment: &Attachment,
    path: &str,
) -> Result<Box<dyn Qdisc>, BuildError> {
    if spec.kind == SERIES {
        let classes = classes(scenario, spec, attachment, path)?;
        return Ok(Box::new(Series::new(classes.into_iter().filter_map(|class| class.child).collect())));
    }
    let Some(row) = tailback_qdisc::registry::find(&spec.kind) else {
        let known = tailback_qdisc::registry::ROWS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
        let problem = format!("no discipline `{}`", spec.kind);
        return Err(BuildError::new(format!("{path}.kind"), problem, format!("write one of: {known}")));
    };
    if spec.child.is_some() && !row.classful {
        let problem = format!("`{}` holds no other discipline", spec.kind);
        return Err(BuildError::new(format!("{path}.child"), problem, "leave the child out"));
    }
    let child = spec.child.as_deref();
    let child = child.map(|child| discipline(scenario, child, attachment, &format!("{path}.child")));
    let inner = Inner {
        child: child.transpose()?,
        classes: classes(scenario, spec, attachment, path)?,
        filters: spec.filters.iter().map(|filter| filter_of(scenario, filter)).collect(),
    };
    let built = tailback_qdisc::registry::build_over(
        row.name,
        &Parameters::new(spec.options.clone()),
        attachment,
        inner,
    );
    built.map(|built| measured(spec, built)).map_err(|error| match error {
        tailback_qdisc::registry::BuildError::Parameter { error, .. } => {
            parameter_error(error, &format!("{path}.options"))
        }
        other => BuildError::new(format!("{path}.classes"), other.to_string(), "leave the classes out"),
    })
}

fn classes(
    scenario: &Scenario,
    spec: &QdiscSpec,
    attachment: &Attachment,
    path: &str,
) -> Result<Vec<Class>, BuildError> {
    let class = |(index, class): (usize, &ClassSpec)| {
        let path = format!("{path}.classes[{index}].child");
        let child = class.child.as_ref().map(|child| discipline(scenario, child, attachment, &path));
        let parameters = Parameters::new(class.options.clone());
        Ok(Class { minor: class.minor, parent: class.parent, parameters, child: child.transpose()? })
    };
    spec.classes.iter().enumerate().map(class).collect()
}

fn filter_of(scenario: &Scenario, spec: &FilterSpec) -> Filter {
    let conversations = scenario.conversations();
    let fits = match &spec.fits {
        FitsSpec::Traffic(name) => {
            let named = |traffic: &Traffic| traffic.name() == name || is_one_of(traffic.name(), name);
            let sockets = conversations.filter(|conversation| named(conversation.traffic));
            Fits::Sockets(sockets.flat_map(|conversation| conversation.sockets()).map(|(id, _)| id).collect())
        }
        FitsSpec::From(host) => {
            let sockets = conversations.flat_map(|conversation| conversation.sockets());
            Fits::From(sockets.filter(|(_, of)| *of == HostId(*host)).map(|(id, _)| id).collect())
        }
        FitsSpec::To(host) => Fits::To(HostId(*host)),
        FitsSpec::Dscp(code_point) => Fits::Dscp(*code_point),
        FitsSpec::All => Fits::All,
    };
    Filter { fits, class: spec.class }
}

/// `upload.2` is one of the flows `upload`.
fn is_one_of(name: &str, all: &str) -> bool {
    let number = name.strip_prefix(all).and_then(|rest| rest.strip_prefix('.'));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}
