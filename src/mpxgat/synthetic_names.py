"""What planted people say about themselves in every layer: a username, a city and the date of joining.

A person has a first and a last name, a way to make usernames of them, a city, and a leaning to join early or late. A
node shows these with the noise of real profiles: a nickname that has nothing to do with the name, another separator or
number, a typing error; another city, or the same one spelled otherwise; values that are missing, which are empty texts.
All names of people, towns and nicknames are lists of our own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtr

Texts = NDArray[np.str_]
Positions = NDArray[np.int64]

# Each of a person's usernames is made of the name with this probability. Of two, both are with .62, and they are
# similar with .60: more than half of the letters in common, in order.
_BY_NAME = math.sqrt(0.62)
MISSING = {"username": 0.1, "city": 0.15, "joined": 0.2}


def _words(text: str) -> list[str]:
    return text.split()


# ---- names of people -----------------------------------------------------------------------------------

_FIRST_NAMES = np.array(
    _words(
        "ann max maria jan luca sofia david lena tom julia peter eva marco nina paul sara daniel laura jonas emma "
        "ivan olga kenji yuki wei ming amit priya omar leila carlos lucia pierre claire lars ingrid mateo camila "
        "piotr agnes andrei irina jorge ines hugo alice finn freya sean niamh ali fatima chidi amara kofi esi "
        "minh linh raj anita stefan petra viktor dana"
    )
)
_LAST_NAMES = np.array(
    _words(
        "bauer novak garcia rossi schmidt martin silva kowalski ivanov jensen nguyen tanaka kim chen patel khan "
        "smith jones murphy walker dubois moreau lopez torres costa pereira ferrari romano larsen berg lindqvist "
        "virtanen popescu horvat nagy papadakis yilmaz demir haddad rahimi okafor mensah diallo singh gupta sato "
        "suzuki wang zhang park tran santos cruz weber fischer koch richter vogel hansen nilsson petrov sokolov"
    )
    + [
        start + middle + end
        for middle in ("", "a", "en", "er", "o", "ing", "el")
        for end in _words("mann ner sen ski ard ini ez son wood ova ley stein")
        for start in _words(
            "hol bran kar mor vel ras tim gar nor dal fen lor pel sab wil tor hal kem ros bel dor lan mar ost ned vin "
            "zam quin jor ell"
        )
    ]
)


def _heavy_tailed(count: int, exponent: float) -> NDArray[np.float64]:
    """(count,) probabilities that fall with the rank as Zipf's do."""
    weight = np.arange(1, count + 1) ** -exponent
    probability: NDArray[np.float64] = weight / weight.sum()
    return probability


# So that two people share a first name with a probability of .15.
_FIRST_NAME_CHANCE = _heavy_tailed(len(_FIRST_NAMES), exponent=1.309)
_LAST_NAME_CHANCE = _heavy_tailed(len(_LAST_NAMES), exponent=0.5)  # and a last name with .001


def first_and_last_names(people: int, rng: np.random.Generator) -> tuple[Texts, Texts]:
    """(people,) first names and last names, independent of each other."""
    first = rng.choice(_FIRST_NAMES, size=people, p=_FIRST_NAME_CHANCE)
    return first, rng.choice(_LAST_NAMES, size=people, p=_LAST_NAME_CHANCE)


# ---- usernames -----------------------------------------------------------------------------------------

_FIRST, _LAST, _INITIAL, _LAST_INITIAL, _NOTHING = range(5)
# What comes first, what is between, what comes last, and how usual that is.
_PATTERNS = (
    (_FIRST, ".", _LAST, 0.25),
    (_FIRST, "", _LAST, 0.2),
    (_FIRST, "_", _LAST, 0.1),
    (_INITIAL, "", _LAST, 0.2),
    (_FIRST, "", _LAST_INITIAL, 0.1),
    (_LAST, "_", _FIRST, 0.08),
    (_FIRST, "", _NOTHING, 0.07),
)
_ONE, _BETWEEN, _OTHER, _PATTERN_CHANCE = (np.array(column) for column in zip(*_PATTERNS, strict=True))
_SEPARATORS = np.array(["", ".", "_", "-"])
_NUMBERS = np.array([*(f"{year:02}" for year in range(100)), *map(str, range(1955, 2010))])
_HAS_NUMBER = 0.35

_AS_USUAL, _OTHER_PATTERN, _OTHER_SEPARATOR, _OTHER_NUMBER, _TYPO = range(5)
_HABIT_CHANCE = (0.57, 0.05, 0.12, 0.14, 0.12)

