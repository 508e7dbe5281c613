"""The commands. Importing a module registers its commands."""

from . import compare as compare
from . import decisions as decisions
from . import demo as demo
from . import experiments as experiments
from . import rankings as rankings
from . import what_if as what_if
