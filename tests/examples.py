"""Small graphs that several tests use: those that the contract of models is checked on."""

from mpxgat.models.contract import graph_of, random_graph

__all__ = ["graph_of", "random_graph"]