_PREFIXES = np.array(["", "the", "its", "mr", "real", "not", "iam"])
_KINDS = np.array(
    _words(
        "blue dark lazy happy silent wild tiny golden crazy night red lucky frozen electric magic lost hidden cosmic "
        "retro super pixel acid velvet rusty solar urban arctic neon cyber salty sunny grumpy sleepy hungry rapid "
        "iron silver paper plastic quiet loud fuzzy sour sweet spicy broken double zero atomic lunar royal secret "
        "modern ancient humble jolly noble polar stormy windy dusty misty bitter hollow"
    )
)
_BEINGS = np.array(
    _words(
        "fox owl wolf cat rider dragon panda ninja coder gamer pirate moon star cloud river tiger ghost wizard robot "
        "bear whale cactus potato waffle mango comet raven otter badger falcon turtle viking walrus penguin lizard "
        "donut pretzel pickle noodle muffin rocket engine lamp mirror piano violin trumpet hammer anchor feather "
        "pebble canyon meadow harbor tunnel bridge castle garden island forest desert glacier volcano puddle"
    )
)


@dataclass(frozen=True)
class _Habits:
    """How people make usernames: (people,) parts of their names, pattern, and number ("" for none)."""

    parts: Texts  # (5, people)
    pattern: Positions
    number: Texts

    @classmethod
    def draw(cls, people: int, rng: np.random.Generator) -> _Habits:
        first, last = first_and_last_names(people, rng)
        parts = np.stack([first, last, first.astype("U1"), last.astype("U1"), np.full(people, "")])
        return cls(parts, _patterns(people, rng), _numbers(people, rng))

    def usernames(self, person: Positions, rng: np.random.Generator) -> Texts:
        """(n,) usernames of ``person``, each the usual one or a variation of it."""
        n = len(person)
        habit = rng.choice(len(_HABIT_CHANCE), size=n, p=_HABIT_CHANCE)
        pattern = np.where(habit == _OTHER_PATTERN, _patterns(n, rng), self.pattern[person])
        number = np.where(habit == _OTHER_NUMBER, _numbers(n, rng), self.number[person])
        between = np.where(habit == _OTHER_SEPARATOR, rng.choice(_SEPARATORS, size=n), _BETWEEN[pattern])
        between[_OTHER[pattern] == _NOTHING] = ""
        made = _joined(self.parts[_ONE[pattern], person], between, self.parts[_OTHER[pattern], person], number)
        return np.where(habit == _TYPO, mistyped(made, rng), made)


def _usernames(person: Positions, layer: Positions, people: int, rng: np.random.Generator) -> Texts:
    """(n,) usernames, different ones within a layer: of the name, or a nickname of that layer alone."""
    by_name = _Habits.draw(people, rng).usernames(person, rng)
    made = np.where(rng.random(len(person)) < _BY_NAME, by_name, _nicknames(len(person), rng))
    while (taken := _repeats(made, layer)).any():  # a platform has every username once: people add digits
        made = np.where(taken, _joined(made, rng.integers(10, size=len(made)).astype("U1")), made)
    return made


def _patterns(size: int, rng: np.random.Generator) -> Positions:
    return rng.choice(len(_PATTERNS), size=size, p=_PATTERN_CHANCE)


def _numbers(size: int, rng: np.random.Generator) -> Texts:
    return np.where(rng.random(size) < _HAS_NUMBER, rng.choice(_NUMBERS, size=size), "")


def _nicknames(size: int, rng: np.random.Generator) -> Texts:
    prefix = rng.choice(_PREFIXES, size=size, p=(0.64, *(0.06,) * 6))
    between = rng.choice(_SEPARATORS, size=size, p=(0.6, 0.05, 0.3, 0.05))
    return _joined(prefix, rng.choice(_KINDS, size=size), between, rng.choice(_BEINGS, size=size), _numbers(size, rng))


def mistyped(texts: Texts, rng: np.random.Generator) -> Texts:
    """(n,) texts of two letters at least, in each one letter doubled, left out, or swapped with the one before it."""
    width = texts.dtype.itemsize // 4 + 1  # a doubled letter needs one more
    letters = texts.astype(f"U{width}").view(np.uint32).reshape(len(texts), width)  # zeros behind the last letter
    place = rng.integers(1, np.strings.str_len(texts))[:, None]
    column = np.arange(width)
    doubled = column - (column > place)
    left_out = np.minimum(column + (column >= place), width - 1)
    swapped = np.where(column == place, place - 1, np.where(column == place - 1, place, column))
    source = np.choose(rng.integers(3, size=(len(texts), 1)), (doubled, left_out, swapped))
    mistyped: Texts = np.take_along_axis(letters, source, axis=1).view(f"U{width}")[:, 0]
    return mistyped


def _repeats(texts: Texts, layer: Positions) -> NDArray[np.bool_]:
    """Whether the same text has stood in the same layer before."""
    code = pa.array(texts).dictionary_encode().indices.to_numpy().astype(np.int64)
    repeated = np.ones(len(texts), dtype=bool)
    repeated[np.unique(layer * len(texts) + code, return_index=True)[1]] = False
    return repeated


def _joined(*texts: Texts) -> Texts:
    return reduce(np.strings.add, texts)


