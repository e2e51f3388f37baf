"""Networks with several layers: who is connected, and who is who.

    import mpxgat as mx

    graph = mx.load("arxiv")                       # or mx.read("mine.edges"), mx.from_networkx({...})
    split = mx.splits.marked_nodes(graph, seed=0)  # split.train is a graph without the test links
    model = mx.make_model("rules").fit(split.train)
    mx.evaluate(model, split)

Names are imported when first used, so that the command line starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_ROOM_OF = {
    "Anchored": "models.anchored",
    "Auto": "models.auto",
    "Evidence": "models.evidence.model",
    "MPXGAT": "models.mpxgat",
    "MpxgatError": "errors",
    "MultiplexGraph": "graph",
    "Node": "graph",
    "adapt": "models.adapted",
    "encode_features": "features",
    "evaluate": "evaluation",
    "from_networkx": "io",
    "from_pandas": "io",
    "from_pyg": "io",
    "load": "datasets",
    "load_model": "models",
    "make_model": "models",
    "read": "io",
    "register_model": "models",
    "to_networkx": "io",
    "to_pandas": "io",
    "to_pyg": "io",
    "with_apart": "build",
    "write": "io",
}

__all__ = [
    "MPXGAT",
    "Anchored",
    "Auto",
    "Evidence",
    "MpxgatError",
    "MultiplexGraph",
    "Node",
    "adapt",
    "compare",
    "datasets",
    "encode_features",
    "errors",
    "evaluate",
    "from_networkx",
    "from_pandas",
    "from_pyg",
    "io",
    "load",
    "load_model",
    "make_model",
    "matching",
    "metrics",
    "models",
    "predictions",
    "read",
    "register_model",
    "splits",
    "synthetic",
    "to_networkx",
    "to_pandas",
    "to_pyg",
    "with_apart",
    "write",
]

if TYPE_CHECKING:
    from mpxgat import compare, datasets, errors, io, matching, metrics, models, predictions, splits, synthetic
    from mpxgat.build import with_apart
    from mpxgat.datasets import load
    from mpxgat.errors import MpxgatError
    from mpxgat.evaluation import evaluate
    from mpxgat.features import encode_features
    from mpxgat.graph import MultiplexGraph, Node
    from mpxgat.io import from_networkx, from_pandas, from_pyg, read, to_networkx, to_pandas, to_pyg, write
    from mpxgat.models import load_model, make_model, register_model
    from mpxgat.models.adapted import adapt
    from mpxgat.models.anchored import Anchored
    from mpxgat.models.auto import Auto
    from mpxgat.models.evidence.model import Evidence
    from mpxgat.models.mpxgat import MPXGAT


def __getattr__(name: str) -> Any:
    if name in _ROOM_OF:
        return getattr(import_module(f"mpxgat.{_ROOM_OF[name]}"), name)
    if name in __all__:  # a room
        return import_module(f"mpxgat.{name}")
    raise AttributeError(f"module 'mpxgat' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
