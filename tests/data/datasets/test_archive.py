"""Zips and gzips that are damaged, or lie, are refused before they do harm."""

import gzip
import io
import struct
import tracemalloc
import zipfile
import zlib

import pytest

from tastemix.data.datasets.archive import gzip_chunks, read_member
from tastemix.errors import DataError

CONTENT = b"some text that is long enough to be worth packing, " * 100


@pytest.fixture(params=[zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def archive(request, tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", request.param) as file:
        file.writestr("in/a.txt", CONTENT)
    return path


def state_size(path, size):
    """Write another size into the central directory and the local header."""
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = data.index(signature) + offset
        assert struct.unpack_from("<I", data, at)[0] == len(CONTENT)
        struct.pack_into("<I", data, at, size)
    path.write_bytes(data)


def test_a_member_is_read_whole(archive):
    assert read_member(archive, "in/a.txt", len(CONTENT)) == CONTENT


def test_a_member_larger_than_the_limit_is_refused(archive):
    with pytest.raises(DataError, match=r"states 5,100 bytes for in/a.txt, more than the 5,099"):
        read_member(archive, "in/a.txt", len(CONTENT) - 1)


@pytest.mark.parametrize("lie", [10, len(CONTENT) - 1, len(CONTENT) + 1, 2 * len(CONTENT)])
def test_a_zip_that_lies_about_a_size_is_refused(archive, lie):
    state_size(archive, lie)
    with pytest.raises(DataError, match="is damaged"):
        read_member(archive, "in/a.txt", 10 * len(CONTENT))


def test_a_zip_that_states_a_small_size_and_the_checksum_of_that_much_is_refused(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("in/a.txt", CONTENT)
    state_size(path, 10)
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x01\x02", 16), (b"PK\x03\x04", 14)):
        struct.pack_into("<I", data, data.index(signature) + offset, zlib.crc32(CONTENT[:10]))
    path.write_bytes(data)
    assert zipfile.ZipFile(path).read("in/a.txt") == CONTENT[:10]  # zipfile itself is taken in
    with pytest.raises(DataError, match="is damaged"):
        read_member(path, "in/a.txt", len(CONTENT))


def test_a_bomb_is_not_unpacked_beyond_its_stated_size(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("in/a.txt", bytes(1 << 28))
    path = tmp_path / "a.zip"
    data = bytearray(packed.getvalue())
    for signature, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        struct.pack_into("<I", data, data.index(signature) + offset, 1000)
    path.write_bytes(data)
    tracemalloc.start()
    with pytest.raises(DataError, match="is damaged"):
        read_member(path, "in/a.txt", 1 << 20)
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()


@pytest.mark.parametrize("keep", [0, 1, 100, -30, -1])
def test_a_truncated_zip_is_refused(archive, keep):
    archive.write_bytes(archive.read_bytes()[:keep])
    with pytest.raises(DataError, match="is damaged"):
        read_member(archive, "in/a.txt", 1 << 20)


def test_a_zip_with_a_changed_byte_is_refused(archive):
    data = bytearray(archive.read_bytes())
    data[data.index(b"in/a.txt") + 40] ^= 1
    archive.write_bytes(data)
    with pytest.raises(DataError, match="is damaged"):
        read_member(archive, "in/a.txt", 1 << 20)


def test_a_missing_member_is_named_with_those_there_are(archive):
    with pytest.raises(DataError, match=r"does not hold b\.txt, it holds in/a\.txt"):
        read_member(archive, "b.txt", 1 << 20)


def test_no_changed_byte_of_the_headers_gives_other_data_or_another_error(archive):
    sound = archive.read_bytes()
    refused = 0
    for byte in [*range(40), *range(-110, 0)]:
        data = bytearray(sound)
        data[byte] ^= 0xFF
        archive.write_bytes(data)
        try:
            assert read_member(archive, "in/a.txt", 1 << 20) == CONTENT
        except DataError:
            refused += 1
    assert refused > 50


def test_a_gzip_file_is_read_in_pieces(tmp_path):
    content = CONTENT * 4000
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(content, 1))
    pieces = list(gzip_chunks(path, len(content)))
    assert len(pieces) > 1
    assert b"".join(pieces) == content


def test_a_gzip_file_larger_than_the_limit_is_refused(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(CONTENT))
    with pytest.raises(DataError, match="unpacks to more than the 5,099 bytes"):
        list(gzip_chunks(path, len(CONTENT) - 1))


@pytest.mark.parametrize("keep", [5, 30, -1])
def test_a_truncated_gzip_file_is_refused(tmp_path, keep):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(CONTENT)[:keep])
    with pytest.raises(DataError, match="is damaged"):
        list(gzip_chunks(path, 1 << 20))
