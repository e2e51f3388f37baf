"""Vega-Lite by vl-convert: the script that draws charts in a page, and charts as files.

One specification serves both, so what is printed is what was on the screen. The package brings the scripts with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any

from mpxgat.errors import MissingExtraError

_CLIP = re.compile(r'(clip-path="url\(#|<clipPath id=")clip(\d+)')
_PIXELS = 2.0  # of a PNG for one of the chart


def require_charts() -> None:
    """MissingExtraError unless vl-convert is installed."""
    if find_spec("vl_convert") is None:
        raise MissingExtraError("vl-convert-python", "report", "drawing the charts of a report")


@cache
def chart_script() -> str:
    """JavaScript that gives a page ``window.vegaEmbed``; about 0.9 MB."""
    require_charts()
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def to_svg(spec: Mapping[str, Any]) -> bytes:
    """A chart (a whole specification, its data inside) as SVG; the same chart gives the same bytes."""
    require_charts()
    import vl_convert

    return _numbered_anew(str(vl_convert.vegalite_to_svg(dict(spec)))).encode()


def to_png(spec: Mapping[str, Any]) -> bytes:
    """A chart (a whole specification, its data inside) as PNG."""
    require_charts()
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(dict(spec), scale=_PIXELS))


def _numbered_anew(svg: str) -> str:
    """Vega counts the areas it clips by through all charts of a process; here every chart begins with 1."""
    known: dict[str, int] = {}
    return _CLIP.sub(lambda found: f"{found[1]}clip{known.setdefault(found[2], len(known) + 1)}", svg)
