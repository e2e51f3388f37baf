"""Models that predict links, registered by name."""

from mpxgat.models.adapted import adapt
from mpxgat.models.base import Model, load_model, make_model, model_class, model_names, register_model

__all__ = ["Model", "adapt", "load_model", "make_model", "model_class", "model_names", "register_model"]
