"""Writes a GraphDef without TensorFlow: names, types, inputs and colocation, in protocol buffers' wire format.

Field numbers are those of tensorflow/core/framework: GraphDef.node = 1; NodeDef.name = 1, op = 2, input = 3,
attr = 5; AttrValue.list = 1, s = 2; ListValue.s = 2.
"""


def graph_def(ops):
    """The bytes of the graph of `flat.Op`s. The same graph gives the same bytes."""
    return b"".join(_field(1, _node(op, ops)) for op in ops)


def _node(op, ops):
    parts = [_field(1, op.name.encode()), _field(2, op.type.encode())]
    for ref in op.inputs:
        port = f":{ref.port}" if ref.port else ""
        parts.append(_field(3, f"{ops[ref.op].name}{port}".encode()))
    if op.colocated is not None:
        group = _field(1, _field(2, f"loc:@{ops[op.colocated].name}".encode()))
        parts.append(_field(5, _field(1, b"_class") + _field(2, group)))
    attributes = op.attributes
    if attributes is not None:
        parts.append(_field(5, _field(1, b"_placebench_attributes") + _field(2, _field(2, attributes.encode()))))
    return b"".join(parts)


def _field(number, content):
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
