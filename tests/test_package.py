import subprocess
import sys

import pytest

import mpxgat


@pytest.mark.parametrize("name", sorted(set(mpxgat.__all__)))
def test_every_public_name_is_there(name):
    assert getattr(mpxgat, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = mpxgat.nothing


def test_the_command_line_starts_without_loading_heavy_packages():
    code = (
        "import sys; import mpxgat.cli.app; "
        "heavy = {'torch', 'numpy', 'scipy', 'pyarrow', 'networkx', 'torch_geometric'} & set(sys.modules); "
        "sys.exit(' '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
