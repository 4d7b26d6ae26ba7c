"""The command line, run from outside."""

import signal
import subprocess
import sys
import time
import weakref

import pytest

from attain.cli import SENTENCE, main, stoppable
from tests.counting import PATIENCE


@pytest.mark.slow
def test_the_demo_shows_three_people_and_an_overview(capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["demo", "--people", "4", "--out", str(tmp_path / "answers.csv")]) == 0
    out = capsys.readouterr().out
    headers = [line.split() for line in out.splitlines() if line.startswith("feature ")]
    assert headers == [["feature", "now", "suggested", "percentile", "shift"]] * 3
    assert out.count("Person ") == 3
    assert "4 of 4 people have an answer" in out
    assert "total shift" in out


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, attain; print({'jax', 'sklearn', 'pandas'} & {*sys.modules})"
    code += "; print(dir(attain) == sorted(attain.__all__))"
    code += "; print([name for name in vars(attain) if name[0] != '_'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["set()", "True", "['core']"]


def test_ctrl_c_that_python_has_to_ignore_is_raised_a_moment_later() -> None:
    class Item:
        pass

    def gone(_: object) -> None:  # what a callback raises is ignored
        signal.raise_signal(signal.SIGTERM)

    with stoppable() as stop:
        items = [Item()]
        kept = weakref.ref(items[0], gone)
        items.clear()
        with pytest.raises(KeyboardInterrupt):
            time.sleep(PATIENCE)
    assert kept() is None
    assert stop.code == 143


def test_ctrl_c_that_a_library_has_made_another_exception_of_ends_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def drawn() -> int:
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise ValueError("Invalid affine transformation matrix") from None
        return 0

    with stoppable() as stop:
        assert stop.code_of(drawn) == 143
    assert "interrupted before it was done" in capsys.readouterr().err


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_command_with_a_sentence(number: int, expected: int) -> None:
    code = (
        "import time\nfrom attain import cli\n"
        "def wait():\n    print('begun', flush=True)\n    time.sleep(9999)\n"
        "def main():\n    with cli.stoppable() as stop:\n        return stop.code_of(wait)\n"
        "cli.main = main\ncli.program()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == expected
    assert errors.decode().splitlines() == [SENTENCE]


def test_what_libraries_print_does_not_reach_standard_output() -> None:
    code = """
import os, attain.cli
attain.cli.main = lambda: os.write(1, b"noise\\n") and print("answer") or 0
attain.cli.program()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("answer\n", "noise\n")
