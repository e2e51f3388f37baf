"""Who is who: from calibrated candidates to one-to-one matches that agree over all layers, with reasons."""

from mpxgat.matching.following import Followed, follow
from mpxgat.matching.match import Candidates, Matcher, Matches, match_all, match_layers
from mpxgat.matching.reasons import Explanation, Reason, with_reasons

__all__ = [
    "Candidates",
    "Explanation",
    "Followed",
    "Matcher",
    "Matches",
    "Reason",
    "follow",
    "match_all",
    "match_layers",
    "with_reasons",
]
