"""Reads files of cases with Kaon's results, and says of each whether it is right: a line of JSON a file."""

import json
import platform
import sys
import traceback
import warnings

import mpmath
import numpy
import scipy
import torch

import references  # noqa: F401  fills the table
from arrays import read_cases
from compare import judge_case
from table import table

warnings.filterwarnings('ignore')
torch.set_num_threads(1)
torch.set_default_dtype(torch.float32)


def judged(path):
    if path == 'versions':
        return {'versions': f'PyTorch {torch.__version__}, NumPy {numpy.__version__}, SciPy {scipy.__version__}, mpmath {mpmath.__version__}, Python {platform.python_version()}'}  # fmt: skip
    operator, operands, cases = read_cases(path)
    entry = table[operator]
    found = []
    for case in cases:
        try:
            found.append(judge_case(operator, operands, entry, case))
        except Exception as error:  # a fault of this program: shown as what it is, never as a right case
            where = traceback.extract_tb(error.__traceback__)[-1]
            found.append({'id': case.id, 'failed': f'{type(error).__name__}: {error} ({where.name}:{where.lineno})'})
    return {'operator': operator, 'cases': found}


for line in sys.stdin:
    print(json.dumps(judged(line.strip())), flush=True)
