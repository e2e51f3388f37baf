"""Comparisons of what is known about nodes beside their links: names, places, dates, numbers, vectors of features.

    mx.Evidence(compare={"username": mx.compare.text(), "city": mx.compare.category()})
    mx.compare.parse("username=screen_name:text")

A comparison names a column and the kind of its values. Prepared for a graph, it gives numbers of pairs of nodes
(`Compared.numbers`), proposes pairs that are alike (`Compared.proposals`), and says what it saw (`Compared.describe`).
It reads its own column and nothing else: no links, no other attribute, no ids (but to name a node in an error).
"""

from mpxgat.compare.compared import Compared
from mpxgat.compare.declared import (
    KINDS,
    Comparison,
    Kind,
    category,
    date,
    name,
    number,
    parse,
    parse_all,
    read_declarations,
    text,
    vector,
)
from mpxgat.compare.guesses import guess

__all__ = [
    "KINDS",
    "Compared",
    "Comparison",
    "Kind",
    "category",
    "date",
    "guess",
    "name",
    "number",
    "parse",
    "parse_all",
    "read_declarations",
    "text",
    "vector",
]
