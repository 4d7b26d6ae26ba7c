"""One explainer of each method, used by this process, by 8 threads, after a fork and in a spawned process.

`python -m tests.processes.sharing NAME...` prints JSON: for each method the digests of its answers in each
of these ways. It has a process of its own, because other threads must not matter when it forks.
"""

from __future__ import annotations

import json
import multiprocessing
import pickle
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attain
from attain.density import CHVAE
from attain.methods.base import Explainer
from attain.testing import people
from attain.testing.explainer import digest

THREADS = 8
SECONDS = 120
"""The most that another process may take for all methods."""


def task(name: str) -> tuple[Explainer, Any, dict[str, Any]]:
    """A fitted explainer, a model, and further arguments of `explain`; `NAME+robust` has more models."""
    X = people.frame(120)
    y = people.labels(X)
    kind, _, robust = name.partition("+")
    network = CHVAE(people.schema(), hidden=0, epochs=1, verbose=False)
    options: dict[str, Any] = {"autoencoder": network} if kind in ("CCHVAE", "REVISE") else {}
    more: dict[str, Any] = {}
    if robust:
        more["robust"] = [people.linear_model(X.iloc[start::2], y.iloc[start::2]) for start in (0, 1)]
    explainer = getattr(attain.methods, kind)(people.schema(), laws=people.LAWS, budget=400, **options).fit(X, y)
    return explainer, people.tree_model(X, y) if kind == "FeatureTweaking" else people.linear_model(X, y), more


def answered(given: tuple[Explainer, Any, dict[str, Any]]) -> str:
    """A digest of the answers to some people."""
    explainer, model, more = given
    others = people.frame(40, seed=7)
    refused = others[model.predict(others) == people.REFUSED].iloc[:3]
    return digest(explainer.explain(model, refused, target=people.DESIRED, **more))


def in_threads(given: tuple[Explainer, Any, dict[str, Any]]) -> list[str]:
    """The digests of threads that share an explainer which knows nothing about the model yet."""
    fresh = pickle.loads(pickle.dumps(given[0]))
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(answered, [(fresh, *given[1:])] * THREADS))


def _answer_all(tasks: dict[str, Any], sending: Any) -> None:
    warnings.simplefilter("ignore")
    for name, given in tasks.items():
        sending.send((name, answered(given)))


def in_child(method: str, tasks: dict[str, Any]) -> dict[str, str]:
    """The digests that a process started by `fork` or `spawn` computes, as many as it does."""
    context = multiprocessing.get_context(method)
    receiving, sending = context.Pipe(duplex=False)
    child = context.Process(target=_answer_all, args=(tasks, sending))
    child.start()
    sending.close()
    found: dict[str, str] = {}
    try:
        while len(found) < len(tasks) and receiving.poll(SECONDS):
            name, answer = receiving.recv()
            found[name] = answer
    except EOFError:
        pass
    child.kill()
    child.join()
    return found


def main() -> None:
    """Prints the digests."""
    warnings.simplefilter("ignore")  # forking with threads is what is tested
    tasks = {name: task(name) for name in sys.argv[1:]}
    here = {name: answered(given) for name, given in tasks.items()}
    threads = {name: in_threads(given) for name, given in tasks.items()}
    forked, spawned = (in_child(method, tasks) for method in ("fork", "spawn"))
    print(json.dumps({"here": here, "threads": threads, "fork": forked, "spawn": spawned}))


if __name__ == "__main__":
    main()
