"""`python -m attain.cli`."""

import sys

from attain.cli import main

sys.exit(main())
