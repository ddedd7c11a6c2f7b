"""Every file of this folder fills the table; `names.mjs` reads their names without Python."""

from . import contraction, dynamic, elementwise, functions, indexing, movement, normalisation, random, reduction  # noqa: F401
