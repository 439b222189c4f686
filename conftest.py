"""What holds for every test: hypothesis draws the same examples each time, stages are verified."""

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, database=None, print_blob=True)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("POLYOPT_HYPOTHESIS", "fixed"))

os.environ.setdefault("POLYOPT_CHECK", "1")
