"""The evidence model: structural features of a pair, weighed by what was learned on links hidden again."""

from mpxgat.models.evidence.model import Evidence, EvidenceSettings

__all__ = ["Evidence", "EvidenceSettings"]
