"""Methods of other packages: DiCE (dice-ml 0.12), treecf (0.3.2) and NICE (NICEx 0.2.3), if they are installed.

Each is given all of a schema that it can take: immutable columns, bounds, directions, steps, reachable levels. A row's
special codes and missing cells stay as they are. What a package cannot be given it may break; the benchmark counts
that. Cells that a package leaves alone are the row's own, bit for bit.
"""
