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
#include <deque>
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

// An op, a transfer, or the latency of a transfer. Whenever an activity ends, SimGrid searches all that exist. So each
// is made only when it can start.
struct Step {
  sg::Host* from;
  sg::Host* to; // null where nothing is sent
  double amount; // of work or bytes
  int waits_for = 0;
  std::vector<Step*> next;
  sg::ActivityPtr activity;

  void start() {
    if (to)
      activity = sg::Comm::sendto_init(from, to)->set_payload_size(static_cast<uint64_t>(amount));
    else
      activity = sg::Exec::init()->set_flops_amount(amount)->set_host(from);
    activity->set_data(this);
    activity->start();
  }
};

static void after(Step& before, Step& step) {
  before.next.push_back(&step);
  step.waits_for++;
}

// The next steps of a step that ended may be able to start.
static void ended(const sg::Activity& activity) {
  for (Step* step : activity.get_data<Step>()->next)
    if (--step->waits_for == 0) step->start();
}

int main(int argc, char** argv) {
  sg::Engine engine(&argc, argv);
  for (auto setting : {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0",
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
  std::deque<Step> steps; // the ops, then the others
  for (int op = 0; op < ops; op++) {
    double time;
    in >> device[op] >> time;
    steps.push_back({hosts[device[op]], nullptr, time});
  }
  for (int d = 0; d < devices; d++) {
    int count, before = -1, op;
    in >> count;
    for (int i = 0; i < count; i++, before = op) {
      in >> op;
      if (before >= 0) after(steps[before], steps[op]);
    }
  }
  std::map<std::tuple<int, int, int>, Step*> transfers;
  for (int i = 0; i < edges; i++) {
    int source, target, tensor;
    double bytes;
    in >> source >> target >> tensor >> bytes;
    int from = device[source], to = device[target];
    if (from == to) {
      after(steps[source], steps[target]);
      continue;
    }
    auto& transfer = transfers[{source, tensor, to}];
    if (!transfer) {
      transfer = &steps.emplace_back(Step{hosts[from], hosts[to], bytes});
      double latency = pairs[from * devices + to].latency;
      Step* before = &steps[source];
      if (shares && latency > 0) {
        Step* wait = &steps.emplace_back(Step{waiting, nullptr, latency});
        after(*before, *wait);
        before = wait;
      }
      after(*before, *transfer);
    }
    after(*transfer, steps[target]);
  }
  if (static_cast<int>(transfers.size()) != sent) {
    std::fprintf(stderr, "%zu transfers here, %d there\n", transfers.size(), sent);
    return 1;
  }
  if (model == "one_port") {
    std::map<sg::Host*, Step*> last_sent, last_received;
    for (int i = 0; i < sent; i++) {
      int source, tensor, to;
      in >> source >> tensor >> to;
      Step* transfer = transfers.at({source, tensor, to});
      for (auto* last : {&last_sent[transfer->from], &last_received[transfer->to]}) {
        if (*last) after(**last, *transfer);
        *last = transfer;
      }
    }
  }
  if (!in) {
    std::fprintf(stderr, "the input is cut short\n");
    return 1;
  }

  sg::Activity::on_completion_cb(ended);
  std::vector<Step*> first;
  for (auto& step : steps)
    if (step.waits_for == 0) first.push_back(&step);
  for (Step* step : first) step->start();
  engine.run();
  for (int op = 0; op < ops; op++) {
    if (!steps[op].activity) {
      std::fprintf(stderr, "op %d never starts\n", op);
      return 1;
    }
    std::printf("%.17g\n", steps[op].activity->get_finish_time());
  }
}
