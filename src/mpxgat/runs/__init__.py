"""Trainings kept in folders: what is trained, how far it is, and the model in the end."""

from mpxgat.runs.config import RunConfig
from mpxgat.runs.folder import PartProgress, RunFolder

__all__ = ["PartProgress", "RunConfig", "RunFolder"]
