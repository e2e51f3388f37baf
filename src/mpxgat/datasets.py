"""Data sets by name: found in a folder or fetched once, checked by SHA-256, read into a `MultiplexGraph`.

Two places are looked into, in this order: the folder that the environment variable MPXGAT_DATA names, which holds the
files as `DataFile.path` says (or directly); and a cache, into which missing files are fetched. No data file is part of
this package: an address is a fixed revision of a public copy, homepage and citation are the original provider's.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import warnings
from dataclasses import dataclass
from pathlib import Path

from mpxgat.errors import DatasetError, DataWarning, printable, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io import read

FOLDER_VARIABLE = "MPXGAT_DATA"
_TIMEOUT_SECONDS = 20


@dataclass(frozen=True)
class DataFile:
    """A file of a data set: its path under the data folder, the address it is fetched from, its SHA-256."""

    path: str
    address: str
    sha256: str

    @property
    def name(self) -> str:
        return Path(self.path).name


@dataclass(frozen=True)
class Dataset:
    """What is known of a data set without reading it. The first of ``files`` is the one that is read.

    ``prepared``: made undirected and unweighted, copies linked pairwise, largest connected component kept.
    ``directed``: ties have a direction, whether or not the file says so.
    """

    name: str
    title: str
    files: tuple[DataFile, ...]
    licence: str
    citation: str
    homepage: str
    prepared: bool
    note: str
    directed: bool = False


def names() -> tuple[str, ...]:
    """The names of all data sets."""
    return tuple(_CATALOGUE)


def dataset(name: str) -> Dataset:
    """What is known of the data set called ``name``; DatasetError with near names if there is none."""
    if name not in _CATALOGUE:
        near = difflib.get_close_matches(name.lower(), _CATALOGUE, n=2, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise DatasetError(f"no data set {quoted(name)}; {hint}known are {', '.join(_CATALOGUE)}")
    return _CATALOGUE[name]


def load(name: str, *, directed: bool = False) -> MultiplexGraph:
    """Find or fetch a data set and read it, prepared as in the MPXGAT paper if it is one of the paper's.

    Ties are undirected unless ``directed``; DatasetError if those of the data set have no direction.
    """
    wanted = dataset(name)
    if directed and not wanted.directed:
        known = ", ".join(each.name for each in _ALL if each.directed)
        raise DatasetError(f"the ties of {name} have no direction; those of {known} do")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # what is passed over is known, and said in the catalogue
        graph = read(_locate(wanted), directed=directed)
    graph = graph if directed else graph.undirected()
    return graph.unweighted().largest_component() if wanted.prepared else graph


def where(name: str) -> Path | None:
    """The main file of a data set if all its files are on this machine (not checked), or else None."""
    wanted = dataset(name)
    for found in (_in_folder(wanted), _in_cache(wanted)):
        if found is not None and all(path.is_file() for path in found):
            return found[0]
    return None


# ---- finding and fetching --------------------------------------------------------------------------------


def _locate(wanted: Dataset) -> Path:
    """The main file, every file of the data set beside it and undamaged."""
    found = _in_folder(wanted)
    if found is None:
        main, *_ = [_fetch(wanted, file) for file in wanted.files]
        return main
    for file, path in zip(wanted.files, found, strict=True):
        _check(wanted, file, path)
    return found[0]


def _check(wanted: Dataset, file: DataFile, path: Path) -> None:
    """DatasetError unless the file is there and has the expected SHA-256."""
    shown = printable(path, 300)
    try:
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        raise DatasetError(f"data set {wanted.name}: no file {shown}; get it from {file.address}") from None
    except OSError as problem:
        raise DatasetError(f"data set {wanted.name}: cannot read {shown}: {printable(problem.strerror)}") from None
    if sha256 != file.sha256:
        raise DatasetError(
            f"data set {wanted.name}: {shown} is damaged or another version: its SHA-256 is {sha256}, "
            f"expected {file.sha256}"
        )


def _in_folder(wanted: Dataset) -> list[Path] | None:
    """Where the files are or should be in the folder that MPXGAT_DATA names; None if the main file is not there."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise DatasetError(f"{FOLDER_VARIABLE} is {quoted(folder, 300)}, expected a folder that exists")
    main = wanted.files[0]
    for place in (Path(folder, main.path).parent, Path(folder)):
        if (place / main.name).is_file():
            return [place / file.name for file in wanted.files]
    return None


def _in_cache(wanted: Dataset) -> list[Path]:
    return [_cache_folder() / file.path for file in wanted.files]


def _cache_folder() -> Path:
    import pooch

    return Path(pooch.os_cache("mpxgat"))


def _fetch(wanted: Dataset, file: DataFile) -> Path:
    """The file in the cache, fetched if it is not there or damaged; one attempt, no output."""
    import pooch

    pooch.get_logger().setLevel("ERROR")
    path = _cache_folder() / file.path
    try:
        pooch.retrieve(
            file.address,
            known_hash=f"sha256:{file.sha256}",
            fname=path.name,
            path=path.parent,
            downloader=_downloader(),
        )
    except (OSError, ValueError) as problem:  # no connection, a refusal, a full disk; or another SHA-256
        raise DatasetError(
            f"data set {wanted.name}: cannot fetch {file.address} ({_reason(problem)}); get {file.name} "
            f"there or from {wanted.homepage}, put it at {file.path} in a folder of yours, and set "
            f"{FOLDER_VARIABLE} to that folder"
        ) from None
    return path


