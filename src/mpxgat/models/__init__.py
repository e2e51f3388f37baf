"""Models that predict links, registered by name."""

from mpxgat.models.base import Model, load_model, make_model, model_class, model_names

__all__ = ["Model", "load_model", "make_model", "model_class", "model_names"]
