"""The files that Kaon leaves: safetensors, with what the tensors are as JSON in the metadata."""

import json
import struct
from dataclasses import dataclass

import torch

dtypes = {
    'BOOL': torch.bool, 'U8': torch.uint8, 'I8': torch.int8, 'I32': torch.int32, 'I64': torch.int64,
    'BF16': torch.bfloat16, 'F16': torch.float16, 'F32': torch.float32, 'F64': torch.float64,
}  # fmt: skip


@dataclass
class Result:
    """What one or several tiers computed, to the same bits."""

    tiers: list
    parts: dict


@dataclass
class Case:
    id: int
    label: str
    args: list
    inputs: list
    heads: list
    order: int
    refusal: dict | None
    results: list


def read_tensors(path):
    with open(path, 'rb') as file:
        data = bytearray(file.read())
    (length,) = struct.unpack('<Q', data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop('__metadata__')
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry['data_offsets'])
        dtype = dtypes[entry['dtype']]
        flat = torch.frombuffer(data, dtype=dtype, offset=begin, count=(end - begin) // dtype.itemsize) if end > begin else torch.empty(0, dtype=dtype)  # fmt: skip
        tensors[name] = flat.reshape(entry['shape']).clone()
    return metadata, tensors


def decoded(value):
    """An argument; numbers that JSON lacks come as {'#': 'Infinity'}, arrays as {'$': 0}."""
    if isinstance(value, list):
        return [decoded(each) for each in value]
    if isinstance(value, dict):
        return float(value['#'].replace('Infinity', 'inf')) if '#' in value else {k: decoded(v) for k, v in value.items()}
    return value


def read_cases(path):
    metadata, tensors = read_tensors(path)
    told = json.loads(metadata['cases'])
    cases = []
    for each in told['cases']:
        id = each['id']
        results = [
            Result(
                result['tiers'],
                {part: [tensors[f'{id}/{r}/{part}{k}'] for k in range(result[part])] for part in 'ygs'},
            )
            for r, result in enumerate(each['results'])
        ]
        inputs = [tensors[f'{id}/x{k}'] for k in range(each['inputs'])]
        heads = [tensors[f'{id}/h{k}'] for k in range(each['heads'])]
        cases.append(Case(id, each['label'], decoded(each['args']), inputs, heads, each['order'], each['refusal'], results))
    return told['operator'], told['operands'], cases
