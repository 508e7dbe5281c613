"""Errors of the Python interface in the words of a shell."""

from __future__ import annotations

import re

_SAID = {
    "as iteration={'name': rounds}": "as --iteration NAME=ROUNDS",
    "query, run and query_run are all 0": "--query-sd, --run-sd and --query-run-sd are all 0",
    "give run or query_run,": "give --run-sd or --query-run-sd,",
    "no variance is to be had: take gainsay.plan": "no variance is to be had: give --query-sd instead",
    "are fixed: take gainsay.plan": "are fixed: give --query-sd and --run-sd instead",
    "name two other models by models=": "name two other models",
    "evaluate_run or compare_runs": "runs with --qrels",
    ", or pass judged= with the labels": "",
    ", or raise max_bytes": "",
    ", or Judgments(labels, judged=)": "",
    "a run is for read_run": "it is a run",
    "read the file with read_letor": "LETOR data have no .query file beside them",
}
_ARGUMENT = re.compile(r"(?<![-'\"([{.\w])(features|unjudged|claim|metric)=(?:'([^']*)')?(?![^\s;,:.)])")


def in_shell_words(message: str) -> str:
    """Return a message with the options that arguments have; of others it says that they are for Python.

    >>> in_shell_words("give features=, take unjudged='drop', or pass dtype=numpy.float64")
    'give --features, take --unjudged drop, or in Python pass dtype=numpy.float64'
    """
    for python, shell in _SAID.items():
        message = message.replace(python, shell)
    message = re.sub(
        r"^(query|run|query_run)(?= must be )", lambda found: f"--{found[1].replace('_', '-')}-sd", message
    )
    message = re.sub(r"\bgains\((metric='[^']*')\)", r"\1", message)
    message = _ARGUMENT.sub(lambda found: f"--{found[1]} {found[2] or ''}".strip(), message)
    return re.sub(r"\bpass (?=\w+=)", "in Python pass ", message.replace("pass --", "give --"))
