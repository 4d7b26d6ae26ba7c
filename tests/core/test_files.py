"""Files are written completely or not at all."""

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from attain.core import files
from attain.core.errors import FileError
from attain.core.files import file_digest, locked, parse_toml, read_text, write_atomically, write_private


def test_a_writer_killed_at_any_moment_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    code = (
        "import sys\nfrom attain.core.files import write_atomically\n"
        "print('ready', flush=True)\nk = 0\n"
        "while True:\n    k = (k + 1) % 256\n    write_atomically(sys.argv[1], bytes([k]) * 3_000_000)\n"
    )
    random = np.random.default_rng(0)
    for _ in range(6):
        process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.02 + 0.1 * random.random())
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        if path.exists():
            content = path.read_bytes()
            assert len(content) == 3_000_000
            assert len(set(content)) == 1
    for left in tmp_path.iterdir():
        assert left == path or re.fullmatch(r"\.file\.bin\.[0-9a-f]+\.part", left.name)


def test_a_private_file_is_new_and_for_its_owner_only(tmp_path: Path) -> None:
    write_private(tmp_path / "key", b"secret")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileError, match="already exists"):
        write_private(tmp_path / "key", b"other")
    assert (tmp_path / "key").read_bytes() == b"secret"
    assert {item.name for item in tmp_path.iterdir()} == {"key"}


def test_writers_of_one_file_take_turns(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = [bytes([k]) * 100_000 for k in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda content: [write_atomically(path, content) for _ in range(20)], contents))
    assert path.read_bytes() in contents
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "e.attain"
    path.write_bytes(b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="No space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["e.attain"]


def test_writing_follows_links_and_says_where_it_cannot(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    with pytest.raises(FileError, match="is a directory"):
        write_atomically(tmp_path, b"")
    with pytest.raises(FileError, match="does not exist"):
        write_atomically(tmp_path / "none" / "file", b"")


def test_a_limit_on_the_size_of_files_can_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "schema.toml"
    path.write_bytes(b" " * (files.TEXT + 1))
    with pytest.raises(FileError, match=r"more than the 16 MB that are read; .* ATTAIN_LARGEST_FILE_MB to a larger"):
        read_text(path)
    monkeypatch.setenv("ATTAIN_LARGEST_FILE_MB", "17")
    assert len(read_text(path)) == files.TEXT + 1
    monkeypatch.setenv("ATTAIN_LARGEST_FILE_MB", "17 MB")
    with pytest.raises(FileError, match="must be a number of megabytes, got '17 MB'"):
        read_text(path)


@pytest.mark.parametrize("part", ["a", "a-1", "'a b'", '"a.b"'])
def test_toml_is_not_deep_and_its_keys_have_at_most_eight_parts(part: str) -> None:
    assert len(parse_toml(" . ".join([part] * 8) + " = 1")) == 1
    with pytest.raises(ValueError, match="more than 8 parts"):
        parse_toml("[x]\ny = {" + ".".join([part] * 9) + " = 1}")
    for deep in ("[" * 5000 + "]" * 5000, "{a = " * 5000 + "1" + "}" * 5000):
        with pytest.raises(ValueError, match="nested too deeply"):
            parse_toml(f"x = {deep}")
    sentence = "1.2.3.4 … www.a.b.c.de. And so on......... e.g. this. " * 9
    assert parse_toml(f'# {sentence}\na = "{sentence}"') == {"a": sentence}


HOLD = """
import sys
from attain.core.files import Path, locked
with locked(Path(sys.argv[1])):
    print(1, flush=True)
    input()
"""


def test_a_lock_is_waited_for_and_given_up_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_LONGEST_WAIT", 0.1)
    command = [sys.executable, "-c", HOLD, str(tmp_path / "log")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(FileError, match=r"another process has kept '.*log' locked .* nothing was written"):
            locked(tmp_path / "log").__enter__()
        with pytest.raises(FileError, match="busy here"):
            locked(tmp_path / "log", "busy here").__enter__()
        holder.kill()
    with locked(tmp_path / "log"):
        pass


def test_permissions_follow_the_umask_which_is_never_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain").write_bytes(b"")

    def touched(_: int) -> int:
        raise AssertionError("the umask belongs to the whole process, so another thread would see the change")

    monkeypatch.setattr(os, "umask", touched)
    write_atomically(tmp_path / "ours", b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_the_digest_of_a_file_is_its_sha256(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, appendix B.1
    assert file_digest(tmp_path / "abc") == file_digest(b"abc") == known
