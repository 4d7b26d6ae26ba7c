"""The service under load: `python -m benchmarks.service`.

German credit, gradient boosting, the guarded search; one server process and one client process on loopback, 50
connections that are kept open. Each connection asks its next question when the last one is answered; an answer that is
not 200, or none, is lost. The time of the server's processor is read from /proc: on a machine with nothing else to do,
one connection waits that long. Server and client share the machine's cores. New questions are about people and numbers
of options that were not asked before, without details; they take turns on one core, because Python runs one thread at a
time. The page's cards and their details are asked for over one connection, after a feature was locked.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

CONNECTIONS: Final = 50
TOKEN: Final = "token-of-the-benchmark"
PORT: Final = 8790
Answer = TypeVar("Answer")


class Load(NamedTuple):
    """What was measured of one kind of question."""

    name: str
    asked: int
    lost: int
    seconds: float
    times: np.ndarray
    worked: float
    """Seconds of the server's processor."""
    answers: list[bytes]


def serve() -> None:
    """The server: the demo's explainer and model, with a rate that nobody reaches."""
    import uvicorn

    from attain.cli.demo import service_demo
    from attain.desk.service import ServiceLimits, create_app

    app = create_app(
        **service_demo(), token=TOKEN, limits=ServiceLimits(rate=1e9, burst=10**9, queue=1_000, seconds=600)
    )
    uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="error", access_log=False, backlog=512)


async def ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, method: str, path: str, body: bytes
) -> tuple[int, bytes]:
    """One question on an open connection: the status and the body of the answer."""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\nAuthorization: Bearer {TOKEN}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    status = int((await reader.readline()).split()[1])
    length = 0
    while (line := await reader.readline()) != b"\r\n":
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    return status, await reader.readexactly(length)


def processor_time(process: int) -> float:
    """The seconds that a process has worked so far; NaN where the system does not say."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def load(
    server: int, name: str, method: str, path: str, bodies: Sequence[bytes], connections: int = CONNECTIONS
) -> Load:
    """All questions, over so many connections; `server` is the id of its process."""
    waiting = list(reversed(bodies))
    times: list[float] = []
    answers: list[bytes] = []
    lost = 0

    async def connection() -> None:
        nonlocal lost
        reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
        while waiting:
            body = waiting.pop()
            started = time.perf_counter()
            status, answer = await ask(reader, writer, method, path, body)
            answers.append(answer)
            times.append(time.perf_counter() - started)
            lost += status != 200
        writer.close()

    started, worked = time.perf_counter(), processor_time(server)
    ended = await asyncio.gather(*(connection() for _ in range(connections)), return_exceptions=True)
    seconds = time.perf_counter() - started
    failed = sum(isinstance(one, BaseException) for one in ended)
    worked = processor_time(server) - worked
    return Load(name, len(bodies), lost + failed + len(waiting), seconds, np.array(times), worked, answers)


async def get(path: str) -> Any:
    """The answer to one question."""
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    _, body = await ask(reader, writer, "GET", path, b"")
    writer.close()
    return json.loads(body)


async def started() -> None:
    """Waits until the server answers."""
    for _ in range(600):
        try:
            await get("/health")
            return
        except OSError:
            await asyncio.sleep(0.5)
    raise TimeoutError("the server did not start")


async def measured(server: int) -> list[Load]:
    """Every kind of question."""
    load_of = partial(load, server)
    await started()
    people = (await get("/people?decision=refused&limit=500"))["people"]
    amounts = range(400)
    records = [
        encoded({"record": {**one["record"], "credit_amount": 1_000 + amount}}) for amount in amounts for one in people
    ]
    asked = [{"person": one["id"], "n": n, "details": False} for n in (1, 2, 3) for one in people]
    explained = list(map(encoded, asked))
    await load_of("", "POST", "/explain", [encoded({**asked[0], "n": 5})], 1)  # learns about the model
    alone = await load_of("/explain, new, one connection", "POST", "/explain", explained[:20], 1)
    page = await new_options(load_of, people[1:21])
    new, meanwhile = await asyncio.gather(
        load_of("/explain, new", "POST", "/explain", explained[20:120]),
        load_of("/health meanwhile, one connection", "GET", "/health", [b""] * 500, 1),
    )
    return [
        await load_of("/health", "GET", "/health", [b""] * 5_000),
        await load_of("/predict, new", "POST", "/predict", records[:1_500]),
        await load_of("/predict, known", "POST", "/predict", (records[:1_500] * 3)[:4_000]),
        await load_of("/explain, known", "POST", "/explain", (explained[:120] * 40)[:4_000]),
        new,
        meanwhile,
        alone,
        *page,
    ]


async def brief(server: int) -> dict[str, float]:
    """New questions a second, and the processor's seconds for the page's new options; for `benchmarks.person`."""
    load_of = partial(load, server)
    await started()
    people = (await get("/people?decision=refused&limit=500"))["people"]
    asked = [encoded({"person": one["id"], "n": n, "details": False}) for n in (1, 2, 3) for one in people]
    await load_of("", "POST", "/explain", asked[:1], 1)  # learns about the model
    cards, details = await new_options(load_of, people[1:21])
    new = await load_of("/explain, new", "POST", "/explain", asked[1:101])
    seconds = {"cards": cards.worked / cards.asked, "page": (cards.worked + details.worked) / cards.asked}
    return {**seconds, "per_second": new.asked / new.seconds, "lost": cards.lost + details.lost + new.lost}


async def new_options(load_of: Any, people: Sequence[dict[str, Any]]) -> list[Load]:
    """What the page asks when somebody locks a feature: five options, then their details; one connection."""
    wishes = [{"person": one["id"], "locked": ["duration"]} for one in people]
    cards = await load_of(
        "the page's five cards", "POST", "/explain", [encoded({**one, "n": 5, "details": False}) for one in wishes], 1
    )
    found = [[option["record"] for option in json.loads(answer)["options"]] for answer in cards.answers]
    asked = [encoded({**one, "answers": records}) for one, records in zip(wishes, found, strict=True) if records]
    return [cards, await load_of("their details", "POST", "/explain", asked, 1)]


def encoded(question: dict[str, Any]) -> bytes:
    return json.dumps(question).encode()


def against_a_server(measure: Callable[[int], Coroutine[Any, Any, Answer]]) -> Answer:
    """What is measured of a server of its own."""
    server = subprocess.Popen([sys.executable, __file__, "--serve"])
    try:
        return asyncio.run(measure(server.pid))
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    from benchmarks import report

    loads = against_a_server(measured)
    meanwhile = next(one for one in loads if "meanwhile" in one.name)
    rows = [
        (
            one.name,
            f"{one.asked:,}",
            one.lost,
            f"{one.asked / one.seconds:,.1f}",
            *(f"{1000 * np.quantile(one.times, share):,.0f}" for share in (0.5, 0.99)),
            f"{1000 * one.worked / one.asked:,.1f}" if one is not meanwhile else "–",
        )
        for one in loads
    ]
    header = ("question", "asked", "lost", "per second", "median, ms", "99th percentile, ms", "processor, ms each")
    report.write(__doc__, report.table(header, rows))


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve()
    elif "--brief" in sys.argv:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
        print(json.dumps(against_a_server(brief)))
    else:
        main()