def _reason(problem: OSError | ValueError) -> str:
    """Why fetching failed, in a few words: the full text of a failed connection is long and says little."""
    if isinstance(problem, ValueError) or getattr(problem, "response", None) is not None:
        return printable(str(problem).partition(" for url")[0], 300)
    return printable(problem.strerror or type(problem).__name__)


def _downloader() -> object:
    import pooch

    return pooch.HTTPDownloader(timeout=_TIMEOUT_SECONDS)


# ---- the catalogue -----------------------------------------------------------------------------------------

_ODBL = "Open Database License (ODbL) 1.0, contents under the Database Contents License (DbCL) 1.0"
_AS_IS = "none stated; provided as is, without warranties"
_DE_DOMENICO = "https://manliodedomenico.com/data.php"
_UPPSALA = "http://multilayer.it.uu.se/datasets.html"
_CROSSMNA = "ChuXiaokai/CrossMNA/37a68df95fdb54f46a649f41b2d6b3aac817cb15/link_prediction/arXiv"
_COMPNET = "CompNet/MultiplexCentrality/9069d5eee92f64accfb63b87bf2e1ccb962abd37/data"
_DIFFUSION = "anty-filidor/network_diffusion/4911b14ceb807922bdaa43c5c0df5915e8afa717/network_diffusion/tests/data"
_PY3PLEX = "SkBlaz/py3plex/0f49b0cfdea91eb1be3f8ca2235f14c9243b88dc/testgraph/multiplex_datasets"


def _file(path: str, source: str, sha256: str) -> DataFile:
    return DataFile(path, f"https://raw.githubusercontent.com/{source}", sha256)


def _comunelab(folder: str, prefix: str, source: str, sha256: dict[str, str]) -> tuple[DataFile, ...]:
    """``prefix_multiplex.edges`` and what stands beside it; ``sha256`` by the end of the name."""
    return tuple(_file(f"{folder}/{prefix}_{end}", f"{source}_{end}", value) for end, value in sha256.items())


