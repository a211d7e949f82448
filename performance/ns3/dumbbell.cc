// The network of performance/ns3/dumbbell.yaml in ns-3: flows of CUBIC from one host through a router to another, FQ-CoDel
// in front of the bottleneck. Prints JSON: bytes that arrived after the warm-up, segments sent, and the median RTT.
// Usage: dumbbell FLOWS SECONDS WARMUP

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace
{
uint64_t segments = 0;
std::vector<double> rtts_ms;

void sent(Ptr<const Packet> packet, const TcpHeader&, Ptr<const TcpSocketBase>)
{
    segments += packet->GetSize() > 0;
}

void measured(Time, Time now)
{
    rtts_ms.push_back(now.GetSeconds() * 1e3);
}

// The sockets exist when the applications have started.
void watch(uint32_t flows)
{
    for (uint32_t flow = 0; flow < flows; ++flow)
    {
        const std::string socket = "/NodeList/0/$ns3::TcpL4Protocol/SocketList/" + std::to_string(flow);
        Config::ConnectWithoutContext(socket + "/Tx", MakeCallback(&sent));
        Config::ConnectWithoutContext(socket + "/RTT", MakeCallback(&measured));
    }
}

NetDeviceContainer linked(NodeContainer ends, const std::string& rate, const std::string& delay)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", StringValue(delay));
    // Short, so that packets wait in the discipline.
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("2p"));
    return link.Install(ends);
}
} // namespace

int main(int argc, char** argv)
{
    if (argc != 4)
    {
        std::fprintf(stderr, "usage: dumbbell FLOWS SECONDS WARMUP\n");
        return 2;
    }
    const uint32_t flows = std::atoi(argv[1]);
    const double end = std::atof(argv[2]), warmup = std::atof(argv[3]);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(6 << 20));

    NodeContainer hosts;
    hosts.Create(3);
    InternetStackHelper().Install(hosts);
    const auto access = linked(NodeContainer(hosts.Get(0), hosts.Get(1)), "1Gbps", "250us");
    const auto bottleneck = linked(NodeContainer(hosts.Get(1), hosts.Get(2)), "100Mbps", "10ms");
    TrafficControlHelper plain, fair;
    plain.SetRootQueueDisc("ns3::PfifoFastQueueDisc");
    plain.Install(access);
    plain.Install(bottleneck.Get(1));
    fair.SetRootQueueDisc("ns3::FqCoDelQueueDisc");
    fair.Install(bottleneck.Get(0));
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.1.0", "255.255.255.0");
    addresses.Assign(access);
    addresses.SetBase("10.0.2.0", "255.255.255.0");
    const auto far = addresses.Assign(bottleneck);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    ApplicationContainer sinks;
    for (uint32_t flow = 0; flow < flows; ++flow)
    {
        const uint16_t port = 5001 + flow;
        sinks.Add(PacketSinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port))
                      .Install(hosts.Get(2)));
        BulkSendHelper sender("ns3::TcpSocketFactory", InetSocketAddress(far.GetAddress(1), port));
        sender.Install(hosts.Get(0)).Start(Seconds(0.01 * flow));
    }
    Simulator::Schedule(Seconds(0.01 * flows), &watch, flows);
    const auto arrived = [&sinks] {
        uint64_t bytes = 0;
        for (uint32_t place = 0; place < sinks.GetN(); ++place)
        {
            bytes += DynamicCast<PacketSink>(sinks.Get(place))->GetTotalRx();
        }
        return bytes;
    };
    uint64_t before = 0;
    Simulator::Schedule(Seconds(warmup), [&] {
        before = arrived();
        rtts_ms.clear();
    });
    Simulator::Stop(Seconds(end));
    const auto begun = std::chrono::steady_clock::now();
    Simulator::Run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    std::nth_element(rtts_ms.begin(), rtts_ms.begin() + rtts_ms.size() / 2, rtts_ms.end());
    std::printf("{\"goodput_mbps\": %.2f, \"rtt_ms\": %.2f, \"segments\": %llu, \"wall_s\": %.3f}\n",
                (arrived() - before) * 8 / (end - warmup) / 1e6,
                rtts_ms.empty() ? 0.0 : rtts_ms[rtts_ms.size() / 2],
                static_cast<unsigned long long>(segments),
                took.count());
    Simulator::Destroy();
    return 0;
}
