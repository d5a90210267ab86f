"""Instances for the comparison of partitioners, from a family and a seed: as a graph and as a hypergraph.

Each family answers with nets whose first pin is the driver. The hypergraph has the nets. The graph has an edge from each
driver to each other pin of its net, with the net's weight; several between two vertices add up. Only Python's `random` is
used, so that a seed gives the same files everywhere.
"""

import random
from itertools import accumulate

# Seeds whose instances may be looked at while the partitioner is tuned, and those that may not.
OPEN = (1, 2)
KEPT_BACK = (101, 102)


class Instance:
    """Nets over vertices, numbered from 0."""

    def __init__(self, vertices, nets, net_weights=None, vertex_weights=None):
        kept = [at for at, net in enumerate(nets) if len(net) > 1]
        self.vertices = vertices
        self.nets = [nets[at] for at in kept]
        self.net_weights = net_weights and [net_weights[at] for at in kept]
        self.vertex_weights = vertex_weights

    def write_hmetis(self, path):
        flags = (10 if self.vertex_weights else 0) + (1 if self.net_weights else 0)
        with open(path, "w") as out:
            out.write(f"{len(self.nets)} {self.vertices}{f' {flags}' if flags else ''}\n")
            for at, net in enumerate(self.nets):
                weight = [self.net_weights[at]] if self.net_weights else []
                out.write(" ".join(map(str, weight + [pin + 1 for pin in net])) + "\n")
            for weight in self.vertex_weights or []:
                out.write(f"{weight}\n")

    def write_metis(self, path):
        rows = [{} for _ in range(self.vertices)]
        for at, (driver, *others) in enumerate(self.nets):
            weight = self.net_weights[at] if self.net_weights else 1
            for other in others:
                for one, two in ((driver, other), (other, driver)):
                    rows[one][two] = rows[one].get(two, 0) + weight
        edges = sum(map(len, rows)) // 2
        with open(path, "w") as out:
            out.write(f"{self.vertices} {edges} {'011' if self.vertex_weights else '001'}\n")
            for vertex, row in enumerate(rows):
                words = [self.vertex_weights[vertex]] if self.vertex_weights else []
                for other in sorted(row):
                    words += [other + 1, row[other]]
                out.write(" ".join(map(str, words)) + "\n")


def net_of(driver, others):
    """A net without repeated pins."""
    return [driver, *dict.fromkeys(pin for pin in others if pin != driver)]


def geometric(draw, mean):
    """A number from 1 of a geometric distribution."""
    number = 1
    while draw.random() > 1 / mean:
        number += 1
    return number


def circuit(draw):
    """Rent's rule: of the nets of a block of B cells, a share of B^(p - 1), p = 0.62, leaves it. Fan-out is geometric."""
    cells, exponent = 1 << 14, 0.62
    nets = []
    for cell in range(cells):
        level = 2
        while level < 14 and draw.random() < 2 ** (exponent - 1):
            level += 1
        block = cell >> level << level
        nets.append(net_of(cell, (block + draw.randrange(1 << level) for _ in range(geometric(draw, 2.6)))))
    return Instance(cells, nets)


def mesh(draw):
    """A square grid with holes: each cell and its neighbours are a net."""
    side = 128
    there = [[draw.random() > 0.08 for _ in range(side)] for _ in range(side)]
    number = {}
    for y in range(side):
        for x in range(side):
            if there[y][x]:
                number[x, y] = len(number)
    near = ((1, 0), (0, 1), (-1, 0), (0, -1))
    nets = [net_of(cell, (number[x + dx, y + dy] for dx, dy in near if (x + dx, y + dy) in number))
            for (x, y), cell in number.items()]
    return Instance(len(number), nets)


def uniform(draw):
    """Nets of 2 to 8 pins drawn from all vertices alike."""
    count = 6000
    nets = [net_of(draw.randrange(count), (draw.randrange(count) for _ in range(draw.randint(1, 7)))) for _ in range(count)]
    return Instance(count, nets)


def power_law(draw):
    """Vertices and sizes of nets by power laws."""
    count = 10000
    shares = list(accumulate((1 + rank) ** -0.55 for rank in range(count)))
    numbers = list(range(count))
    draw.shuffle(numbers)
    nets = []
    for _ in range(count):
        size = min(1 + int((1 - draw.random()) ** (-1 / 1.4)), 200)
        pins = draw.choices(numbers, cum_weights=shares, k=1 + size)
        nets.append(net_of(pins[0], pins[1:]))
    return Instance(count, nets)


def term_document(draw):
    """Documents are vertices and terms nets. A document draws terms of two topics and of the whole language, by Zipf's law."""
    documents, terms, topics, own = 6000, 9000, 60, 400
    zipf = list(accumulate(1 / (8 + rank) for rank in range(terms)))
    of_topic = [draw.sample(range(terms), own) for _ in range(topics)]
    topic_zipf = zipf[:own]
    documents_of = [[] for _ in range(terms)]
    for document in range(documents):
        found = draw.choices(range(terms), cum_weights=zipf, k=12)
        for topic in draw.sample(range(topics), 2):
            found += draw.choices(of_topic[topic], cum_weights=topic_zipf, k=12)
        for term in set(found):
            documents_of[term].append(document)
    return Instance(documents, [net for net in documents_of if net])


def satisfiability(draw):
    """Variables are vertices and clauses nets of 2 or 3 pins, most of them within a community of variables."""
    variables, community = 10000, 80
    nets = []
    for _ in range(int(3.8 * variables)):
        first = draw.randrange(variables)
        reach = community if draw.random() < 0.82 else community * 20 if draw.random() < 0.7 else variables
        start = min(first // reach * reach, variables - reach)
        nets.append(net_of(first, (start + draw.randrange(reach) for _ in range(draw.randint(1, 2)))))
    return Instance(variables, nets)


def dataflow(draw):
    """Layers of ops in towers. A tensor goes to a few ops of the next layers, some to many; bytes and costs vary widely."""
    layers, width, towers = 160, 64, 8
    count = layers * width
    nets, net_weights = [], []
    for op in range(count - width):
        layer, place = divmod(op, width)
        tower = place * towers // width
        others = []
        for _ in range(60 if draw.random() < 0.01 else geometric(draw, 1.8)):
            later = min(layer + geometric(draw, 1.5), layers - 1)
            own = draw.random() < 0.93
            inside = tower * width // towers + draw.randrange(width // towers) if own else draw.randrange(width)
            others.append(later * width + inside)
        nets.append(net_of(op, others))
        net_weights.append(1 + int(draw.lognormvariate(4, 1.5)))
    return Instance(count, nets, net_weights, [1 + int(draw.lognormvariate(2, 0.8)) for _ in range(count)])


FAMILIES = {
    "circuit": circuit,
    "mesh": mesh,
    "uniform": uniform,
    "power_law": power_law,
    "term_document": term_document,
    "satisfiability": satisfiability,
    "dataflow": dataflow,
}


def make(family, seed):
    """The instance of a family and a seed."""
    return FAMILIES[family](random.Random(f"{family} {seed}"))
