"""Downloads from a real server on this machine: resumed, checked, and nothing bad left behind."""

import hashlib
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from tastemix.data import datasets
from tastemix.data.datasets import Counts, File, catalogue
from tastemix.data.datasets.download import fetched
from tastemix.errors import DataError

from . import made
from .server import serving

BODY = np.random.default_rng(0).bytes(1_000_000)
SHA256 = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("TASTEMIX_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TASTEMIX_DATA", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def site():
    with serving({"a.bin": BODY, "ml-1m.zip": made.ML_1M_ZIP}) as running:
        yield running


def left(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def fetch(file, cache, progress=None):
    with fetched(file, cache, progress) as path:
        return path.read_bytes()


def file(site, *, known=True):
    facts = {"sha256": SHA256, "size": len(BODY)} if known else {}
    return File("a.bin", (site.url("a.bin"),), **facts)


@pytest.mark.parametrize("known", [True, False], ids=["sha256", "unknown"])
@pytest.mark.parametrize("lengths", [True, False], ids=["length", "no length"])
def test_a_download_is_whole_and_in_its_place(site, cache, known, lengths):
    site.lengths = lengths
    assert fetch(file(site, known=known), cache) == BODY
    assert left(cache) == ["a.bin"]
    assert (cache / "a.bin").read_bytes() == BODY


def test_progress_names_the_file_and_grows_to_the_whole(site, cache):
    seen = []
    fetch(file(site), cache, lambda *step: seen.append(step))
    assert {(name, total) for name, _, total in seen} == {("a.bin", len(BODY))}
    done = [bytes_ for _, bytes_, _ in seen]
    assert done[0] == 0
    assert done[-1] == len(BODY)
    assert done == sorted(done)
    assert len(done) > 2


def test_a_broken_download_is_resumed_where_it_broke(site, cache):
    site.break_after = [300_000, 200_000]
    assert fetch(file(site), cache) == BODY
    assert [asked for _, asked in site.asked] == [None, "bytes=300000-", "bytes=500000-"]
    assert left(cache) == ["a.bin"]


def test_a_download_that_keeps_breaking_is_kept_and_resumed_by_the_next_call(site, cache):
    site.break_after = [100_000, 100_000, 100_000]
    with pytest.raises(
        DataError, match=r"after 300,000 of 1,000,000 bytes.*300,000 bytes are kept"
    ):
        fetch(file(site), cache)
    assert left(cache) == ["a.bin.part"]
    assert (cache / "a.bin.part").read_bytes() == BODY[:300_000]
    assert fetch(file(site), cache) == BODY
    assert site.asked[-1] == ("a.bin", "bytes=300000-")
    assert left(cache) == ["a.bin"]


def test_a_killed_download_is_resumed(site, cache):
    site.break_after, site.stall = [400_000], threading.Event()
    code = (
        "import sys; from pathlib import Path\n"
        "from tastemix.data.datasets import File\n"
        "from tastemix.data.datasets.download import fetched\n"
        "with fetched(File('a.bin', (sys.argv[1],)), Path(sys.argv[2])): pass\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, site.url("a.bin"), str(cache)])
    part = cache / "a.bin.part"
    deadline = time.monotonic() + 30
    while not (part.exists() and part.stat().st_size >= 200_000) and time.monotonic() < deadline:
        time.sleep(0.01)
    with pytest.raises(DataError, match=r"another process is downloading a\.bin"):
        fetch(file(site), cache)
    child.send_signal(signal.SIGKILL)
    child.wait()
    site.stall.set()
    kept = part.stat().st_size
    assert 0 < kept <= 400_000
    assert fetch(file(site), cache) == BODY
    assert site.asked[-1] == ("a.bin", f"bytes={kept}-")


def test_a_server_without_ranges_is_asked_for_all_again(site, cache):
    site.ranges, site.break_after = False, [300_000]
    assert fetch(file(site), cache) == BODY
    assert site.asked == [("a.bin", None), ("a.bin", "bytes=300000-")]


@pytest.mark.parametrize("known", [True, False], ids=["size", "unknown"])
def test_a_part_that_is_whole_is_not_downloaded_again(site, cache, known):
    made.write(cache, {"a.bin.part": BODY})
    assert fetch(file(site, known=known), cache) == BODY
    assert site.asked == ([] if known else [("a.bin", "bytes=1000000-")])
    assert left(cache) == ["a.bin"]


def test_a_part_longer_than_the_file_is_begun_anew(site, cache):
    made.write(cache, {"a.bin.part": BODY + b"more"})
    assert fetch(file(site, known=False), cache) == BODY
    assert left(cache) == ["a.bin"]


def test_a_part_of_another_file_is_refused_and_the_next_call_begins_anew(site, cache):
    made.write(cache, {"a.bin.part": b"other" * 1000})
    with pytest.raises(DataError, match=r"is not the published a\.bin"):
        fetch(file(site), cache)
    assert left(cache) == []
    assert fetch(file(site), cache) == BODY


def test_a_wrong_checksum_is_refused_and_nothing_is_left(site, cache):
    wrong = "0" * 64
    with pytest.raises(DataError, match=f"its sha256 is {SHA256}, expected {wrong}"):
        fetch(replace(file(site), sha256=wrong), cache)
    assert left(cache) == []


def test_more_bytes_than_the_file_has_are_refused_and_nothing_is_left(site, cache):
    with pytest.raises(DataError, match=r"sends more than the 999,999 bytes expected of a.bin"):
        fetch(replace(file(site), size=len(BODY) - 1), cache)
    assert left(cache) == []


def test_what_the_caller_refuses_is_not_left(site, cache):
    with pytest.raises(DataError, match="no good"), fetched(file(site, known=False), cache):
        raise DataError("no good")
    assert left(cache) == []


def test_what_the_caller_refuses_is_kept_where_the_checksum_is_right(site, cache):
    with pytest.raises(DataError, match="no xlrd"), fetched(file(site), cache):
        raise DataError("no xlrd")
    assert left(cache) == ["a.bin"]


def test_a_missing_file_names_it_its_address_and_its_place(site, cache):
    del site.files["a.bin"]
    with pytest.raises(DataError) as error:
        fetch(file(site), cache)
    for part in ("a.bin cannot be downloaded", site.url("a.bin"), "HTTP 404", f"put it in {cache}"):
        assert part in str(error.value)
    assert left(cache) == []
    assert len(site.asked) == 1


def test_an_unreachable_server_names_file_address_and_place(cache):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/a.bin"
        with pytest.raises(DataError) as error:
            fetch(File("a.bin", (address,)), cache)
    for part in ("a.bin cannot be downloaded", address, "Connection refused", f"put it in {cache}"):
        assert part in str(error.value)
    assert left(cache) == []


def test_the_second_address_is_tried_when_the_first_fails(site, cache):
    two = replace(file(site), addresses=(site.url("gone.bin"), site.url("a.bin")))
    assert fetch(two, cache) == BODY
    assert [name for name, _ in site.asked] == ["gone.bin", "a.bin"]


def test_a_cache_that_cannot_be_written_is_named(site, tmp_path):
    (tmp_path / "cache").write_text("a file, not a folder")
    with pytest.raises(DataError, match=r"a.bin.part cannot be written .*TASTEMIX_CACHE"):
        fetch(file(site), tmp_path / "cache")


def small(site, counts=made.ML_1M_COUNTS, *, checksum=True):
    contents = {"ml-1m.zip": site.files["ml-1m.zip"]}
    return made.published(catalogue.ML_1M, contents, counts, site.address, checksum=checksum)


@pytest.mark.parametrize("checksum", [True, False])
def test_load_downloads_once_and_reads_the_cache_afterwards(site, cache, checksum):
    dataset = small(site, checksum=checksum)
    first, second = datasets.load(dataset), datasets.load(dataset)
    assert first.fingerprint == second.fingerprint
    assert len(first) == 3
    assert datasets.titles(dataset).num_rows == 3
    assert site.asked == [("ml-1m.zip", None)]
    assert left(cache) == ["ml-1m.zip"]


def test_a_download_with_other_counts_is_refused_and_nothing_is_left(site, cache):
    with pytest.raises(DataError, match=r"3 ratings of 2 users and 2 items, not 9"):
        datasets.load(small(site, Counts(9, 2, 2), checksum=False))
    assert left(cache) == []


def test_a_truncated_archive_on_the_server_is_refused_and_nothing_is_left(site, cache):
    dataset = small(site, checksum=False)
    site.files["ml-1m.zip"] = made.ML_1M_ZIP[:-40]
    with pytest.raises(DataError, match=r"ml-1m.zip.part is damaged"):
        datasets.load(dataset)
    assert left(cache) == []


def test_only_the_files_that_are_missing_are_downloaded(cache, tmp_path):
    contents = {
        f"jester_dataset_1_{n}.zip": made.zipped(
            {f"jester-data-{n}.xls": made.xls([made.jokes({n: 1.0})])}
        )
        for n in (1, 2, 3)
    }
    with serving(contents) as site:
        dataset = made.published(catalogue.JESTER, contents, Counts(3, 3, 3), site.address)
        made.write(tmp_path / "raw", {n: d for n, d in contents.items() if "_2" not in n})
        assert len(datasets.load(dataset, folder=tmp_path)) == 3
        assert site.asked == [("jester_dataset_1_2.zip", None)]
    assert left(cache) == ["jester_dataset_1_2.zip"]


def test_a_terminal_shows_a_bar_and_a_pipe_nothing(site, cache):
    code = (
        "import sys; from pathlib import Path\n"
        "from tastemix.data.datasets import File\n"
        "from tastemix.data.datasets.download import fetched\n"
        "with fetched(File('a.bin', (sys.argv[1],)), Path(sys.argv[2])): pass\n"
    )
    command = [sys.executable, "-c", code, site.url("a.bin"), str(cache)]
    quiet = subprocess.run(command, capture_output=True, check=True)
    assert (quiet.stdout, quiet.stderr) == (b"", b"")
    (cache / "a.bin").unlink()
    terminal, side = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    subprocess.run(command, stderr=side, check=True, env=environment)
    os.close(side)
    shown = os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    assert "a.bin" in shown
    assert "1.0/1.0 MB" in shown
