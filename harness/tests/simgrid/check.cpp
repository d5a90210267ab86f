// Executes a placed dataflow graph in SimGrid and prints when each op finishes.
//
// Usage: check INPUT. The input is plain text, numbers separated by white space; ids count from 0:
//
//   model                        contention_free, one_port or fair_share
//   devices links ops edges sent
//   for each ordered pair of devices, by sender: rate latency count link...   (count 0 from a device to itself)
//   for each link: capacity
//   for each op: device time
//   for each device: count op...                    its ops in the order of execution
//   for each edge: source target tensor bytes       tensor -1 is a control edge
//   for each transfer: source tensor to             in the order in which they start; only one_port needs it
//
// Which transfers there are and when everything happens is worked out here, from that alone.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <simgrid/s4u.hpp>

namespace sg = simgrid::s4u;

struct Pair {
  double rate, latency;
  std::vector<int> links;
};

struct Transfer {
  sg::CommPtr comm;
  sg::ExecPtr wait; // for the latency, where flows share links
  int from, to;
};

// A dependency that is there twice is an error in SimGrid.
template <class Before, class Activity> static void after(const Before& before, const Activity& activity) {
  if (!activity->get_dependencies().count(before)) before->add_successor(activity);
}

int main(int argc, char** argv) {
  sg::Engine engine(&argc, argv);
  for (auto setting : {"network/model:CM02", "network/optim:Full", "network/TCP-gamma:0", "network/crosstraffic:0",
                       "network/latency-factor:1", "network/bandwidth-factor:1", "network/weight-S:0",
                       "surf/precision:1e-12", "maxmin/precision:1e-12"})
    engine.set_config(setting);
  std::ifstream in(argv[1]);
  std::string model;
  int devices, links, ops, edges, sent;
  in >> model >> devices >> links >> ops >> edges >> sent;
  bool shares = model == "fair_share";

  std::vector<Pair> pairs(devices * devices);
  for (auto& pair : pairs) {
    int count;
    in >> pair.rate >> pair.latency >> count;
    pair.links.resize(count);
    for (auto& link : pair.links) in >> link;
  }
  std::vector<double> capacity(links);
  for (auto& value : capacity) in >> value;

  auto* zone = sg::create_full_zone("cluster");
  std::vector<sg::Host*> hosts;
  for (int d = 0; d < devices; d++) hosts.push_back(zone->create_host("d" + std::to_string(d), 1.0)->seal());
  // SimGrid weighs the flows of a link by the latencies of their routes, as TCP does. So that all weigh the same, latencies
  // are spent on a host of their own with a core for each transfer, and routes have none.
  auto* waiting = zone->create_host("waiting", 1.0)->set_core_count(1 << 20)->seal();
  std::vector<sg::Link*> shared;
  for (int l = 0; l < links; l++)
    shared.push_back(zone->create_link("shared" + std::to_string(l), capacity[l])->set_latency(0)->seal());
  for (int from = 0; from < devices; from++)
    for (int to = 0; to < devices; to++) {
      if (from == to) continue;
      const Pair& pair = pairs[from * devices + to];
      auto* own = zone->create_link("pair" + std::to_string(from) + "_" + std::to_string(to), pair.rate);
      own->set_latency(shares ? 0 : pair.latency)->set_sharing_policy(sg::Link::SharingPolicy::FATPIPE)->seal();
      std::vector<sg::LinkInRoute> route{sg::LinkInRoute(own)};
      if (shares)
        for (int link : pair.links) route.emplace_back(shared[link]);
      zone->add_route(hosts[from]->get_netpoint(), hosts[to]->get_netpoint(), nullptr, nullptr, route, false);
    }
  zone->seal();

  std::vector<int> device(ops);
  std::vector<sg::ExecPtr> exec(ops);
  for (int op = 0; op < ops; op++) {
    double time;
    in >> device[op] >> time;
    exec[op] = sg::Exec::init();
    exec[op]->set_flops_amount(time);
  }
  for (int d = 0; d < devices; d++) {
    int count, before = -1, op;
    in >> count;
    for (int i = 0; i < count; i++, before = op) {
      in >> op;
      if (before >= 0) after(exec[before], exec[op]);
    }
  }
  std::map<std::tuple<int, int, int>, Transfer> transfers;
  for (int i = 0; i < edges; i++) {
    int source, target, tensor;
    double bytes;
    in >> source >> target >> tensor >> bytes;
    if (device[source] == device[target]) {
      after(exec[source], exec[target]);
      continue;
    }
    auto& transfer = transfers[{source, tensor, device[target]}];
    if (!transfer.comm) {
      transfer.from = device[source], transfer.to = device[target];
      transfer.comm = sg::Comm::sendto_init();
      transfer.comm->set_payload_size(static_cast<uint64_t>(bytes));
      double latency = pairs[transfer.from * devices + transfer.to].latency;
      if (shares && latency > 0) {
        transfer.wait = sg::Exec::init();
        transfer.wait->set_flops_amount(latency);
        after(exec[source], transfer.wait);
        after(transfer.wait, transfer.comm);
      } else {
        after(exec[source], transfer.comm);
      }
    }
    after(transfer.comm, exec[target]);
  }
  if (static_cast<int>(transfers.size()) != sent) {
    std::fprintf(stderr, "%zu transfers here, %d there\n", transfers.size(), sent);
    return 1;
  }
  if (model == "one_port") {
    std::vector<sg::CommPtr> sends(devices), receives(devices);
    for (int i = 0; i < sent; i++) {
      int source, tensor, to;
      in >> source >> tensor >> to;
      auto& transfer = transfers.at({source, tensor, to});
      for (auto* last : {&sends[transfer.from], &receives[to]}) {
        if (*last) after(*last, transfer.comm);
        *last = transfer.comm;
      }
    }
  }
  if (!in) {
    std::fprintf(stderr, "the input is cut short\n");
    return 1;
  }

  // An activity may start as soon as it has its hosts, so these come after the dependencies.
  for (auto& [key, transfer] : transfers) {
    transfer.comm->set_source(hosts[transfer.from])->set_destination(hosts[transfer.to]);
    if (transfer.wait) transfer.wait->set_host(waiting);
  }
  for (int op = 0; op < ops; op++) exec[op]->set_host(hosts[device[op]]);
  for (auto& [key, transfer] : transfers) {
    if (transfer.wait) transfer.wait->vetoable_start();
    transfer.comm->vetoable_start();
  }
  for (auto& activity : exec) activity->vetoable_start();
  engine.run();
  for (auto& activity : exec) std::printf("%.17g\n", activity->get_finish_time());
}
