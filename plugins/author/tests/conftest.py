"""Packages as `ferrule plugins new` writes them."""

import pytest

from ferrule_author.skeleton import Wish, render, write

CONTRACT = "0.1.0"


@pytest.fixture
def new_package(tmp_path):
    """Writes a new package of a kind and returns its folder."""

    def new_package(kind, name="", **wishes):
        wish = Wish(name or f"acme-{kind}", kind, CONTRACT, **wishes)
        folder = tmp_path / wish.names.distribution
        write(render(wish), folder)
        return folder

    return new_package
