"""Every field of tensorflow_metadata v0, and messages with all of them as protobuf prints them from Python.

usage: tfmd.py OUT.json     (pip install tensorflow_metadata; figures of 1.16.1 with protobuf 4.25)

`messages` and `enums` hold what the wire format and the text depend on. `samples` are messages with random fields,
numbers at the edges of their types and strings that need escapes: as text, and as bytes in hexadecimal. Maps have `keys` entries, whose order in bytes is
protobuf's own affair.
"""
import json
import math
import random
import struct
import sys

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor as Field
from tensorflow_metadata.proto.v0 import anomalies_pb2, derived_feature_pb2, path_pb2, schema_pb2, statistics_pb2

FILES = [path_pb2, derived_feature_pb2, statistics_pb2, schema_pb2, anomalies_pb2]
TYPES = {value: name[5:].lower() for name, value in vars(Field).items() if name.startswith("TYPE_")}
LABELS = {Field.LABEL_OPTIONAL: "optional", Field.LABEL_REPEATED: "repeated", Field.LABEL_REQUIRED: "required"}


def describe(field):
    words = [str(field.number), LABELS[field.label], TYPES[field.type]]
    if field.message_type:
        words.append(field.message_type.full_name)
    if field.enum_type:
        words.append(field.enum_type.full_name)
    if field.containing_oneof:
        words.append("oneof " + field.containing_oneof.name)
    if field.has_default_value and not field.enum_type:
        words.append(f"default {field.default_value:g}")
    if field.has_presence:
        words.append("presence")
    if field.GetOptions().packed:
        words.append("packed")
    return " ".join(words)


def collect(message, messages, enums):
    messages[message.full_name] = {field.name: describe(field) for field in message.fields}
    for nested in message.nested_types:
        collect(nested, messages, enums)
    for enum in message.enum_types:
        enums[enum.full_name] = {value.name: value.number for value in enum.values}


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


DOUBLES = [1.0, -0.0, 0.1, 1e15, 1e16, 123456789.125, 1e-4, 1e-5, 5e-324, 1.7976931348623157e308, math.inf, -math.inf,
           math.nan, 2 / 3, -2.5e-7]
FLOATS = [single(x) for x in [1.0, 0.1, 16777216.0, 3.4028234e38, 1e-45, 2 / 3, 1e16, 123456.789, 1e-5]] + [math.inf]
STRINGS = ["", "plain", "a \"quoted\" 'word'", "back\\slash", "line\nend\ttab\r", "\u00e9t\u00e9 \u4e2d \U0001f600", "\x01\x7f"]
BYTES = [b"", b"\x00\xff\x80", b"bytes 'and' \"quotes\""]
VALUES = {
    Field.TYPE_DOUBLE: DOUBLES, Field.TYPE_FLOAT: FLOATS, Field.TYPE_STRING: STRINGS, Field.TYPE_BYTES: BYTES,
    Field.TYPE_BOOL: [False, True], Field.TYPE_INT32: [0, 1, -1, 2**31 - 1, -2**31],
    Field.TYPE_INT64: [0, 1, -1, 2**63 - 1, -2**63], Field.TYPE_UINT32: [0, 1, 2**32 - 1],
    Field.TYPE_UINT64: [0, 1, 2**64 - 1],
}


def fill(message, draw, depth, keys):
    for field in message.DESCRIPTOR.fields:
        if field.message_type and (depth == 0 or field.message_type.full_name.startswith("google.")):
            continue
        if draw.random() > (0.6 if depth > 2 else 0.25):
            continue
        if field.message_type and field.message_type.GetOptions().map_entry:
            for key in draw.sample(STRINGS, keys):
                fill(getattr(message, field.name)[key], draw, depth - 1, keys)
        elif field.message_type:
            target = getattr(message, field.name)
            target = target.add() if field.label == Field.LABEL_REPEATED else target
            target.SetInParent()
            fill(target, draw, depth - 1, keys)
        else:
            values = VALUES.get(field.type) or [value.number for value in field.enum_type.values]
            if field.label == Field.LABEL_REPEATED:
                getattr(message, field.name).extend(draw.choices(values, k=2))
            else:
                setattr(message, field.name, draw.choice(values))


def samples():
    for kind in (schema_pb2.Schema, statistics_pb2.DatasetFeatureStatisticsList, anomalies_pb2.Anomalies):
        for seed in range(8):
            message = kind()
            keys = 1 + seed % 2
            fill(message, random.Random(seed), 5, keys)
            yield {"keys": keys, "type": message.DESCRIPTOR.full_name, "text": text_format.MessageToString(message),
                   "bytes": message.SerializeToString(deterministic=True).hex()}


def main():
    messages, enums = {}, {}
    for file in FILES:
        for message in file.DESCRIPTOR.message_types_by_name.values():
            collect(message, messages, enums)
        for enum in file.DESCRIPTOR.enum_types_by_name.values():
            enums[enum.full_name] = {value.name: value.number for value in enum.values}
    golden = {"messages": messages, "enums": enums, "samples": [sample for sample in samples() if sample["text"]]}
    with open(sys.argv[1], "w") as file:
        json.dump(golden, file, indent=1, sort_keys=True)
        file.write("\n")


main()