_ALL = (
    Dataset(
        name="arxiv",
        title="arXiv network science: who writes with whom, in 13 categories",
        files=(
            _file(
                "arxiv_netscience/arxiv_netscience_multiplex.edges",
                f"{_CROSSMNA}/multiplex.edges",
                "8406dca3cf9e5aaf1d388e07440fd4ec7750f2ee08d39bcc348d224d6667a09d",
            ),
            _file(
                "arxiv_netscience/arxiv_netscience_layers.txt",
                f"{_CROSSMNA}/layers.txt",
                "42475abf0a5d55be9b5b0f6f0e3fca50f253106ead5e412ecbdc011b515146fa",
            ),
        ),
        licence=f"{_ODBL} (so stated for the provider's other archives; this copy carries no licence file)",
        citation="M. De Domenico, A. Lancichinetti, A. Arenas, M. Rosvall, Identifying modular flows on multilayer "
        "networks reveals highly overlapping organization in interconnected systems, Phys. Rev. X 5, 011027 (2015)",
        homepage=_DE_DOMENICO,
        prepared=True,
        note="13 layers, 19,310 nodes, 48,657 intra and 20,738 inter links after preparation",
    ),
    Dataset(
        name="drosophila",
        title="Drosophila melanogaster: seven kinds of genetic and protein interaction",
        files=_comunelab(
            "drosophila_genetic",
            "drosophila_genetic",
            f"{_COMPNET}/Drosophila_Multiplex_Genetic/Dataset/drosophila_genetic",
            {
                "multiplex.edges": "0db14132d7f002dd274c7701f6279e53f5e1e0b4da5921f748e6c5a5725b61b5",
                "layers.txt": "e3769eb572fbaf716023583ad71fe21d609f31397f31e73ea4a1f49638c8d6e7",
                "nodes.txt": "10b599f13ca724aeb4a3de306b1973d91de9b4e07429cdfbef5f848778513e5f",
            },
        ),
        licence=_ODBL,
        citation="C. Stark et al., BioGRID: a general repository for interaction datasets, Nucleic Acids Res. 34, D535 "
        "(2006); M. De Domenico, V. Nicosia, A. Arenas, V. Latora, Structural reducibility of multilayer networks, "
        "Nature Communications 6, 6864 (2015)",
        homepage=_DE_DOMENICO,
        prepared=True,
        note="7 layers, 11,867 nodes, 39,934 intra and 5,171 inter links after preparation; BioGRID 3.2.108",
        directed=True,
    ),
    Dataset(
        name="fftwyt",
        title="FriendFeed, Twitter and YouTube: who follows whom",
        files=(
            _file(
                "fftwyt/fftwyt.mpx",
                f"{_DIFFUSION}/fftwyt.mpx",
                "a711d48e2290d297bf2dba276a595f2d138644e18a21ccfc06859e6fa9a56a83",
            ),
        ),
        licence="none stated; anonymised research data, the provider asks for citation",
        citation="M. E. Dickison, M. Magnani, L. Rossi, Multilayer Social Networks, Cambridge University Press (2016); "
        "M. Magnani, L. Rossi, The ML-model for multi-layer social networks, ASONAM (2011)",
        homepage=_UPPSALA,
        prepared=True,
        note="3 layers, 11,827 nodes, 74,770 intra and 6,028 inter links after preparation",
        directed=True,
    ),
    Dataset(
        name="aucs",
        title="AUCS: five kinds of tie among the staff of a computer science department",
        files=(
            _file(
                "uu_small_mpx/aucs.mpx",
                f"{_DIFFUSION}/aucs.mpx",
                "b6b6ce02c251a3d5017f164b39c0ba5444f1f0d7f8fa6b7e6c4ad2210a5a8f20",
            ),
        ),
        licence="none stated",
        citation="M. Magnani, B. Micenkova, L. Rossi, Combinatorial Analysis of Multiple Networks, arXiv:1303.4986 "
        "(2013)",
        homepage=_UPPSALA,
        prepared=False,
        note="5 layers, 61 people; as the file is",
    ),
    Dataset(
        name="ckm",
        title="CKM physicians: advice, discussion and friendship among physicians of four towns",
        files=_comunelab(
            "ckm_physicians",
            "CKM-Physicians-Innovation",
            f"{_COMPNET}/CKM-Physicians-Innovation_Multiplex_Social/Dataset/CKM-Physicians-Innovation",
            {
                "multiplex.edges": "d8b12afaf49aa08d858786077bc4c66bcc8d579120939a6fa1e5263fcad8295f",
                "layers.txt": "3b9fb71d7eb2f6e51c0eeaa846899eea05b9b51f75533c59b4cb0a77e446ffb1",
                "nodes.txt": "ab77f623e3ce53c492145f152634e2488557c583b68f7697ef171216aa237f39",
            },
        ),
        licence=_AS_IS,
        citation="J. Coleman, E. Katz, H. Menzel, The Diffusion of an Innovation Among Physicians, Sociometry 20, "
        "253-270 (1957)",
        homepage=_DE_DOMENICO,
        prepared=False,
        note="3 layers, 241 people; as the file is",
        directed=True,
    ),
    Dataset(
        name="lazega",
        title="Lazega law firm: co-work, friendship and advice among partners and associates",
        files=_comunelab(
            "lazega_law_firm",
            "Lazega-Law-Firm",
            f"{_COMPNET}/Lazega-Law-Firm_Multiplex_Social/Dataset/Lazega-Law-Firm",
            {
                "multiplex.edges": "5a5cf04a017a57e32e346990043a6ae7d0852c1d1dcfd1f374c988fe7370c503",
                "layers.txt": "d73ef1589c0cbac71bbd0af6d0789bf67258a7ce40c8be3e6cb8b4277fdfa16e",
                "nodes.txt": "66c1599ccbaca159bb041d3df8a8f5c4cf1df23128ddbc29f96a2c8c1b92ec50",
            },
        ),
        licence=_AS_IS,
        citation="E. Lazega, The Collegial Phenomenon, Oxford University Press (2001); T. A. B. Snijders, "
        "P. E. Pattison, G. L. Robins, M. S. Handcock, New specifications for exponential random graph models, "
        "Sociological Methodology, 99-153 (2006)",
        homepage=_DE_DOMENICO,
        prepared=False,
        note="3 layers, 71 people; as the file is",
        directed=True,
    ),
    Dataset(
        name="celegans",
        title="C. elegans connectome: electric, chemical monadic and polyadic junctions between neurons",
        files=_comunelab(
            "celegans_connectome",
            "celegans_connectome",
            f"{_PY3PLEX}/CElegans_Multiplex_Neuronal/Dataset/celegans_connectome",
            {
                "multiplex.edges": "04ca397e2d46a23def3c5ffb39c4a7ac61e04e9b647bfa15b64e62c6d4839807",
                "layers.txt": "30e2b854fee7206899dce2e9182ee8eee30a74217ea4129f17c3de0d2692d749",
                "nodes.txt": "36ad8ddf92d1b340d275ddda602f7af96b506ff19c7df8b34200de4d547d78c8",
            },
        ),
        licence=_ODBL,
        citation="B. L. Chen, D. H. Hall, D. B. Chklovskii, Wiring optimization can relate neuronal structure and "
        "function, PNAS 103, 4723-4728 (2006); M. De Domenico, M. A. Porter, A. Arenas, MuxViz: a tool for multilayer "
        "analysis and visualization of networks, Journal of Complex Networks 3, 159-176 (2015)",
        homepage=_DE_DOMENICO,
        prepared=False,
        note="3 layers, 279 neurons; as the file is",
    ),
)

_CATALOGUE = {entry.name: entry for entry in _ALL}