# ---- cities --------------------------------------------------------------------------------------------

_LARGE_CITIES = (  # and how others call them
    ("London", "Londres"), ("Paris", "Paris, France"), ("Berlin", "Berlin, DE"), ("New York", "NYC"),
    ("München", "Munich"), ("Milano", "Milan"), ("Madrid", "Madrid, ES"), ("Wien", "Vienna"),
    ("São Paulo", "Sao Paulo"), ("Tokyo", "Tōkyō"), ("Praha", "Prague"), ("Warszawa", "Warsaw"),
    ("Lisboa", "Lisbon"), ("København", "Copenhagen"), ("Köln", "Cologne"), ("Zürich", "Zurich"),
    ("Roma", "Rome"), ("Bruxelles", "Brussels"), ("Athína", "Athens"), ("Kyiv", "Kiev"),
    ("Mumbai", "Bombay"), ("Sevilla", "Seville"), ("Torino", "Turin"), ("Genève", "Geneva"),
    ("Göteborg", "Gothenburg"), ("Firenze", "Florence"), ("Los Angeles", "L.A."), ("San Francisco", "SF"),
    ("Toronto", "Toronto, ON"), ("Lagos", "Lagos, NG"),
)  # fmt: skip
_TOWNS = [
    start + end
    for end in _words("feld bach ford ville wick stad dorf haven burg mont gård field hof ness ton")
    for start in _words(
        "Ober Nieder Neu Alt Green Stone Kirch Wald Saint Bel Haute Stor Lille Nor Sund Win Ash Birk Kings Clair"
    )
]
# (cities, 3) as it is usually written, as others call it, and as the hasty write it
_SPELLINGS = np.array(
    [(city, other, city.lower()) for city, other in (*_LARGE_CITIES, *((town, town) for town in _TOWNS))]
)
_SPELLING_CHANCE = (0.85, 0.08, 0.07)
_CITY_CHANCE = _heavy_tailed(len(_SPELLINGS), exponent=1.0)
_AT_HOME = 0.5  # lives where the community is at home; everyone else anywhere
_MOVED = 0.1


def _cities(person: Positions, community: Positions, rng: np.random.Generator) -> Texts:
    """(n,) cities as they are written in the profiles."""
    home = _anywhere(int(community.max()) + 1, rng)[community]
    city = np.where(rng.random(len(community)) < _AT_HOME, home, _anywhere(len(community), rng))
    n = len(person)
    told = np.where(rng.random(n) < _MOVED, _anywhere(n, rng), city[person])
    spelled: Texts = _SPELLINGS[told, rng.choice(len(_SPELLING_CHANCE), size=n, p=_SPELLING_CHANCE)]
    return spelled


def _anywhere(size: int, rng: np.random.Generator) -> Positions:
    return rng.choice(len(_SPELLINGS), size=size, p=_CITY_CHANCE)


# ---- dates of joining ----------------------------------------------------------------------------------

_FIRST_LAUNCH, _LAST_LAUNCH, _TODAY = (
    np.datetime64(day).astype(np.int64) for day in ("2003-06-01", "2013-06-01", "2025-01-01")
)
_LEANING = 0.55  # of it, the square is the correlation of a person's two dates (of their normal scores)


def _joined_on(person: Positions, layer: Positions, people: int, rng: np.random.Generator) -> Texts:
    """(n,) days, as 2019-04-30: from the launch of the layer on, ever more people join."""
    launch = rng.integers(_FIRST_LAUNCH, _LAST_LAUNCH, size=int(layer.max()) + 1)[layer]
    leaning, chance = rng.standard_normal(people)[person], rng.standard_normal(len(person))
    lateness = np.sqrt(ndtr(_LEANING * leaning + math.sqrt(1 - _LEANING**2) * chance))
    day = launch + (lateness * (_TODAY - launch)).astype(np.int64)
    dates: Texts = np.datetime_as_string(day.astype("datetime64[D]"))
    return dates


# ---- all together --------------------------------------------------------------------------------------


def profiles(
    person: NDArray[np.integer[Any]],
    layer: NDArray[np.integer[Any]],
    community: NDArray[np.integer[Any]],
    rng: np.random.Generator,
) -> dict[str, pa.LargeStringArray]:
    """Attributes ``username``, ``city`` and ``joined`` of n nodes; a missing value is an empty text.

    person, layer   (n,) whose node it is, from 0 on, and where
    community       (people,) of every person, with nodes or without
    """
    person, layer, community = (np.asarray(each, dtype=np.int64) for each in (person, layer, community))
    people = len(community)
    found = {
        "username": _usernames(person, layer, people, rng),
        "city": _cities(person, community, rng),
        "joined": _joined_on(person, layer, people, rng),
    }
    return {
        name: pa.array(np.where(rng.random(len(person)) < MISSING[name], "", texts), pa.large_string())
        for name, texts in found.items()
    }
